// Stochastic gradient over lifted rows: Algorithm 1 of Ladický and Torr (2011), SVMSGD2.
//
//     min λ/2‖W‖² + (1/Σs) Σ_i s_i ℓ_i(W, b),   step 1/(λ(t + t0)) at visit t.
// The weights decay every `skip` visits only, W ← W (1 − skip/(t + t0)); biases do not decay unless
// requested. At the same moments the iterate joins an average in which iterate t weighs t³, so that
// early iterates fade (Shamir and Zhang 2013).
//
// A visit touches what its row touches: the iterate and the average are kept as multiples of stored
// arrays, W = s V and mean = b (U + a V), and decay and averaging change the three numbers. Where
// that is faster, the arrays are copies with columns side by side (columns_aside.hpp).
#pragma once

#include "columns_aside.hpp"
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

// Some columns of weights where they are stored, with the interface of ColumnsAside.
template <class T>
class ColumnsInPlace {
 public:
  ColumnsInPlace(const Lifted<T>& lifted, Index n_columns, Range columns)
      : lifted_(lifted), n_all_(n_columns), columns_(columns) {}

  void load(T* weights) { weights_ = weights; }
  void store(T*) const {}
  T* numbers() { return weights_; }

  HYPERLOCAL_INLINE void scores(Index row, const RowView<T>& x, T* out) const {
    for (Index column = columns_.begin; column < columns_.end; ++column)
      *out++ = lifted_.dot(row, x, weights_, n_all_, column);
  }

  HYPERLOCAL_INLINE void add(Index row, const RowView<T>& x, const T* steps) {
    for (Index column = columns_.begin; column < columns_.end; ++column, ++steps)
      if (*steps != 0) lifted_.axpy(row, x, *steps, weights_, n_all_, column);
  }

  template <class Action>
  void for_each_block(Action act) const {
    const Index width = lifted_.block_width();
    for (Index block = 0; block < lifted_.n_blocks(); ++block)
      for (Index column = columns_.begin; column < columns_.end; ++column)
        act((block * n_all_ + column) * width, width - 1, Index(1));
  }

 private:
  const Lifted<T>& lifted_;
  Index n_all_;
  Range columns_;
  T* weights_ = nullptr;
};

// The iterate and its average, W = s V and mean = b (U + a V), of a range of columns.
template <class T, class Columns>
class LazyWeights {
 public:
  LazyWeights(const SgdProblem<T>& problem, const SgdState<T>& state, Range columns,
              bool decay_bias)
      : given_(state),
        v_(problem.lifted, problem.n_columns, columns),
        u_(problem.lifted, problem.n_columns, columns),
        steps_(columns.size()),
        n_columns_(columns.size()),
        averages_(state.average != nullptr),
        decays_bias_(decay_bias) {
    v_.load(state.weights);
    if (averages_) u_.load(state.average);
  }

  T scale() const { return static_cast<T>(s_); }

  // Of W, a number per column.
  HYPERLOCAL_INLINE void scores(Index row, const RowView<T>& x, T* out) const {
    v_.scores(row, x, out);
    const T s = scale();
    for (Index column = 0; column < n_columns_; ++column) out[column] *= s;
  }

  // W_c += step · pulls[c] · lifted_i, which leaves the average as it is: U −= a ΔV.
  HYPERLOCAL_INLINE void add(Index row, const RowView<T>& x, double step, const T* pulls) {
    bool any = false;
    for (Index column = 0; column < n_columns_; ++column) {
      steps_[column] = static_cast<T>(step * double(pulls[column]) / s_);
      any |= pulls[column] != 0;
    }
    if (!any) return;
    v_.add(row, x, steps_.data());
    if (!averages_ || a_ == 0) return;
    for (Index column = 0; column < n_columns_; ++column)
      steps_[column] = static_cast<T>(-a_ * (step * double(pulls[column]) / s_));
    u_.add(row, x, steps_.data());
  }

  // W ← keep · W, biases apart unless they decay too; then mean += share · (W − mean).
  void decay(double keep, double share) {
    if (s_ * keep < smallest || b_ * (1 - share) < smallest) return settle(keep, share);
    s_ *= keep;
    if (!decays_bias_) {
      T *v = v_.numbers(), *u = averages_ ? u_.numbers() : nullptr;
      v_.for_each_block([&](Index start, Index n_inner, Index n_biases) {
        for (Index bias = start + n_inner; bias < start + n_inner + n_biases; ++bias) {
          const T grown = static_cast<T>(double(v[bias]) / keep);
          if (u != nullptr) u[bias] -= static_cast<T>(a_) * (grown - v[bias]);
          v[bias] = grown;
        }
      });
    }
    b_ *= 1 - share;
    a_ += share * s_ / b_;
  }

  // Writes W and its average to where they were.
  void store() {
    settle();
    v_.store(given_.weights);
    if (averages_) u_.store(given_.average);
  }

 private:
  // Below it the numbers are made one again: sums of large numbers would lose digits.
  static constexpr double smallest = 1e-4;

  // Decay at once: the arrays are W and its average then.
  void settle(double keep = 1, double share = 0) {
    const T s = static_cast<T>(s_), a = static_cast<T>(a_), b = static_cast<T>(b_);
    const T kept = static_cast<T>(s_ * keep), taken = static_cast<T>(share);
    v_.for_each_block([&](Index start, Index n_inner, Index n_biases) {
      const Index width = n_inner + n_biases;
      T *v = v_.numbers() + start, *u = averages_ ? u_.numbers() + start : nullptr;
      if (u != nullptr) {
#pragma omp simd
        for (Index i = 0; i < width; ++i) u[i] = b * (u[i] + a * v[i]);
      }
#pragma omp simd
      for (Index i = 0; i < n_inner; ++i) v[i] *= kept;
      for (Index i = n_inner; i < width; ++i) v[i] *= decays_bias_ ? kept : s;
      if (u != nullptr) {
#pragma omp simd
        for (Index i = 0; i < width; ++i) u[i] += taken * (v[i] - u[i]);
      }
    });
    s_ = b_ = 1;
    a_ = 0;
  }

  SgdState<T> given_;
  Columns v_, u_;  // empty without averaging
  std::vector<T> steps_;
  Index n_columns_;
  bool averages_, decays_bias_;
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

namespace detail {

template <class T, class Columns, class Gate>
void sgd_visits(const SgdProblem<T>& problem, SgdState<T>& state, const SgdSchedule& schedule,
                Visits visits, Range columns, Gate&& gate) {
  RowBuffer<T> buffer;
  std::vector<T> scores(problem.n_columns), pulls(problem.n_columns);
  LazyWeights<T, Columns> weights(problem, state, columns, schedule.decay_bias);
  Index until_decay = schedule.skip;
  for (Index visit = 0; visit < visits.size; ++visit) {
    if (visit + 6 < visits.size) problem.lifted.prefetch_row(visits[visit + 6]);
    const Index row = visits[visit];
    gate.recode(row);
    const RowView<T> x = problem.lifted.fetch(row, buffer);
    weights.scores(row, x, scores.data() + columns.begin);
    loss_pulls(problem, row, scores.data(), columns, pulls.data());
    const double step =
        double(problem.costs[row]) / (schedule.lambda * (state.visits + schedule.t0));
    gate.learn(row, x, pulls.data(), step, weights.scale());
    weights.add(row, x, step, pulls.data() + columns.begin);
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

}  // namespace detail

// Visits rows. One-vs-rest columns may be split over threads, but not Crammer–Singer.
template <class T>
void sgd_epoch(const SgdProblem<T>& problem, SgdState<T>& state, const SgdSchedule& schedule,
               Visits visits, Range columns) {
  const auto visit = problem.lifted.rows().is_dense() ||
                             !ColumnsAside<T>::is_faster(problem.lifted, visits.size,
                                                         problem.n_columns)
                         ? detail::sgd_visits<T, detail::ColumnsInPlace<T>, FixedGate>
                         : detail::sgd_visits<T, ColumnsAside<T>, FixedGate>;
  visit(problem, state, schedule, visits, columns, FixedGate{});
}

// The same where the gate learns (learned_gate.hpp), which needs all columns, where they are.
template <class T, class Gate>
void sgd_epoch(const SgdProblem<T>& problem, SgdState<T>& state, const SgdSchedule& schedule,
               Visits visits, Gate&& gate) {
  detail::sgd_visits<T, detail::ColumnsInPlace<T>>(problem, state, schedule, visits,
                                                   {0, problem.n_columns}, gate);
}

}  // namespace hyperlocal
