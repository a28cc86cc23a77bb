// How a row of mapped features φ(x) is stored. All other code fetches a row and gets a view.
//
// Rows are dense or CSR. The quadratic map is applied when a row is fetched, into a buffer that
// stays in the first-level cache: N·d numbers are stored and moved instead of N·d(d+3)/2.
#pragma once

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "simd.hpp"

namespace hyperlocal {

using Index = std::int64_t;
using Column = std::int32_t;

// The indices begin … end-1.
struct Range {
  Index begin, end;

  Index size() const { return end - begin; }

  // Part `part` of `n_parts` nearly equal parts of n things.
  static Range part_of(Index n, Index part, Index n_parts) {
    return {n * part / n_parts, n * (part + 1) / n_parts};
  }
};

// Batches of `size` that n things make; the last one may be smaller.
inline Index n_batches(Index n, Index size) {
  return n / size + (n % size == 0 ? 0 : 1);
}

// Rows in the order in which they are visited.
struct Visits {
  const Index* rows;
  Index size;

  Index operator[](Index visit) const { return rows[visit]; }
  Visits from(Index first, Index n) const { return {rows + first, n}; }
};

// Values at positions 0 … size-1 of a dense row, or at `columns` of a sparse one. (An empty sparse
// row may have no columns to point to, so a null pointer would not distinguish them.)
template <class T>
struct RowView {
  const T* values;
  const Column* columns;
  Index size;
  bool dense;

  static RowView of_dense(const T* values, Index size) { return {values, nullptr, size, true}; }
  bool is_dense() const { return dense; }
};

// Where a fetched row is expanded; one per thread.
template <class T>
struct RowBuffer {
  std::vector<T> values;
  std::vector<Column> columns;
};

// Number of columns of the quadratic map: the features, and squares and products in pairs of the
// first `n_paired` of them.
inline Index quadratic_width(Index n_features, Index n_paired) {
  return n_features + n_paired * (n_paired + 1) / 2;
}

template <class T>
class Rows {
 public:
  // CSR rows, or dense ones where `columns` and `starts` are null. The quadratic map takes products
  // of the first `n_paired` features, which are all features of CSR rows.
  Rows(const T* values, const Column* columns, const Index* starts, Index n_rows, Index n_features,
       bool quadratic, T scale, Index n_paired)
      : values_(values),
        columns_(columns),
        starts_(starts),
        n_rows_(n_rows),
        n_features_(n_features),
        quadratic_(quadratic),
        scale_(scale),
        n_paired_(n_paired) {}

  Index n_rows() const { return n_rows_; }
  bool is_dense() const { return starts_ == nullptr; }
  Index width() const {
    return quadratic_ ? quadratic_width(n_features_, n_paired_) : n_features_;
  }

  // Numbers of a fetched row, on average.
  double mean_size() const {
    if (is_dense()) return double(width());
    if (n_rows_ == 0) return 0;
    const double stored = double(starts_[n_rows_] - starts_[0]) / double(n_rows_);
    return quadratic_ ? stored + stored * (stored + 1) / 2 : stored;
  }

  // The first bytes of a row that will be fetched soon; the hardware follows a long row by itself.
  void prefetch_row(Index row) const {
    if (!is_dense()) return prefetch(starts_ + row);
    const T* start = values_ + row * n_features_;
    const Index line = static_cast<Index>(64 / sizeof(T));
    for (Index v = 0; v < std::min(n_features_, 4 * line); v += line) prefetch(start + v);
  }

  HYPERLOCAL_INLINE RowView<T> fetch(Index row, RowBuffer<T>& buffer) const {
    assert(0 <= row && row < n_rows_);
    const RowView<T> stored = is_dense() ? dense(row) : sparse(row);
    if (!quadratic_) return stored;
    return is_dense() ? expand_dense(stored, buffer) : expand_sparse(stored, buffer);
  }

 private:
  HYPERLOCAL_INLINE RowView<T> dense(Index row) const {
    return RowView<T>::of_dense(values_ + row * n_features_, n_features_);
  }

  HYPERLOCAL_INLINE RowView<T> sparse(Index row) const {
    const Index start = starts_[row];
    return {values_ + start, columns_ + start, starts_[row + 1] - start, false};
  }

  // With x scaled by s: φ(x) = [√2 x_i; then for each i: x_i², √2 x_i x_j for j > i], so that
  // φ·φ' = (s² x·x' + 1)² − 1 where products of all features are taken.
  RowView<T> expand_dense(const RowView<T>& x, RowBuffer<T>& buffer) const {
    buffer.values.resize(static_cast<std::size_t>(width()));
    const T root2 = std::sqrt(T(2));
    T* out = buffer.values.data();
    for (Index i = 0; i < x.size; ++i) *out++ = root2 * scale_ * x.values[i];
    for (Index i = 0; i < n_paired_; ++i) {
      const T square = scale_ * scale_ * x.values[i];
      *out++ = square * x.values[i];
      const T scaled = root2 * square;
      const Index rest = n_paired_ - i - 1;
      const T* others = x.values + i + 1;
#pragma omp simd
      for (Index j = 0; j < rest; ++j) out[j] = scaled * others[j];
      out += rest;
    }
    return RowView<T>::of_dense(buffer.values.data(), width());
  }

  RowView<T> expand_sparse(const RowView<T>& x, RowBuffer<T>& buffer) const {
    const Index size = quadratic_width(x.size, x.size);
    buffer.values.resize(static_cast<std::size_t>(size));
    buffer.columns.resize(static_cast<std::size_t>(size));
    const T root2 = std::sqrt(T(2));
    Index position = 0;
    const auto put = [&](T value, Index column) {
      buffer.values[position] = value;
      buffer.columns[position++] = static_cast<Column>(column);
    };
    for (Index i = 0; i < x.size; ++i) put(root2 * scale_ * x.values[i], x.columns[i]);
    for (Index i = 0; i < x.size; ++i) {
      const Index first = x.columns[i];
      // Where the products of feature `first` begin: after the features and the earlier products.
      const Index start = n_features_ + first * n_features_ - first * (first - 1) / 2 - first;
      const T square = scale_ * scale_ * x.values[i];
      put(square * x.values[i], start + first);
      for (Index j = i + 1; j < x.size; ++j)
        put(root2 * square * x.values[j], start + x.columns[j]);
    }
    return {buffer.values.data(), buffer.columns.data(), size, false};
  }

  const T* values_;
  const Column* columns_;
  const Index* starts_;
  Index n_rows_;
  Index n_features_;
  bool quadratic_;
  T scale_;
  Index n_paired_;
};

// Σ_v a_v b_v in double precision.
template <class T>
double exact_dot(const RowView<T>& a, const T* b) {
  double sum = 0;
  if (a.is_dense()) {
#pragma omp simd reduction(+ : sum)
    for (Index v = 0; v < a.size; ++v) sum += double(a.values[v]) * double(b[v]);
  } else {
    for (Index v = 0; v < a.size; ++v) sum += double(a.values[v]) * double(b[a.columns[v]]);
  }
  return sum;
}

template <class T>
double squared_norm(const RowView<T>& a) {
  double sum = 0;
#pragma omp simd reduction(+ : sum)
  for (Index v = 0; v < a.size; ++v) sum += double(a.values[v]) * double(a.values[v]);
  return sum;
}

// ‖x − v‖² from ‖x‖², ‖v‖² and x·v; below the rounding error of the sum it is a distance of zero.
inline double distance_from_products(double x_norm, double v_norm, double product) {
  const double distance = x_norm - 2 * product + v_norm;
  return distance > 1e-14 * (x_norm + v_norm) ? distance : 0;
}

// One sparse row after the other with its zeros written out; a dense row is taken as it is.
template <class T>
class WrittenOut {
 public:
  explicit WrittenOut(const Rows<T>& rows)
      : values_(rows.is_dense() ? 0 : static_cast<std::size_t>(rows.width())) {}

  const T* values_of(const RowView<T>& x) {
    if (x.is_dense()) return x.values;
    for (const Column column : filled_) values_[column] = 0;
    filled_.assign(x.columns, x.columns + x.size);
    for (Index v = 0; v < x.size; ++v) values_[x.columns[v]] = x.values[v];
    return values_.data();
  }

 private:
  std::vector<T> values_;
  std::vector<Column> filled_;
};

// [x; bias] · w, where w has `width` numbers.
template <class T>
HYPERLOCAL_INLINE T affine_dot(const RowView<T>& x, T bias, const T* w, Index width) {
  constexpr T whole = 1;
  if (x.is_dense()) return mixed_dot<1>(x.values, x.size, bias, &w, &whole);
  T sum = bias * w[width - 1];
  for (Index v = 0; v < x.size; ++v) sum += x.values[v] * w[x.columns[v]];
  return sum;
}

// w += step · [x; bias].
template <class T, class W>
HYPERLOCAL_INLINE void affine_add(const RowView<T>& x, T bias, W step, W* w, Index width) {
  if (!x.is_dense()) {
    for (Index v = 0; v < x.size; ++v) w[x.columns[v]] += step * static_cast<W>(x.values[v]);
  } else if constexpr (std::is_same_v<T, W>) {
    add_scaled(x.values, x.size, step, w);
  } else {
    for (Index v = 0; v < x.size; ++v) w[v] += step * static_cast<W>(x.values[v]);
  }
  w[width - 1] += step * static_cast<W>(bias);
}

// ‖φ_i‖² of the rows in a range.
template <class T>
void row_squared_norms(const Rows<T>& rows, Range range, T* norms) {
  RowBuffer<T> buffer;
  for (Index row = range.begin; row < range.end; ++row)
    *norms++ = static_cast<T>(squared_norm(rows.fetch(row, buffer)));
}

// The chosen rows φ_i, dense, one below the other; sparse rows are filled up with zeros.
template <class T>
void gather_rows(const Rows<T>& rows, Visits chosen, T* out) {
  RowBuffer<T> buffer;
  const Index width = rows.width();
  for (Index n = 0; n < chosen.size; ++n, out += width) {
    const RowView<T> x = rows.fetch(chosen[n], buffer);
    if (x.is_dense()) {
      std::copy_n(x.values, width, out);
    } else {
      std::fill_n(out, width, T(0));
      for (Index v = 0; v < x.size; ++v) out[x.columns[v]] = x.values[v];
    }
  }
}

}  // namespace hyperlocal
