// The scores of one row at a time, with all memory prepared before.
//
//     s_c = Σ_j γ_j (W_jc · [φ(x); B]) + O W_mc,
// with the codes γ(x) of coding.hpp and, where lifted rows are normalized, γ / (‖γ‖ ‖[φ(x); B]‖).
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "coding.hpp"
#include "columns_aside.hpp"

namespace hyperlocal {

// The coder and the lifted rows are of one row, `row`, which each call replaces; the lifted row's
// codes are `chosen` and `gate`. To be used by one thread at a time.
template <class T>
class RowScorer {
 public:
  RowScorer(T* row, const Coder<T>& coder, const Lifted<T>& lifted, Column* chosen, T* gate,
            const T* weights, Index n_columns, bool normalize)
      : row_(row),
        coder_(coder),
        lifted_(lifted),
        chosen_(chosen),
        gate_(gate),
        weights_(weights),
        n_columns_(n_columns),
        normalize_(normalize),
        products_(coder.n_anchors),
        distances_(lifted.codes().k) {}

  Index width() const { return coder_.rows.width(); }
  Index n_columns() const { return n_columns_; }

  // Writes the scores; returns the index of the class: by sign for one column, else the largest.
  Index score(const T* x, T* scores) {
    std::copy_n(x, width(), row_);
    const Index k = lifted_.codes().k;
    if (coder_.n_anchors > 1) {
      // Anchors are ranked by half_norms − products, here ½‖x − v‖² of half norms that are zero.
      const auto anchor = [&](Index j) { return coder_.anchors + j * width(); };
      squared_differences(row_, width(), anchor, coder_.n_anchors, products_.data());
      for (T& product : products_) product *= T(-0.5);
      encode(coder_, {0, 1}, products_.data(), {k, k, chosen_, gate_, distances_.data()});
    } else {
      chosen_[0] = 0;
      gate_[0] = 1;
    }
    if (normalize_) scale_gate(k);
    lifted_scores(lifted_, {0, 1}, weights_, n_columns_, scores);
    if (n_columns_ == 1) return scores[0] > 0;
    return std::max_element(scores, scores + n_columns_) - scores;
  }

 private:
  void scale_gate(Index k) {
    const double constant = double(lifted_.offset()) * double(lifted_.offset());
    const double squared = lifted_.squared_norm(0, lifted_.fetch(0, buffer_)) - constant;
    const double scale = squared > 0 ? 1 / std::sqrt(squared) : 0;
    for (Index j = 0; j < k; ++j) gate_[j] = static_cast<T>(gate_[j] * scale);
  }

  T* row_;
  const Coder<T>& coder_;
  const Lifted<T>& lifted_;
  Column* chosen_;
  T* gate_;
  const T* weights_;
  Index n_columns_;
  bool normalize_;
  std::vector<T> products_, distances_;
  RowBuffer<T> buffer_;
};

}  // namespace hyperlocal
