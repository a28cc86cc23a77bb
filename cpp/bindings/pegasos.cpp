#include "pegasos.hpp"

#include <nanobind/stl/optional.h>

#include <optional>

#include "bindings/arrays.hpp"
#include "bindings/bind.hpp"

namespace hyperlocal::bindings {

namespace {

// The schedule with batches no larger than the visits there are.
PegasosSchedule checked_schedule(PegasosSchedule schedule, Index n_visits) {
  require_positive("lambda_", schedule.lambda);
  require_positive("radius", schedule.radius);
  require_positive("batch_size", double(schedule.batch_size));
  schedule.batch_size = std::min(schedule.batch_size, std::max(Index(1), n_visits));
  return schedule;
}

template <class T>
void bind_linear(nb::module_& m) {
  auto problem_class = kernel_class<PegasosProblem, T>(m, "PegasosProblem");
  def(problem_class, "epoch",
      args("scaled"_array, "past"_array.none(), "columns"_array, "steps"_a, "schedule"_a,
           "order"_array, "column_begin"_a, "column_end"_a),
      [](const PegasosProblem<T>& problem, Matrix<T> scaled, std::optional<Matrix<double>> past,
         Matrix<double> columns, double steps, const PegasosSchedule& schedule,
         Vector<const Index> order, Index column_begin, Index column_end) {
        const Index n = problem.rows.n_rows(), n_columns = size(scaled, 0);
        const Index width = problem.rows.width() + 1;
        const Range range =
            checked_range("column_begin, column_end", n_columns, column_begin, column_end);
        if (problem.coupling == Coupling::regression) {
          require_shape("scaled", scaled, 1, width);
        } else {
          const Index lowest = problem.coupling == Coupling::one_vs_rest ? -1 : 0;
          require_indices_at("target", problem.target, n, n_columns, lowest);
        }
        require(!problem.is_joint() || (n_columns >= 2 && range.size() == n_columns),
                "column_begin, column_end: joint losses need all columns at once");
        require_shape("scaled", scaled, n_columns, width);
        if (past) require_shape("past", *past, n_columns, width);
        static_assert(sizeof(PegasosColumn) == 3 * sizeof(double));
        require_shape("columns", columns, n_columns, 3);
        require(steps >= 0, "steps must not be negative");
        const Visits visits = checked_visits(order, n);
        const auto checked = checked_schedule(schedule, visits.size);
        PegasosState<T> state{n_columns, scaled.data(), past ? past->data() : nullptr,
                              reinterpret_cast<PegasosColumn*>(columns.data()), steps};
        nb::gil_scoped_release release;
        pegasos_epoch(problem, state, checked, visits, range);
      });
  def_maker(m, "pegasos_problem",
            args("rows"_a, "bias"_a, "target"_array.none(), "values"_array.none(), "costs"_array,
                 "loss"_a, "coupling"_a, "epsilon"_a),
            [](const Rows<T>& rows, T bias, std::optional<Vector<const Column>> target,
               std::optional<Vector<const T>> values, Vector<const T> costs, Loss loss,
               Coupling coupling, double epsilon) {
              const bool is_regression = coupling == Coupling::regression;
              require(is_regression ? values.has_value() : target.has_value(),
                      "regression needs values, classification needs target");
              if (target) require_shape("target", *target, rows.n_rows());
              if (values) require_shape("values", *values, rows.n_rows());
              require_shape("costs", costs, rows.n_rows());
              return PegasosProblem<T>{rows,
                                       bias,
                                       target ? target->data() : nullptr,
                                       values ? values->data() : nullptr,
                                       costs.data(),
                                       loss,
                                       coupling,
                                       epsilon};
            });
}

}  // namespace

template <class T>
void bind_pegasos(nb::module_& m) {
  bind_linear<T>(m);
  auto block_class = kernel_class<KernelBlock, T>(m, "KernelBlock");
  def(block_class, "visit",
      args("lambda_"_a, "steps"_a, "squared_norms"_array, "losses"_array, "added"_array),
      [](const KernelBlock<T>& block, double lambda, double steps, Vector<double> squared_norms,
         Vector<double> losses, Matrix<double> added) {
        require_positive("lambda_", lambda);
        require(steps >= 0, "steps must not be negative");
        require_shape("squared_norms", squared_norms, block.n_columns);
        require_shape("losses", losses, block.n_columns);
        require_shape("added", added, block.n_rows, block.n_columns);
        nb::gil_scoped_release release;
        kernel_pegasos_block(block, lambda, steps, squared_norms.data(), losses.data(),
                             added.data());
      });
  def_maker(m, "kernel_block",
            args("products"_array, "kernel"_array, "target"_array, "costs"_array),
            [](Matrix<const T> products, Matrix<const T> kernel, Vector<const Column> target,
               Vector<const double> costs) {
              const Index n = size(products, 0), n_columns = size(products, 1);
              require_shape("kernel", kernel, n, n);
              require_shape("target", target, n);
              require_shape("costs", costs, n);
              require_indices("target", target, n_columns, -1);
              return KernelBlock<T>{products.data(), kernel.data(), target.data(), costs.data(), n,
                                    n_columns};
            });
}

HYPERLOCAL_BOTH_PRECISIONS(bind_pegasos);

}  // namespace hyperlocal::bindings
