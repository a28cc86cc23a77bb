// The shape of a tree of gates (see local_deep.hpp), and rows as its nodes read them.
//
// A node's vectors lie side by side, [θ, θ', w_1 … w_C], each padded with zeros to `stride`. Rows
// carry their constant and are padded alike, so that products need no remainder.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>
#include <vector>

#include "rows.hpp"
#include "simd.hpp"

namespace hyperlocal {

struct TreeShape {
  Index depth;
  Index n_columns;
  Index stride;

  Index n_inner() const { return (Index(1) << depth) - 1; }
  Index n_nodes() const { return (Index(2) << depth) - 1; }
  Index n_vectors() const { return 2 + n_columns; }
  Index block() const { return n_vectors() * stride; }
  bool is_inner(Index node) const { return node < n_inner(); }
};

namespace detail {

constexpr Index kRoute = 0, kGate = 1, kFirstColumn = 2;
// Sparse rows of up to so many features are written out: training amplifies rounding, and they give
// the bits of dense rows only by the same sums. A step touches all features of all nodes anyway.
constexpr Index widest_written_out = 2048;

// Products of one row with `n_vectors` vectors (stride apart), `apart` places from each other in
// `out`. Several at once: the additions of one sum alone would depend on each other.
template <int n_vectors, class T>
HYPERLOCAL_INLINE void row_dots(const RowView<T>& x, const T* vectors, Index stride, T* out,
                                Index apart) {
  if (x.is_dense()) {
    constexpr int n = lanes_per_register<T>, registers = 8 / n;
    Lanes<T, n> sums[n_vectors][registers];
    for (auto& of_vector : sums)
      for (auto& sum : of_vector) sum = Lanes<T, n>::zero();
    for (Index v = 0; v < stride; v += 8)
      for (int r = 0; r < registers; ++r) {
        const auto values = Lanes<T, n>::load(x.values + v + r * n);
        for (int j = 0; j < n_vectors; ++j)
          sums[j][r].add_product(Lanes<T, n>::load(vectors + j * stride + v + r * n), values);
      }
    for (int j = 0; j < n_vectors; ++j) {
      for (int r = 1; r < registers; ++r) sums[j][0].add_product(sums[j][r], T(1));
      out[j * apart] = sums[j][0].sum();
    }
    return;
  }
  for (int j = 0; j < n_vectors; ++j) {
    const T* w = vectors + j * stride;
    T sum = 0;
    for (Index v = 0; v < x.size; ++v) sum += x.values[v] * w[x.columns[v]];
    out[j * apart] = sum;
  }
}

// Calls action(first, count) over vectors in groups of three, the count as a constant.
template <class Action>
void in_threes(Index begin, Index end, Action action) {
  for (; begin + 3 <= end; begin += 3) action(begin, std::integral_constant<int, 3>{});
  if (end - begin == 2) action(begin, std::integral_constant<int, 2>{});
  if (end - begin == 1) action(begin, std::integral_constant<int, 1>{});
}

// Up to `capacity` rows with their constant: dense ones padded to the stride. Whether their squared
// norms can be multiplied (those of NaN and infinity cannot) is found while they are copied.
template <class T>
class PaddedRows {
 public:
  PaddedRows(Index stride, Index capacity)
      : stride_(stride), capacity_(capacity), views_(static_cast<std::size_t>(capacity)) {}

  // The rows as a matrix (capacity, stride); null where they are sparse and wide.
  const T* dense() const { return dense_.empty() ? nullptr : dense_.data(); }
  // Of the stride, so much is not padding, up to whole registers.
  Index n_used() const { return n_used_; }
  const RowView<T>& operator[](Index i) const { return views_[i]; }
  Index size() const { return size_; }
  bool are_sound() const { return are_sound_; }

  // `row_of(i)` names the row at place i.
  template <class RowOf>
  void load(const Rows<T>& rows, Index count, RowOf row_of) {
    size_ = count;
    are_sound_ = true;
    const T limit = std::sqrt(std::numeric_limits<T>::max());
    constexpr Index n = lanes_per_register<T>;
    n_used_ = (rows.width() + n) / n * n;  // with the constant
    if (rows.is_dense() || rows.width() <= widest_written_out) {
      dense_.resize(static_cast<std::size_t>(capacity_ * stride_));
      WrittenOut<T> written(rows);
      for (Index i = 0; i < count; ++i) {
        const T* x = written.values_of(rows.fetch(row_of(i), buffer_));
        T* place = dense_.data() + i * stride_;
        are_sound_ &= copy_with_norm(x, rows.width(), place) < limit;
        place[rows.width()] = 1;
        views_[i] = RowView<T>::of_dense(place, stride_);
      }
      return;
    }
    starts_.assign(1, 0);
    values_.clear();
    columns_.clear();
    for (Index i = 0; i < count; ++i) {
      const RowView<T> x = rows.fetch(row_of(i), buffer_);
      values_.insert(values_.end(), x.values, x.values + x.size);
      columns_.insert(columns_.end(), x.columns, x.columns + x.size);
      are_sound_ &= static_cast<T>(squared_norm(x)) < limit;
      values_.push_back(1);
      columns_.push_back(static_cast<Column>(rows.width()));
      starts_.push_back(values_.size());
    }
    for (Index i = 0; i < count; ++i)
      views_[i] = {values_.data() + starts_[i], columns_.data() + starts_[i],
                   static_cast<Index>(starts_[i + 1] - starts_[i]), false};
  }

 private:
  Index stride_;
  Index capacity_;
  Index size_ = 0;
  Index n_used_ = 0;
  bool are_sound_ = true;
  RowBuffer<T> buffer_;
  std::vector<T> dense_, values_;
  std::vector<Column> columns_;
  std::vector<std::size_t> starts_;
  std::vector<RowView<T>> views_;
};

}  // namespace detail

}  // namespace hyperlocal
