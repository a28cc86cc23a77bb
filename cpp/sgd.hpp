// Stochastic gradient over lifted rows: Algorithm 1 of Ladický and Torr (2011), SVMSGD2.
//
//     min λ/2‖W‖² + (1/Σs) Σ_i s_i ℓ_i(W, b),   step 1/(λ(t + t0)) at visit t.
// The weights decay every `skip` visits only, W ← W (1 − skip/(t + t0)); biases do not decay unless
// requested. At the same moments the iterate joins an average in which iterate t weighs t³, so that
// early iterates fade (Shamir and Zhang 2013).
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

template <class T, class Action>
void for_each_block(const SgdProblem<T>& problem, Range columns, Action action) {
  const Index width = problem.lifted.block_width();
  for (Index anchor = 0; anchor < problem.lifted.n_blocks(); ++anchor)
    for (Index column = columns.begin; column < columns.end; ++column)
      action((anchor * problem.n_columns + column) * width, width);
}

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
  void learn(Index, const RowView<T>&, const T*, double) {}
};

// Visits rows. One-vs-rest columns may be split over threads, but not Crammer–Singer, and not where
// the gate learns (learned_gate.hpp): it needs all columns.
template <class T, class Gate>
void sgd_epoch(const SgdProblem<T>& problem, SgdState<T>& state, const SgdSchedule& schedule,
               Visits visits, Range columns, Gate&& gate) {
  RowBuffer<T> buffer;
  std::vector<T> scores(problem.n_columns), pulls(problem.n_columns);
  Index until_decay = schedule.skip;
  for (Index visit = 0; visit < visits.size; ++visit) {
    if (visit + 6 < visits.size) problem.lifted.prefetch_row(visits[visit + 6]);
    const Index row = visits[visit];
    gate.recode(row);
    const RowView<T> x = problem.lifted.fetch(row, buffer);
    for (Index column = columns.begin; column < columns.end; ++column)
      scores[column] = problem.lifted.dot(row, x, state.weights, problem.n_columns, column);
    detail::loss_pulls(problem, row, scores.data(), columns, pulls.data());
    const double step =
        double(problem.costs[row]) / (schedule.lambda * (state.visits + schedule.t0));
    gate.learn(row, x, pulls.data(), step);
    for (Index column = columns.begin; column < columns.end; ++column)
      if (pulls[column] != 0)
        problem.lifted.axpy(row, x, static_cast<T>(step * double(pulls[column])), state.weights,
                            problem.n_columns, column);
    if (--until_decay > 0 && visit + 1 < visits.size) {
      state.visits += 1;
      continue;
    }
    // The last visits of an epoch may be fewer than `skip`: decay by as many as there were.
    const double passed = double(schedule.skip - until_decay);
    const T keep = static_cast<T>(std::max(0.0, 1 - passed / (state.visits + schedule.t0)));
    const Index n_spared = schedule.decay_bias ? 0 : 1;
    detail::for_each_block(problem, columns, [&](Index start, Index width) {
      T* w = state.weights + start;
#pragma omp simd
      for (Index v = 0; v < width - n_spared; ++v) w[v] *= keep;
    });
    if (state.average != nullptr) {
      constexpr double fade = 3;
      const T share = static_cast<T>((fade + 1) * passed / (state.visits + 1 + fade * passed));
      detail::for_each_block(problem, columns, [&](Index start, Index width) {
        const T* w = state.weights + start;
        T* mean = state.average + start;
#pragma omp simd
        for (Index v = 0; v < width; ++v) mean[v] += share * (w[v] - mean[v]);
      });
    }
    until_decay = schedule.skip;
    state.visits += 1;
  }
}

}  // namespace hyperlocal
