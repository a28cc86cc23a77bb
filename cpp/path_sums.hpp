// Averages over anchors turned into contributions of features, as cpp/path_parts.hpp states.
#pragma once

#include <algorithm>
#include <vector>

#include "path_parts.hpp"
#include "simd.hpp"

namespace hyperlocal {

namespace detail {

// For lines from some references, one in each lane, to one row after the other.
template <class Real, int lanes>
class PathSums {
 public:
  using Lane = Lanes<Real, lanes>;

  PathSums(const PathFeatures& features, bool is_normalized)
      : features_(features),
        is_normalized_(is_normalized),
        m_(features.n_anchors),
        n_columns_(features.n_columns),
        d_(features.n_features),
        n_slopes_(m_ * n_columns_ * d_),
        anchors_(features.anchors, features.anchors + m_ * d_),
        row_slopes_(n_slopes_),
        starts_(d_),
        start_inner_(d_),
        start_slopes_(features.is_curved ? n_slopes_ : 0) {
    if (!features.is_curved) std::copy_n(features.start_slopes, n_slopes_, row_slopes_.begin());
    moves_gate_ = std::any_of(anchors_.begin(), anchors_.end(), [](Real x) { return x != 0; });
  }

  // The references of the lanes, of which the first `n_lines` count.
  void start(const Index* sources, Index n_lines) {
    shares_ = Lane::zero();
    for (int r = 0; r < lanes; ++r) {
      const Index own = sources[r] * d_, n = static_cast<Index>(start_slopes_.size());
      for (Index i = 0; i < d_; ++i) {
        starts_[i].value[r] = static_cast<Real>(features_.starts[own + i]);
        start_inner_[i].value[r] = static_cast<Real>(features_.start_inner[own + i]);
      }
      for (Index v = 0; v < n; ++v)
        start_slopes_[v].value[r] = static_cast<Real>(features_.start_slopes[sources[r] * n + v]);
      if (r < n_lines) shares_.value[r] = static_cast<Real>(features_.shares[sources[r]]);
    }
  }

  // Adds the contributions that averages give to (columns, features).
  void add(Index row, const std::vector<Lane>& sums, double* out) {
    if (features_.is_curved)
      std::copy_n(features_.row_slopes + row * n_slopes_, n_slopes_, row_slopes_.begin());
    list_moved(sums);
    for (Index c = 0; c < n_columns_; ++c) {
      if (moves_gate_)
        add_column<true>(row, c, sums, out + c * d_);
      else
        add_column<false>(row, c, sums, out + c * d_);
    }
  }

 private:
  static constexpr int block = 6;  // features whose sums stay in registers

  // The anchors that are active at some node of some line.
  void list_moved(const std::vector<Lane>& sums) {
    moved_.clear();
    for (Index j = 0; j < m_; ++j) {
      Lane sum = sums[j];
      if (features_.is_curved) sum = sum + sums[m_ + j];
      if (sum.sum() != 0) moved_.push_back(j);
    }
  }

  template <bool moves_gate>
  void add_column(Index row, Index c, const std::vector<Lane>& sums, double* out) {
    Index i = 0;
    for (; i + block <= d_; i += block) add_block<block, moves_gate>(row, c, i, sums, out);
    for (; i < d_; ++i) add_block<1, moves_gate>(row, c, i, sums, out);
  }

  // Of some features that follow each other: averages on u, and those of the gate on x, times the
  // differences of the ends.
  template <int width, bool moves_gate>
  void add_block(Index row, Index c, Index first, const std::vector<Lane>& sums, double* out) {
    const bool is_curved = features_.is_curved;
    const Lane* const on_gate = sums.data() + m_ * (is_curved ? 2 : 1) + c * m_;
    Lane inner[width], code[width];
    for (int v = 0; v < width; ++v) inner[v] = code[v] = Lane::zero();
    for (const Index j : moved_) {
      const Index place = (j * n_columns_ + c) * d_ + first;
      const Lane own = sums[is_curved ? m_ + j : j], gate = on_gate[j];
      const Real *slopes = row_slopes_.data() + place, *anchor = anchors_.data() + j * d_ + first;
      for (int v = 0; v < width; ++v) {
        inner[v].add_product(own, slopes[v]);
        if (moves_gate) code[v].add_product(gate, anchor[v]);
      }
      if (is_curved)
        for (int v = 0; v < width; ++v) inner[v].add_product(sums[j], start_slopes_[place + v]);
    }
    for (int v = 0; v < width; ++v) {
      const Index i = first + v;
      if (is_normalized_) add_lengths(row, c, i, sums, inner[v]);
      Lane per_change = inner[v].times(static_cast<Real>(features_.back[i]));
      if (moves_gate) per_change.add_product(code[v], static_cast<Real>(features_.code_back[i]));
      Lane away = starts_[i];
      away.subtract(static_cast<Real>(features_.rows[row * d_ + i]));
      out[i] -= static_cast<double>((shares_ * away * per_change).sum());
    }
  }

  void add_lengths(Index row, Index c, Index i, const std::vector<Lane>& sums, Lane& inner) const {
    const Lane* shrink = sums.data() + m_ * ((features_.is_curved ? 2 : 1) + n_columns_) + c;
    const Real own = static_cast<Real>(features_.row_inner[row * d_ + i]);
    for (int part = 0; part < (i < features_.n_paired ? 4 : 2); part += 2) {
      inner.add_product(shrink[part * n_columns_], start_inner_[i]);
      inner.add_product(shrink[(part + 1) * n_columns_], own);
    }
  }

  const PathFeatures& features_;
  bool is_normalized_, moves_gate_;
  Index m_, n_columns_, d_, n_slopes_;
  std::vector<Real> anchors_, row_slopes_;
  std::vector<Lane> starts_, start_inner_, start_slopes_;
  std::vector<Index> moved_;
  Lane shares_;
};

}  // namespace detail

}  // namespace hyperlocal
