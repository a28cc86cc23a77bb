// Dual coordinate descent where the columns of weights are separate problems.
//
// One-vs-rest. For each column c of weights, with labels y_ic = ±1 and z_i the lifted row,
//     max_α D(α) = −½‖w_c‖² − Σ_i C_i ℓ*(−α_ic/C_i),   w_c = Σ_i α_ic y_ic z_i,   (losses.hpp)
// one coordinate at a time, each to its optimum (Hsieh et al. 2008; log loss: Yu et al. 2011).
// A visit to a row updates all its columns, so φ is fetched once. Columns are independent: any
// split of them over threads gives the same bits.
//
// Regression. The same with values y_ic, margins w_c·z_i − y_ic, w_c = Σ_i α_ic z_i, and a loss of
// residuals for each column (Ho and Lin 2012).
#pragma once

#include <algorithm>
#include <memory>

#include "dual_problem.hpp"

namespace hyperlocal {

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

// Whether variables can stay at a bound, or at the corner of ε|α|.
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

}  // namespace detail

}  // namespace hyperlocal
