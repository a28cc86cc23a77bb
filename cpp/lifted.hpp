// The lifted row γ(x) ⊗ [φ(x); B] as a virtual vector of m·(p+1) numbers, never stored.
//
// Weights are stored m × c × (p+1): anchor, class, feature, the bias last. A visit to a row reads
// the k contiguous blocks of its anchors. The gate's weights are mixed before the product with φ,
//     Σ_j γ_j (w_j · φ) = φ · (Σ_j γ_j w_j),
// which needs one horizontal sum per class instead of k.
//
// Intercepts are of two kinds, and either may be absent (its constant is zero). Local ones: B is a
// feature of every anchor's model. A global one: the lifted row is [γ ⊗ [φ; B]; O], and O does not
// depend on the gate. Its weight has a block of its own after those of the anchors, of which only
// the last number is used.
#pragma once

#include <algorithm>
#include <cassert>
#include <vector>

#include "rows.hpp"
#include "simd.hpp"

namespace hyperlocal {

// For each row, k anchors and their weights γ.
template <class T>
struct Codes {
  const Column* anchors;
  const T* weights;
  Index k;

  const Column* anchors_of(Index row) const { return anchors + row * k; }
  const T* weights_of(Index row) const { return weights + row * k; }
};

template <class T>
class Lifted {
 public:
  Lifted(const Rows<T>& rows, const Codes<T>& codes, Index n_anchors, T bias, T offset)
      : rows_(rows), codes_(codes), n_anchors_(n_anchors), bias_(bias), offset_(offset) {}

  const Rows<T>& rows() const { return rows_; }
  const Codes<T>& codes() const { return codes_; }
  Index n_anchors() const { return n_anchors_; }
  T bias() const { return bias_; }
  T offset() const { return offset_; }
  // Blocks of weights: one per anchor, and one for the global intercept.
  Index n_blocks() const { return n_anchors_ + (offset_ == 0 ? 0 : 1); }
  Index n_rows() const { return rows_.n_rows(); }
  Index block_width() const { return rows_.width() + 1; }
  HYPERLOCAL_INLINE RowView<T> fetch(Index row, RowBuffer<T>& buffer) const {
    return rows_.fetch(row, buffer);
  }
  void prefetch_row(Index row) const {
    rows_.prefetch_row(row);
    prefetch(codes_.anchors_of(row));
    prefetch(codes_.weights_of(row));
  }

  // lifted_i · W_c = Σ_j γ_ij (W_jc · [φ_i; B]) + O W_mc.
  HYPERLOCAL_INLINE T dot(Index row, const RowView<T>& x, const T* weights, Index n_classes,
                          Index cls) const {
    return dot(row, x, codes_.weights_of(row), weights, n_classes, cls);
  }

  // The same with weights `mix` in place of the row's own γ_i.
  HYPERLOCAL_INLINE T dot(Index row, const RowView<T>& x, const T* mix, const T* weights,
                          Index n_classes, Index cls) const {
    assert(0 <= row && row < n_rows() && 0 <= cls && cls < n_classes);
    T sum = global_score(weights, n_classes, cls);
    Index j = 0;
    for (; j + 8 <= codes_.k; j += 8) sum += dot_blocks<8>(row, j, x, mix, weights, n_classes, cls);
    for (; j + 4 <= codes_.k; j += 4) sum += dot_blocks<4>(row, j, x, mix, weights, n_classes, cls);
    for (; j < codes_.k; ++j) sum += dot_blocks<1>(row, j, x, mix, weights, n_classes, cls);
    return sum;
  }

  // O W_mc: what the global intercept adds to all rows.
  HYPERLOCAL_INLINE T global_score(const T* weights, Index n_classes, Index cls) const {
    return offset_ == 0 ? T(0) : offset_ * weights[offset_slot(n_classes, cls)];
  }

  // Each anchor's own score, W_jc · [φ_i; B].
  HYPERLOCAL_INLINE void local_dots(Index row, const RowView<T>& x, const T* weights,
                                    Index n_classes, Index cls, T* out) const {
    const Column* anchors = codes_.anchors_of(row);
    const auto start = [&](Index j) {
      return weights + (anchors[j] * n_classes + cls) * block_width();
    };
    Index j = 0;
    for (; x.is_dense() && j + 4 <= codes_.k; j += 4) {
      const T* blocks[4] = {start(j), start(j + 1), start(j + 2), start(j + 3)};
      dots_of_four(x.values, x.size, bias_, blocks, out + j);
    }
    for (; j < codes_.k; ++j) out[j] = affine_dot(x, bias_, start(j), block_width());
  }

  // W_c += step · lifted_i.
  HYPERLOCAL_INLINE void axpy(Index row, const RowView<T>& x, T step, T* weights, Index n_classes,
                              Index cls) const {
    const T* mix = codes_.weights_of(row);
    add_blocks(row, x, [=](Index j) { return step * mix[j]; }, weights, n_classes, cls);
    if (offset_ != 0) weights[offset_slot(n_classes, cls)] += step * offset_;
  }

  // W_jc += scale(j) · [φ_i; B] for each anchor j of the row.
  template <class Scale>
  HYPERLOCAL_INLINE void add_blocks(Index row, const RowView<T>& x, Scale scale_of, T* weights,
                                    Index n_classes, Index cls) const {
    const Column* anchors = codes_.anchors_of(row);
    const Index width = block_width();
    constexpr int n_together = 8;
    const bool is_short = x.is_dense() && width <= short_width;
    T* blocks[n_together];
    T scales[n_together];
    int n = 0;
    for (Index j = 0; j < codes_.k; ++j) {
      blocks[n] = weights + (anchors[j] * n_classes + cls) * width;
      scales[n] = scale_of(j);
      if (scales[n] == 0) continue;
      if (!is_short) {
        affine_add(x, bias_, scales[n], blocks[n], width);
      } else if (++n == n_together) {
        add_to_blocks<n_together>(x.values, x.size, bias_, scales, blocks);
        n = 0;
      }
    }
    for (int i = 0; i < n; ++i) add_to_blocks<1>(x.values, x.size, bias_, scales + i, blocks + i);
  }

  // ‖lifted_i‖² = ‖γ_i‖² (‖φ_i‖² + B²) + O².
  double squared_norm(Index row, const RowView<T>& x) const {
    const T* mix = codes_.weights_of(row);
    double gate = 0;
    for (Index j = 0; j < codes_.k; ++j) gate += double(mix[j]) * double(mix[j]);
    return gate * (hyperlocal::squared_norm(x) + double(bias_) * double(bias_)) +
           double(offset_) * double(offset_);
  }

 private:
  // Where the weight of a class's global intercept is stored.
  Index offset_slot(Index n_classes, Index cls) const {
    return (n_anchors_ * n_classes + cls + 1) * block_width() - 1;
  }

  // The share of anchors j … j+n-1 in `dot`.
  template <int n>
  HYPERLOCAL_INLINE T dot_blocks(Index row, Index j, const RowView<T>& x, const T* mix,
                                 const T* weights, Index n_classes, Index cls) const {
    const Column* anchors = codes_.anchors_of(row) + j;
    const T* blocks[n];
    for (int i = 0; i < n; ++i)
      blocks[i] = weights + (anchors[i] * n_classes + cls) * block_width();
    if (x.is_dense()) return mixed_dot<n>(x.values, x.size, bias_, blocks, mix + j);
    T sums[n];  // all blocks at each number: sums that do not wait for each other
    for (int i = 0; i < n; ++i) sums[i] = bias_ * blocks[i][block_width() - 1];
    for (Index v = 0; v < x.size; ++v)
      for (int i = 0; i < n; ++i) sums[i] += x.values[v] * blocks[i][x.columns[v]];
    T sum = 0;
    for (int i = 0; i < n; ++i) sum += mix[j + i] * sums[i];
    return sum;
  }

  // Of longer rows, blocks are added to one after the other.
  static constexpr Index short_width = 64;

  Rows<T> rows_;
  Codes<T> codes_;
  Index n_anchors_;
  T bias_;
  T offset_;
};

// W_c += Σ_i steps[i, c] · lifted_i over a range of classes.
template <class T>
void lifted_add(const Lifted<T>& lifted, const T* steps, T* weights, Index n_classes,
                Range classes) {
  RowBuffer<T> buffer;
  for (Index row = 0; row < lifted.n_rows(); ++row) {
    const T* row_steps = steps + row * n_classes;
    bool any = false;
    for (Index cls = classes.begin; cls < classes.end; ++cls) any |= row_steps[cls] != 0;
    if (!any) continue;
    const RowView<T> x = lifted.fetch(row, buffer);
    for (Index cls = classes.begin; cls < classes.end; ++cls)
      if (row_steps[cls] != 0) lifted.axpy(row, x, row_steps[cls], weights, n_classes, cls);
  }
}

template <class T>
void lifted_squared_norms(const Lifted<T>& lifted, Range range, T* norms) {
  RowBuffer<T> buffer;
  for (Index row = range.begin; row < range.end; ++row)
    *norms++ = static_cast<T>(lifted.squared_norm(row, lifted.fetch(row, buffer)));
}

}  // namespace hyperlocal
