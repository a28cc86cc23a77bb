// Lines from references to one row after the other, in lanes of double or single precision: the
// averages of cpp/gate_paths.hpp, whose head states them.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "largest_lanes.hpp"
#include "path_parts.hpp"
#include "tanh.hpp"

namespace hyperlocal {

namespace detail {

// The lines from some references, one in each lane, to one row after the other.
template <class Real>
class LinesToRow {
 public:
  static constexpr int lanes = 32 / sizeof(Real);
  using Lane = Lanes<Real, lanes>;

  LinesToRow(const GatePaths& paths, const PathOptions& options)
      : paths_(paths),
        options_(options),
        m_(paths.n_anchors),
        n_columns_(paths.n_columns),
        largest_(m_, options.n_active),
        active_(m_),
        numbers_(m_),
        start_logits_(m_),
        change_(m_),
        logits_(m_),
        gate_(m_),
        start_scores_(m_ * n_columns_),
        linear_(m_ * n_columns_),
        curved_(m_ * n_columns_),
        scores_(m_ * n_columns_),
        total_(n_columns_),
        slope_(n_columns_),
        sums_(paths.width()),
        first_(paths.width()),
        before_(n_columns_) {
    for (Index j = 0; j < m_; ++j) numbers_[j] = number_of(j);
  }

  // The references from `begin` on; lanes without one repeat the last.
  void start(Index begin) {
    begin_ = begin;
    for (int r = 0; r < lanes; ++r) source_[r] = std::min(begin + r, paths_.n_references - 1);
    gather(paths_.start_logits, m_, start_logits_.data());
    gather(paths_.start_scores, m_ * n_columns_, start_scores_.data());
    if (ends_.empty()) return;
    prepare(0);
    before_ = totals_at(0);
  }

  // Finds f_c of all rows, where lines from any reference end; to be called before `start`. Rows
  // are in the lanes, as if lines began there.
  void find_ends() {
    ends_.resize(paths_.n_rows * n_columns_);
    const Index n = m_ * n_columns_, n_squares = 6 * paths_.n_references;
    std::fill(change_.begin(), change_.end(), Lane::zero());
    std::fill(linear_.begin(), linear_.end(), Lane::zero());
    std::fill(curved_.begin(), curved_.end(), Lane::zero());
    for (Index begin = 0; begin < paths_.n_rows; begin += lanes) {
      for (int r = 0; r < lanes; ++r) source_[r] = std::min(begin + r, paths_.n_rows - 1);
      gather(paths_.row_logits, m_, start_logits_.data(), 1, m_);
      gather(paths_.row_scores, n, start_scores_.data(), 1, n);
      if (paths_.squares != nullptr)
        for (int part = 0; part < 6; ++part)
          gather(paths_.squares + (part < 3 ? 2 : 5) * paths_.n_references, 1, squares_ + part, 0,
                 n_squares);
      const std::vector<Lane> totals = totals_at(0);
      for (Index c = 0; c < n_columns_; ++c)
        for (int r = 0; r < lanes; ++r) ends_[source_[r] * n_columns_ + c] = totals[c].value[r];
    }
  }

  // Averages of all lines to a row.
  void go(Index row, const PathRule& coarse, const PathRule& fine) {
    prepare(row);
    integrate(row, coarse);
    bool is_rough[lanes] = {};
    if (fine.size == 0 || !find_rough(row, is_rough)) return;
    first_.swap(sums_);
    integrate(row, fine);
    for (std::size_t v = 0; v < sums_.size(); ++v)
      for (int r = 0; r < lanes; ++r)
        if (!is_rough[r]) sums_[v].value[r] = first_[v].value[r];
  }

  // Writes them to (references, width).
  void write(double* out) const {
    const Index width = paths_.width();
    for (Index r = 0; r < n_lines(); ++r)
      for (Index v = 0; v < width; ++v) out[(begin_ + r) * width + v] = sums_[v].value[r];
  }

  const std::vector<Lane>& sums() const { return sums_; }
  const Index* sources() const { return source_; }
  Index n_lines() const { return std::min<Index>(lanes, paths_.n_references - begin_); }

 private:
  static Lane all(Real number) { return filled_lane<Lane>(number); }

  // Of n numbers that are `step` apart, those of the lanes' sources, which are `apart` from each
  // other.
  void gather(const double* from, Index n, Lane* to, Index step, Index apart) const {
    const bool are_together = apart == 1 && source_[lanes - 1] == source_[0] + lanes - 1;
    for (Index i = 0; i < n; ++i, from += step) {
      Real numbers[lanes];
      if (are_together)
        for (int r = 0; r < lanes; ++r) numbers[r] = static_cast<Real>(from[source_[0] + r]);
      else
        for (int r = 0; r < lanes; ++r) numbers[r] = static_cast<Real>(from[source_[r] * apart]);
      to[i] = Lane::load(numbers);
    }
  }

  void gather(const double* from, Index n, Lane* to) const {
    gather(from, n, to, paths_.n_references, 1);
  }

  // The changes of logits and scores from the references to the row.
  void prepare(Index row) {
    const double* logits = paths_.row_logits + row * m_;
    for (Index j = 0; j < m_; ++j)
      change_[j] = all(static_cast<Real>(logits[j])) - start_logits_[j];
    const Index n = m_ * n_columns_;
    const double* scores = paths_.row_scores + row * n;
    for (Index i = 0; i < n; ++i) linear_[i] = all(static_cast<Real>(scores[i])) - start_scores_[i];
    if (paths_.linear != nullptr) {
      curved_ = linear_;
      gather(paths_.linear + row * n * paths_.n_references, n, linear_.data());
      for (Index i = 0; i < n; ++i) curved_[i] = curved_[i] - linear_[i];
    }
    if (paths_.squares != nullptr)
      gather(paths_.squares + row * 6 * paths_.n_references, 6, squares_);
  }

  void integrate(Index row, const PathRule& rule) {
    std::fill(sums_.begin(), sums_.end(), Lane::zero());
    std::fill(slope_.begin(), slope_.end(), Lane::zero());
    std::fill_n(jumps_, lanes, false);
    for (Index node = 0; node < rule.size; ++node) {
      const Real t = static_cast<Real>(rule.nodes[node]);
      if (paths_.gates != nullptr)
        read_gate(paths_.gates + (row * rule.size + node) * m_ * paths_.n_references);
      else
        find_gate(t, node == 0);
      find_scale(t);
      find_scores(t);
      add(t, static_cast<Real>(rule.weights[node]));
    }
  }

  void read_gate(const double* gates) {
    gather(gates, m_, gate_.data());
    list_all();
  }

  void list_all() {
    for (n_listed_ = 0; n_listed_ < m_; ++n_listed_) active_[n_listed_] = n_listed_;
  }

  // γ at t, not scaled yet, of the anchors that are active in some lane.
  void find_gate(Real t, bool is_first) {
    const Lane at = all(t);
    Lane top = all(-std::numeric_limits<Real>::infinity());
    for (Index j = 0; j < m_; ++j) {
      logits_[j] = start_logits_[j] + at * change_[j];
      top = larger(top, logits_[j]);
    }
    if (options_.n_active < m_) {
      list_active(top, is_first);
    } else {
      list_all();
      for (Index j = 0; j < m_; ++j) gate_[j] = logits_[j] - top;
    }
    Real* values = reinterpret_cast<Real*>(gate_.data());
    const Index n = n_listed_ * lanes;
#pragma omp simd
    for (Index v = 0; v < n; ++v) values[v] = exp_of_negative(values[v]);
  }

  // Lists the anchors that are active in some lane, with their logits below the largest; −∞ where
  // they are not active.
  void list_active(const Lane& top, bool is_first) {
    const Lane least = largest_.least(logits_.data(), top), one = all(1), none = Lane::zero();
    const Lane never = all(-std::numeric_limits<Real>::infinity());
    Lane signature = none;  // a number of the set: it differs where the set does
    n_listed_ = 0;
    for (Index first = 0; first < m_; first += 4) {
      Lane is_in[4];
      Real counts[4];
      for (Index k = 0; k < 4; ++k) {
        is_in[k] = first + k < m_ ? choose(logits_[first + k], least, one, none) : none;
        if (first + k < m_) signature.add_product(is_in[k], numbers_[first + k]);
      }
      sums_of_four(is_in[0], is_in[1], is_in[2], is_in[3], counts);
      for (Index j = first; j < std::min(first + 4, m_); ++j) {
        gate_[n_listed_] = choose(logits_[j], least, logits_[j] - top, never);
        active_[n_listed_] = j;
        n_listed_ += counts[j - first] > 0 ? 1 : 0;
      }
    }
    for (int r = 0; r < lanes; ++r)
      jumps_[r] |= !is_first && signature.value[r] != signature_.value[r];
    signature_ = signature;
  }

  // Sums of them differ for different sets, almost always, and are exact in both precisions.
  static Real number_of(Index j) {
    std::uint32_t bits = static_cast<std::uint32_t>(j + 1) * 2654435761u;
    bits = (bits ^ (bits >> 15)) * 2246822519u;
    return static_cast<Real>(bits >> 17);
  }

  // What γ is to be multiplied by, a, and how a changes.
  void find_scale(Real t) {
    Lane sum = Lane::zero(), square = Lane::zero();
    for (Index i = 0; i < n_listed_; ++i) {
      sum = sum + gate_[i];
      square = square + gate_[i] * gate_[i];
    }
    per_gate_ = scale_ = all(1);
    if (options_.is_unit)
      per_gate_ = one_over_root(square).times(static_cast<Real>(options_.factor));
    else if (paths_.gates == nullptr)
      per_gate_ = all(1) / sum;
    if (paths_.squares == nullptr) return;
    const Square u = square_at(0, t), p = square_at(3, t);
    const Real alpha = static_cast<Real>(options_.alpha), beta = static_cast<Real>(options_.beta);
    // Rows without length, where there is no constant, have no score.
    const Real least = std::numeric_limits<Real>::min();
    const Lane length = u.size.times(alpha) + (p.size * p.size).times(beta) +
                        all(static_cast<Real>(options_.bias * options_.bias));
    const Lane per_length = choose(length, all(least), all(1) / length, Lane::zero());
    scale_ = choose(length, all(least), one_over_root(length), Lane::zero());
    shrinkage_[0] = per_length.times(alpha);
    shrinkage_[1] = (p.size * per_length).times(2 * beta);
    away_[0] = u.slope;
    away_[1] = p.slope;
  }

  static Lane one_over_root(const Lane& lane) {
    Real numbers[lanes];
    lane.store(numbers);
    for (int r = 0; r < lanes; ++r) numbers[r] = 1 / std::sqrt(numbers[r]);
    return Lane::load(numbers);
  }

  struct Square {
    Lane size, slope;  // ‖u(t)‖², and u(t) · (u(1) − u(0))
  };

  Square square_at(int part, Real t) const {
    const Lane start = squares_[part], product = squares_[part + 1];
    const Lane along = product - start, change = squares_[part + 2] - product - along;
    const Lane size = start + (along.times(2) + change.times(t)).times(t);
    return {choose(size, Lane::zero(), size, Lane::zero()), along + change.times(t)};
  }

  // s_jc at t, and f_c.
  void find_scores(Real t) {
    const Lane at = all(t);
    std::fill(total_.begin(), total_.end(), Lane::zero());
    for (Index i = 0; i < n_listed_; ++i) {
      gate_[i] = gate_[i] * per_gate_;
      for (Index c = 0; c < n_columns_; ++c) {
        const Index place = active_[i] * n_columns_ + c;
        Lane slope = linear_[place];
        if (paths_.linear != nullptr) slope = slope + at * curved_[place];
        scores_[place] = start_scores_[place] + at * slope;
        total_[c] = total_[c] + gate_[i] * scores_[place];
      }
    }
  }

  void add(Real t, Real weight) {
    const bool is_curved = paths_.linear != nullptr;
    if (n_columns_ == 1 && is_curved) return add_single<true>(t, weight);
    if (n_columns_ == 1) return add_single<false>(t, weight);
    const Lane twice = all(2 * t), weighted = scale_.times(weight);
    const Real per_square = static_cast<Real>(1 / (options_.factor * options_.factor));
    Lane* const on_gate = sums_.data() + m_ * (is_curved ? 2 : 1);
    for (Index i = 0; i < n_listed_; ++i) {
      const Index j = active_[i];
      const Lane size = weighted * gate_[i];
      sums_[j].add_product(size, is_curved ? 1 - t : Real(1));
      if (is_curved) sums_[m_ + j].add_product(size, t);
      const Lane share = options_.is_unit ? gate_[i].times(per_square) : all(1);
      for (Index c = 0; c < n_columns_; ++c) {
        const Index place = j * n_columns_ + c;
        const Lane step = size * (scores_[place] - share * total_[c]);
        on_gate[c * m_ + j] = on_gate[c * m_ + j] + step;
        Lane slope = linear_[place];
        if (is_curved) slope = slope + twice * curved_[place];
        slope_[c] = slope_[c] + step * change_[j] + size * slope;
      }
    }
    if (paths_.squares != nullptr) add_shrinkage(t, weighted, on_gate + m_ * n_columns_);
  }

  // The same of one column, with what is the same for all anchors in registers.
  template <bool is_curved>
  void add_single(Real t, Real weight) {
    const Lane weighted = scale_.times(weight), total = total_[0], twice = all(2 * t);
    const Real per_square = static_cast<Real>(1 / (options_.factor * options_.factor));
    const Lane per_unit = options_.is_unit ? total.times(per_square) : Lane::zero();
    const Lane per_sum = options_.is_unit ? Lane::zero() : total;
    const Index* const active = active_.data();
    const Lane *gate = gate_.data(), *scores = scores_.data(), *linear = linear_.data(),
               *curved = curved_.data(), *change = change_.data();
    Lane *const sums = sums_.data(), *const on_gate = sums + m_ * (is_curved ? 2 : 1);
    Lane slope = slope_[0];
    for (Index i = 0; i < n_listed_; ++i) {
      const Index j = active[i];
      const Lane size = weighted * gate[i];
      const Lane step = size * (scores[j] - (per_sum + gate[i] * per_unit));
      sums[j].add_product(size, is_curved ? 1 - t : Real(1));
      if (is_curved) sums[m_ + j].add_product(size, t);
      on_gate[j] = on_gate[j] + step;
      const Lane along = is_curved ? linear[j] + twice * curved[j] : linear[j];
      slope = slope + step * change[j] + size * along;
    }
    slope_[0] = slope;
    if (paths_.squares != nullptr) add_shrinkage(t, weighted, on_gate + m_);
  }

  void add_shrinkage(Real t, const Lane& weighted, Lane* on_lengths) {
    for (int part = 0; part < 2; ++part)
      for (Index c = 0; c < n_columns_; ++c, ++on_lengths) {
        const Lane step = (weighted * total_[c] * shrinkage_[part]).times(-1);
        on_lengths[part * n_columns_].add_product(step, 1 - t);
        on_lengths[(part + 1) * n_columns_].add_product(step, t);
        slope_[c] = slope_[c] + step * away_[part];
      }
  }

  // Which lines, along which the active anchors stay the same, need more nodes.
  bool find_rough(Index row, bool* is_rough) const {
    bool any = false;
    for (Index c = 0; c < n_columns_; ++c) {
      const Real other = ends_[row * n_columns_ + c];
      for (int r = 0; r < lanes; ++r) {
        const Real one = before_[c].value[r], error = std::fabs(other - one - slope_[c].value[r]);
        const Real size = std::fabs(one) + std::fabs(other);
        is_rough[r] |= !jumps_[r] && error > static_cast<Real>(options_.tolerance) * size;
        any |= is_rough[r];
      }
    }
    return any;
  }

  std::vector<Lane> totals_at(Real t) {
    find_gate(t, true);
    find_scale(t);
    find_scores(t);
    std::vector<Lane> totals = total_;
    for (Lane& total : totals) total = total * scale_;
    return totals;
  }

  const GatePaths& paths_;
  const PathOptions& options_;
  Index m_, n_columns_, begin_ = 0, n_listed_ = 0;
  Index source_[lanes];
  bool jumps_[lanes] = {};
  LargestInLanes<Real, lanes> largest_;
  std::vector<Index> active_;
  std::vector<Real> numbers_;
  std::vector<Lane> start_logits_, change_, logits_, gate_;
  std::vector<Lane> start_scores_, linear_, curved_, scores_, total_, slope_, sums_, first_,
      before_;
  std::vector<Real> ends_;
  Lane squares_[6], scale_, shrinkage_[2], away_[2], per_gate_, signature_;
};

}  // namespace detail

}  // namespace hyperlocal
