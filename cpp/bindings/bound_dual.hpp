// The dual problem over arrays that Python owns; what an epoch is told and what it reports.
#pragma once

#include <cstdint>

#include "bindings/bound_lifted.hpp"
#include "dual.hpp"

namespace hyperlocal::bindings {

template <class T>
struct BoundDual {
  BoundLifted<T> source;
  Vector<const Column> target;
  Vector<const T> costs, norms;
  Index n_columns;
  Loss loss;

  BoundDual(const BoundLifted<T>& lifted, Vector<const Column> targets, Vector<const T> c,
            Vector<const T> squared_norms, Index columns, Loss l)
      : source(lifted),
        target(targets),
        costs(c),
        norms(squared_norms),
        n_columns(columns),
        loss(l) {
    const Index n = lifted.lifted.n_rows();
    require(size(targets) == n && size(c) == n && size(squared_norms) == n,
            "one target, cost and norm per row");
    require_below(targets.data(), n, -1, columns, "target out of bounds");
  }

  DualProblem<T> problem() const {
    return {source.lifted, target.data(), costs.data(), norms.data(), n_columns, loss};
  }

  DualState<T> state(Array<T, 3>& weights, Matrix<T>& alpha, Matrix<std::uint8_t>& active) const {
    source.require_weights(weights);
    const Index n = source.lifted.n_rows();
    require(size(weights, 1) == n_columns && size(alpha, 0) == n && size(alpha, 1) == n_columns &&
                size(active, 0) == n && size(active, 1) == n_columns,
            "weights, alpha and active must have one column per class");
    return {weights.data(), alpha.data(), active.data()};
  }

  void require_multiclass() const {
    require(n_columns >= 2, "Crammer-Singer needs two columns");
    require(loss != Loss::log, "Crammer-Singer needs a hinge loss");
    require_below(target.data(), size(target), 0, n_columns, "every row needs a class");
  }
};

inline const ShrinkBounds* as_bounds(const Matrix<const double>& bounds, Index n_columns) {
  static_assert(sizeof(ShrinkBounds) == 2 * sizeof(double));
  require(size(bounds, 0) == n_columns && size(bounds, 1) == 2, "bounds must be (columns, 2)");
  return reinterpret_cast<const ShrinkBounds*>(bounds.data());
}

inline ColumnReport* as_reports(Matrix<double>& reports, Index n_columns) {
  static_assert(sizeof(ColumnReport) == 4 * sizeof(double));
  require(size(reports, 0) == n_columns && size(reports, 1) == 4, "reports must be (columns, 4)");
  return reinterpret_cast<ColumnReport*>(reports.data());
}

}  // namespace hyperlocal::bindings
