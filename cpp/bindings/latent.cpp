#include "latent.hpp"

#include <cstdint>

#include "bindings/bind.hpp"
#include "bindings/bound_rows.hpp"

namespace hyperlocal::bindings {

namespace {

template <class T>
LatentShape checked_latent(const Array<T, 3>& weights, Index n_models, double q) {
  const LatentShape shape{size(weights, 1), n_models, size(weights, 2)};
  require(n_models >= 1 && n_models <= shape.stride && shape.stride % 8 == 0,
          "models must be padded to a multiple of 8");
  require(q >= 1, "q must be at least 1");
  return shape;
}

template <class T>
void bind(nb::module_& m) {
  m.def(
      "latent_epoch",
      [](const BoundRows<T>& b, Vector<const Column> target, Vector<const T> costs,
         Array<T, 3> weights, Index n_models, double q, double alpha, double step,
         double first_visit, double n_visits, Vector<const Index> order, std::uint64_t seed,
         Array<const T, 3> held) {
        const auto shape = checked_latent(weights, n_models, q);
        const Index n = b.rows.n_rows();
        require(size(weights, 0) == b.rows.width() + 1, "weights must be (features + 1, …)");
        require(shape.n_classes >= 2, "two classes are needed");
        for (int axis = 0; axis < 3; ++axis)
          require(size(held, axis) == size(weights, axis), "held must fit the weights");
        require(size(target) == n && size(costs) == n, "one target and cost per row");
        require_below(target.data(), n, 0, shape.n_classes, "target out of bounds");
        require_below(order.data(), size(order), 0, n, "row out of bounds");
        const LatentProblem<T> problem{b.rows, target.data(), costs.data(), shape, {q}, alpha};
        nb::gil_scoped_release release;
        return latent_epoch(problem, LatentSchedule{step, first_visit, n_visits}, order.data(),
                            size(order), seed, held.data(), weights.data());
      },
      "rows"_a, "target"_a.noconvert(), "costs"_a.noconvert(), "weights"_a.noconvert(),
      "n_models"_a, "q"_a, "alpha"_a, "step"_a, "first_visit"_a, "n_visits"_a,
      "order"_a.noconvert(), "seed"_a, "held"_a.noconvert());
  m.def(
      "latent_scores",
      [](Array<T, 3> products, Index n_models, double q, bool make_gates, Matrix<T> scores) {
        const auto shape = checked_latent(products, n_models, q);
        require(size(scores, 0) == size(products, 0) && size(scores, 1) == shape.n_classes,
                "scores must be (rows, classes)");
        nb::gil_scoped_release release;
        latent_scores(products.data(), size(products, 0), shape, {q}, make_gates, scores.data());
      },
      "products"_a.noconvert(), "n_models"_a, "q"_a, "make_gates"_a, "scores"_a.noconvert());
}

}  // namespace

void bind_latent(nb::module_& m) {
  bind<float>(m);
  bind<double>(m);
}

}  // namespace hyperlocal::bindings
