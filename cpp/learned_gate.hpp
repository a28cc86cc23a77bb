// A gate that learns by stochastic gradient: Algorithm 1 of LLC-SAPL, as a part of sgd_epoch.
#pragma once

#include <numeric>
#include <vector>

#include "lifted.hpp"
#include "moving_gate.hpp"

namespace hyperlocal {

// Codes each row anew, and moves its anchors down the gradient of its loss by the same step as the
// weights.
template <class T>
class LearnedGate {
 public:
  LearnedGate(const MovingGate<T>& gate, const Lifted<T>& lifted, const T* weights, Index n_columns)
      : gate_(gate),
        lifted_(lifted),
        weights_(weights),
        n_columns_(n_columns),
        geometry_(gate.places, gate.anchors, gate.n_anchors, gate.k),
        nearest_(gate.n_anchors, gate.k),
        all_(gate.n_anchors),
        keys_(gate.n_anchors),
        distances_(gate.n_anchors),
        squared_(gate.k),
        gamma_(gate.k),
        p_(gate.k),
        local_scores_(gate.k) {
    std::iota(all_.begin(), all_.end(), Column(0));
  }

  void recode(Index row) {
    const Index k = gate_.k;
    Column* neighbors = gate_.neighbors + row * k;
    place_ = gate_.places.fetch(row, buffer_);
    geometry_.set_row(place_, all_.data());
    geometry_.squared_distances(gate_.n_anchors, distances_.data());
    for (Index anchor = 0; anchor < gate_.n_anchors; ++anchor)
      keys_[anchor] = static_cast<T>(distances_[anchor]);
    nearest_.select(keys_.data(), neighbors);
    for (Index j = 0; j < k; ++j) squared_[j] = double(keys_[neighbors[j]]);
    scale_ = gate_.weigh(row, squared_.data(), gamma_.data());
    gate_.write_codes(row, scale_, gamma_.data());
  }

  // `pulls` holds −∂ℓ/∂f_c; the weights are `scale` times those that are stored.
  void learn(Index row, const RowView<T>& x, const T* pulls, double step, T scale) {
    const Index k = gate_.k, width = gate_.places.width();
    std::fill(p_.begin(), p_.end(), 0.0);
    bool any = false;
    for (Index column = 0; column < n_columns_; ++column) {
      if (pulls[column] == 0) continue;
      any = true;
      lifted_.local_dots(row, x, weights_, n_columns_, column, local_scores_.data());
      for (Index j = 0; j < k; ++j) p_[j] -= double(pulls[column] * scale) * double(local_scores_[j]);
    }
    if (!any) return;
    gate_.pull_back(gamma_.data(), scale_, p_.data());
    for (Index j = 0; j < k; ++j) {
      const Index anchor = gate_.neighbors[row * k + j];
      T* v = gate_.anchors + anchor * width;
      detail::add_difference(place_, width, static_cast<T>(-step * p_[j]), v, v);
      if (!place_.is_dense()) geometry_.measure_anchors(anchor, anchor + 1);
    }
  }

 private:
  MovingGate<T> gate_;
  const Lifted<T>& lifted_;
  const T* weights_;
  Index n_columns_;
  detail::LocalGeometry<T> geometry_;
  detail::SmallestK<T> nearest_;
  std::vector<Column> all_;
  std::vector<T> keys_;
  std::vector<double> distances_, squared_, gamma_, p_;
  std::vector<T> local_scores_;
  RowBuffer<T> buffer_;
  RowView<T> place_{};
  double scale_ = 1;
};

}  // namespace hyperlocal
