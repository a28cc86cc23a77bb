// Second moments of lifted rows: the matrix Σ_i c_i z_i z_iᵀ with z_i = γ_i ⊗ [φ_i; B].
//
// Its block of two anchors a and b is Σ_i c_i γ_ia γ_ib [φ_i; B] [φ_i; B]ᵀ, over the rows for which
// both are active. It is symmetric by itself, so half of it is summed. Rows are grouped by b first:
// a block is then filled in one pass, and stays in the nearest cache.
#pragma once

#include <algorithm>
#include <vector>

#include "lifted.hpp"

namespace hyperlocal {

namespace detail {

struct WeightedRow {
  const double* features;
  double weight;
};

// Adds Σ_i weight_i x_i x_iᵀ to the upper triangle of `out` (width × width), four rows at a time.
inline void add_products(const WeightedRow* rows, Index n_rows, Index width, double* out) {
  Index i = 0;
  for (; i + 4 <= n_rows; i += 4) {
    const double *a = rows[i].features, *b = rows[i + 1].features, *c = rows[i + 2].features,
                 *d = rows[i + 3].features;
    for (Index v = 0; v < width; ++v) {
      const double wa = rows[i].weight * a[v], wb = rows[i + 1].weight * b[v],
                   wc = rows[i + 2].weight * c[v], wd = rows[i + 3].weight * d[v];
      double* to = out + v * width;
      for (Index u = v; u < width; ++u) to[u] += wa * a[u] + wb * b[u] + (wc * c[u] + wd * d[u]);
    }
  }
  for (; i < n_rows; ++i) {
    const double* x = rows[i].features;
    for (Index v = 0; v < width; ++v) {
      const double weighted = rows[i].weight * x[v];
      for (Index u = v; u < width; ++u) out[v * width + u] += weighted * x[u];
    }
  }
}

}  // namespace detail

// Adds to the blocks of one anchor with itself and later ones. `members` are those rows of a range
// for which it is active, `features` the range's [φ; B], `out` the matrix of `n_columns` columns, at
// least m·(p+1).
template <class T>
void lifted_products(const Lifted<T>& lifted, Index anchor, Visits members, Range range,
                     const double* features, const double* costs, double* out, Index n_columns) {
  const Codes<T>& codes = lifted.codes();
  const Index width = lifted.block_width(), n_anchors = lifted.n_anchors();
  std::vector<Index> next(n_anchors + 1, 0);
  for (Index i = 0; i < members.size; ++i)
    for (Index slot = 0; slot < codes.k; ++slot) {
      const Index other = codes.anchors_of(members[i])[slot];
      if (other >= anchor) ++next[other + 1];
    }
  for (Index other = 0; other < n_anchors; ++other) next[other + 1] += next[other];
  const std::vector<Index> starts = next;
  std::vector<detail::WeightedRow> rows(starts[n_anchors]);
  for (Index i = 0; i < members.size; ++i) {
    const Index row = members[i];
    const Column* anchors = codes.anchors_of(row);
    const T* gate = codes.weights_of(row);
    double own = 0;
    for (Index slot = 0; slot < codes.k; ++slot)
      if (anchors[slot] == anchor) own = costs[row] * gate[slot];
    for (Index slot = 0; slot < codes.k; ++slot)
      if (anchors[slot] >= anchor)
        rows[next[anchors[slot]]++] = {features + (row - range.begin) * width, own * gate[slot]};
  }
  std::vector<double> block(width * width);
  for (Index other = anchor; other < n_anchors; ++other) {
    std::fill(block.begin(), block.end(), 0.0);
    detail::add_products(rows.data() + starts[other], starts[other + 1] - starts[other], width,
                         block.data());
    double* to = out + anchor * width * n_columns + other * width;
    for (Index v = 0; v < width; ++v)
      for (Index u = 0; u < width; ++u)
        to[v * n_columns + u] += block[std::min(u, v) * width + std::max(u, v)];
  }
}

}  // namespace hyperlocal
