// Rows whose arrays Python owns.
#pragma once

#include "bindings/arrays.hpp"

namespace hyperlocal::bindings {

// The kernels' views do not own memory: these keep the arrays alive.
template <class T>
struct BoundRows {
  Matrix<const T> dense;
  Vector<const T> values;
  Vector<const Column> columns;
  Vector<const Index> starts;
  Rows<T> rows;

  BoundRows(Matrix<const T> x, bool quadratic, T scale)
      : dense(x), rows(x.data(), size(x, 0), size(x, 1), quadratic, scale) {}

  BoundRows(Vector<const T> x, Vector<const Column> cols, Vector<const Index> begins,
            Index n_features, bool quadratic, T scale)
      : values(x),
        columns(cols),
        starts(begins),
        rows(x.data(), cols.data(), begins.data(), size(begins) - 1, n_features, quadratic, scale) {
    require(n_features >= 0, "n_features must not be negative");
    require(size(begins) >= 1 && size(x) == size(cols), "CSR arrays do not fit together");
    require(begins.data()[0] == 0 && begins.data()[size(begins) - 1] == size(x),
            "CSR starts do not span the values");
    for (Index row = 0; row + 1 < size(begins); ++row)
      require(begins.data()[row] <= begins.data()[row + 1], "CSR starts must not decrease");
    require_below(cols.data(), size(cols), 0, n_features, "CSR column out of bounds");
  }
};

}  // namespace hyperlocal::bindings
