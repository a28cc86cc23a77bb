// Checks that several bindings share: columns and reports of the dual problem, gates that learn.
#pragma once

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

template <class T>
void require_codes_of(const MovingGate<T>& gate, const Lifted<T>& lifted) {
  require(lifted.codes().weights == gate.codes && lifted.codes().anchors == gate.neighbors &&
              lifted.n_anchors() == gate.n_anchors && lifted.n_rows() == gate.places.n_rows(),
          "gate must share its codes and neighbors with the lifted rows");
}

}  // namespace hyperlocal::bindings
