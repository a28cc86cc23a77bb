// Pegasos (Shalev-Shwartz, Singer, Srebro and Cotter 2011), linear and by kernels.
//
//     min λ/2‖W‖² + (1/N) Σ_i c_i ℓ_i(W),   step 1/(λt) at batch A number t:
//     W ← (1 − 1/t) W + 1/(λt|A|) Σ_{i in A} c_i g_i [x_i; B],   g = −∂ℓ/∂f before the step,
// and, if requested, W is projected to a ball that contains the optimum. The first step replaces
// whatever W was before. The slope of the squared hinge has no bound, and plain steps would
// diverge: its g is that of the margin after the row's own step of length 1/(λt) (implicit steps).
//
// W = scale · V: the shrink costs one product, and V is touched only where a row is not zero. An
// average of the iterates, in which iterate t weighs t³ so that early ones fade, is stored the same
// way: with M_t = Σ_{τ≤t} τ³ scale_τ, Σ_{τ≤t} τ³ W_τ = M_t V_t − U_t if U gets M_{t-1} times what V
// gets at step t.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "losses.hpp"
#include "rows.hpp"
#include "simd.hpp"

namespace hyperlocal {

// How the columns of a row are coupled. One-vs-rest columns may be split over threads.
enum class Coupling { one_vs_rest, crammer_singer, multinomial, regression };

template <class T>
struct PegasosProblem {
  const Rows<T>& rows;
  T bias;                // B
  const Column* target;  // the column in which a row is positive, −1 for none; not for regression
  const T* values;       // what to predict; regression only
  const T* costs;        // c_i, 1 on average
  Loss loss;
  Coupling coupling;
  double epsilon;  // half the width of regression's tube

  // Whether all columns must be visited together.
  bool is_joint() const {
    return coupling == Coupling::crammer_singer || coupling == Coupling::multinomial;
  }
};

struct PegasosSchedule {
  double lambda;
  double radius;  // of the ball that W is pulled back to; infinity: none
  Index batch_size;
};

// Of one column: W = scale · V, ‖V‖² (only where there is a ball), and M.
struct PegasosColumn {
  double scale;
  double squared_norm;
  double mass;
};

template <class T>
struct PegasosState {
  Index n_columns;
  T* scaled;               // V, c × (p+1)
  double* past;            // U, or null: no average
  PegasosColumn* columns;  // c
  double steps;            // t
};

namespace detail {

// From the scores of one row, pulls[c] = −∂ℓ/∂f_c.
inline void multinomial_pulls(const double* scores, Index n_columns, Index truth, double* pulls) {
  const double largest = *std::max_element(scores, scores + n_columns);
  double total = 0;
  for (Index c = 0; c < n_columns; ++c) total += pulls[c] = std::exp(scores[c] - largest);
  for (Index c = 0; c < n_columns; ++c) pulls[c] = (c == truth ? 1 : 0) - pulls[c] / total;
}

inline double regression_pull(double residual, double epsilon) {
  return residual > epsilon ? 1 : (residual < -epsilon ? -1 : 0);
}

template <class T>
void pegasos_pulls(const PegasosProblem<T>& problem, Index row, const double* scores,
                   Index n_columns, Range columns, double* pulls) {
  const Loss loss = problem.loss;
  switch (problem.coupling) {
    case Coupling::one_vs_rest:
      return one_vs_rest_pulls(loss, scores, columns.begin, columns.end, problem.target[row],
                               pulls);
    case Coupling::crammer_singer:
      return crammer_singer_pulls(loss, scores, n_columns, problem.target[row], pulls);
    case Coupling::multinomial:
      return multinomial_pulls(scores, n_columns, problem.target[row], pulls);
    case Coupling::regression:
      pulls[0] = regression_pull(double(problem.values[row]) - scores[0], problem.epsilon);
  }
}

// One run over a range of columns.
template <class T>
class PegasosRun {
 public:
  PegasosRun(const PegasosProblem<T>& problem, PegasosState<T>& state,
             const PegasosSchedule& schedule, Range columns)
      : problem_(problem),
        state_(state),
        schedule_(schedule),
        columns_(columns),
        width_(problem.rows.width() + 1),
        scores_(state.n_columns),
        pulls_(state.n_columns * schedule.batch_size) {}

  void step(Visits batch) {
    for (Index i = 0; i < batch.size; ++i) find_pulls(batch[i], pulls_of(i));
    shrink();
    const double length = 1 / (schedule_.lambda * state_.steps * double(batch.size));
    if (has_ball()) keep_digits(batch, length);
    for (Index i = 0; i < batch.size; ++i) move(batch[i], pulls_of(i), length);
    if (has_ball()) project();
    for (Index c = columns_.begin; c < columns_.end; ++c) finish(c);
  }

 private:
  bool has_ball() const { return std::isfinite(schedule_.radius); }
  double* pulls_of(Index i) { return pulls_.data() + i * state_.n_columns; }
  T* scaled(Index column) { return state_.scaled + column * width_; }
  double* past(Index column) { return state_.past + column * width_; }

  void find_pulls(Index row, double* pulls) {
    const RowView<T> x = problem_.rows.fetch(row, buffer_);
    for (Index c = columns_.begin; c < columns_.end; ++c)
      scores_[c] =
          state_.columns[c].scale * double(affine_dot(x, problem_.bias, scaled(c), width_));
    pegasos_pulls(problem_, row, scores_.data(), state_.n_columns, columns_, pulls);
    if (problem_.loss != Loss::squared_hinge) return;
    // A pull g moves the margin by g times this: once per column that it moves.
    const double moves = problem_.coupling == Coupling::crammer_singer ? 2 : 1;
    const double length = double(problem_.costs[row]) / (schedule_.lambda * (state_.steps + 1));
    const double damping = 1 / (1 + 2 * moves * length * affine_norm(x));
    for (Index c = columns_.begin; c < columns_.end; ++c) pulls[c] *= damping;
  }

  double affine_norm(const RowView<T>& x) const {
    return squared_norm(x) + double(problem_.bias) * double(problem_.bias);
  }

  // A long step that is pulled back leaves V large and its scale small, and M V − U would be the
  // difference of two numbers much larger than itself. Before that, U takes over M V.
  void keep_digits(Visits batch, double length) {
    if (state_.past == nullptr) return;
    const double all = 0.5 * state_.steps * (state_.steps + 1);
    for (Index c = columns_.begin; c < columns_.end; ++c) {
      PegasosColumn& column = state_.columns[c];
      if (column.mass == 0) continue;
      double reach = std::sqrt(std::max(0.0, column.squared_norm));
      for (Index i = 0; i < batch.size; ++i) {
        if (pulls_of(i)[c] == 0) continue;
        const RowView<T> x = problem_.rows.fetch(batch[i], buffer_);
        const double factor = std::abs(pulls_of(i)[c]) * double(problem_.costs[batch[i]]) * length;
        reach += factor / column.scale * std::sqrt(affine_norm(x));
      }
      constexpr double most = 16;  // times the sum of the iterates
      if (column.mass * reach <= most * all * all * schedule_.radius) continue;
      const T* v = scaled(c);
      double* u = past(c);
      for (Index i = 0; i < width_; ++i) u[i] -= column.mass * double(v[i]);
      column.mass = 0;
    }
  }

  void shrink() {
    state_.steps += 1;
    for (Index c = columns_.begin; c < columns_.end; ++c) {
      if (state_.steps > 1) {
        state_.columns[c].scale *= 1 - 1 / state_.steps;
        continue;
      }
      state_.columns[c] = {1, 0, 0};
      std::fill_n(scaled(c), width_, T(0));
      if (state_.past != nullptr) std::fill_n(past(c), width_, 0.0);
    }
  }

  void move(Index row, const double* pulls, double length) {
    const RowView<T> x = problem_.rows.fetch(row, buffer_);
    for (Index c = columns_.begin; c < columns_.end; ++c) {
      if (pulls[c] == 0) continue;
      PegasosColumn& column = state_.columns[c];
      const double factor = pulls[c] * double(problem_.costs[row]) * length / column.scale;
      if (has_ball()) {
        const double product = affine_dot(x, problem_.bias, scaled(c), width_);
        column.squared_norm += 2 * factor * product + factor * factor * affine_norm(x);
      }
      affine_add(x, problem_.bias, static_cast<T>(factor), scaled(c), width_);
      if (state_.past != nullptr)
        affine_add(x, problem_.bias, column.mass * factor, past(c), width_);
    }
  }

  // One-vs-rest columns are problems of their own; otherwise all columns share the ball.
  void project() {
    if (problem_.coupling == Coupling::one_vs_rest) {
      for (Index c = columns_.begin; c < columns_.end; ++c) project(c, c + 1);
    } else {
      project(columns_.begin, columns_.end);
    }
  }

  void project(Index begin, Index end) {
    double norm = 0;
    for (Index c = begin; c < end; ++c) {
      const PegasosColumn& column = state_.columns[c];
      norm += column.scale * column.scale * column.squared_norm;
    }
    norm = std::sqrt(std::max(0.0, norm));
    if (norm <= schedule_.radius) return;
    for (Index c = begin; c < end; ++c) state_.columns[c].scale *= schedule_.radius / norm;
  }

  void finish(Index c) {
    PegasosColumn& column = state_.columns[c];
    if (state_.past != nullptr)
      column.mass += state_.steps * state_.steps * state_.steps * column.scale;
    constexpr double smallest_scale = 1e-12;
    if (column.scale >= smallest_scale) return;
    T* v = scaled(c);
    for (Index i = 0; i < width_; ++i) v[i] = static_cast<T>(column.scale * double(v[i]));
    column.squared_norm *= column.scale * column.scale;
    column.mass /= column.scale;
    column.scale = 1;
  }

  const PegasosProblem<T>& problem_;
  PegasosState<T>& state_;
  const PegasosSchedule& schedule_;
  Range columns_;
  Index width_;
  std::vector<double> scores_, pulls_;
  RowBuffer<T> buffer_;
};

}  // namespace detail

// Visits rows, a batch at a time; the last batch may be smaller.
template <class T>
void pegasos_epoch(const PegasosProblem<T>& problem, PegasosState<T>& state,
                   const PegasosSchedule& schedule, Visits visits, Range columns) {
  detail::PegasosRun<T> run(problem, state, schedule, columns);
  constexpr Index visits_ahead = 8;
  for (Index begin = 0; begin < visits.size; begin += schedule.batch_size) {
    const Index size = std::min(schedule.batch_size, visits.size - begin);
    const Index soon = std::min(begin + visits_ahead + size, visits.size);
    for (Index i = begin + visits_ahead; i < soon; ++i) problem.rows.prefetch_row(visits[i]);
    run.step(visits.from(begin, size));
  }
}

// Kernel Pegasos, hinge loss, one row per step. V_c = Σ_j counts_jc φ(x_j): a row that violates its
// margin adds its label times its cost to its count. A block of n rows is visited given their
// products with V before the block, and their kernel matrix for what the block itself adds.
template <class T>
struct KernelBlock {
  const T* products;     // n × c, φ(x_i) · V_c before the block
  const T* kernel;       // n × n
  const Column* target;  // n, the column in which a row is positive, −1 for none
  const double* costs;   // n
  Index n_rows;
  Index n_columns;
};

// Writes what each row adds to its counts; keeps ‖V_c‖² up to date, and adds up the losses that
// the rows had before their steps.
template <class T>
void kernel_pegasos_block(const KernelBlock<T>& block, double lambda, double steps,
                          double* squared_norms, double* losses, double* added) {
  std::vector<Index> violators;
  std::vector<double> products(block.n_columns);
  for (Index i = 0; i < block.n_rows; ++i) {
    const T* kernel = block.kernel + i * block.n_rows;
    const double scale = steps > 0 ? 1 / (lambda * steps) : 0;
    for (Index c = 0; c < block.n_columns; ++c)
      products[c] = double(block.products[i * block.n_columns + c]);
    for (const Index j : violators)
      for (Index c = 0; c < block.n_columns; ++c)
        products[c] += double(kernel[j]) * added[j * block.n_columns + c];
    bool violates = false;
    for (Index c = 0; c < block.n_columns; ++c) {
      const double label = block.target[i] == c ? 1 : -1;
      const double margin = label * scale * products[c];
      losses[c] += block.costs[i] * loss_value(Loss::hinge, margin);
      const double count = block.costs[i] * loss_pull(Loss::hinge, margin) * label;
      added[i * block.n_columns + c] = count;
      if (count == 0) continue;
      violates = true;
      squared_norms[c] += 2 * count * products[c] + count * count * double(kernel[i]);
    }
    if (violates) violators.push_back(i);
    steps += 1;
  }
}

}  // namespace hyperlocal
