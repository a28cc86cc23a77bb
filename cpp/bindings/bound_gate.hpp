// A gate over arrays that Python owns.
#pragma once

#include "bindings/bound_lifted.hpp"
#include "moving_gate.hpp"

namespace hyperlocal::bindings {

// A gate whose anchors and codes are changed in place; the lifted rows read the same codes.
template <class T>
struct BoundGate {
  BoundRows<T> places;
  Matrix<T> anchors;
  Matrix<Column> neighbours;
  Matrix<Column> reserves;
  Matrix<T> codes;
  Vector<T> norms;
  Vector<const T> row_norms;
  MovingGate<T> gate;

  BoundGate(const BoundRows<T>& rows, Matrix<T> v, Matrix<Column> indices, Matrix<Column> spares,
            Matrix<T> weights, Vector<T> squared_norms, Vector<const T> lengths, double beta,
            bool normalize)
      : places(rows),
        anchors(v),
        neighbours(indices),
        reserves(spares),
        codes(weights),
        norms(squared_norms),
        row_norms(lengths),
        gate{places.rows,     v.data(),       size(v, 0),
             indices.data(),  weights.data(), squared_norms.data(),
             lengths.data(),  spares.data(),  size(indices, 1),
             size(spares, 1), beta,           normalize} {
    const Index n = rows.rows.n_rows(), k = size(indices, 1);
    require(size(v, 1) == rows.rows.width(), "anchors have the wrong width");
    require(k >= 1 && k <= size(v, 0), "k must lie between 1 and the number of anchors");
    require(size(indices, 0) == n && size(weights, 0) == n && size(weights, 1) == k,
            "codes must have one row per row");
    require(size(squared_norms) == n && size(lengths) == n, "one norm per row");
    require(size(spares, 0) == n, "anchors in reserve must have one row per row");
    require_below(indices.data(), n * k, 0, size(v, 0), "anchor index out of bounds");
    require_below(spares.data(), n * size(spares, 1), 0, size(v, 0), "anchor index out of bounds");
  }
  BoundGate(const BoundGate&) = delete;  // the gate points into this object

  void require_codes_of(const BoundLifted<T>& lifted) const {
    require(lifted.mix.data() == codes.data() && lifted.anchors.data() == neighbours.data() &&
                lifted.n_anchors == size(anchors, 0),
            "lifted rows and gate must share their codes");
  }
};

}  // namespace hyperlocal::bindings
