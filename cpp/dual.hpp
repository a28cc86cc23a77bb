// Dual coordinate descent over lifted rows, one epoch at a time.
//
// One-vs-rest. For each column c of weights, with labels y_ic = ±1 and z_i the lifted row,
//     max_α D(α) = −½‖w_c‖² − Σ_i C_i ℓ*(−α_ic/C_i),   w_c = Σ_i α_ic y_ic z_i,   (losses.hpp)
// one coordinate at a time, each to its optimum (Hsieh et al. 2008; log loss: Yu et al. 2011).
// A visit to a row updates all its columns, so φ is fetched once. Columns are independent: any
// split of them over threads gives the same bits.
//
// Regression. The same with values y_ic, margins w_c·z_i − y_ic, w_c = Σ_i α_ic z_i, and a loss of
// residuals for each column (Ho and Lin 2012).
//
// Crammer–Singer. min ½‖W‖² + Σ_i C_i ℓ(w_y·z_i − max_{r≠y} w_r·z_i), ℓ a hinge loss.
// Dual variables a_ir with Σ_r a_ir = 0, a_ir ≤ 0 for r ≠ y_i (and a_iy ≤ C_i for hinge),
// W_r = Σ_i a_ir z_i; a row's variables are optimized together (Keerthi et al. 2008).
//
// Shrinking is per (row, column): a variable at its bound whose gradient points outwards by more
// than the largest violation of the last epoch is switched off until the next full check.
#pragma once

#include <algorithm>
#include <limits>
#include <memory>
#include <vector>

#include "lifted.hpp"
#include "losses.hpp"

namespace hyperlocal {

// Labels ±1 per row and column: `target[i]` is the column in which row i is positive, or −1 for
// none.
template <class T>
struct ClassTargets {
  const Column* target;
  Loss loss;

  T sign(Index row, Index column) const { return target[row] == column ? 1 : -1; }
  double margin(Index row, Index column, T score) const {
    return double(sign(row, column)) * double(score);
  }
  Loss column_loss(Index) const { return loss; }
};

// Values per row and column.
template <class T>
struct ValueTargets {
  const T* values;             // N × c
  const ResidualLoss* losses;  // c
  Index n_columns;

  T sign(Index, Index) const { return 1; }
  double margin(Index row, Index column, T score) const {
    return double(score) - double(values[row * n_columns + column]);
  }
  const ResidualLoss& column_loss(Index column) const { return losses[column]; }
};

// What is given: a class per row, or values and losses (`target` is null then).
template <class T>
struct DualProblem {
  const Lifted<T>& lifted;
  const Column* target;
  const T* costs;          // C_i
  const T* squared_norms;  // ‖z_i‖²
  Index n_columns;
  Loss loss;
  bool crammer_singer;
  const T* values = nullptr;
  const ResidualLoss* residual_losses = nullptr;

  bool is_regression() const { return values != nullptr; }
  ClassTargets<T> classes() const { return {target, loss}; }
  ValueTargets<T> valued() const { return {values, residual_losses, n_columns}; }

  // Columns that are optimized together share a report and bounds.
  Index n_groups() const { return crammer_singer ? 1 : n_columns; }
};

// What an epoch reports of a column: the duality gap as estimated at the visits, the growth of D,
// and the range of the projected gradients.
struct ColumnReport {
  double gap = 0;
  double gain = 0;
  double largest = -std::numeric_limits<double>::infinity();
  double smallest = std::numeric_limits<double>::infinity();
};

// A thread's own copy of some columns' reports, written back at the end: written in place at every
// visit, those of adjacent columns would move between two threads' caches.
class OwnReports {
 public:
  OwnReports(ColumnReport* reports, Range columns)
      : reports_(reports + columns.begin),
        begin_(columns.begin),
        own_(reports + columns.begin, reports + columns.end) {}
  OwnReports(const OwnReports&) = delete;
  ~OwnReports() { std::copy(own_.begin(), own_.end(), reports_); }
  ColumnReport& operator[](Index column) { return own_[column - begin_]; }

 private:
  ColumnReport* reports_;
  Index begin_;
  std::vector<ColumnReport> own_;
};

// Beyond which gradients a variable at its bound is switched off.
struct ShrinkBounds {
  double above = std::numeric_limits<double>::infinity();
  double below = -std::numeric_limits<double>::infinity();

  bool exclude(Loss loss, double alpha, double cost, double gradient) const {
    if (loss == Loss::log) return false;  // no variable ever reaches a bound
    if (alpha <= 0) return gradient > above;
    return loss == Loss::hinge && alpha >= cost && gradient < below;
  }

  // Within the tube at zero, or beyond it at a bound.
  bool exclude(const ResidualLoss& loss, double alpha, double cost, double gradient) const {
    if (alpha == 0) return gradient + loss.epsilon > above && gradient - loss.epsilon < below;
    if (loss.at_lower(alpha, cost)) return gradient - loss.epsilon > above;
    return loss.at_upper(alpha, cost) && gradient + loss.epsilon < below;
  }
};

// What changes, and the bounds of each group of columns.
template <class T>
struct DualState {
  const DualProblem<T>& problem;
  T* weights;            // m × c × (p+1)
  T* alpha;              // N × c
  std::uint8_t* active;  // N × c
  const ShrinkBounds* bounds;
  // How many columns the arrays have, and which is the first of them.
  Index stride = problem.n_columns, first = 0;

  static constexpr Index visits_ahead = 32;

  // Asks for the memory of a row that is visited soon.
  void prefetch_visit(Visits visits, Index visit) const {
    if (visit + visits_ahead >= visits.size) return;
    const Index row = visits[visit + visits_ahead];
    problem.lifted.prefetch_row(row);
    prefetch(alpha + row * stride);
    prefetch(active + row * stride);
    if (problem.is_regression())
      prefetch(problem.values + row * problem.n_columns);
    else
      prefetch(problem.target + row);
    prefetch(problem.costs + row);
    prefetch(problem.squared_norms + row);
  }
};

namespace detail {

inline double projected_gradient(Loss loss, double alpha, double cost, double gradient) {
  if (alpha <= 0) return std::min(gradient, 0.0);
  if (loss == Loss::hinge && alpha >= cost) return std::max(gradient, 0.0);
  return gradient;
}

inline double projected_gradient(const ResidualLoss& loss, double alpha, double cost,
                                 double gradient) {
  const double growing = gradient + loss.epsilon, falling = gradient - loss.epsilon;
  if (alpha == 0) return growing < 0 ? growing : std::max(falling, 0.0);
  if (loss.at_lower(alpha, cost)) return std::min(falling, 0.0);
  if (loss.at_upper(alpha, cost)) return std::max(growing, 0.0);
  return alpha > 0 ? growing : falling;
}

// Whether variables can rest at a bound, or at the corner of ε|α|.
inline bool has_bounds(Loss loss) {
  return loss != Loss::log;
}
inline bool has_bounds(const ResidualLoss&) {
  return true;
}

// The best value of one variable, given its row's margin; reports the gap and the gradient, and
// switches the variable off where it is beyond the bounds.
template <class T, class AnyLoss>
HYPERLOCAL_INLINE T next_alpha(const AnyLoss& loss, T alpha, double margin, double q, double cost,
                               const ShrinkBounds& bounds, std::uint8_t& active,
                               ColumnReport& report) {
  report.gap += gap_share(loss, alpha, margin, cost);
  if (has_bounds(loss)) {
    const double gradient = dual_gradient(loss, alpha, margin, cost);
    if (bounds.exclude(loss, alpha, cost, gradient)) {
      active = 0;
      return alpha;
    }
    const double projected = projected_gradient(loss, alpha, cost, gradient);
    report.largest = std::max(report.largest, projected);
    report.smallest = std::min(report.smallest, projected);
    if (projected == 0) return alpha;
  }
  const T next = static_cast<T>(dual_optimum(loss, alpha, margin, q, cost));
  if (next != alpha) report.gain += dual_gain(loss, alpha, next, margin, q, cost);
  return next;
}

template <class T, class Targets>
HYPERLOCAL_INLINE void visit_variable(const DualProblem<T>& problem, const Targets& targets,
                                      const DualState<T>& state, Index row, const RowView<T>& x,
                                      Index column, Index stride, Index first,
                                      ColumnReport& report) {
  const Index variable = row * stride + column - first;
  const T alpha = state.alpha[variable];
  const T score = problem.lifted.dot(row, x, state.weights, stride, column - first);
  const T next = next_alpha(targets.column_loss(column), alpha, targets.margin(row, column, score),
                            problem.squared_norms[row], problem.costs[row], state.bounds[column],
                            state.active[variable], report);
  if (next == alpha) return;
  state.alpha[variable] = next;
  problem.lifted.axpy(row, x, targets.sign(row, column) * (next - alpha), state.weights, stride,
                      column - first);
}

template <class T, class Targets>
HYPERLOCAL_INLINE void visit_rows(const DualProblem<T>& problem, const Targets& targets,
                                  const DualState<T>& state, Index stride, Index first,
                                  Visits visits, Range columns, ColumnReport* all_reports) {
  RowBuffer<T> buffer;
  OwnReports reports(all_reports, columns);
  for (Index visit = 0; visit < visits.size; ++visit) {
    state.prefetch_visit(visits, visit);
    const Index row = visits[visit];
    const Index start = row * stride - first;
    Index column = columns.begin;
    while (column < columns.end && !state.active[start + column]) ++column;
    if (column == columns.end) continue;
    const RowView<T> x = problem.lifted.fetch(row, buffer);
    for (; column < columns.end; ++column)
      if (state.active[start + column])
        visit_variable(problem, targets, state, row, x, column, stride, first, reports[column]);
  }
}

// Some columns' weights, and their variables of the visited rows, in memory of a thread's own,
// written back at the end. Adjacent columns have cache lines in common, in each of the weights'
// blocks: these would move between the caches of two threads at every visit, and take longer than
// the visit.
template <class T>
class OwnColumns {
 public:
  OwnColumns(const DualState<T>& state, Visits visits, Range columns)
      : all_(state),
        visits_(visits),
        columns_(columns),
        n_blocks_(state.problem.lifted.n_blocks()),
        width_(state.problem.lifted.block_width()),
        weights_(new T[n_blocks_ * columns.size() * width_]),
        alpha_(new T[state.problem.lifted.n_rows() * columns.size()]),
        active_(new std::uint8_t[state.problem.lifted.n_rows() * columns.size()]),
        own_{state.problem, weights_.get(), alpha_.get(), active_.get(),
             state.bounds,  columns.size(), columns.begin} {
    copy(all_, own_);
  }
  OwnColumns(const OwnColumns&) = delete;
  ~OwnColumns() { copy(own_, all_); }
  const DualState<T>& state() const { return own_; }

 private:
  void copy(const DualState<T>& from, const DualState<T>& to) const {
    const Index n = columns_.size();
    const auto start = [&](const DualState<T>& state, Index i) {
      return i * state.stride + columns_.begin - state.first;
    };
    for (Index block = 0; block < n_blocks_; ++block)
      std::copy_n(from.weights + start(from, block) * width_, n * width_,
                  to.weights + start(to, block) * width_);
    for (Index visit = 0; visit < visits_.size; ++visit) {
      const Index source = start(from, visits_[visit]), place = start(to, visits_[visit]);
      std::copy_n(from.alpha + source, n, to.alpha + place);
      std::copy_n(from.active + source, n, to.active + place);
    }
  }

  const DualState<T>& all_;
  Visits visits_;
  Range columns_;
  Index n_blocks_, width_;
  std::unique_ptr<T[]> weights_, alpha_;
  std::unique_ptr<std::uint8_t[]> active_;
  DualState<T> own_;
};

// Columns that are separate problems. One column gets code of its own, compiled for it: a fifth
// faster.
template <class T>
void column_epoch(const DualState<T>& state, Visits visits, Range columns, ColumnReport* reports) {
  const auto visit = [&](const DualProblem<T>& problem, const DualState<T>& own, Index stride,
                         Index first, Range range) {
    if (problem.is_regression())
      visit_rows(problem, problem.valued(), own, stride, first, visits, range, reports);
    else
      visit_rows(problem, problem.classes(), own, stride, first, visits, range, reports);
  };
  if (state.problem.n_columns == 1 && columns.size() == 1) {
    DualProblem<T> single = state.problem;
    single.n_columns = 1;
    visit(single, state, 1, 0, {0, 1});
  } else if (columns.size() < state.problem.n_columns) {
    const OwnColumns<T> own(state, visits, columns);
    visit(state.problem, own.state(), columns.size(), columns.begin, columns);
  } else {
    visit(state.problem, state, state.problem.n_columns, 0, columns);
  }
}

// Equal rows with different labels are two heavy variables whose lifted rows are opposite: one at a
// time they climb in tiny steps. Together they have a one-dimensional optimum. With the score f,
// the sums P and N of the costs of positive and negative rows, b = Σ_i y_i α_i and π = −ℓ', it is
// where
//     f' = f + q (P π(f') − N π(−f') − b),   α_i = C_i π(y_i f').
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

template <class T, class Targets>
void column_check(const DualState<T>& state, const Targets& targets, Range range, const T* scores,
                  double* losses, double* gaps) {
  const DualProblem<T>& problem = state.problem;
  for (Index row = range.begin; row < range.end; ++row) {
    for (Index column = 0; column < problem.n_columns; ++column) {
      const Index variable = row * problem.n_columns + column;
      const auto& loss = targets.column_loss(column);
      const double cost = problem.costs[row];
      const double alpha = state.alpha[variable];
      const double margin = targets.margin(row, column, *scores++);
      losses[column] += cost * loss_value(loss, margin);
      gaps[column] += gap_share(loss, alpha, margin, cost);
      const double gradient = dual_gradient(loss, alpha, margin, cost);
      state.active[variable] = !state.bounds[column].exclude(loss, alpha, cost, gradient);
    }
  }
}

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

// A row at rest whose lead exceeds the margin by more than the bound needs no visits.
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

// Visits rows; `reports` holds one entry per group. Crammer–Singer takes all columns.
template <class T>
void dual_epoch(const DualState<T>& state, Visits visits, Range columns, ColumnReport* reports) {
  if (columns.size() == 0) return;
  if (state.problem.crammer_singer)
    detail::crammer_singer_epoch(state, visits, *reports);
  else
    detail::column_epoch(state, visits, columns, reports);
}

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
