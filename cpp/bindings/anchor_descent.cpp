#include "anchor_descent.hpp"

#include <nanobind/stl/optional.h>

#include <cstdint>
#include <functional>
#include <optional>

#include "bindings/bind.hpp"
#include "bindings/checks.hpp"

namespace hyperlocal::bindings {

namespace {

// The options with batches no larger than the visits there are.
AnchorEpochOptions checked_options(AnchorEpochOptions options, Index n_visits) {
  require_size("n_threads", options.n_threads);
  require_size("batch_size", options.batch_size);
  options.batch_size = std::min(options.batch_size, std::max(Index(1), n_visits));
  return options;
}

std::function<void(Index)> as_hook(const std::optional<nb::callable>& function) {
  if (!function) return {};
  return [&function](Index batch) {
    nb::gil_scoped_acquire acquire;
    (*function)(batch);
  };
}

template <class T>
void bind_makers(nb::module_& m) {
  def_maker(m, "moving_gate",
            args("places"_a, "anchors"_array, "neighbors"_array, "codes"_array,
                 "squared_norms"_array, "row_norms"_array, "beta"_a, "normalize"_a),
            [](const Rows<T>& places, Matrix<T> anchors, Matrix<Column> neighbors, Matrix<T> codes,
               Vector<T> squared_norms, Vector<const T> row_norms, double beta, bool normalize) {
              const Index n = places.n_rows(), k = size(neighbors, 1), n_anchors = size(anchors, 0);
              require_shape("anchors", anchors, any_size, places.width());
              require_size("anchors", n_anchors);
              require_between("columns of neighbors", k, Index(1), n_anchors);
              require_shape("neighbors", neighbors, n, k);
              require_shape("codes", codes, n, k);
              require_shape("squared_norms", squared_norms, n);
              require_shape("row_norms", row_norms, n);
              require_indices("neighbors", neighbors, n_anchors);
              return MovingGate<T>{
                  places,       anchors.data(),       n_anchors,        k,    neighbors.data(),
                  codes.data(), squared_norms.data(), row_norms.data(), beta, normalize};
            });
  def_maker(m, "anchor_epoch",
            args("state"_a, "gate"_a, "motion"_a, "options"_a, "order"_array, "reports"_array,
                 "right"_array),
            [](const DualState<T>& state, const MovingGate<T>& gate, const AnchorMotion& motion,
               const AnchorEpochOptions& options, Vector<const Index> order, Matrix<double> reports,
               Vector<std::uint8_t> right) {
              const Index n = state.problem.lifted.n_rows();
              require_codes_of(gate, state.problem.lifted);
              require(state.problem.squared_norms == gate.squared_norms,
                      "gate must share its squared_norms with the problem");
              const Visits visits = checked_visits(order, n);
              const AnchorEpochOptions checked = checked_options(options, visits.size);
              require(motion.n_anchors == gate.n_anchors && motion.width == gate.places.width(),
                      "momentum of motion must have the shape of the anchors");
              require(motion.n_rates == n_batches(visits.size, checked.batch_size),
                      "rates of motion must have one number per batch");
              require_shape("right", right, n);
              ColumnReport* out = checked_reports(state.problem, reports);
              return new AnchorEpoch<T>(state, gate, motion, checked, visits, out, right.data());
            });
}

}  // namespace

template <class T>
void bind_anchor_descent(nb::module_& m) {
  auto gate_class = kernel_class<MovingGate, T>(m, "MovingGate");
  def(gate_class, "recode", args("rows"_array, "reserves"_array),
      [](const MovingGate<T>& gate, Vector<const Index> rows, Matrix<Column> reserves) {
        const Index r = size(reserves, 1);
        require_shape("reserves", reserves, gate.places.n_rows(), r);
        require_indices("rows", rows, gate.places.n_rows());
        for (Index i = 0; i < size(rows); ++i)
          require_indices_at("reserves", reserves.data() + rows.data()[i] * r, r, gate.n_anchors);
        nb::gil_scoped_release release;
        recode_rows(gate, {rows.data(), size(rows)}, reserves.data(), r);
      });
  auto epoch_class = kernel_class<AnchorEpoch, T>(m, "AnchorEpoch");
  def(epoch_class, "run",
      args("part"_a, "column_begin"_a, "column_end"_a, "before_batch"_a.none() = nb::none()),
      [](AnchorEpoch<T>& epoch, Index part, Index column_begin, Index column_end,
         std::optional<nb::callable> before_batch) {
        Range columns;
        try {
          columns = checked_columns(epoch.problem(), column_begin, column_end);
          require_between("part", part, Index(0), epoch.n_threads() - 1);
        } catch (...) {
          epoch.cancel();  // the other parts would wait for this one
          throw;
        }
        nb::gil_scoped_release release;
        return epoch.run(part, columns, as_hook(before_batch));
      });
  epoch_class.def("cancel", &AnchorEpoch<T>::cancel);
  bind_makers<T>(m);
}

HYPERLOCAL_BOTH_PRECISIONS(bind_anchor_descent);

}  // namespace hyperlocal::bindings
