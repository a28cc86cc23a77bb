#include "bindings/bind.hpp"
#include "bindings/bound_rows.hpp"
#include "coding.hpp"
#include "lifted.hpp"

namespace hyperlocal::bindings {

namespace {

template <class T>
void bind(nb::module_& m, const char* name) {
  using Bound = BoundRows<T>;
  nb::class_<Bound>(m, name)
      .def(nb::init<Matrix<const T>, bool, T>(), "dense"_a.noconvert(), "quadratic"_a,
           "scale"_a = T(1))
      .def(nb::init<Vector<const T>, Vector<const Column>, Vector<const Index>, Index, bool, T>(),
           "values"_a.noconvert(), "columns"_a.noconvert(), "starts"_a.noconvert(), "n_features"_a,
           "quadratic"_a, "scale"_a = T(1))
      .def_prop_ro("n_rows", [](const Bound& b) { return b.rows.n_rows(); })
      .def_prop_ro("width", [](const Bound& b) { return b.rows.width(); })
      .def(
          "squared_norms",
          [](const Bound& b, Index begin, Index end, Vector<T> out) {
            require_range(b.rows.n_rows(), begin, end);
            require(size(out) == end - begin, "out has the wrong length");
            nb::gil_scoped_release release;
            row_squared_norms(b.rows, begin, end, out.data());
          },
          "begin"_a, "end"_a, "out"_a.noconvert())
      .def(
          "gather",
          [](const Bound& b, Vector<const Index> chosen, Matrix<T> out) {
            require_below(chosen.data(), size(chosen), 0, b.rows.n_rows(), "row out of bounds");
            require(size(out, 0) == size(chosen) && size(out, 1) == b.rows.width(),
                    "out has the wrong shape");
            nb::gil_scoped_release release;
            gather_rows(b.rows, chosen.data(), size(chosen), out.data());
          },
          "chosen"_a.noconvert(), "out"_a.noconvert())
      .def(
          "encode",
          [](const Bound& b, Index begin, Index end, Matrix<const T> anchors,
             Matrix<const T> products, Vector<const T> half_norms, Coding coding, double beta,
             double ridge, double locality, Matrix<Column> chosen, Matrix<T> weights,
             Matrix<T> distances) {
            require_range(b.rows.n_rows(), begin, end);
            const Index n = end - begin, n_anchors = size(anchors, 0), k = size(weights, 1),
                        n_chosen = size(chosen, 1);
            require(size(anchors, 1) == b.rows.width(), "anchors have the wrong width");
            require(size(products, 0) == n && size(products, 1) == n_anchors &&
                        size(half_norms) == n_anchors,
                    "products must be (rows, anchors)");
            require(k >= 1 && k <= n_chosen && n_chosen <= n_anchors,
                    "k must lie between 1 and the number of anchors");
            require(size(chosen, 0) == n && size(weights, 0) == n && size(distances, 0) == n &&
                        size(distances, 1) == k,
                    "outputs must be (rows, k)");
            nb::gil_scoped_release release;
            encode(b.rows, begin, end, anchors.data(), n_anchors, k, n_chosen, products.data(),
                   half_norms.data(), CodingOptions{coding, beta, ridge, locality}, chosen.data(),
                   weights.data(), distances.data());
          },
          "begin"_a, "end"_a, "anchors"_a.noconvert(), "products"_a.noconvert(),
          "half_norms"_a.noconvert(), "coding"_a, "beta"_a, "ridge"_a, "locality"_a,
          "chosen"_a.noconvert(), "weights"_a.noconvert(), "distances"_a.noconvert())
      .def(
          "group_sums",
          [](const Bound& b, Vector<const Column> groups, Vector<const double> row_weights,
             Matrix<double> sums, Vector<double> masses) {
            require(size(groups) == b.rows.n_rows() && size(row_weights) == b.rows.n_rows(),
                    "one group and weight per row");
            require(size(sums, 1) == b.rows.width() && size(masses) == size(sums, 0),
                    "sums must be (groups, width)");
            require_below(groups.data(), size(groups), 0, size(sums, 0), "group out of bounds");
            nb::gil_scoped_release release;
            group_sums(b.rows, groups.data(), row_weights.data(), sums.data(), masses.data());
          },
          "groups"_a.noconvert(), "row_weights"_a.noconvert(), "sums"_a.noconvert(),
          "masses"_a.noconvert());
}

}  // namespace

void bind_rows(nb::module_& m) {
  nb::enum_<Coding>(m, "Coding")
      .value("hard", Coding::hard)
      .value("soft", Coding::soft)
      .value("inverse_distance", Coding::inverse_distance)
      .value("lle", Coding::lle)
      .value("llc", Coding::llc)
      .value("lcc", Coding::lcc);
  bind<float>(m, "RowsFloat32");
  bind<double>(m, "RowsFloat64");
}

}  // namespace hyperlocal::bindings
