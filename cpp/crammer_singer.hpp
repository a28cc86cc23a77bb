// Dual coordinate descent for Crammer and Singer's joint problem of all classes.
//
//     min ½‖W‖² + Σ_i C_i ℓ(w_y·z_i − max_{r≠y} w_r·z_i),   ℓ a hinge loss.
// Dual variables a_ir with Σ_r a_ir = 0, a_ir ≤ 0 for r ≠ y_i (and a_iy ≤ C_i for hinge),
// W_r = Σ_i a_ir z_i; a row's variables are optimized together (Keerthi et al. 2008).
#pragma once

#include <algorithm>
#include <limits>
#include <vector>

#include "dual_problem.hpp"

namespace hyperlocal {

namespace detail {

// The margin of a row: how far the score of its class exceeds that of the best rival.
template <class T>
double lead(const T* scores, Index n_columns, Index truth) {
  double best = -std::numeric_limits<double>::infinity();
  for (Index r = 0; r < n_columns; ++r)
    if (r != truth) best = std::max(best, double(scores[r]));
  return double(scores[truth]) - best;
}

// C_i ℓ(lead) + Σ_r a_r s_r + C_i ℓ*(−a_y/C_i): the row's share of the duality gap.
template <class T>
double crammer_singer_gap(Loss loss, const T* a, const T* scores, Index n_columns, Index truth,
                          double cost) {
  double linear = 0;
  for (Index r = 0; r < n_columns; ++r) linear += double(a[r]) * double(scores[r]);
  return cost * loss_value(loss, lead(scores, n_columns, truth)) + linear +
         conjugate_value(loss, a[truth], cost);
}

// How far the row's optimality conditions are violated: weight moves from the class of the
// largest gradient to that of the smallest gradient whose variable may still grow.
template <class T>
double crammer_singer_violation(Loss loss, const T* a, const T* scores, Index n_columns,
                                Index truth, double cost) {
  double largest = -std::numeric_limits<double>::infinity();
  double smallest = std::numeric_limits<double>::infinity();
  for (Index r = 0; r < n_columns; ++r) {
    const bool is_truth = r == truth;
    double gradient = double(scores[r]) + (is_truth ? 0 : 1);
    if (is_truth && loss == Loss::squared_hinge) gradient += double(a[r]) / (2 * cost);
    largest = std::max(largest, gradient);
    const bool may_grow = is_truth ? (loss != Loss::hinge || a[r] < cost) : a[r] < 0;
    if (may_grow) smallest = std::min(smallest, gradient);
  }
  return largest - smallest;
}

// A row whose variables are zero and whose lead exceeds the margin by more than the bound needs no
// visits.
template <class T>
bool crammer_singer_exclude(const ShrinkBounds& bounds, const T* a, const T* scores,
                            Index n_columns, Index truth) {
  return a[truth] == 0 && lead(scores, n_columns, truth) - 1 > bounds.above;
}

// min Σ_r ½ q a_r² + g_r a_r (+ a_y²/4C), Σa = 0, a_r ≤ 0 for r ≠ y, a_y ≤ bound.
// Stationarity gives a_r = min(0, (β − g_r)/q) and a_y = min(bound, (β − g_y)/q_y): Σa grows with β
// and is linear between breaks, so rivals enter in the order of their g until it reaches zero.
inline void solve_row(const double* g, Index n_columns, Index truth, double q, double q_truth,
                      double bound, Column* order, double* a) {
  Index n_rivals = 0;
  for (Index r = 0; r < n_columns; ++r)
    if (r != truth) order[n_rivals++] = static_cast<Column>(r);
  std::sort(order, order + n_rivals, [g](Column i, Column j) { return g[i] > g[j]; });
  // With rivals order[0 … count-1] below zero and a_y free: (β − g_y)/q_y + Σ (β − g_r)/q = 0.
  const auto threshold = [&](double free_sum, double free_slope, bool at_bound) {
    return at_bound ? (free_sum - bound) / free_slope
                    : (free_sum + g[truth] / q_truth) / (free_slope + 1 / q_truth);
  };
  double beta = g[truth];
  double free_sum = 0, free_slope = 0;
  bool at_bound = false;
  for (Index count = 1; count <= n_rivals; ++count) {
    const double entering = g[order[count - 1]];
    if (entering <= beta) break;
    free_sum += entering / q;
    free_slope += 1 / q;
    beta = threshold(free_sum, free_slope, false);
    at_bound = (beta - g[truth]) / q_truth > bound;
    if (at_bound) beta = threshold(free_sum, free_slope, true);
  }
  double total = 0;
  for (Index r = 0; r < n_columns; ++r) {
    if (r == truth) continue;
    a[r] = std::min(0.0, (beta - g[r]) / q);
    total += a[r];
  }
  a[truth] = at_bound ? bound : -total;
}

}  // namespace detail

// Scratch of Crammer–Singer's rows, and the row's next variables.
template <class T>
struct CrammerSingerRow {
  std::vector<T> scores;
  std::vector<double> g, solution;
  std::vector<Column> ranking;
  std::vector<T> next;

  explicit CrammerSingerRow(Index n_columns)
      : scores(n_columns), g(n_columns), solution(n_columns), ranking(n_columns), next(n_columns) {}

  // From the scores: the best values of the row's variables, into `next`. False if they may stay.
  bool advance(const DualState<T>& state, Index row, double q, ColumnReport& report) {
    const DualProblem<T>& problem = state.problem;
    const Index n_columns = problem.n_columns, truth = problem.target[row];
    const T* a = state.alpha + row * n_columns;
    const Loss loss = problem.loss;
    const double cost = problem.costs[row];
    std::copy_n(a, n_columns, next.data());
    report.gap += detail::crammer_singer_gap(loss, a, scores.data(), n_columns, truth, cost);
    if (detail::crammer_singer_exclude(*state.bounds, a, scores.data(), n_columns, truth)) {
      std::fill_n(state.active + row * n_columns, n_columns, std::uint8_t(0));
      return false;
    }
    const double violation =
        detail::crammer_singer_violation(loss, a, scores.data(), n_columns, truth, cost);
    report.largest = std::max(report.largest, violation);
    if (violation <= 0) return false;
    // A row of zeros still has an optimum; the floor keeps differences of its g above rounding.
    q = std::max(q, 1e-12);
    const double extra = loss == Loss::squared_hinge ? 1 / (2 * cost) : 0;
    for (Index r = 0; r < n_columns; ++r)
      g[r] = double(scores[r]) + (r == truth ? 0 : 1) - q * double(a[r]);
    const double bound = loss == Loss::hinge ? cost : std::numeric_limits<double>::infinity();
    detail::solve_row(g.data(), n_columns, truth, q, q + extra, bound, ranking.data(),
                      solution.data());
    report.gain +=
        conjugate_value(loss, a[truth], cost) - conjugate_value(loss, solution[truth], cost);
    for (Index r = 0; r < n_columns; ++r) {
      next[r] = static_cast<T>(solution[r]);
      const double step = double(next[r]) - double(a[r]);
      report.gain -= step * double(scores[r]) + 0.5 * q * step * step;
    }
    return true;
  }
};

namespace detail {

// All columns of a row are one block.
template <class T>
void crammer_singer_epoch(const DualState<T>& state, Visits visits, ColumnReport& report) {
  const DualProblem<T>& problem = state.problem;
  const Index n_columns = problem.n_columns;
  RowBuffer<T> buffer;
  CrammerSingerRow<T> visited(n_columns);
  for (Index visit = 0; visit < visits.size; ++visit) {
    state.prefetch_visit(visits, visit);
    const Index row = visits[visit];
    std::uint8_t* active = state.active + row * n_columns;
    if (!active[0]) continue;
    const RowView<T> x = problem.lifted.fetch(row, buffer);
    T* a = state.alpha + row * n_columns;
    for (Index r = 0; r < n_columns; ++r)
      visited.scores[r] = problem.lifted.dot(row, x, state.weights, n_columns, r);
    if (!visited.advance(state, row, problem.squared_norms[row], report)) continue;
    for (Index r = 0; r < n_columns; ++r) {
      const T step = visited.next[r] - a[r];
      if (step == 0) continue;
      a[r] = visited.next[r];
      problem.lifted.axpy(row, x, step, state.weights, n_columns, r);
    }
  }
}

// A row is switched on or off as a whole.
template <class T>
void crammer_singer_check(const DualState<T>& state, Range range, const T* scores, double& loss,
                          double& gap) {
  const DualProblem<T>& problem = state.problem;
  const Index n_columns = problem.n_columns;
  for (Index row = range.begin; row < range.end; ++row, scores += n_columns) {
    const T* a = state.alpha + row * n_columns;
    const Index truth = problem.target[row];
    const double cost = problem.costs[row];
    loss += cost * loss_value(problem.loss, lead(scores, n_columns, truth));
    gap += crammer_singer_gap(problem.loss, a, scores, n_columns, truth, cost);
    const bool active = !crammer_singer_exclude(*state.bounds, a, scores, n_columns, truth);
    std::fill_n(state.active + row * n_columns, n_columns, std::uint8_t(active));
  }
}

}  // namespace detail

}  // namespace hyperlocal
