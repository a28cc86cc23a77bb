// Equal rows with different labels are two heavy variables whose lifted rows are opposite: one at a
// time they climb in tiny steps. Together they have a one-dimensional optimum. With the score f,
// the sums P and N of the costs of positive and negative rows, b = Σ_i y_i α_i and π = −ℓ', it is
// where
//     f' = f + q (P π(f') − N π(−f') − b),   α_i = C_i π(y_i f').
#pragma once

#include <algorithm>
#include <cmath>

#include "dual_problem.hpp"

namespace hyperlocal {

namespace detail {

struct EqualRowsStep {
  double positive, negative;  // α_i/C_i of either side
};

inline EqualRowsStep equal_rows_hinge(double f, double q, double b, double P, double N) {
  const auto score = [&](double p, double n) { return f + q * (P * p - N * n - b); };
  const double middle = score(1, 1);
  if (middle > 1) {
    if (score(0, 1) >= 1) return {0, 1};
    return {((1 - f) / q + b + N) / P, 1};
  }
  if (middle < -1) {
    if (score(1, 0) <= -1) return {1, 0};
    return {1, (P - b + (1 + f) / q) / N};
  }
  return {1, 1};
}

inline EqualRowsStep equal_rows_squared_hinge(double f, double q, double b, double P, double N) {
  double score = (f + q * (2 * P - 2 * N - b)) / (1 + 2 * q * (P + N));
  if (score > 1) score = (f - q * (2 * N + b)) / (1 + 2 * q * N);
  if (score < -1) score = (f + q * (2 * P - b)) / (1 + 2 * q * P);
  return {2 * std::max(0.0, 1 - score), 2 * std::max(0.0, 1 + score)};
}

inline EqualRowsStep equal_rows_log(double f, double q, double b, double P, double N) {
  double low = f - q * (N + b), high = f + q * (P - b);
  double score = std::min(std::max(f, low), high);
  for (int iteration = 0; iteration < 50; ++iteration) {
    const double p = loss_pull(Loss::log, score), n = loss_pull(Loss::log, -score);
    const double value = score - f - q * (P * p - N * n - b);
    if (std::abs(value) < 1e-12 * (1 + std::abs(score))) break;
    (value > 0 ? high : low) = score;
    score -= value / (1 + q * (P + N) * p * n);
    if (!(score > low && score < high)) score = 0.5 * (low + high);
  }
  return {loss_pull(Loss::log, score), loss_pull(Loss::log, -score)};
}

inline EqualRowsStep equal_rows_optimum(Loss loss, double f, double q, double b, double P,
                                        double N) {
  switch (loss) {
    case Loss::hinge:
      return equal_rows_hinge(f, q, b, P, N);
    case Loss::squared_hinge:
      return equal_rows_squared_hinge(f, q, b, P, N);
    case Loss::log:
      return equal_rows_log(f, q, b, P, N);
  }
  return {0, 0};
}

// One column of one group of equal rows.
template <class T>
void visit_equal_rows(const DualState<T>& state, Visits group, const RowView<T>& x, Index column,
                      ColumnReport& report) {
  const DualProblem<T>& problem = state.problem;
  const ClassTargets<T> targets = problem.classes();
  double b = 0, sums[2] = {0, 0};
  for (Index i = 0; i < group.size; ++i) {
    const Index row = group[i];
    const double sign = targets.sign(row, column);
    b += sign * double(state.alpha[row * problem.n_columns + column]);
    sums[sign > 0] += double(problem.costs[row]);
  }
  const double q = problem.squared_norms[group[0]];
  if (sums[0] == 0 || sums[1] == 0 || q <= 0) return;
  const double f = problem.lifted.dot(group[0], x, state.weights, problem.n_columns, column);
  const EqualRowsStep best = equal_rows_optimum(problem.loss, f, q, b, sums[1], sums[0]);
  double step = 0;
  for (Index i = 0; i < group.size; ++i) {
    const Index row = group[i];
    const double sign = targets.sign(row, column), cost = problem.costs[row];
    T& alpha = state.alpha[row * problem.n_columns + column];
    const T next = static_cast<T>(cost * (sign > 0 ? best.positive : best.negative));
    step += sign * (double(next) - double(alpha));
    report.gain +=
        conjugate_value(problem.loss, alpha, cost) - conjugate_value(problem.loss, next, cost);
    alpha = next;
  }
  report.gain -= step * f + 0.5 * q * step * step;
  problem.lifted.axpy(group[0], x, static_cast<T>(step), state.weights, problem.n_columns, column);
}

}  // namespace detail

// Solves groups of equal rows, each for all its labels at once (one-vs-rest): rows starts[g] …
// starts[g + 1] − 1 of `rows` are equal.
template <class T>
void dual_equal_rows(const DualState<T>& state, Visits rows, Visits starts, Range columns,
                     ColumnReport* all_reports) {
  RowBuffer<T> buffer;
  OwnReports reports(all_reports, columns);
  for (Index g = 0; g + 1 < starts.size; ++g) {
    const Visits group = rows.from(starts[g], starts[g + 1] - starts[g]);
    const RowView<T> x = state.problem.lifted.fetch(group[0], buffer);
    for (Index column = columns.begin; column < columns.end; ++column)
      detail::visit_equal_rows(state, group, x, column, reports[column]);
  }
}

}  // namespace hyperlocal
