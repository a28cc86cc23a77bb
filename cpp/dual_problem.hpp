// What is given to dual coordinate descent, what changes, and what an epoch reports. The problems
// are stated in dual_columns.hpp and crammer_singer.hpp.
//
// Shrinking is per (row, column): a variable at its bound whose gradient points outwards by more
// than the largest violation of the last epoch is switched off until the next full check.
#pragma once

#include <algorithm>
#include <limits>
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

}  // namespace hyperlocal
