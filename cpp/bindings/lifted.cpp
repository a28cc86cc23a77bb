#include "bindings/bind.hpp"
#include "bindings/bound_lifted.hpp"
#include "grouping.hpp"

namespace hyperlocal::bindings {

namespace {

template <class T>
void bind(nb::module_& m, const char* name) {
  using Bound = BoundLifted<T>;
  nb::class_<Bound>(m, name)
      .def(nb::init<const BoundRows<T>&, Matrix<const Column>, Matrix<const T>, Index, T, bool>(),
           "rows"_a, "anchors"_a.noconvert(), "weights"_a.noconvert(), "n_anchors"_a, "bias"_a,
           "shared_bias"_a = false)
      .def(
          "scores",
          [](const Bound& b, Index begin, Index end, Array<const T, 3> weights, Matrix<T> out) {
            require_range(b.lifted.n_rows(), begin, end);
            b.require_weights(weights);
            require(size(out, 0) == end - begin && size(out, 1) == size(weights, 1),
                    "out has the wrong shape");
            nb::gil_scoped_release release;
            lifted_scores(b.lifted, begin, end, weights.data(), size(weights, 1), out.data());
          },
          "begin"_a, "end"_a, "weights"_a.noconvert(), "out"_a.noconvert())
      .def(
          "add",
          [](const Bound& b, Matrix<const T> steps, Array<T, 3> weights, Index column_begin,
             Index column_end) {
            b.require_weights(weights);
            require(size(steps, 0) == b.lifted.n_rows() && size(steps, 1) == size(weights, 1),
                    "steps has the wrong shape");
            require_range(size(weights, 1), column_begin, column_end);
            nb::gil_scoped_release release;
            lifted_add(b.lifted, steps.data(), weights.data(), size(weights, 1), column_begin,
                       column_end);
          },
          "steps"_a.noconvert(), "weights"_a.noconvert(), "column_begin"_a, "column_end"_a)
      .def(
          "squared_norms",
          [](const Bound& b, Index begin, Index end, Vector<T> out) {
            require_range(b.lifted.n_rows(), begin, end);
            require(size(out) == end - begin, "out has the wrong length");
            nb::gil_scoped_release release;
            lifted_squared_norms(b.lifted, begin, end, out.data());
          },
          "begin"_a, "end"_a, "out"_a.noconvert())
      .def(
          "group_by_anchor",
          [](const Bound& b, Index begin, Index end, Vector<Index> starts, Vector<Index> rows,
             Vector<Index> places) {
            require_range(b.lifted.n_rows(), begin, end);
            const Index n_pairs = (end - begin) * b.lifted.codes().k;
            require(
                size(starts) == b.n_anchors + 1 && size(rows) == n_pairs && size(places) == n_pairs,
                "outputs have the wrong length");
            nb::gil_scoped_release release;
            group_by_anchor(b.lifted.codes(), begin, end, b.n_anchors, starts.data(), rows.data(),
                            places.data());
          },
          "begin"_a, "end"_a, "starts"_a.noconvert(), "rows"_a.noconvert(), "places"_a.noconvert())
      .def(
          "combine",
          [](const Bound& b, Index begin, Index end, Vector<const Index> places,
             Matrix<const T> partial, Matrix<T> out) {
            require_range(b.lifted.n_rows(), begin, end);
            require(size(places) == (end - begin) * b.lifted.codes().k &&
                        size(out, 0) == end - begin && size(partial, 1) == size(out, 1),
                    "arrays do not fit together");
            require_below(places.data(), size(places), -1, size(partial, 0), "place out of bounds");
            nb::gil_scoped_release release;
            combine_partial_scores(b.lifted.codes(), begin, end, places.data(), partial.data(),
                                   size(partial, 1), out.data());
          },
          "begin"_a, "end"_a, "places"_a.noconvert(), "partial"_a.noconvert(), "out"_a.noconvert());
}

}  // namespace

void bind_lifted(nb::module_& m) {
  bind<float>(m, "LiftedFloat32");
  bind<double>(m, "LiftedFloat64");
}

}  // namespace hyperlocal::bindings
