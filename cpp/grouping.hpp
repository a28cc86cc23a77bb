// Rows of a block grouped by anchor, so that one GEMM per anchor serves all rows that use it.
#pragma once

#include "lifted.hpp"

namespace hyperlocal {

// Lists the (row, slot) pairs of n rows anchor by anchor: rows[starts[a] … starts[a+1]-1] use
// anchor a. places[i·k + slot] says where the pair went. Pairs of weight zero are left out (−1).
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

}  // namespace hyperlocal
