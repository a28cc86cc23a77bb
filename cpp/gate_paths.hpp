// Averages on the way from references to rows that explanations of a gated model need.
//
// On the line r + t (x − r), 0 ≤ t ≤ 1, the logits z_j of a soft gate are linear in t and the
// scores s_jc of the local models are polynomials of degree two, s_jc(t) = s_jc(0) + t b_jc + t²
// c_jc. So both are given at the ends, and a node of the quadrature costs a few numbers per anchor:
//
//   γ_j ∝ exp(z_j) over the `n_active` largest logits, Σ γ = 1; or ‖γ‖ = factor (`is_unit`)
//   a   = 1, or 1 / √(‖φ‖² + B²) where rows are normalized
//   f_c = a Σ_j γ_j s_jc
//
// With quadrature weights ω, a row and a reference get, in this order:
//
//   start_j  = Σ_t ω (1 − t) a γ_j        how much of the local model's slope at the reference,
//   end_j    = Σ_t ω t a γ_j              and at the row, is in the average (their sum alone where
//                                         slopes are the same everywhere)
//   gate_cj  = Σ_t ω a γ_j (s_jc − q_j f_c / a)      ∂f_c/∂z_j; q = 1, or γ_j / ‖γ‖² (`is_unit`)
//   shrink_c = −Σ_t ω (1 − t, t) f_c (α, 2β ‖p‖²) / (‖φ‖² + B²)    four numbers per column, for
//                                         normalized rows: the parts of u(0), u(1), p(0) and p(1)
//
// where φ is a polynomial of the numbers u, ‖φ‖² = α ‖u‖² + β ‖p‖⁴, and p are those of them that
// are multiplied with each other. A line whose averages do not add up to f(1) − f(0), though its
// active anchors stay the same, is computed again with the finer rule.
//
// References are computed four at a time, one in each lane.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "gate_on_lines.hpp"
#include "rows.hpp"

namespace hyperlocal {

// Nodes and weights of a quadrature between 0 and 1.
struct PathRule {
  const double *nodes, *weights;
  Index size;
};

struct PathOptions {
  Index n_active;
  bool is_unit;
  double factor;
  double alpha, beta;  // of ‖φ‖²
  double bias;         // B
  double tolerance;    // of f(1) − f(0), relative to the size of both
};

struct GatePaths {
  Index n_rows, n_anchors, n_columns, n_references;
  Index n_nodes;               // of the gates given
  const double* row_logits;    // (rows, anchors)
  const double* start_logits;  // (anchors, references)
  const double* row_scores;    // (rows, anchors, columns)
  const double* start_scores;  // (anchors, columns, references)
  const double* linear;        // b: (rows, anchors, columns, references); null: the change itself
  const double* squares;       // ‖u(0)‖², u(0)·u(1), ‖u(1)‖², and of p: (rows, 6, references);
                               // null: a = 1
  const double* gates;         // γ: (rows, nodes, anchors, references); null: of the logits

  // start and end are one sum where slopes do not change.
  Index width() const { return n_anchors * ((linear ? 2 : 1) + n_columns) + 4 * n_columns; }
};

// What averages over anchors are turned into contributions by: an output of feature i is
// Σ_r share_r (x_i − x_ri) (back_i w_ri + code_back_i Σ_j gate_rj anchor_ji), with
// w = Σ_j (start_j slope_j(0) + end_j slope_j(1)) + shrink · (u(0), u(1), p(0), p(1)).
struct PathFeatures {
  Index n_features, n_paired, n_rows, n_references, n_anchors, n_columns;
  bool is_curved;
  const double *rows, *starts;              // x: (rows, features), (references, features)
  const double *row_inner, *start_inner;    // u, of the same shapes
  const double *row_slopes, *start_slopes;  // (rows, anchors, columns, features), (references, …);
                                            // those of one row where slopes do not change
  const double* anchors;                    // ∂z/∂x: (anchors, features)
  const double *back, *code_back, *shares;  // (features), (features), (references)
};

namespace detail {

// The lines from some references, one in each lane, to one row after the other.
class LinesToRow {
 public:
  static constexpr int lanes = GateOnLines::lanes;
  using Lane = GateOnLines::Lane;

  LinesToRow(const GatePaths& paths, const PathOptions& options)
      : paths_(paths),
        options_(options),
        m_(paths.n_anchors),
        n_columns_(paths.n_columns),
        gate_(m_, options.n_active),
        start_scores_(m_ * n_columns_),
        linear_(m_ * n_columns_),
        curved_(m_ * n_columns_),
        scores_(m_ * n_columns_),
        total_(n_columns_),
        slope_(n_columns_),
        sums_(paths.width()),
        first_(paths.width()) {}

  // The references from `begin` on; lanes without one repeat the last.
  void start(Index begin) {
    begin_ = begin;
    for (int r = 0; r < lanes; ++r) source_[r] = std::min(begin + r, paths_.n_references - 1);
    gather(paths_.start_logits, m_, gate_.start.data());
    gather(paths_.start_scores, m_ * n_columns_, start_scores_.data());
  }

  // Averages of all lines to a row.
  void go(Index row, const PathRule& coarse, const PathRule& fine) {
    prepare(row);
    integrate(row, coarse);
    bool is_rough[lanes] = {};
    if (fine.size == 0 || !find_rough(is_rough)) return;
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

  // Adds the contributions to (columns, features).
  void contribute(Index row, const PathFeatures& features, double* out) {
    const Index d = features.n_features;
    weights_.resize(2 * d);
    for (Index r = 0; r < n_lines(); ++r)
      for (Index c = 0; c < n_columns_; ++c) {
        collect(row, begin_ + r, c, features);
        const double share = features.shares[begin_ + r];
        const double *x = features.rows + row * d, *start = features.starts + (begin_ + r) * d;
        for (Index i = 0; i < d; ++i)
          out[c * d + i] +=
              share * (x[i] - start[i]) *
              (features.back[i] * weights_[i] + features.code_back[i] * weights_[d + i]);
      }
  }

 private:
  Index n_lines() const { return std::min<Index>(lanes, paths_.n_references - begin_); }

  // The weights on u, and those of the gate on x, of one line and column.
  void collect(Index row, Index reference, Index c, const PathFeatures& features) {
    const Index d = features.n_features, r = reference - begin_, block = m_ * n_columns_ * d;
    const bool is_curved = paths_.linear != nullptr;
    const double* first = features.start_slopes + (is_curved ? reference * block : 0) + c * d;
    const double* last = is_curved ? features.row_slopes + row * block + c * d : nullptr;
    const Lane* on_gate = sums_.data() + m_ * (is_curved ? 2 : 1) + c * m_;
    double *on_inner = weights_.data(), *on_code = on_inner + d;
    std::fill(weights_.begin(), weights_.end(), 0.0);
    for (Index j = 0; j < m_; ++j) {
      const double start = sums_[j].value[r], end = is_curved ? sums_[m_ + j].value[r] : 0.0;
      if (start == 0 && end == 0) continue;  // never active
      add_scaled(first + j * n_columns_ * d, d, start, on_inner);
      if (is_curved) add_scaled(last + j * n_columns_ * d, d, end, on_inner);
      add_scaled(features.anchors + j * d, d, on_gate[j].value[r], on_code);
    }
    if (paths_.squares == nullptr) return;
    const Lane* shrink = sums_.data() + m_ * ((is_curved ? 2 : 1) + n_columns_) + c;
    for (int part = 0; part < 2; ++part) {
      const Index n = part == 0 ? d : features.n_paired;
      add_scaled(features.start_inner + reference * d, n, shrink[2 * part * n_columns_].value[r],
                 on_inner);
      add_scaled(features.row_inner + row * d, n, shrink[(2 * part + 1) * n_columns_].value[r],
                 on_inner);
    }
  }

  void gather(const double* from, Index n, Lane* to) const {
    const Index stride = paths_.n_references;
    if (source_[lanes - 1] == source_[0] + lanes - 1) {
      for (Index i = 0; i < n; ++i) to[i] = Lane::load(from + i * stride + source_[0]);
      return;
    }
    for (Index i = 0; i < n; ++i)
      for (int r = 0; r < lanes; ++r) to[i].value[r] = from[i * stride + source_[r]];
  }

  // The changes of logits and scores from the references to the row.
  void prepare(Index row) {
    gate_.go_to(paths_.row_logits + row * m_);
    const Index n = m_ * n_columns_;
    const double* scores = paths_.row_scores + row * n;
    for (Index i = 0; i < n; ++i) linear_[i] = Lane::all(scores[i]) - start_scores_[i];
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
    gate_.forget_jumps();
    for (Index node = 0; node < rule.size; ++node) {
      if (paths_.gates != nullptr)
        read_gate(paths_.gates + (row * rule.size + node) * m_ * paths_.n_references);
      else
        gate_.find(rule.nodes[node], node == 0);
      find_scale(rule.nodes[node]);
      find_scores(rule.nodes[node]);
      add(rule.nodes[node], rule.weights[node]);
    }
  }

  void read_gate(const double* gates) {
    gather(gates, m_, gate_.weights.data());
    gate_.list_all();
  }

  // What γ is to be multiplied by, a, and how a changes.
  void find_scale(double t) {
    Lane sum = Lane::zero(), square = Lane::zero();
    for (Index i = 0; i < gate_.n_listed; ++i) {
      sum = sum + gate_.weights[i];
      square = square + gate_.weights[i] * gate_.weights[i];
    }
    per_gate_ = scale_ = Lane::all(1.0);
    for (int r = 0; r < lanes; ++r)
      if (options_.is_unit)
        per_gate_.value[r] = options_.factor / std::sqrt(square.value[r]);
      else if (paths_.gates == nullptr)
        per_gate_.value[r] = 1 / sum.value[r];
    if (paths_.squares == nullptr) return;
    for (int r = 0; r < lanes; ++r) {
      const Square u = square_at(0, r, t), p = square_at(3, r, t);
      const double length =
          options_.alpha * u.size + options_.beta * p.size * p.size + options_.bias * options_.bias;
      const double per_length = length > 0 ? 1 / length : 0.0;
      scale_.value[r] = std::sqrt(per_length);
      shrinkage_[0].value[r] = options_.alpha * per_length;
      shrinkage_[1].value[r] = 2 * options_.beta * p.size * per_length;
      away_[0].value[r] = u.slope;
      away_[1].value[r] = p.slope;
    }
  }

  struct Square {
    double size, slope;  // ‖u(t)‖², and u(t) · (u(1) − u(0))
  };

  Square square_at(int part, int r, double t) const {
    const double start = squares_[part].value[r], product = squares_[part + 1].value[r];
    const double along = product - start, change = squares_[part + 2].value[r] - product - along;
    return {std::max(0.0, start + t * (2 * along + t * change)), along + t * change};
  }

  // s_jc at t, and f_c.
  void find_scores(double t) {
    const Lane at = Lane::all(t);
    std::fill(total_.begin(), total_.end(), Lane::zero());
    for (Index i = 0; i < gate_.n_listed; ++i) {
      gate_.weights[i] = gate_.weights[i] * per_gate_;
      for (Index c = 0; c < n_columns_; ++c) {
        const Index place = gate_.active[i] * n_columns_ + c;
        Lane slope = linear_[place];
        if (paths_.linear != nullptr) slope = slope + at * curved_[place];
        scores_[place] = start_scores_[place] + at * slope;
        total_[c] = total_[c] + gate_.weights[i] * scores_[place];
      }
    }
  }

  void add(double t, double weight) {
    const bool is_curved = paths_.linear != nullptr;
    const Lane twice = Lane::all(2 * t), weighted = scale_.times(weight);
    const double per_square = 1 / (options_.factor * options_.factor);
    Lane* const on_gate = sums_.data() + m_ * (is_curved ? 2 : 1);
    for (Index i = 0; i < gate_.n_listed; ++i) {
      const Index j = gate_.active[i];
      const Lane size = weighted * gate_.weights[i];
      sums_[j].add_product(size, is_curved ? 1 - t : 1.0);
      if (is_curved) sums_[m_ + j].add_product(size, t);
      const Lane share = options_.is_unit ? gate_.weights[i].times(per_square) : Lane::all(1.0);
      for (Index c = 0; c < n_columns_; ++c) {
        const Index place = j * n_columns_ + c;
        const Lane step = size * (scores_[place] - share * total_[c]);
        on_gate[c * m_ + j] = on_gate[c * m_ + j] + step;
        Lane slope = linear_[place];
        if (is_curved) slope = slope + twice * curved_[place];
        slope_[c] = slope_[c] + step * gate_.change[j] + size * slope;
      }
    }
    if (paths_.squares != nullptr) add_shrinkage(t, weighted, on_gate + m_ * n_columns_);
  }

  void add_shrinkage(double t, const Lane& weighted, Lane* on_lengths) {
    for (int part = 0; part < 2; ++part)
      for (Index c = 0; c < n_columns_; ++c, ++on_lengths) {
        const Lane step = (weighted * total_[c] * shrinkage_[part]).times(-1);
        on_lengths[part * n_columns_].add_product(step, 1 - t);
        on_lengths[(part + 1) * n_columns_].add_product(step, t);
        slope_[c] = slope_[c] + step * away_[part];
      }
  }

  // Which lines, along which the active anchors stay the same, need more nodes.
  bool find_rough(bool* is_rough) {
    bool stays[lanes], any = false;
    for (int r = 0; r < lanes; ++r) any |= stays[r] = !gate_.jumps[r];
    if (!any) return false;
    const std::vector<Lane> found = slope_, before = totals_at(0.0), after = totals_at(1.0);
    any = false;
    for (Index c = 0; c < n_columns_; ++c)
      for (int r = 0; r < lanes; ++r) {
        const double one = before[c].value[r], other = after[c].value[r];
        const double error = std::fabs(other - one - found[c].value[r]);
        is_rough[r] |= stays[r] && error > options_.tolerance * (std::fabs(one) + std::fabs(other));
        any |= is_rough[r];
      }
    return any;
  }

  std::vector<Lane> totals_at(double t) {
    gate_.find(t, true);
    find_scale(t);
    find_scores(t);
    std::vector<Lane> totals = total_;
    for (Lane& total : totals) total = total * scale_;
    return totals;
  }

  const GatePaths& paths_;
  const PathOptions& options_;
  Index m_, n_columns_, begin_ = 0;
  GateOnLines gate_;
  Index source_[lanes];
  std::vector<Lane> start_scores_, linear_, curved_, scores_, total_, slope_, sums_, first_;
  std::vector<double> weights_;
  Lane squares_[6], scale_, shrinkage_[2], away_[2], per_gate_;
};

// Calls use(lines, row) with the averages of the lines from some references to each row.
template <class Use>
void for_each_row(const GatePaths& paths, const PathOptions& options, const PathRule& coarse,
                  const PathRule& fine, const Use& use) {
  LinesToRow lines(paths, options);
  for (Index begin = 0; begin < paths.n_references; begin += LinesToRow::lanes) {
    lines.start(begin);
    for (Index row = 0; row < paths.n_rows; ++row) {
      lines.go(row, coarse, fine);
      use(lines, row);
    }
  }
}

}  // namespace detail

// out: averages, (rows, references, width).
inline void path_moments(const GatePaths& paths, const PathOptions& options, const PathRule& coarse,
                         const PathRule& fine, double* out) {
  const Index size = paths.n_references * paths.width();
  detail::for_each_row(
      paths, options, coarse, fine,
      [&](const detail::LinesToRow& lines, Index row) { lines.write(out + row * size); });
}

// Adds contributions to out, (rows, columns, features).
inline void path_contributions(const GatePaths& paths, const PathOptions& options,
                               const PathRule& coarse, const PathRule& fine,
                               const PathFeatures& features, double* out) {
  const Index size = paths.n_columns * features.n_features;
  detail::for_each_row(paths, options, coarse, fine, [&](detail::LinesToRow& lines, Index row) {
    lines.contribute(row, features, out + row * size);
  });
}

}  // namespace hyperlocal
