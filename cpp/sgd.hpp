// Stochastic gradient over lifted rows: Algorithm 1 of Ladický and Torr (2011), SVMSGD2.
//
//     min λ/2‖W‖² + (1/Σs) Σ_i s_i ℓ_i(W, b),   step 1/(λ(t + t0)) at visit t.
// The weights decay every `skip` visits only, W ← W (1 − skip/(t + t0)); biases do not decay unless
// requested. At the same moments the iterate joins an average in which iterate t weighs t³, so that
// early iterates fade (Shamir and Zhang 2013).
//
// A visit touches what its row touches: the iterate and the average are kept as multiples of stored
// arrays, W = s V and mean = b (U + a V), and decay and averaging change the three numbers.
#pragma once

#include "lifted.hpp"
#include "losses.hpp"

namespace hyperlocal {

template <class T>
struct SgdProblem {
  const Lifted<T>& lifted;
  const Column* target;
  const T* costs;  // s_i · N/Σs
  Index n_columns;
  Loss loss;
  bool crammer_singer;
  const T* values = nullptr;  // N × c of a regression, with a loss per column; no target then
  const ResidualLoss* residual_losses = nullptr;
};

struct SgdSchedule {
  double lambda;
  double t0;
  Index skip;
  bool decay_bias;
};

template <class T>
struct SgdState {
  T* weights;
  T* average;     // null: no averaging
  double visits;  // t
};

namespace detail {

// The iterate and its average, W = s V and mean = b (U + a V), of a range of columns.
template <class T>
class LazyWeights {
 public:
  LazyWeights(const SgdProblem<T>& problem, SgdState<T>& state, Range columns, bool decay_bias)
      : problem_(problem),
        v_(state.weights),
        u_(state.average),
        columns_(columns),
        n_spared_(decay_bias ? 0 : 1) {}

  T scale() const { return static_cast<T>(s_); }
  const T* stored() const { return v_; }

  // W_c += step · lifted_i, which leaves the average as it is: U −= a ΔV.
  HYPERLOCAL_INLINE void add(Index row, const RowView<T>& x, double step, Index column) {
    const double change = step / s_;
    problem_.lifted.axpy(row, x, static_cast<T>(change), v_, problem_.n_columns, column);
    if (u_ != nullptr && a_ != 0)
      problem_.lifted.axpy(row, x, static_cast<T>(-a_ * change), u_, problem_.n_columns, column);
  }

  // W ← keep · W, biases apart unless they decay too; then mean += share · (W − mean).
  void decay(double keep, double share) {
    if (s_ * keep < smallest || b_ * (1 - share) < smallest) return store(keep, share);
    s_ *= keep;
    for_each_block([&](Index start, Index width) {
      if (n_spared_ == 0) return;
      const Index bias = start + width - 1;
      const T grown = static_cast<T>(double(v_[bias]) / keep);
      if (u_ != nullptr) u_[bias] -= static_cast<T>(a_) * (grown - v_[bias]);
      v_[bias] = grown;
    });
    b_ *= 1 - share;
    a_ += share * s_ / b_;
  }

  // The same at once in the stored arrays, which then are W and its average.
  void store(double keep = 1, double share = 0) {
    const T s = static_cast<T>(s_), a = static_cast<T>(a_), b = static_cast<T>(b_);
    const T kept = static_cast<T>(s_ * keep), taken = static_cast<T>(share);
    for_each_block([&](Index start, Index width) {
      T *v = v_ + start, *u = u_ == nullptr ? nullptr : u_ + start;
      if (u != nullptr) {
#pragma omp simd
        for (Index i = 0; i < width; ++i) u[i] = b * (u[i] + a * v[i]);
      }
#pragma omp simd
      for (Index i = 0; i < width - n_spared_; ++i) v[i] *= kept;
      if (n_spared_ == 1) v[width - 1] *= s;
      if (u != nullptr) {
#pragma omp simd
        for (Index i = 0; i < width; ++i) u[i] += taken * (v[i] - u[i]);
      }
    });
    s_ = b_ = 1;
    a_ = 0;
  }

 private:
  // Below it the numbers are made one again: sums of large numbers would lose digits.
  static constexpr double smallest = 1e-4;

  template <class Action>
  void for_each_block(Action action) {
    const Index width = problem_.lifted.block_width();
    for (Index block = 0; block < problem_.lifted.n_blocks(); ++block)
      for (Index column = columns_.begin; column < columns_.end; ++column)
        action((block * problem_.n_columns + column) * width, width);
  }

  const SgdProblem<T>& problem_;
  T* v_;
  T* u_;  // null: no averaging
  Range columns_;
  Index n_spared_;
  double s_ = 1, a_ = 0, b_ = 1;
};

// pulls[c] = −∂ℓ/∂f_c of one row.
template <class T>
void loss_pulls(const SgdProblem<T>& problem, Index row, const T* scores, Range columns, T* pulls) {
  if (problem.values != nullptr) {
    const T* values = problem.values + row * problem.n_columns;
    for (Index c = columns.begin; c < columns.end; ++c)
      pulls[c] = static_cast<T>(
          loss_pull(problem.residual_losses[c], double(scores[c]) - double(values[c])));
    return;
  }
  const Index truth = problem.target[row];
  if (problem.crammer_singer)
    crammer_singer_pulls(problem.loss, scores, problem.n_columns, truth, pulls);
  else
    one_vs_rest_pulls(problem.loss, scores, columns.begin, columns.end, truth, pulls);
}

}  // namespace detail

// A gate that does not learn.
struct FixedGate {
  void recode(Index) {}
  template <class T>
  void learn(Index, const RowView<T>&, const T*, double, T) {}
};

// Visits rows. One-vs-rest columns may be split over threads, but not Crammer–Singer, and not where
// the gate learns (learned_gate.hpp): it needs all columns.
template <class T, class Gate>
void sgd_epoch(const SgdProblem<T>& problem, SgdState<T>& state, const SgdSchedule& schedule,
               Visits visits, Range columns, Gate&& gate) {
  RowBuffer<T> buffer;
  std::vector<T> scores(problem.n_columns), pulls(problem.n_columns);
  detail::LazyWeights<T> weights(problem, state, columns, schedule.decay_bias);
  Index until_decay = schedule.skip;
  for (Index visit = 0; visit < visits.size; ++visit) {
    if (visit + 6 < visits.size) problem.lifted.prefetch_row(visits[visit + 6]);
    const Index row = visits[visit];
    gate.recode(row);
    const RowView<T> x = problem.lifted.fetch(row, buffer);
    const T scale = weights.scale();
    for (Index column = columns.begin; column < columns.end; ++column)
      scores[column] =
          scale * problem.lifted.dot(row, x, weights.stored(), problem.n_columns, column);
    detail::loss_pulls(problem, row, scores.data(), columns, pulls.data());
    const double step =
        double(problem.costs[row]) / (schedule.lambda * (state.visits + schedule.t0));
    gate.learn(row, x, pulls.data(), step, scale);
    for (Index column = columns.begin; column < columns.end; ++column)
      if (pulls[column] != 0) weights.add(row, x, step * double(pulls[column]), column);
    if (--until_decay == 0 || visit + 1 == visits.size) {
      // The last visits of an epoch may be fewer than `skip`: decay by as many as there were.
      constexpr double fade = 3;
      const double passed = double(schedule.skip - until_decay);
      weights.decay(std::max(0.0, 1 - passed / (state.visits + schedule.t0)),
                    (fade + 1) * passed / (state.visits + 1 + fade * passed));
      until_decay = schedule.skip;
    }
    state.visits += 1;
  }
  weights.store();
}

}  // namespace hyperlocal
