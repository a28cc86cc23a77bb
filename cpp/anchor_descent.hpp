// Anchors that learn: the two descents that listen to what rows say about their gate.
//
// Recoding dual descent. Dual variables and codes define the weights, W_jc = Σ_i a_ic γ_ij [φ_i; B]
// with a_ic = α_ic y_ic. A visit gives the row new codes from the present anchors, moves its share
// of W along, and optimises its α; there is no step size for W. At the optimum over α the
// objective's derivative by γ_ij is p_ij = −Σ_c a_ic s_jc, which the anchors follow. Anchors stand
// still during a batch of rows. Threads share a batch: each takes some of its rows, then some of
// its columns, then some of the anchors, and no number depends on how many they are.
//
// Stochastic gradient. Algorithm 1 of the paper: `LearnedGate` plugs into sgd_epoch.
#pragma once

#include <functional>

#include "barrier.hpp"
#include "dual.hpp"
#include "moving_gate.hpp"
#include "sgd.hpp"

namespace hyperlocal {

struct Share {
  Index begin, end;

  // Part `part` of `n_parts` nearly equal parts of n things.
  static Share of(Index n, Index part, Index n_parts) {
    return {n * part / n_parts, n * (part + 1) / n_parts};
  }
};

// How anchors move: gradients are averaged over batches and scaled to a length per anchor.
struct AnchorMotion {
  double*
      momentum;    // m × d, average of gradients; in double, since floats that fade away get stuck
  double* spread;  // m, average of their squared lengths
  const double* rates;  // per batch, the length of a step
  Index n_moves;        // batches before this epoch

  static constexpr double keep_momentum = 0.9, keep_spread = 0.99;
};

// One epoch of recoding dual descent, to be run by one or more threads at once.
template <class T>
class AnchorEpoch {
 public:
  AnchorEpoch(const DualProblem<T>& problem, const DualState<T>& state, const MovingGate<T>& gate,
              const AnchorMotion& motion, bool crammer_singer, double own_share, const Index* order,
              Index n_visits, Index batch_size, const ShrinkBounds* bounds, ColumnReport* reports,
              std::uint8_t* right, Index n_threads)
      : problem_(problem),
        state_(state),
        gate_(gate),
        motion_(motion),
        crammer_singer_(crammer_singer),
        own_share_(own_share),
        order_(order),
        n_visits_(n_visits),
        batch_size_(batch_size),
        bounds_(bounds),
        reports_(reports),
        right_(right),
        n_threads_(n_threads),
        barrier_(n_threads),
        gamma_(batch_size * gate.k),
        scales_(batch_size),
        mix_(batch_size * gate.k),
        norms_(batch_size),
        scores_(batch_size * problem.n_columns),
        pulls_(batch_size * problem.n_columns * gate.k),
        speaks_(batch_size * problem.n_columns),
        blame_(batch_size * gate.k),
        gradient_(gate.n_anchors * gate.places.width()) {}

  // Ends all parts (see barrier.hpp); the state is then of no use.
  void cancel() { barrier_.cancel(); }

  // Runs part `part` of the epoch, with the columns of its own; all parts must run at once. Before
  // each batch `before_batch` is called with the batch's number, if there is such a function; it may
  // throw. Returns whether the epoch came to its end.
  bool run(Index part, Share columns, const std::function<void(Index)>& before_batch = {}) {
    return barrier_.run([&] { run_part(part, columns, before_batch); });
  }

 private:
  struct Scratch;

  void run_part(Index part, Share columns, const std::function<void(Index)>& before_batch) {
    Scratch own(*this, columns);
    Index batch = 0;
    for (Index first = 0; first < n_visits_; first += batch_size_, ++batch) {
      if (before_batch) before_batch(batch);
      const Index n = std::min(batch_size_, n_visits_ - first);
      const Share rows = Share::of(n, part, n_threads_);
      const Share anchors = Share::of(gate_.n_anchors, part, n_threads_);
      recode(order_ + first, rows, own);
      barrier_.wait();
      step(order_ + first, n, columns, own);
      barrier_.wait();
      blame(order_ + first, rows);
      barrier_.wait();
      move(order_ + first, n, anchors, batch, own);
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
    std::vector<T> answers;  // columns × k

    Scratch(const AnchorEpoch& epoch, Share columns)
        : geometry(epoch.gate_.anchors, epoch.gate_.n_anchors, epoch.gate_.places.width(),
                   epoch.gate_.k),
          joint(epoch.problem_.n_columns),
          reports(epoch.reports_, columns.begin, epoch.reports_end(columns)),
          squared(epoch.gate_.k),
          answers(epoch.problem_.n_columns * epoch.gate_.k) {}
  };

  // Joint columns, which one thread has all of, share a report.
  Index reports_end(Share columns) const {
    return crammer_singer_ ? std::min(columns.end, columns.begin + 1) : columns.end;
  }

  // New codes of rows, from the present anchors; the old ones stay until the batch is done.
  void recode(const Index* rows, Share share, Scratch& own) {
    const Index k = gate_.k;
    for (Index n = share.begin; n < share.end; ++n) {
      prefetch_visit(problem_, state_, rows, n, share.end);
      const Index row = rows[n];
      own.geometry.set_row(gate_.places.fetch(row, own.buffer), gate_.neighbours + row * k);
      own.geometry.squared_distances(k, own.squared.data());
      double* gamma = gamma_.data() + n * k;
      const double scale = gate_.weigh(row, own.squared.data(), gamma);
      scales_[n] = scale;
      for (Index j = 0; j < k; ++j) mix_[n * k + j] = static_cast<T>(scale * gamma[j]);
      norms_[n] = gate_.lifted_norm(row, scale, gamma);
    }
  }

  // The rows' shares of W follow the new codes, and their dual variables are optimised.
  void step(const Index* rows, Index n_rows, Share columns, Scratch& own) {
    if (columns.begin == columns.end) return;
    for (Index n = 0; n < n_rows; ++n) {
      const Index row = rows[n];
      const RowView<T> x = problem_.lifted.fetch(row, own.buffer);
      if (crammer_singer_) {
        step_jointly(n, row, x, own);
      } else {
        for (Index column = columns.begin; column < columns.end; ++column)
          step_alone(n, row, x, column, own);
      }
    }
  }

  void step_alone(Index n, Index row, const RowView<T>& x, Index column, Scratch& own) {
    const Index variable = row * problem_.n_columns + column;
    const T alpha = state_.alpha[variable];
    const T label = problem_.target[row] == column ? 1 : -1;
    T* answers = own.answers.data();
    T next = alpha;
    T& score = scores_[place(n, column)];
    score = label;  // at least, where it rests
    if (alpha != 0 || state_.active[variable]) {
      score = recoded_score(n, row, x, column, label * alpha, answers);
      const double margin = double(label) * double(score);
      next = detail::next_alpha(problem_.loss, alpha, margin, norms_[n], problem_.costs[row],
                                bounds_[column], state_.active[variable], own.reports[column]);
    }
    state_.alpha[variable] = next;
    settle(n, row, x, column, label * alpha, label * next, answers);
  }

  void step_jointly(Index n, Index row, const RowView<T>& x, Scratch& own) {
    const Index n_columns = problem_.n_columns, k = gate_.k;
    T* a = state_.alpha + row * n_columns;
    std::uint8_t* active = state_.active + row * n_columns;
    CrammerSingerRow<T>& joint = own.joint;
    bool any = active[0];
    for (Index r = 0; r < n_columns; ++r) any |= a[r] != 0;
    if (!any) {
      for (Index r = 0; r < n_columns; ++r) {
        scores_[place(n, r)] = r == problem_.target[row] ? 1 : 0;
        speaks_[place(n, r)] = false;
      }
      return;
    }
    for (Index r = 0; r < n_columns; ++r) {
      joint.scores[r] = recoded_score(n, row, x, r, a[r], own.answers.data() + r * k);
      scores_[place(n, r)] = joint.scores[r];
    }
    joint.advance(problem_, row, norms_[n], a, active, bounds_[0], own.reports[0]);
    for (Index r = 0; r < n_columns; ++r) {
      const T before = a[r];
      a[r] = joint.next[r];
      settle(n, row, x, r, before, a[r], own.answers.data() + r * k);
    }
  }

  // The row's score once its share a·γ of W follows the new codes. Where a ≠ 0, `answers` become
  // the anchors' own answers.
  T recoded_score(Index n, Index row, const RowView<T>& x, Index column, T a, T* answers) const {
    const T* mix = mix_.data() + n * gate_.k;
    if (a == 0) return problem_.lifted.dot(row, x, mix, state_.weights, problem_.n_columns, column);
    const T* old = gate_.gate + row * gate_.k;
    const T norm = gate_.row_norms[row];
    problem_.lifted.local_dots(row, x, state_.weights, problem_.n_columns, column, answers);
    T score = 0;
    for (Index j = 0; j < gate_.k; ++j) {
      answers[j] += a * (mix[j] - old[j]) * norm;
      score += mix[j] * answers[j];
    }
    return score;
  }

  // Puts the row's new share into W, and writes down −a s_j for the anchors. Of the row's own share
  // of s_j only a part counts: with all of it, anchors learn rows by heart.
  void settle(Index n, Index row, const RowView<T>& x, Index column, T before, T after,
              T* answers) {
    const Index k = gate_.k, n_columns = problem_.n_columns;
    const bool speaks = before != 0 || after != 0;
    speaks_[place(n, column)] = speaks;
    if (!speaks) return;
    T* pulls = pulls_.data() + place(n, column) * k;
    const T* mix = mix_.data() + n * k;
    const T* old = gate_.gate + row * k;
    const T norm = gate_.row_norms[row];
    if (before == 0) problem_.lifted.local_dots(row, x, state_.weights, n_columns, column, answers);
    const T counted = after - before - static_cast<T>(1 - own_share_) * after;
    for (Index j = 0; j < k; ++j) pulls[j] = -after * (answers[j] + counted * mix[j] * norm);
    problem_.lifted.add_blocks(
        row, x, [=](Index j) { return after * mix[j] - before * old[j]; }, state_.weights,
        n_columns, column);
  }

  // The new codes come into force; what all columns say about them is summed, in their order.
  // Notes whether the rows were right.
  void blame(const Index* rows, Share share) {
    const Index k = gate_.k;
    for (Index n = share.begin; n < share.end; ++n) {
      const Index row = rows[n];
      double* p = blame_.data() + n * k;
      std::fill_n(p, k, 0.0);
      bool any = false;
      for (Index column = 0; column < problem_.n_columns; ++column) {
        if (!speaks_[place(n, column)]) continue;
        const T* pulls = pulls_.data() + place(n, column) * k;
        for (Index j = 0; j < k; ++j) p[j] += double(pulls[j]);
        any = true;
      }
      if (any) gate_.pull_back(gamma_.data() + n * k, scales_[n], p);
      std::copy_n(mix_.data() + n * k, k, gate_.gate + row * k);
      gate_.squared_norms[row] = norms_[n];
      right_[row] = is_right(n, problem_.target[row]);
    }
  }

  // Whether the largest score (or the sign of the only one) is the row's own.
  bool is_right(Index n, Index truth) const {
    if (problem_.n_columns == 1) return (scores_[place(n, 0)] > 0) == (truth == 0);
    Index best = 0;
    for (Index column = 1; column < problem_.n_columns; ++column)
      if (scores_[place(n, column)] > scores_[place(n, best)]) best = column;
    return best == truth;
  }

  // Where a batch keeps what concerns its n-th row and a column. Columns lie one after the other,
  // so that threads with some of them each do not write side by side.
  Index place(Index n, Index column) const { return column * batch_size_ + n; }

  void move(const Index* rows, Index n_rows, Share anchors, Index batch, Scratch& own) {
    const Index k = gate_.k, width = gate_.places.width();
    std::fill(gradient_.begin() + anchors.begin * width, gradient_.begin() + anchors.end * width,
              T(0));
    for (Index n = 0; n < n_rows; ++n) {
      const double* coefficients = blame_.data() + n * k;
      const Column* neighbours = gate_.neighbours + rows[n] * k;
      for (Index j = 0; j < k; ++j) {
        if (coefficients[j] == 0 || neighbours[j] < anchors.begin || neighbours[j] >= anchors.end)
          continue;
        detail::add_difference(
            gate_.places.fetch(rows[n], own.buffer), width, static_cast<T>(coefficients[j]),
            gate_.anchors + neighbours[j] * width, gradient_.data() + neighbours[j] * width);
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

 private:
  DualProblem<T> problem_;
  DualState<T> state_;
  MovingGate<T> gate_;
  AnchorMotion motion_;
  bool crammer_singer_;
  double own_share_;
  const Index* order_;
  Index n_visits_, batch_size_;
  const ShrinkBounds* bounds_;
  ColumnReport* reports_;
  std::uint8_t* right_;
  Index n_threads_;
  Barrier barrier_;
  std::vector<double> gamma_, scales_;
  std::vector<T> mix_, norms_, scores_, pulls_;
  std::vector<std::uint8_t> speaks_;  // whether a column has pulls on a row's anchors
  std::vector<double> blame_;
  std::vector<T> gradient_;
};

// Plugs into sgd_epoch: codes each row anew, and moves its anchors down the gradient of its loss by
// the same step as the weights.
template <class T>
class LearnedGate {
 public:
  LearnedGate(const MovingGate<T>& gate, const Lifted<T>& lifted, const T* weights, Index n_columns)
      : gate_(gate),
        lifted_(lifted),
        weights_(weights),
        n_columns_(n_columns),
        geometry_(gate.anchors, gate.n_anchors, gate.places.width(), gate.k),
        nearest_(gate.n_anchors, gate.k),
        all_(gate.n_anchors),
        keys_(gate.n_anchors),
        distances_(gate.n_anchors),
        squared_(gate.k),
        gamma_(gate.k),
        p_(gate.k),
        answers_(gate.k) {
    for (Index anchor = 0; anchor < gate.n_anchors; ++anchor)
      all_[anchor] = static_cast<Column>(anchor);
  }

  void recode(Index row) {
    const Index k = gate_.k;
    Column* neighbours = gate_.neighbours + row * k;
    place_ = gate_.places.fetch(row, buffer_);
    geometry_.set_row(place_, all_.data());
    geometry_.squared_distances(gate_.n_anchors, distances_.data());
    for (Index anchor = 0; anchor < gate_.n_anchors; ++anchor)
      keys_[anchor] = static_cast<T>(distances_[anchor]);
    nearest_.select(keys_.data(), neighbours);
    for (Index j = 0; j < k; ++j) squared_[j] = double(keys_[neighbours[j]]);
    scale_ = gate_.weigh(row, squared_.data(), gamma_.data());
    for (Index j = 0; j < k; ++j) gate_.gate[row * k + j] = static_cast<T>(scale_ * gamma_[j]);
  }

  // `pulls` holds −∂ℓ/∂f_c.
  void learn(Index row, const RowView<T>& x, const T* pulls, double step) {
    const Index k = gate_.k, width = gate_.places.width();
    std::fill(p_.begin(), p_.end(), 0.0);
    bool any = false;
    for (Index column = 0; column < n_columns_; ++column) {
      if (pulls[column] == 0) continue;
      any = true;
      lifted_.local_dots(row, x, weights_, n_columns_, column, answers_.data());
      for (Index j = 0; j < k; ++j) p_[j] -= double(pulls[column]) * double(answers_[j]);
    }
    if (!any) return;
    gate_.pull_back(gamma_.data(), scale_, p_.data());
    for (Index j = 0; j < k; ++j) {
      const Index anchor = gate_.neighbours[row * k + j];
      T* v = gate_.anchors + anchor * width;
      detail::add_difference(place_, width, static_cast<T>(-step * p_[j]), v, v);
      if (!place_.is_dense()) geometry_.measure_anchors(anchor, anchor + 1);
    }
  }

 private:
  MovingGate<T> gate_;
  const Lifted<T>& lifted_;
  const T* weights_;
  Index n_columns_;
  detail::LocalGeometry<T> geometry_;
  detail::SmallestK<T> nearest_;
  std::vector<Column> all_;
  std::vector<T> keys_;
  std::vector<double> distances_, squared_, gamma_, p_;
  std::vector<T> answers_;
  RowBuffer<T> buffer_;
  RowView<T> place_{};
  double scale_ = 1;
};

}  // namespace hyperlocal
