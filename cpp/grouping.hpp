// Rows grouped by anchor: for one GEMM per anchor that serves all rows which use it, and for the
// sums of k-means.
#pragma once

#include "lifted.hpp"

namespace hyperlocal {

// Lists the (row, slot) pairs of n rows anchor by anchor: rows[starts[a] … starts[a+1]-1] use
// anchor a. places[i·k + slot] is the position of the pair. Pairs of weight zero are left out (−1).
template <class T>
void group_by_anchor(const Lifted<T>& lifted, Range range, Index* starts, Index* rows,
                     Index* places) {
  const Codes<T>& codes = lifted.codes();
  const Index first = range.begin * codes.k, last = range.end * codes.k;
  const Index n_anchors = lifted.n_anchors();
  std::vector<Index> next(n_anchors + 1, 0);
  for (Index pair = first; pair < last; ++pair)
    if (codes.weights[pair] != 0) ++next[codes.anchors[pair] + 1];
  for (Index anchor = 0; anchor < n_anchors; ++anchor) next[anchor + 1] += next[anchor];
  for (Index anchor = 0; anchor <= n_anchors; ++anchor) starts[anchor] = next[anchor];
  for (Index pair = first; pair < last; ++pair) {
    if (codes.weights[pair] == 0) {
      places[pair - first] = -1;
      continue;
    }
    const Index place = next[codes.anchors[pair]]++;
    rows[place] = pair / codes.k;
    places[pair - first] = place;
  }
}

// scores[i, c] = Σ_slot γ_i,slot · partial[place(i, slot), c].
template <class T>
void combine_partial_scores(const Codes<T>& codes, Range range, const Index* places,
                            const T* partial, Index n_columns, T* scores) {
  for (Index row = range.begin; row < range.end; ++row, scores += n_columns) {
    const T* mix = codes.weights_of(row);
    for (Index column = 0; column < n_columns; ++column) scores[column] = 0;
    for (Index slot = 0; slot < codes.k; ++slot) {
      const Index place = places[(row - range.begin) * codes.k + slot];
      if (place < 0) continue;
      const T* from = partial + place * n_columns;
      for (Index column = 0; column < n_columns; ++column)
        scores[column] += mix[slot] * from[column];
    }
  }
}

// Weighted sums of the rows of each group (k-means' update): sums (n_groups × width), masses.
template <class T>
void group_sums(const Rows<T>& rows, const Column* groups, const double* row_weights, double* sums,
                double* masses) {
  const Index width = rows.width();
  RowBuffer<T> buffer;
  for (Index row = 0; row < rows.n_rows(); ++row) {
    const RowView<T> x = rows.fetch(row, buffer);
    double* sum = sums + groups[row] * width;
    const double weight = row_weights[row];
    masses[groups[row]] += weight;
    if (x.is_dense()) {
#pragma omp simd
      for (Index v = 0; v < width; ++v) sum[v] += weight * double(x.values[v]);
    } else {
      for (Index v = 0; v < x.size; ++v) sum[x.columns[v]] += weight * double(x.values[v]);
    }
  }
}

}  // namespace hyperlocal
