// Dual coordinate descent over lifted rows, one epoch at a time: the steps that the loop in Python
// calls, for any of the problems.
#pragma once

#include "crammer_singer.hpp"
#include "dual_columns.hpp"
#include "equal_rows.hpp"

namespace hyperlocal {

// Visits rows; `reports` holds one entry per group. Crammer–Singer takes all columns.
template <class T>
void dual_epoch(const DualState<T>& state, Visits visits, Range columns, ColumnReport* reports) {
  if (columns.size() == 0) return;
  if (state.problem.crammer_singer)
    detail::crammer_singer_epoch(state, visits, *reports);
  else
    detail::column_epoch(state, visits, columns, reports);
}

// The full check: from the scores of a range of rows under the present weights, the sum of losses
// and the exact gap per group; determines anew which variables are active.
template <class T>
void dual_check(const DualState<T>& state, Range range, const T* scores, double* losses,
                double* gaps) {
  if (state.problem.crammer_singer)
    detail::crammer_singer_check(state, range, scores, *losses, *gaps);
  else if (state.problem.is_regression())
    detail::column_check(state, state.problem.valued(), range, scores, losses, gaps);
  else
    detail::column_check(state, state.problem.classes(), range, scores, losses, gaps);
}

}  // namespace hyperlocal
