// The k nearest of many rows, for a block of queries, over tiles of rows.
//
// The caller gives products of the queries with one tile of rows after the other (GEMMs). They only
// rank the rows, within the rounding error of the products; rows that may be among the k nearest
// are stored and measured again, for dense rows from the differences. So the result is exact
// whatever the tiles: ordered by distance as computed here, equal distances by the row's index.
// Keys may also be bounds from below; the caller then compares the k-th distance with what was left
// out.
#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <stdexcept>
#include <utility>
#include <vector>

#include "rows.hpp"

namespace hyperlocal {

// ‖x − row‖² for one x after the other and any rows.
template <class T>
class DistanceFrom {
 public:
  explicit DistanceFrom(const Rows<T>& rows) : rows_(rows), written_out_(rows) {}

  void set(const RowView<T>& x) {
    x_ = written_out_.values_of(x);
    if (!x.is_dense()) own_ = squared_norm(x);
  }

  HYPERLOCAL_INLINE T operator()(Index row) {
    const RowView<T> v = rows_.fetch(row, buffer_);
    if (v.is_dense()) return squared_difference(v.values, x_, v.size);
    return static_cast<T>(distance_from_products(own_, squared_norm(v), exact_dot(v, x_)));
  }

 private:
  const Rows<T>& rows_;
  WrittenOut<T> written_out_;
  RowBuffer<T> buffer_;
  const T* x_ = nullptr;
  double own_ = 0;
};

// Where the k nearest of each query are written, nearest first, equal distances by the index.
template <class T>
struct WrittenNeighbors {
  Index k;
  Column* chosen;
  T* distances;

  template <class Pairs>
  void write(const Pairs& found) {
    for (Index j = 0; j < k; ++j) {
      *distances++ = found[j].first;
      *chosen++ = found[j].second;
    }
  }
};

// The k nearest among each query's own list of rows, in which some may occur twice.
template <class T>
void nearest_of_lists(const Rows<T>& rows, const Rows<T>& queries, Range range, const Column* lists,
                      Index length, WrittenNeighbors<T> out) {
  const Index k = out.k;
  DistanceFrom<T> distance(rows);
  RowBuffer<T> buffer;
  std::vector<Column> names;
  std::vector<std::pair<T, Column>> found;
  for (Index row = range.begin; row < range.end; ++row, lists += length) {
    names.assign(lists, lists + length);
    std::sort(names.begin(), names.end());
    names.erase(std::unique(names.begin(), names.end()), names.end());
    if (static_cast<Index>(names.size()) < k)
      throw std::invalid_argument("lists must each have k different rows");
    distance.set(queries.fetch(row, buffer));
    found.clear();
    for (const Column name : names) found.push_back({distance(name), name});
    std::partial_sort(found.begin(), found.begin() + k, found.end());
    out.write(found);
  }
}

template <class T>
class NearestRows {
 public:
  // The nearest rows of a range of queries.
  NearestRows(const Rows<T>& rows, const Rows<T>& queries, Range range, Index k)
      : rows_(rows),
        points_(queries),
        begin_(range.begin),
        k_(k),
        queries_(static_cast<std::size_t>(range.size())) {
    for (Query& query : queries_) query.next_cut = first_cut();
  }

  Index n_queries() const { return static_cast<Index>(queries_.size()); }
  Index n_left() const { return rows_.n_rows() - n_seen_; }
  Index k() const { return k_; }

  // The next n rows: `products` is queries × n, `half_norms` holds their ½ v·v, and `slack` bounds
  // the error of the difference of two keys ½ v·v − x·v, per query.
  void add(const T* products, const T* half_norms, const T* slack, Index n) {
    for (Index q = 0; q < n_queries(); ++q) {
      queries_[q].slack = slack[q];
      scan(queries_[q], products + q * n, half_norms, n);
    }
    n_seen_ += n;
  }

  // Measures what is left, and writes the k nearest, nearest first. All rows that were not measured
  // have keys above `bounds`.
  void finish(WrittenNeighbors<T> out, T* bounds) {
    DistanceFrom<T> distance(rows_);
    RowBuffer<T> buffer;
    for (Index q = 0; q < n_queries(); ++q) {
      std::vector<Candidate>& found = queries_[q].found;
      found.resize(queries_[q].n_found);
      if (static_cast<Index>(found.size()) < k_)
        throw std::invalid_argument("products and slack must be numbers");
      cut(queries_[q]);
      found.resize(queries_[q].n_found);
      bounds[q] = queries_[q].bound;
      distance.set(points_.fetch(begin_ + q, buffer));
      for (Candidate& candidate : found) candidate.first = distance(candidate.second);
      std::nth_element(found.begin(), found.begin() + (k_ - 1), found.end());
      std::sort(found.begin(), found.begin() + k_);
      out.write(found);
    }
  }

 private:
  using Candidate = std::pair<T, Column>;

  struct Query {
    std::vector<Candidate> found;  // the first n_found; behind them is free space
    std::size_t n_found = 0;
    T bound = std::numeric_limits<T>::infinity();
    T slack = 0;
    std::size_t next_cut = 0;
  };

  std::size_t first_cut() const { return static_cast<std::size_t>(4 * k_ + 64); }

  // Few rows come near: whole chunks are passed over by one count. (Its length is known, so that it
  // has no remainder.)
  static constexpr Index chunk = 64;

  HYPERLOCAL_INLINE static bool any_near(const T* products, const T* half_norms, T bound) {
    int n_near = 0;
#pragma omp simd reduction(+ : n_near)
    for (Index j = 0; j < chunk; ++j) n_near += half_norms[j] - products[j] <= bound ? 1 : 0;
    return n_near > 0;
  }

  HYPERLOCAL_INLINE void scan(Query& query, const T* products, const T* half_norms, Index n) {
    for (Index start = 0; start < n; start += chunk) {
      const Index end = std::min(start + chunk, n);
      if (end - start == chunk && !any_near(products + start, half_norms + start, query.bound))
        continue;
      if (query.found.size() < query.n_found + chunk) query.found.resize(query.next_cut + chunk);
      // All are written, and those that are not near written over: no branch to mispredict.
      Candidate* next = query.found.data() + query.n_found;
      for (Index j = start; j < end; ++j) {
        const T key = half_norms[j] - products[j];
        next->first = key;
        next->second = static_cast<Column>(n_seen_ + j);
        next += key <= query.bound ? 1 : 0;
      }
      query.n_found = static_cast<std::size_t>(next - query.found.data());
      if (query.n_found >= query.next_cut) cut(query);
    }
  }

  // Drops what cannot be among the k nearest; ties within the slack all stay.
  void cut(Query& query) {
    const auto begin = query.found.begin(), kth = begin + (k_ - 1);
    const auto end = begin + static_cast<std::ptrdiff_t>(query.n_found);
    std::nth_element(begin, kth, end, [](const Candidate& a, const Candidate& b) {
      return a.first < b.first;  // which of equals come first is decided by their distances
    });
    query.bound = kth->first + query.slack;
    const T bound = query.bound;
    const auto last = std::remove_if(kth, end, [=](const Candidate& c) { return c.first > bound; });
    query.n_found = static_cast<std::size_t>(last - begin);
    query.next_cut = std::max(first_cut(), 2 * query.n_found);
  }

  const Rows<T>& rows_;
  const Rows<T>& points_;
  Index begin_, k_;
  std::vector<Query> queries_;
  Index n_seen_ = 0;
};

}  // namespace hyperlocal
