#include "sgd.hpp"

#include <nanobind/stl/optional.h>

#include <optional>

#include "anchor_descent.hpp"
#include "bindings/bind.hpp"
#include "bindings/bound_gate.hpp"

namespace hyperlocal::bindings {

namespace {

template <class T>
void bind(nb::module_& m) {
  m.def(
      "sgd_epoch",
      [](const BoundLifted<T>& source, Vector<const Column> target, Vector<const T> costs,
         Loss loss, bool crammer_singer, Array<T, 3> weights, std::optional<Array<T, 3>> average,
         double visits, double lambda, double t0, Index skip, bool decay_bias,
         Vector<const Index> order, Index column_begin, Index column_end,
         const BoundGate<T>* learned_gate) {
        source.require_weights(weights);
        const Index n = source.lifted.n_rows(), n_columns = size(weights, 1);
        require(size(target) == n && size(costs) == n, "one target and cost per row");
        require_below(target.data(), n, crammer_singer ? 0 : -1, n_columns, "target out of bounds");
        require_below(order.data(), size(order), 0, n, "row out of bounds");
        require_range(n_columns, column_begin, column_end);
        require(skip >= 1 && lambda > 0 && t0 > 0, "skip, lambda and t0 must be positive");
        require(!crammer_singer || (n_columns >= 2 && column_begin == 0 && column_end == n_columns),
                "Crammer-Singer needs all columns at once");
        if (average) {
          source.require_weights(*average);
          require(size(*average, 1) == n_columns, "average must have the shape of weights");
        }
        const SgdProblem<T> problem{source.lifted,    target.data(), costs.data(),  n_columns,
                                    source.n_anchors, loss,          crammer_singer};
        SgdState<T> state{weights.data(), average ? average->data() : nullptr, visits};
        const SgdSchedule schedule{lambda, t0, skip, decay_bias};
        if (learned_gate == nullptr) {
          nb::gil_scoped_release release;
          sgd_epoch(problem, state, schedule, order.data(), size(order), column_begin, column_end,
                    FixedGate{});
          return;
        }
        learned_gate->require_codes_of(source);
        require(column_begin == 0 && column_end == n_columns, "a gate learns from all columns");
        nb::gil_scoped_release release;
        sgd_epoch(problem, state, schedule, order.data(), size(order), column_begin, column_end,
                  LearnedGate<T>(learned_gate->gate, source.lifted, weights.data(), n_columns));
      },
      "lifted"_a, "target"_a.noconvert(), "costs"_a.noconvert(), "loss"_a, "crammer_singer"_a,
      "weights"_a.noconvert(), "average"_a.noconvert().none(), "visits"_a, "lambda_"_a, "t0"_a,
      "skip"_a, "decay_bias"_a, "order"_a.noconvert(), "column_begin"_a, "column_end"_a,
      "learned_gate"_a.none() = nb::none());
}

}  // namespace

void bind_sgd(nb::module_& m) {
  bind<float>(m);
  bind<double>(m);
}

}  // namespace hyperlocal::bindings
