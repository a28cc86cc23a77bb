// The lifted row γ(x) ⊗ [φ(x); B] as a virtual vector of m·(p+1) numbers, never stored.
//
// Weights are stored m × c × (p+1): anchor, class, feature, the bias last. A visit to a row reads
// the k contiguous blocks of its anchors. The gate's weights are mixed before the product with φ,
//     Σ_j γ_j (w_j · φ) = φ · (Σ_j γ_j w_j),
// which needs one horizontal sum per class instead of k.
#pragma once

#include "rows.hpp"

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

namespace detail {

// Sums over `lanes` independent partial sums: enough of them to hide the latency of an addition,
// and a fixed order of summation, whatever the compiler makes of it.
template <int lanes, int n_blocks, class T>
Index mixed_dot_chunk(const T* x, Index begin, Index size, const T* const* blocks, const T* mix,
                      T& total) {
  T sums[lanes] = {};
  Index v = begin;
  for (; v + lanes <= size; v += lanes) {
#pragma omp simd
    for (int lane = 0; lane < lanes; ++lane) {
      T mixed = mix[0] * blocks[0][v + lane];
      for (int j = 1; j < n_blocks; ++j) mixed += mix[j] * blocks[j][v + lane];
      sums[lane] += x[v + lane] * mixed;
    }
  }
  for (int width = lanes / 2; width > 0; width /= 2)
    for (int lane = 0; lane < width; ++lane) sums[lane] += sums[lane + width];
  total += sums[0];
  return v;
}

// x · Σ_j mix_j blocks_j over dense x.
template <int n_blocks, class T>
T mixed_dot(const T* x, Index size, const T* const* blocks, const T* mix) {
  constexpr int lanes = static_cast<int>(64 / sizeof(T)) * (n_blocks == 1 ? 2 : 1);
  T total = 0;
  Index v = 0;
  if (size >= lanes) v = mixed_dot_chunk<lanes, n_blocks>(x, v, size, blocks, mix, total);
  if (size - v >= lanes / 2)
    v = mixed_dot_chunk<lanes / 2, n_blocks>(x, v, size, blocks, mix, total);
  if (size - v >= lanes / 4)
    v = mixed_dot_chunk<lanes / 4, n_blocks>(x, v, size, blocks, mix, total);
  for (; v < size; ++v) {
    T mixed = mix[0] * blocks[0][v];
    for (int j = 1; j < n_blocks; ++j) mixed += mix[j] * blocks[j][v];
    total += x[v] * mixed;
  }
  return total;
}

}  // namespace detail

template <class T>
class Lifted {
 public:
  Lifted(Rows<T> rows, Codes<T> codes, T bias) : rows_(rows), codes_(codes), bias_(bias) {}

  const Rows<T>& rows() const { return rows_; }
  const Codes<T>& codes() const { return codes_; }
  T bias() const { return bias_; }
  Index n_rows() const { return rows_.n_rows(); }
  Index block_width() const { return rows_.width() + 1; }
  RowView<T> fetch(Index row, RowBuffer<T>& buffer) const { return rows_.fetch(row, buffer); }

  // lifted_i · W_c = Σ_j γ_ij (W_jc · [φ_i; B]).
  T dot(Index row, const RowView<T>& x, const T* weights, Index n_classes, Index cls) const {
    const Column* anchors = codes_.anchors_of(row);
    const T* mix = codes_.weights_of(row);
    const Index width = block_width();
    const auto block = [&](Index j) { return weights + (anchors[j] * n_classes + cls) * width; };
    T bias_sum = 0;
    for (Index j = 0; j < codes_.k; ++j) bias_sum += mix[j] * block(j)[width - 1];
    T sum = bias_ * bias_sum;
    Index j = 0;
    if (x.is_dense()) {
      for (; j + 8 <= codes_.k; j += 8) {
        const T* blocks[8] = {block(j),     block(j + 1), block(j + 2), block(j + 3),
                              block(j + 4), block(j + 5), block(j + 6), block(j + 7)};
        sum += detail::mixed_dot<8>(x.values, x.size, blocks, mix + j);
      }
      for (; j + 4 <= codes_.k; j += 4) {
        const T* blocks[4] = {block(j), block(j + 1), block(j + 2), block(j + 3)};
        sum += detail::mixed_dot<4>(x.values, x.size, blocks, mix + j);
      }
      for (; j < codes_.k; ++j) {
        const T* blocks[1] = {block(j)};
        sum += detail::mixed_dot<1>(x.values, x.size, blocks, mix + j);
      }
    } else {
      for (; j < codes_.k; ++j) {
        const T* w = block(j);
        T part = 0;
        for (Index v = 0; v < x.size; ++v) part += x.values[v] * w[x.columns[v]];
        sum += mix[j] * part;
      }
    }
    return sum;
  }

  // W_c += step · lifted_i.
  void axpy(Index row, const RowView<T>& x, T step, T* weights, Index n_classes, Index cls) const {
    const Column* anchors = codes_.anchors_of(row);
    const T* mix = codes_.weights_of(row);
    const Index width = block_width();
    for (Index j = 0; j < codes_.k; ++j) {
      const T scale = step * mix[j];
      if (scale == 0) continue;
      T* w = weights + (anchors[j] * n_classes + cls) * width;
      if (x.is_dense()) {
#pragma omp simd
        for (Index v = 0; v < x.size; ++v) w[v] += scale * x.values[v];
      } else {
        for (Index v = 0; v < x.size; ++v) w[x.columns[v]] += scale * x.values[v];
      }
      w[width - 1] += scale * bias_;
    }
  }

  // ‖lifted_i‖² = ‖γ_i‖² (‖φ_i‖² + B²).
  double squared_norm(Index row, const RowView<T>& x) const {
    const T* mix = codes_.weights_of(row);
    double gate = 0;
    for (Index j = 0; j < codes_.k; ++j) gate += double(mix[j]) * double(mix[j]);
    return gate * (hyperlocal::squared_norm(x) + double(bias_) * double(bias_));
  }

 private:
  Rows<T> rows_;
  Codes<T> codes_;
  T bias_;
};

// scores[i, c] = lifted_i · W_c for rows begin … end-1; `scores` starts at row `begin`.
template <class T>
void lifted_scores(const Lifted<T>& lifted, Index begin, Index end, const T* weights,
                   Index n_classes, T* scores) {
  RowBuffer<T> buffer;
  for (Index row = begin; row < end; ++row) {
    const RowView<T> x = lifted.fetch(row, buffer);
    for (Index cls = 0; cls < n_classes; ++cls)
      *scores++ = lifted.dot(row, x, weights, n_classes, cls);
  }
}

// W_c += Σ_i steps[i, c] · lifted_i over classes class_begin … class_end-1.
template <class T>
void lifted_add(const Lifted<T>& lifted, const T* steps, T* weights, Index n_classes,
                Index class_begin, Index class_end) {
  RowBuffer<T> buffer;
  for (Index row = 0; row < lifted.n_rows(); ++row) {
    const T* row_steps = steps + row * n_classes;
    bool any = false;
    for (Index cls = class_begin; cls < class_end; ++cls) any |= row_steps[cls] != 0;
    if (!any) continue;
    const RowView<T> x = lifted.fetch(row, buffer);
    for (Index cls = class_begin; cls < class_end; ++cls)
      if (row_steps[cls] != 0) lifted.axpy(row, x, row_steps[cls], weights, n_classes, cls);
  }
}

template <class T>
void lifted_squared_norms(const Lifted<T>& lifted, Index begin, Index end, T* norms) {
  RowBuffer<T> buffer;
  for (Index row = begin; row < end; ++row)
    *norms++ = static_cast<T>(lifted.squared_norm(row, lifted.fetch(row, buffer)));
}

// ‖φ_i‖² for rows begin … end-1.
template <class T>
void row_squared_norms(const Rows<T>& rows, Index begin, Index end, T* norms) {
  RowBuffer<T> buffer;
  for (Index row = begin; row < end; ++row)
    *norms++ = static_cast<T>(squared_norm(rows.fetch(row, buffer)));
}

// The chosen rows φ_i, dense, one below the other; sparse rows are filled up with zeros.
template <class T>
void gather_rows(const Rows<T>& rows, const Index* chosen, Index n_chosen, T* out) {
  RowBuffer<T> buffer;
  const Index width = rows.width();
  for (Index n = 0; n < n_chosen; ++n, out += width) {
    const RowView<T> x = rows.fetch(chosen[n], buffer);
    if (x.is_dense()) {
      for (Index v = 0; v < width; ++v) out[v] = x.values[v];
    } else {
      for (Index v = 0; v < width; ++v) out[v] = 0;
      for (Index v = 0; v < x.size; ++v) out[x.columns[v]] = x.values[v];
    }
  }
}

}  // namespace hyperlocal
