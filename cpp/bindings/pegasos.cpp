#include "pegasos.hpp"

#include <nanobind/stl/optional.h>

#include <algorithm>
#include <optional>

#include "bindings/bind.hpp"
#include "bindings/bound_rows.hpp"

namespace hyperlocal::bindings {

namespace {

template <class T>
void bind(nb::module_& m) {
  m.def(
      "pegasos_epoch",
      [](const BoundRows<T>& source, T bias, std::optional<Vector<const Column>> target,
         std::optional<Vector<const T>> values, Vector<const T> costs, Loss loss, Coupling coupling,
         double epsilon, Matrix<T> scaled, std::optional<Matrix<double>> past,
         Matrix<double> columns, double steps, double lambda, double radius, Index batch_size,
         Vector<const Index> order, Index column_begin, Index column_end) {
        const Index n = source.rows.n_rows(), n_columns = size(scaled, 0);
        const bool is_regression = coupling == Coupling::regression;
        require(is_regression ? values.has_value() : target.has_value(),
                "regression needs values, classification needs targets");
        if (is_regression) {
          require(size(*values) == n, "one value per row");
          require(n_columns == 1, "regression has one column");
        } else {
          require(size(*target) == n, "one target per row");
          const Index lowest = coupling == Coupling::one_vs_rest ? -1 : 0;
          require_below(target->data(), n, lowest, n_columns, "target out of bounds");
        }
        const bool is_joint =
            coupling == Coupling::crammer_singer || coupling == Coupling::multinomial;
        require(!is_joint || (n_columns >= 2 && column_begin == 0 && column_end == n_columns),
                "joint losses need all columns at once");
        require(size(costs) == n, "one cost per row");
        require(size(scaled, 1) == source.rows.width() + 1, "scaled must be (columns, width + 1)");
        require(!past || (size(*past, 0) == n_columns && size(*past, 1) == size(scaled, 1)),
                "past must have the shape of scaled");
        static_assert(sizeof(PegasosColumn) == 3 * sizeof(double));
        require(size(columns, 0) == n_columns && size(columns, 1) == 3, "columns must be (c, 3)");
        require(steps >= 0 && lambda > 0 && radius > 0 && batch_size >= 1,
                "lambda, radius and batch_size must be positive");
        require_below(order.data(), size(order), 0, n, "row out of bounds");
        require_range(n_columns, column_begin, column_end);
        const PegasosProblem<T> problem{source.rows,
                                        bias,
                                        target ? target->data() : nullptr,
                                        values ? values->data() : nullptr,
                                        costs.data(),
                                        n_columns,
                                        loss,
                                        coupling,
                                        epsilon};
        PegasosState<T> state{scaled.data(), past ? past->data() : nullptr,
                              reinterpret_cast<PegasosColumn*>(columns.data()), steps};
        // No batch is larger than the visits there are.
        const PegasosSchedule schedule{lambda, radius,
                                       std::min(batch_size, std::max<Index>(1, size(order)))};
        nb::gil_scoped_release release;
        pegasos_epoch(problem, state, schedule, order.data(), size(order), column_begin,
                      column_end);
      },
      "rows"_a, "bias"_a, "target"_a.noconvert().none(), "values"_a.noconvert().none(),
      "costs"_a.noconvert(), "loss"_a, "coupling"_a, "epsilon"_a, "scaled"_a.noconvert(),
      "past"_a.noconvert().none(), "columns"_a.noconvert(), "steps"_a, "lambda_"_a, "radius"_a,
      "batch_size"_a, "order"_a.noconvert(), "column_begin"_a, "column_end"_a);
  m.def(
      "kernel_pegasos_block",
      [](Matrix<const T> products, Matrix<const T> kernel, Vector<const Column> target,
         Vector<const double> costs, double lambda, double steps, Vector<double> squared_norms,
         Vector<double> losses, Matrix<double> added) {
        const Index n = size(products, 0), n_columns = size(products, 1);
        require(size(kernel, 0) == n && size(kernel, 1) == n, "kernel must be (rows, rows)");
        require(size(target) == n && size(costs) == n, "one target and cost per row");
        require_below(target.data(), n, -1, n_columns, "target out of bounds");
        require(size(squared_norms) == n_columns && size(losses) == n_columns,
                "one norm and loss per column");
        require(size(added, 0) == n && size(added, 1) == n_columns,
                "added must be (rows, columns)");
        require(lambda > 0 && steps >= 0, "lambda must be positive");
        nb::gil_scoped_release release;
        kernel_pegasos_block(KernelBlock<T>{products.data(), kernel.data(), target.data(),
                                            costs.data(), n, n_columns},
                             lambda, steps, squared_norms.data(), losses.data(), added.data());
      },
      "products"_a.noconvert(), "kernel"_a.noconvert(), "target"_a.noconvert(),
      "costs"_a.noconvert(), "lambda_"_a, "steps"_a, "squared_norms"_a.noconvert(),
      "losses"_a.noconvert(), "added"_a.noconvert());
}

}  // namespace

void bind_pegasos(nb::module_& m) {
  nb::enum_<Coupling>(m, "Coupling")
      .value("one_vs_rest", Coupling::one_vs_rest)
      .value("crammer_singer", Coupling::crammer_singer)
      .value("multinomial", Coupling::multinomial)
      .value("regression", Coupling::regression);
  bind<float>(m);
  bind<double>(m);
}

}  // namespace hyperlocal::bindings
