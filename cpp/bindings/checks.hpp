// Checks that several bindings share: columns and reports of the dual problem, gates that learn.
#pragma once

#include <cmath>

#include "bindings/arrays.hpp"
#include "dual.hpp"
#include "lifted.hpp"
#include "moving_gate.hpp"

namespace hyperlocal::bindings {

// Crammer–Singer takes all columns, or none where another thread has them.
template <class T>
Range checked_columns(const DualProblem<T>& problem, Index begin, Index end) {
  const Range columns = checked_range("column_begin, column_end", problem.n_columns, begin, end);
  require(!problem.crammer_singer || columns.size() == 0 || columns.size() == problem.n_columns,
          "column_begin, column_end: Crammer-Singer needs all columns at once");
  return columns;
}

template <class T>
ColumnReport* checked_reports(const DualProblem<T>& problem, const Matrix<double>& reports) {
  static_assert(sizeof(ColumnReport) == 4 * sizeof(double));
  require_shape("reports", reports, problem.n_groups(), 4);
  return reinterpret_cast<ColumnReport*>(reports.data());
}

// The losses of a regression's columns, a row of (ε, curvature, lower, upper) each.
template <class T>
const ResidualLoss* checked_losses(const Lifted<T>& lifted, const Matrix<const T>& values,
                                   const Matrix<const double>& losses) {
  static_assert(sizeof(ResidualLoss) == 4 * sizeof(double));
  const Index n_columns = size(values, 1);
  require_size("values", n_columns);
  require_shape("values", values, lifted.n_rows(), any_size);
  require_shape("losses", losses, n_columns, 4);
  const auto* first = reinterpret_cast<const ResidualLoss*>(losses.data());
  for (const ResidualLoss* loss = first; loss < first + n_columns; ++loss) {
    const bool is_bounded = loss->curvature > 0 || loss->upper - loss->lower < INFINITY;
    require(loss->epsilon >= 0 && loss->curvature >= 0 && loss->lower < 0 && loss->upper > 0 &&
                is_bounded,
            "losses must have epsilon >= 0, curvature >= 0, lower < 0 < upper, and finite bounds "
            "where they are not curved");
  }
  return first;
}

template <class T>
void require_codes_of(const MovingGate<T>& gate, const Lifted<T>& lifted) {
  require(lifted.codes().weights == gate.codes && lifted.codes().anchors == gate.neighbors &&
              lifted.n_anchors() == gate.n_anchors && lifted.n_rows() == gate.places.n_rows(),
          "gate must share its codes and neighbors with the lifted rows");
}

}  // namespace hyperlocal::bindings
