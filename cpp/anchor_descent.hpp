// Recoding dual descent: anchors and weights are learned together.
//
// Dual variables and codes define the weights, W_jc = Σ_i a_ic γ_ij [φ_i; B]
// with a_ic = α_ic y_ic (for values, a_ic = α_ic). A visit gives the row new codes from the present anchors, moves its share
// of W along, and optimizes its α; there is no step size for W. At the optimum over α the
// objective's derivative by γ_ij is p_ij = −Σ_c a_ic s_jc, which the anchors follow. Anchors do not
// move during a batch of rows. Threads share a batch: each takes some of its rows, then some of its
// columns, then some of the anchors, and no result depends on the number of threads.
//
// (The other descent that learns anchors, by stochastic gradient, is in learned_gate.hpp.)
#pragma once

#include <cassert>
#include <functional>

#include "barrier.hpp"
#include "dual.hpp"
#include "moving_gate.hpp"

namespace hyperlocal {

// How anchors move: gradients are averaged over batches and scaled to a length per anchor.
struct AnchorMotion {
  // m × d, average of gradients; in double: in float, small ones would stop to decay
  double* momentum;
  double* spread;       // m, average of their squared lengths
  const double* rates;  // per batch, the length of a step
  Index n_moves;        // batches before this epoch
  Index n_anchors, width, n_rates;

  static constexpr double keep_momentum = 0.9, keep_spread = 0.99;
};

struct AnchorEpochOptions {
  double own_share;  // how much of a row's own share of W counts in the gradients of anchors
  Index batch_size;
  Index n_threads;
};

// One epoch of recoding dual descent, to be run by one or more threads at once.
template <class T>
class AnchorEpoch {
 public:
  AnchorEpoch(const DualState<T>& state, const MovingGate<T>& gate, const AnchorMotion& motion,
              const AnchorEpochOptions& options, Visits visits, ColumnReport* reports,
              std::uint8_t* right)
      : state_(state),
        problem_(state.problem),
        gate_(gate),
        motion_(motion),
        options_(options),
        visits_(visits),
        reports_(reports),
        right_(right),
        barrier_(options.n_threads),
        gamma_(options.batch_size * gate.k),
        scales_(options.batch_size),
        mix_(options.batch_size * gate.k),
        norms_(options.batch_size),
        scores_(options.batch_size * problem_.n_columns),
        pulls_(options.batch_size * problem_.n_columns * gate.k),
        next_(options.batch_size * problem_.n_columns),
        visited_(options.batch_size * problem_.n_columns),
        derivatives_(options.batch_size * gate.k),
        gradient_(gate.n_anchors * gate.places.width()) {}

  const DualProblem<T>& problem() const { return problem_; }
  Index n_threads() const { return options_.n_threads; }

  // Ends all parts (see barrier.hpp); the state is then of no use.
  void cancel() { barrier_.cancel(); }

  // Runs part `part` of the epoch, with the columns of its own; all parts must run at once. Before
  // each batch `before_batch` is called with the batch's number, if there is such a function; it
  // may throw. Returns whether the epoch came to its end.
  bool run(Index part, Range columns, const std::function<void(Index)>& before_batch = {}) {
    assert(0 <= part && part < options_.n_threads);
    return barrier_.run([&] { run_part(part, columns, before_batch); });
  }

 private:
  struct Scratch;

  // What a batch does to a variable: nothing, a visit, or one that leaves or takes a share of W.
  enum Visited : std::uint8_t { rests, is_seen, has_pulls };

  void run_part(Index part, Range columns, const std::function<void(Index)>& before_batch) {
    Scratch own(*this, columns);
    const Index batch_size = options_.batch_size, n_threads = options_.n_threads;
    Index batch = 0;
    for (Index first = 0; first < visits_.size; first += batch_size, ++batch) {
      if (before_batch) before_batch(batch);
      const Visits rows = visits_.from(first, std::min(batch_size, visits_.size - first));
      const Range own_rows = Range::part_of(rows.size, part, n_threads);
      const Range anchors = Range::part_of(gate_.n_anchors, part, n_threads);
      recode(rows, own_rows, own);
      barrier_.wait();
      step(rows, columns, own);
      barrier_.wait();
      sum_derivatives(rows, own_rows);
      barrier_.wait();
      move(rows, anchors, batch, own);
      barrier_.wait();
      if (!gate_.places.is_dense()) own.geometry.measure_anchors(0, gate_.n_anchors);
    }
  }

  struct Scratch {
    RowBuffer<T> buffer;
    detail::LocalGeometry<T> geometry;
    CrammerSingerRow<T> joint;
    OwnReports reports;
    std::vector<double> squared;
    std::vector<T> local_scores;  // columns × k

    Scratch(const AnchorEpoch& epoch, Range columns)
        : geometry(epoch.gate_.places, epoch.gate_.anchors, epoch.gate_.n_anchors, epoch.gate_.k),
          joint(epoch.problem_.n_columns),
          reports(epoch.reports_, epoch.groups_of(columns)),
          squared(epoch.gate_.k),
          local_scores(epoch.problem_.n_columns * epoch.gate_.k) {}
  };

  // Joint columns, which one thread has all of, share a report.
  Range groups_of(Range columns) const {
    if (!problem_.crammer_singer) return columns;
    return {0, std::min(columns.size(), Index(1))};
  }

  // New codes of rows, from the present anchors; the old ones stay until the batch is done.
  void recode(Visits rows, Range share, Scratch& own) {
    const Index k = gate_.k;
    for (Index n = share.begin; n < share.end; ++n) {
      state_.prefetch_visit(rows.from(0, share.end), n);
      const Index row = rows[n];
      own.geometry.set_row(gate_.places.fetch(row, own.buffer), gate_.neighbors + row * k);
      own.geometry.squared_distances(k, own.squared.data());
      double* gamma = gamma_.data() + n * k;
      const double scale = gate_.weigh(row, own.squared.data(), gamma);
      scales_[n] = scale;
      for (Index j = 0; j < k; ++j) mix_[n * k + j] = static_cast<T>(scale * gamma[j]);
      norms_[n] = gate_.lifted_norm(row, scale, gamma);
    }
  }

  // The rows' shares of W follow the new codes, and their dual variables are optimized.
  void step(Visits rows, Range columns, Scratch& own) {
    if (columns.size() == 0) return;
    std::fill(visited_.begin() + place(0, columns.begin), visited_.begin() + place(0, columns.end),
              rests);
    for (Index n = 0; n < rows.size; ++n) {
      const Index row = rows[n];
      const RowView<T> x = problem_.lifted.fetch(row, own.buffer);
      if (problem_.crammer_singer) {
        step_jointly(n, row, x, own);
      } else {
        const Index start = row * problem_.n_columns;
        for (Index column = columns.begin; column < columns.end; ++column) {
          if (state_.alpha[start + column] == 0 && !state_.active[start + column]) continue;
          if (problem_.is_regression())
            step_alone(problem_.valued(), n, row, x, column, own);
          else
            step_alone(problem_.classes(), n, row, x, column, own);
        }
      }
    }
  }

  template <class Targets>
  void step_alone(const Targets& targets, Index n, Index row, const RowView<T>& x, Index column,
                  Scratch& own) {
    const Index variable = row * problem_.n_columns + column;
    const T alpha = state_.alpha[variable];
    const T label = targets.sign(row, column);
    T* local_scores = own.local_scores.data();
    const T score = recoded_score(n, row, x, column, label * alpha, local_scores);
    scores_[place(n, column)] = score;
    const T next = detail::next_alpha(
        targets.column_loss(column), alpha, targets.margin(row, column, score), norms_[n],
        problem_.costs[row], state_.bounds[column], state_.active[variable], own.reports[column]);
    next_[place(n, column)] = next;
    apply_change(n, row, x, column, label * alpha, label * next, local_scores);
  }

  void step_jointly(Index n, Index row, const RowView<T>& x, Scratch& own) {
    const Index n_columns = problem_.n_columns, k = gate_.k;
    const T* a = state_.alpha + row * n_columns;
    CrammerSingerRow<T>& joint = own.joint;
    bool any = state_.active[row * n_columns];
    for (Index r = 0; r < n_columns; ++r) any |= a[r] != 0;
    if (!any) return;
    for (Index r = 0; r < n_columns; ++r) {
      joint.scores[r] = recoded_score(n, row, x, r, a[r], own.local_scores.data() + r * k);
      scores_[place(n, r)] = joint.scores[r];
    }
    joint.advance(state_, row, norms_[n], own.reports[0]);
    for (Index r = 0; r < n_columns; ++r) {
      next_[place(n, r)] = joint.next[r];
      apply_change(n, row, x, r, a[r], joint.next[r], own.local_scores.data() + r * k);
    }
  }

  // The row's score once its share a·γ of W follows the new codes. Where a ≠ 0, `local_scores`
  // become the anchors' own local_scores.
  T recoded_score(Index n, Index row, const RowView<T>& x, Index column, T a,
                  T* local_scores) const {
    const T* mix = mix_.data() + n * gate_.k;
    if (a == 0) return problem_.lifted.dot(row, x, mix, state_.weights, problem_.n_columns, column);
    const T* old = gate_.codes + row * gate_.k;
    const T norm = gate_.row_norms[row];
    problem_.lifted.local_dots(row, x, state_.weights, problem_.n_columns, column, local_scores);
    T score = 0;
    for (Index j = 0; j < gate_.k; ++j) {
      local_scores[j] += a * (mix[j] - old[j]) * norm;
      score += mix[j] * local_scores[j];
    }
    return score;
  }

  // Puts the row's new share into W, and writes down −a s_j for the anchors. Of the row's own share
  // of s_j only a part counts: with all of it, anchors overfit single rows.
  void apply_change(Index n, Index row, const RowView<T>& x, Index column, T before, T after,
              T* local_scores) {
    const Index k = gate_.k, n_columns = problem_.n_columns;
    const bool has_share = before != 0 || after != 0;
    visited_[place(n, column)] = has_share ? has_pulls : is_seen;
    if (!has_share) return;
    T* pulls = pulls_.data() + place(n, column) * k;
    const T* mix = mix_.data() + n * k;
    const T* old = gate_.codes + row * k;
    const T norm = gate_.row_norms[row];
    if (before == 0)
      problem_.lifted.local_dots(row, x, state_.weights, n_columns, column, local_scores);
    const T counted = after - before - static_cast<T>(1 - options_.own_share) * after;
    for (Index j = 0; j < k; ++j) pulls[j] = -after * (local_scores[j] + counted * mix[j] * norm);
    problem_.lifted.add_blocks(
        row, x, [=](Index j) { return after * mix[j] - before * old[j]; }, state_.weights,
        n_columns, column);
  }

  // Stores the new codes and variables, and sums the derivatives of all columns by the codes, in
  // their order. (In `step` threads with adjacent columns would write side by side.)
  // Notes whether the rows were right, which those with values never are.
  void sum_derivatives(Visits rows, Range share) {
    const Index k = gate_.k;
    for (Index n = share.begin; n < share.end; ++n) {
      const Index row = rows[n];
      double* p = derivatives_.data() + n * k;
      std::fill_n(p, k, 0.0);
      bool any = false;
      for (Index column = 0; column < problem_.n_columns; ++column) {
        if (visited_[place(n, column)] != has_pulls) continue;
        state_.alpha[row * problem_.n_columns + column] = next_[place(n, column)];
        const T* pulls = pulls_.data() + place(n, column) * k;
        for (Index j = 0; j < k; ++j) p[j] += double(pulls[j]);
        any = true;
      }
      if (any) gate_.pull_back(gamma_.data() + n * k, scales_[n], p);
      std::copy_n(mix_.data() + n * k, k, gate_.codes + row * k);
      gate_.squared_norms[row] = norms_[n];
      right_[row] = !problem_.is_regression() && is_right(n, problem_.target[row]);
    }
  }

  // Whether the largest score (or the sign of the only one) is the row's own.
  bool is_right(Index n, Index truth) const {
    const auto score = [&](Index column) -> T {  // at least, where it rests
      if (visited_[place(n, column)] != rests) return scores_[place(n, column)];
      return column == truth ? 1 : -1;
    };
    if (problem_.n_columns == 1) return (score(0) > 0) == (truth == 0);
    const T own = score(truth);
    for (Index column = 0; column < problem_.n_columns; ++column) {
      const T other = score(column);
      if (other > own || (other == own && column < truth)) return false;
    }
    return true;
  }

  // Index of the n-th row of a batch and a column. Columns are stored one after the other,
  // so that threads with some of them each do not write side by side.
  Index place(Index n, Index column) const { return column * options_.batch_size + n; }

  void move(Visits rows, Range anchors, Index batch, Scratch& own) {
    const Index k = gate_.k, width = gate_.places.width();
    std::fill(gradient_.begin() + anchors.begin * width, gradient_.begin() + anchors.end * width,
              T(0));
    for (Index n = 0; n < rows.size; ++n) {
      const double* coefficients = derivatives_.data() + n * k;
      const Column* neighbors = gate_.neighbors + rows[n] * k;
      for (Index j = 0; j < k; ++j) {
        if (coefficients[j] == 0 || neighbors[j] < anchors.begin || neighbors[j] >= anchors.end)
          continue;
        detail::add_difference(
            gate_.places.fetch(rows[n], own.buffer), width, static_cast<T>(coefficients[j]),
            gate_.anchors + neighbors[j] * width, gradient_.data() + neighbors[j] * width);
      }
    }
    const double moves = double(motion_.n_moves + batch + 1);
    const double momentum_mass = 1 - std::pow(AnchorMotion::keep_momentum, moves);
    const double spread_mass = 1 - std::pow(AnchorMotion::keep_spread, moves);
    for (Index anchor = anchors.begin; anchor < anchors.end; ++anchor) {
      const T* gradient = gradient_.data() + anchor * width;
      double* momentum = motion_.momentum + anchor * width;
      double length = 0;
#pragma omp simd reduction(+ : length)
      for (Index v = 0; v < width; ++v) length += double(gradient[v]) * double(gradient[v]);
      double& spread = motion_.spread[anchor];
      spread += (1 - AnchorMotion::keep_spread) * (length - spread);
      const double fresh = 1 - AnchorMotion::keep_momentum;
#pragma omp simd
      for (Index v = 0; v < width; ++v) momentum[v] += fresh * (double(gradient[v]) - momentum[v]);
      if (!(spread > 0)) continue;
      const double rate = motion_.rates[batch] / momentum_mass / std::sqrt(spread / spread_mass);
      T* position = gate_.anchors + anchor * width;
#pragma omp simd
      for (Index v = 0; v < width; ++v) position[v] -= static_cast<T>(rate * momentum[v]);
    }
  }

  DualState<T> state_;
  DualProblem<T> problem_;
  MovingGate<T> gate_;
  AnchorMotion motion_;
  AnchorEpochOptions options_;
  Visits visits_;
  ColumnReport* reports_;
  std::uint8_t* right_;
  Barrier barrier_;
  std::vector<double> gamma_, scales_;
  std::vector<T> mix_, norms_, scores_, pulls_, next_;
  std::vector<Visited> visited_;
  std::vector<double> derivatives_;
  std::vector<T> gradient_;
};

}  // namespace hyperlocal
