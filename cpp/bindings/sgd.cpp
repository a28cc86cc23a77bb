#include "sgd.hpp"

#include <nanobind/stl/optional.h>

#include <optional>

#include "bindings/bind.hpp"
#include "bindings/checks.hpp"
#include "learned_gate.hpp"

namespace hyperlocal::bindings {

template <class T>
void bind_sgd(nb::module_& m) {
  auto problem_class = kernel_class<SgdProblem, T>(m, "SgdProblem");
  def(problem_class, "epoch",
      args("weights"_array, "average"_array.none(), "n_visits"_a, "schedule"_a, "order"_array,
           "column_begin"_a, "column_end"_a, "learned_gate"_a.none() = nb::none()),
      [](const SgdProblem<T>& problem, Array<T, 3> weights, std::optional<Array<T, 3>> average,
         double n_visits, const SgdSchedule& schedule, Vector<const Index> order,
         Index column_begin, Index column_end, const MovingGate<T>* learned_gate) {
        const Lifted<T>& lifted = problem.lifted;
        const Index n_columns = problem.n_columns;
        require_shape("weights", weights, lifted.n_blocks(), n_columns, lifted.block_width());
        if (average) require_same_shape("average", *average, weights);
        require_positive("skip", double(schedule.skip));
        require_positive("lambda_", schedule.lambda);
        require_positive("t0", schedule.t0);
        const Visits visits = checked_visits(order, lifted.n_rows());
        const Range columns =
            checked_range("column_begin, column_end", n_columns, column_begin, column_end);
        require(columns.size() == n_columns || !(problem.crammer_singer || learned_gate != nullptr),
                "column_begin, column_end: all columns are needed at once");
        SgdState<T> state{weights.data(), average ? average->data() : nullptr, n_visits};
        if (learned_gate != nullptr) require_codes_of(*learned_gate, lifted);
        nb::gil_scoped_release release;
        if (learned_gate == nullptr)
          sgd_epoch(problem, state, schedule, visits, columns);
        else
          sgd_epoch(problem, state, schedule, visits,
                    LearnedGate<T>(*learned_gate, lifted, weights.data(), n_columns));
      });
  def_maker(m, "sgd_problem",
            args("lifted"_a, "target"_array, "costs"_array, "n_columns"_a, "loss"_a,
                 "crammer_singer"_a = false),
            [](const Lifted<T>& lifted, Vector<const Column> target, Vector<const T> costs,
               Index n_columns, Loss loss, bool crammer_singer) {
              require_size("n_columns", n_columns, crammer_singer ? 2 : 1);
              require_shape("target", target, lifted.n_rows());
              require_shape("costs", costs, lifted.n_rows());
              require_indices("target", target, n_columns, crammer_singer ? 0 : -1);
              return SgdProblem<T>{lifted,    target.data(), costs.data(),
                                   n_columns, loss,          crammer_singer};
            });
  def_maker(m, "sgd_regression", args("lifted"_a, "values"_array, "losses"_array, "costs"_array),
            [](const Lifted<T>& lifted, Matrix<const T> values, Matrix<const double> losses,
               Vector<const T> costs) {
              const ResidualLoss* residual_losses = checked_losses(lifted, values, losses);
              require_shape("costs", costs, lifted.n_rows());
              return SgdProblem<T>{lifted,      nullptr, costs.data(),  size(values, 1),
                                   Loss::hinge, false,   values.data(), residual_losses};
            });
}

HYPERLOCAL_BOTH_PRECISIONS(bind_sgd);

}  // namespace hyperlocal::bindings
