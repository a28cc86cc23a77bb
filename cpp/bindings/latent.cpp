#include "latent.hpp"

#include <cstdint>

#include "bindings/arrays.hpp"
#include "bindings/bind.hpp"

namespace hyperlocal::bindings {

namespace {

// From an array (any, classes, models with their padding).
template <class T>
LatentShape checked_latent(const Array<T, 3>& array, Index n_models) {
  const LatentShape shape{size(array, 1), n_models, size(array, 2)};
  require_between("n_models", n_models, Index(1), shape.stride);
  require(shape.stride % 8 == 0, "n_models must be padded to a multiple of 8");
  return shape;
}

void require_exponent(double q) {
  require(q >= 1, "q must be at least 1");
}

}  // namespace

template <class T>
void bind_latent(nb::module_& m) {
  auto problem_class = kernel_class<LatentProblem, T>(m, "LatentProblem");
  def(problem_class, "epoch",
      args("weights"_array, "held"_array, "step"_a, "first_visit"_a, "n_visits"_a, "order"_array,
           "seed"_a),
      [](const LatentProblem<T>& problem, Array<T, 3> weights, Array<const T, 3> held, double step,
         double first_visit, double n_visits, Vector<const Index> order, std::uint64_t seed) {
        const auto shape = checked_latent(weights, problem.n_models);
        require_shape("weights", weights, problem.rows.width() + 1, any_size, any_size);
        require_size("classes of weights", shape.n_classes, 2);
        require_same_shape("held", held, weights);
        require_indices_at("target", problem.target, problem.rows.n_rows(), shape.n_classes);
        const Visits visits = checked_visits(order, problem.rows.n_rows());
        nb::gil_scoped_release release;
        return latent_epoch(problem, shape, {step, first_visit, n_visits}, visits, seed,
                            held.data(), weights.data());
      });
  def_maker(m, "latent_problem",
            args("rows"_a, "target"_array, "costs"_array, "n_models"_a, "q"_a, "alpha"_a),
            [](const Rows<T>& rows, Vector<const Column> target, Vector<const T> costs,
               Index n_models, double q, double alpha) {
              require_exponent(q);
              require_shape("target", target, rows.n_rows());
              require_shape("costs", costs, rows.n_rows());
              return LatentProblem<T>{rows, target.data(), costs.data(), n_models, {q}, alpha};
            });
  def(m, "latent_scores",
      args("products"_array, "n_models"_a, "q"_a, "make_gates"_a, "scores"_array),
      [](Array<T, 3> products, Index n_models, double q, bool make_gates, Matrix<T> scores) {
        const auto shape = checked_latent(products, n_models);
        require_exponent(q);
        require_shape("scores", scores, size(products, 0), shape.n_classes);
        nb::gil_scoped_release release;
        latent_scores(products.data(), size(products, 0), shape, {q}, make_gates, scores.data());
      });
}

HYPERLOCAL_BOTH_PRECISIONS(bind_latent);

}  // namespace hyperlocal::bindings
