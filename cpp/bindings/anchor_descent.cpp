#include "anchor_descent.hpp"

#include <nanobind/stl/optional.h>

#include <cstdint>
#include <optional>

#include "bindings/bind.hpp"
#include "bindings/bound_dual.hpp"
#include "bindings/bound_gate.hpp"

namespace hyperlocal::bindings {

namespace {

template <class T>
struct BoundAnchorEpoch {
  BoundDual<T> dual;
  Array<T, 3> weights;
  Matrix<T> alpha;
  Matrix<double> momentum;
  Matrix<std::uint8_t> active;
  Vector<double> spread;
  Vector<const double> rates;
  Vector<const Index> order;
  Matrix<const double> bounds;
  Matrix<double> reports;
  Vector<std::uint8_t> right;
  Index n_threads;
  bool crammer_singer;
  AnchorEpoch<T> epoch;

  BoundAnchorEpoch(const BoundDual<T>& problem, const BoundGate<T>& gate, Array<T, 3> w,
                   Matrix<T> a, Matrix<std::uint8_t> flags, Matrix<double> average,
                   Vector<double> spreads, Vector<const double> steps, Index n_moves, bool joint,
                   double own_share, Vector<const Index> visits, Index batch_size,
                   Matrix<const double> limits, Matrix<double> told,
                   Vector<std::uint8_t> seen_right, Index threads)
      : dual(problem),
        weights(w),
        alpha(a),
        momentum(average),
        active(flags),
        spread(spreads),
        rates(steps),
        order(visits),
        bounds(limits),
        reports(told),
        right(seen_right),
        n_threads(threads),
        crammer_singer(joint),
        epoch(dual.problem(), dual.state(weights, alpha, active), gate.gate,
              AnchorMotion{momentum.data(), spread.data(), rates.data(), n_moves}, joint, own_share,
              order.data(), size(order), checked_batch(batch_size, threads),
              as_bounds(bounds, joint ? 1 : dual.n_columns),
              as_reports(reports, joint ? 1 : dual.n_columns), right.data(), threads) {
    if (joint) dual.require_multiclass();
    gate.require_codes_of(dual.source);
    require(dual.norms.data() == gate.norms.data(), "problem and gate must share their norms");
    require(size(average, 0) == size(gate.anchors, 0) &&
                size(average, 1) == size(gate.anchors, 1) && size(spreads) == size(gate.anchors, 0),
            "momentum and spread must fit the anchors");
    require(size(right) == dual.source.lifted.n_rows(), "one flag per row");
    require(size(steps) == (size(visits) + batch_size - 1) / batch_size, "one rate per batch");
    require_below(visits.data(), size(visits), 0, dual.source.lifted.n_rows(), "row out of bounds");
  }
  BoundAnchorEpoch(const BoundAnchorEpoch&) = delete;

  static Index checked_batch(Index batch_size, Index threads) {
    require(batch_size >= 1 && threads >= 1, "batch_size and n_threads must be positive");
    return batch_size;
  }
};

template <class T>
void bind(nb::module_& m, const char* gate_name, const char* epoch_name) {
  nb::class_<BoundGate<T>>(m, gate_name)
      .def(nb::init<const BoundRows<T>&, Matrix<T>, Matrix<Column>, Matrix<Column>, Matrix<T>,
                    Vector<T>, Vector<const T>, double, bool>(),
           "places"_a, "anchors"_a.noconvert(), "neighbours"_a.noconvert(),
           "reserves"_a.noconvert(), "codes"_a.noconvert(), "squared_norms"_a.noconvert(),
           "row_norms"_a.noconvert(), "beta"_a, "normalize"_a)
      .def(
          "recode",
          [](BoundGate<T>& bound, Vector<const Index> rows) {
            require_below(rows.data(), size(rows), 0, bound.places.rows.n_rows(),
                          "row out of bounds");
            nb::gil_scoped_release release;
            recode_rows(bound.gate, rows.data(), size(rows));
          },
          "rows"_a.noconvert());
  using Bound = BoundAnchorEpoch<T>;
  nb::class_<Bound>(m, epoch_name)
      .def(nb::init<const BoundDual<T>&, const BoundGate<T>&, Array<T, 3>, Matrix<T>,
                    Matrix<std::uint8_t>, Matrix<double>, Vector<double>, Vector<const double>,
                    Index, bool, double, Vector<const Index>, Index, Matrix<const double>,
                    Matrix<double>, Vector<std::uint8_t>, Index>(),
           "dual"_a, "gate"_a, "weights"_a.noconvert(), "alpha"_a.noconvert(),
           "active"_a.noconvert(), "momentum"_a.noconvert(), "spread"_a.noconvert(),
           "rates"_a.noconvert(), "n_moves"_a, "crammer_singer"_a, "own_share"_a,
           "order"_a.noconvert(), "batch_size"_a, "bounds"_a.noconvert(), "reports"_a.noconvert(),
           "right"_a.noconvert(), "n_threads"_a, nb::keep_alive<1, 3>())
      .def(
          "run",
          [](Bound& b, Index part, Index column_begin, Index column_end,
             std::optional<nb::callable> before_batch) {
            std::function<void(Index)> hook;
            if (before_batch)
              hook = [&](Index batch) {
                nb::gil_scoped_acquire acquire;
                (*before_batch)(batch);
              };
            try {
              require_range(b.dual.n_columns, column_begin, column_end);
              require(0 <= part && part < b.n_threads, "part out of bounds");
              require(!b.crammer_singer || column_end == column_begin ||
                          column_end - column_begin == b.dual.n_columns,
                      "Crammer-Singer needs all columns at once");
            } catch (...) {
              b.epoch.cancel();  // the other parts would wait for this one
              throw;
            }
            nb::gil_scoped_release release;
            return b.epoch.run(part, {column_begin, column_end}, hook);
          },
          "part"_a, "column_begin"_a, "column_end"_a, "before_batch"_a.none() = nb::none())
      .def("cancel", [](Bound& b) { b.epoch.cancel(); });
}

}  // namespace

void bind_anchor_descent(nb::module_& m) {
  bind<float>(m, "MovingGateFloat32", "AnchorEpochFloat32");
  bind<double>(m, "MovingGateFloat64", "AnchorEpochFloat64");
}

}  // namespace hyperlocal::bindings
