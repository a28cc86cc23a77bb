// Lifted rows whose arrays Python owns.
#pragma once

#include "bindings/bound_rows.hpp"
#include "lifted.hpp"

namespace hyperlocal::bindings {

template <class T>
struct BoundLifted {
  BoundRows<T> bound_rows;
  Matrix<const Column> anchors;
  Matrix<const T> mix;
  Index n_anchors;
  Lifted<T> lifted;

  BoundLifted(const BoundRows<T>& source, Matrix<const Column> indices, Matrix<const T> weights,
              Index m, T bias, bool shared_bias)
      : bound_rows(source),
        anchors(indices),
        mix(weights),
        n_anchors(m),
        lifted(source.rows, Codes<T>{indices.data(), weights.data(), size(indices, 1)}, bias,
               shared_bias) {
    require(size(indices, 0) == source.rows.n_rows() && size(weights, 0) == size(indices, 0) &&
                size(weights, 1) == size(indices, 1),
            "codes must have one row per row");
    require_below(indices.data(), size(indices, 0) * size(indices, 1), 0, m,
                  "anchor index out of bounds");
  }

  template <class W>
  void require_weights(const Array<W, 3>& weights) const {
    require(size(weights, 0) == n_anchors && size(weights, 2) == lifted.block_width(),
            "weights must have shape (anchors, classes, features + 1)");
  }
};

}  // namespace hyperlocal::bindings
