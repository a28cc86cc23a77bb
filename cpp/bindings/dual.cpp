#include <cstdint>

#include "bindings/bind.hpp"
#include "bindings/bound_dual.hpp"

namespace hyperlocal::bindings {

namespace {

template <class T>
void bind(nb::module_& m, const char* name) {
  using Bound = BoundDual<T>;
  nb::class_<Bound>(m, name)
      .def(nb::init<const BoundLifted<T>&, Vector<const Column>, Vector<const T>, Vector<const T>,
                    Index, Loss>(),
           "lifted"_a, "target"_a.noconvert(), "costs"_a.noconvert(), "squared_norms"_a.noconvert(),
           "n_columns"_a, "loss"_a)
      .def(
          "epoch",
          [](const Bound& b, Array<T, 3> weights, Matrix<T> alpha, Matrix<std::uint8_t> active,
             Vector<const Index> order, Index column_begin, Index column_end,
             Matrix<const double> bounds, Matrix<double> reports) {
            const auto state = b.state(weights, alpha, active);
            require_below(order.data(), size(order), 0, b.source.lifted.n_rows(),
                          "row out of bounds");
            require_range(b.n_columns, column_begin, column_end);
            const auto* limits = as_bounds(bounds, b.n_columns);
            auto* out = as_reports(reports, b.n_columns);
            nb::gil_scoped_release release;
            dual_epoch(b.problem(), state, order.data(), size(order), column_begin, column_end,
                       limits, out);
          },
          "weights"_a.noconvert(), "alpha"_a.noconvert(), "active"_a.noconvert(),
          "order"_a.noconvert(), "column_begin"_a, "column_end"_a, "bounds"_a.noconvert(),
          "reports"_a.noconvert())
      .def(
          "check",
          [](const Bound& b, Array<T, 3> weights, Matrix<T> alpha, Matrix<std::uint8_t> active,
             Index begin, Index end, Matrix<const T> scores, Matrix<const double> bounds,
             Vector<double> losses, Vector<double> gaps) {
            const auto state = b.state(weights, alpha, active);
            require_range(b.source.lifted.n_rows(), begin, end);
            require(size(scores, 0) == end - begin && size(scores, 1) == b.n_columns &&
                        size(losses) == b.n_columns && size(gaps) == b.n_columns,
                    "arrays do not fit together");
            const auto* limits = as_bounds(bounds, b.n_columns);
            nb::gil_scoped_release release;
            dual_check(b.problem(), state, begin, end, scores.data(), limits, losses.data(),
                       gaps.data());
          },
          "weights"_a.noconvert(), "alpha"_a.noconvert(), "active"_a.noconvert(), "begin"_a,
          "end"_a, "scores"_a.noconvert(), "bounds"_a.noconvert(), "losses"_a.noconvert(),
          "gaps"_a.noconvert())
      .def(
          "crammer_singer_epoch",
          [](const Bound& b, Array<T, 3> weights, Matrix<T> alpha, Matrix<std::uint8_t> active,
             Vector<const Index> order, Matrix<const double> bounds, Matrix<double> reports) {
            b.require_multiclass();
            const auto state = b.state(weights, alpha, active);
            require_below(order.data(), size(order), 0, b.source.lifted.n_rows(),
                          "row out of bounds");
            const auto* limits = as_bounds(bounds, 1);
            auto* out = as_reports(reports, 1);
            nb::gil_scoped_release release;
            crammer_singer_epoch(b.problem(), state, order.data(), size(order), *limits, *out);
          },
          "weights"_a.noconvert(), "alpha"_a.noconvert(), "active"_a.noconvert(),
          "order"_a.noconvert(), "bounds"_a.noconvert(), "reports"_a.noconvert())
      .def(
          "crammer_singer_check",
          [](const Bound& b, Array<T, 3> weights, Matrix<T> alpha, Matrix<std::uint8_t> active,
             Index begin, Index end, Matrix<const T> scores, Matrix<const double> bounds,
             Vector<double> losses, Vector<double> gaps) {
            b.require_multiclass();
            const auto state = b.state(weights, alpha, active);
            require_range(b.source.lifted.n_rows(), begin, end);
            require(size(scores, 0) == end - begin && size(scores, 1) == b.n_columns &&
                        size(losses) == 1 && size(gaps) == 1,
                    "arrays do not fit together");
            const auto* limits = as_bounds(bounds, 1);
            nb::gil_scoped_release release;
            crammer_singer_check(b.problem(), state, begin, end, scores.data(), *limits,
                                 *losses.data(), *gaps.data());
          },
          "weights"_a.noconvert(), "alpha"_a.noconvert(), "active"_a.noconvert(), "begin"_a,
          "end"_a, "scores"_a.noconvert(), "bounds"_a.noconvert(), "losses"_a.noconvert(),
          "gaps"_a.noconvert());
}

}  // namespace

void bind_dual(nb::module_& m) {
  nb::enum_<Loss>(m, "Loss")
      .value("hinge", Loss::hinge)
      .value("squared_hinge", Loss::squared_hinge)
      .value("log", Loss::log);
  bind<float>(m, "DualFloat32");
  bind<double>(m, "DualFloat64");
}

}  // namespace hyperlocal::bindings
