#include "dual.hpp"

#include <cstdint>

#include "bindings/arrays.hpp"
#include "bindings/bind.hpp"
#include "bindings/checks.hpp"

namespace hyperlocal::bindings {

namespace {

template <class T>
void bind_makers(nb::module_& m) {
  def_maker(m, "dual_problem",
            args("lifted"_a, "target"_array, "costs"_array, "squared_norms"_array, "n_columns"_a,
                 "loss"_a, "crammer_singer"_a = false),
            [](const Lifted<T>& lifted, Vector<const Column> target, Vector<const T> costs,
               Vector<const T> squared_norms, Index n_columns, Loss loss, bool crammer_singer) {
              const Index n = lifted.n_rows();
              require_size("n_columns", n_columns, crammer_singer ? 2 : 1);
              require(!crammer_singer || loss != Loss::log,
                      "loss: Crammer-Singer needs a hinge loss");
              require_shape("target", target, n);
              require_shape("costs", costs, n);
              require_shape("squared_norms", squared_norms, n);
              require_indices("target", target, n_columns, crammer_singer ? 0 : -1);
              return DualProblem<T>{lifted,    target.data(), costs.data(),  squared_norms.data(),
                                    n_columns, loss,          crammer_singer};
            });
  def_maker(m, "dual_regression",
            args("lifted"_a, "values"_array, "losses"_array, "costs"_array, "squared_norms"_array),
            [](const Lifted<T>& lifted, Matrix<const T> values, Matrix<const double> losses,
               Vector<const T> costs, Vector<const T> squared_norms) {
              const ResidualLoss* residual_losses = checked_losses(lifted, values, losses);
              require_shape("costs", costs, lifted.n_rows());
              require_shape("squared_norms", squared_norms, lifted.n_rows());
              return DualProblem<T>{
                  lifted,      nullptr, costs.data(),  squared_norms.data(), size(values, 1),
                  Loss::hinge, false,   values.data(), residual_losses};
            });
  def_maker(m, "dual_state",
            args("problem"_a, "weights"_array, "alpha"_array, "active"_array, "bounds"_array),
            [](const DualProblem<T>& problem, Array<T, 3> weights, Matrix<T> alpha,
               Matrix<std::uint8_t> active, Matrix<const double> bounds) {
              const Lifted<T>& lifted = problem.lifted;
              const Index n = lifted.n_rows(), n_columns = problem.n_columns;
              require_shape("weights", weights, lifted.n_blocks(), n_columns, lifted.block_width());
              require_shape("alpha", alpha, n, n_columns);
              require_shape("active", active, n, n_columns);
              require_shape("bounds", bounds, problem.n_groups(), 2);
              static_assert(sizeof(ShrinkBounds) == 2 * sizeof(double));
              return DualState<T>{problem, weights.data(), alpha.data(), active.data(),
                                  reinterpret_cast<const ShrinkBounds*>(bounds.data())};
            });
}

}  // namespace

template <class T>
void bind_dual(nb::module_& m) {
  kernel_class<DualProblem, T>(m, "DualProblem");
  auto state_class = kernel_class<DualState, T>(m, "DualState");
  def(state_class, "epoch", args("order"_array, "column_begin"_a, "column_end"_a, "reports"_array),
      [](const DualState<T>& state, Vector<const Index> order, Index column_begin, Index column_end,
         Matrix<double> reports) {
        const Visits visits = checked_visits(order, state.problem.lifted.n_rows());
        const Range columns = checked_columns(state.problem, column_begin, column_end);
        ColumnReport* out = checked_reports(state.problem, reports);
        nb::gil_scoped_release release;
        dual_epoch(state, visits, columns, out);
      });
  def(state_class, "equal_rows",
      args("rows"_array, "starts"_array, "column_begin"_a, "column_end"_a, "reports"_array),
      [](const DualState<T>& state, Vector<const Index> rows, Vector<const Index> starts,
         Index column_begin, Index column_end, Matrix<double> reports) {
        const DualProblem<T>& problem = state.problem;
        require(!problem.crammer_singer && !problem.is_regression(),
                "equal_rows: only one-vs-rest has labels per column");
        const Visits visits = checked_visits(rows, problem.lifted.n_rows());
        require_size("starts", size(starts));
        require_starts("starts", starts, size(starts) - 1, size(rows));
        for (Index g = 0; g + 1 < size(starts); ++g)
          require(starts(g) < starts(g + 1), "starts: a group is empty");
        const Range columns = checked_columns(problem, column_begin, column_end);
        ColumnReport* out = checked_reports(problem, reports);
        nb::gil_scoped_release release;
        dual_equal_rows(state, visits, Visits{starts.data(), size(starts)}, columns, out);
      });
  def(state_class, "check", args("begin"_a, "end"_a, "scores"_array, "losses"_array, "gaps"_array),
      [](const DualState<T>& state, Index begin, Index end, Matrix<const T> scores,
         Vector<double> losses, Vector<double> gaps) {
        const DualProblem<T>& problem = state.problem;
        const Range range = checked_range("begin, end", problem.lifted.n_rows(), begin, end);
        require_shape("scores", scores, range.size(), problem.n_columns);
        require_shape("losses", losses, problem.n_groups());
        require_shape("gaps", gaps, problem.n_groups());
        nb::gil_scoped_release release;
        dual_check(state, range, scores.data(), losses.data(), gaps.data());
      });
  bind_makers<T>(m);
}

HYPERLOCAL_BOTH_PRECISIONS(bind_dual);

}  // namespace hyperlocal::bindings
