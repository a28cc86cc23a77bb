// Inner products within a small set of rows, about one of them.
#pragma once

#include <algorithm>
#include <vector>

#include "rows.hpp"

namespace hyperlocal {

namespace detail {

// Products of a query's neighbors, and of the query as the last row, with one another: about the
// query, so that they are precise also far from the origin.
template <class T>
class ProductMatrix {
 public:
  // For queries of at most `most` neighbors.
  ProductMatrix(const Rows<T>& rows, Index most) : rows_(rows), written_out_(rows) {
    set_size(most + 1);
    if (rows.is_dense()) {
      tile_.resize(static_cast<std::size_t>(padded_ * features_per_tile));
      sums_.resize(static_cast<std::size_t>(padded_ * padded_));
      starts_.resize(static_cast<std::size_t>(n_));
    } else {
      products_.resize(static_cast<std::size_t>(n_ * n_));
    }
  }

  void fill(const Column* neighbors, Index n_neighbors, const RowView<T>& query) {
    set_size(n_neighbors + 1);
    rows_.is_dense() ? fill_dense(neighbors, query) : fill_sparse(neighbors, query);
  }

  // (x_i − q)·(x_j − q) for i ≤ j.
  HYPERLOCAL_INLINE double operator()(Index i, Index j) const {
    return rows_.is_dense() ? double(sums_[i * padded_ + j]) : products_[i * n_ + j];
  }

 private:
  static constexpr int lanes = lanes_per_register<T>;
  static constexpr Index tall = 4, wide = 2 * lanes, features_per_tile = 64;

  void set_size(Index n) {
    n_ = n;
    padded_ = (n + wide - 1) / wide * wide;
  }

  void fill_dense(const Column* neighbors, const RowView<T>& query) {
    for (Index i = 0; i + 1 < n_; ++i) starts_[i] = rows_.fetch(neighbors[i], buffer_).values;
    starts_[n_ - 1] = query.values;
    std::fill_n(sums_.begin(), padded_ * padded_, T(0));
    for (Index first = 0; first < query.size; first += features_per_tile) {
      const Index n_features = std::min(features_per_tile, query.size - first);
      for (Index i = 0; i < n_; ++i) {
        const T* x = starts_[i] + first;
        for (Index v = 0; v < n_features; ++v)
          tile_[v * padded_ + i] = x[v] - query.values[first + v];
      }
      for (Index i = 0; i < padded_; i += tall)
        for (Index j = i / wide * wide; j < padded_; j += wide) add_products(i, j, n_features);
    }
  }

  // A block of `tall` × `wide` products stays in registers while the features pass by.
  HYPERLOCAL_INLINE void add_products(Index i, Index j, Index n_features) {
    Lanes<T, lanes> left[tall], right[tall];
    for (int a = 0; a < tall; ++a) {
      const T* sum = &sums_[(i + a) * padded_ + j];
      left[a] = Lanes<T, lanes>::load(sum);
      right[a] = Lanes<T, lanes>::load(sum + lanes);
    }
    for (Index v = 0; v < n_features; ++v) {
      const T* feature = &tile_[v * padded_];
      const auto x = Lanes<T, lanes>::load(feature + j);
      const auto y = Lanes<T, lanes>::load(feature + j + lanes);
      for (int a = 0; a < tall; ++a) {
        left[a].add_product(x, feature[i + a]);
        right[a].add_product(y, feature[i + a]);
      }
    }
    for (int a = 0; a < tall; ++a) {
      T* sum = &sums_[(i + a) * padded_ + j];
      left[a].store(sum);
      right[a].store(sum + lanes);
    }
  }

  void fill_sparse(const Column* neighbors, const RowView<T>& query) {
    const auto row = [&](Index i) {
      return i + 1 < n_ ? rows_.fetch(neighbors[i], buffer_) : query;
    };
    for (Index i = 0; i < n_; ++i) {
      const T* x = written_out_.values_of(row(i));
      for (Index j = i; j < n_; ++j) products_[i * n_ + j] = exact_dot(row(j), x);
    }
    const Index q = n_ - 1;
    const double own = products_[q * n_ + q];
    for (Index i = 0; i < n_; ++i)
      for (Index j = i; j < n_; ++j)
        products_[i * n_ + j] += own - products_[i * n_ + q] - products_[j * n_ + q];
  }

  const Rows<T>& rows_;
  Index n_ = 0, padded_ = 0;
  WrittenOut<T> written_out_;
  std::vector<T> tile_, sums_;
  std::vector<double> products_;
  std::vector<const T*> starts_;
  RowBuffer<T> buffer_;
};

}  // namespace detail

}  // namespace hyperlocal
