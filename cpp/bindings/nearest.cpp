#include "nearest.hpp"

#include "bindings/bind.hpp"
#include "bindings/bound_rows.hpp"
#include "cells.hpp"

namespace hyperlocal::bindings {

namespace {

template <class T>
void bind(nb::module_& m, const char* name) {
  using Bound = NearestRows<T>;
  nb::class_<Bound>(m, name)
      .def(
          "__init__",
          [](Bound* self, Index n_queries, Index k) {
            require(n_queries >= 0 && k >= 1, "n_queries and k must be positive");
            new (self) Bound(n_queries, k);
          },
          "n_queries"_a, "k"_a)
      .def(
          "add",
          [](Bound& b, Matrix<const T> products, Vector<const T> half_norms,
             Vector<const T> slack) {
            const Index n = size(half_norms);
            require(size(products, 0) == b.n_queries() && size(products, 1) == n,
                    "products must be (queries, rows)");
            require(size(slack) == b.n_queries(), "one slack per query");
            nb::gil_scoped_release release;
            b.add(products.data(), half_norms.data(), slack.data(), n);
          },
          "products"_a.noconvert(), "half_norms"_a.noconvert(), "slack"_a.noconvert())
      .def(
          "finish",
          [](Bound& b, const BoundRows<T>& rows, const BoundRows<T>& queries, Index begin,
             Matrix<Column> chosen, Matrix<T> distances, Vector<T> bounds) {
            require(queries.rows.width() == rows.rows.width() &&
                        queries.rows.is_dense() == rows.rows.is_dense(),
                    "queries must be stored like the rows");
            require(0 <= begin && begin <= queries.rows.n_rows() - b.n_queries(),
                    "range out of bounds");
            require(b.n_seen() == rows.rows.n_rows(), "not all rows have been added");
            require(b.k() <= b.n_seen(), "k must not exceed the number of rows");
            require(size(chosen, 0) == b.n_queries() && size(chosen, 1) == b.k() &&
                        size(distances, 0) == b.n_queries() && size(distances, 1) == b.k(),
                    "outputs must be (queries, k)");
            require(size(bounds) == b.n_queries(), "one bound per query");
            nb::gil_scoped_release release;
            b.finish(rows.rows, queries.rows, begin, chosen.data(), distances.data(),
                     bounds.data());
          },
          "rows"_a, "queries"_a, "begin"_a, "chosen"_a.noconvert(), "distances"_a.noconvert(),
          "bounds"_a.noconvert());
}

template <class T>
void bind_cells(nb::module_& m, const char* name) {
  using Bound = Cells<T>;
  nb::class_<Bound>(m, name)
      .def(
          "__init__",
          [](Bound* self, Matrix<const T> points, Vector<const Column> cells,
             Matrix<const T> middles) {
            const Index n = size(points, 0), n_cells = size(middles, 0);
            require(size(cells) == n, "one cell per point");
            require(size(points, 1) == size(middles, 1), "middles have the wrong width");
            require_below(cells.data(), n, 0, n_cells, "cell out of bounds");
            new (self)
                Bound(points.data(), cells.data(), n, middles.data(), n_cells, size(points, 1));
          },
          "points"_a.noconvert(), "cells"_a.noconvert(), "middles"_a.noconvert())
      .def(
          "nearest",
          [](const Bound& b, const BoundRows<T>& queries, Index begin, Index end, Index n_probes,
             Matrix<Column> chosen, Matrix<T> distances) {
            require_range(queries.rows.n_rows(), begin, end);
            require(queries.rows.is_dense() && queries.rows.width() == b.width(),
                    "queries must be stored like the points");
            const Index k = size(chosen, 1);
            require(n_probes >= 1 && k >= 1 && k <= b.n_points(), "n_probes or k out of range");
            require(size(chosen, 0) == end - begin && size(distances, 0) == end - begin &&
                        size(distances, 1) == k,
                    "outputs must be (queries, k)");
            nb::gil_scoped_release release;
            b.nearest(queries.rows, begin, end, n_probes, k, chosen.data(), distances.data());
          },
          "queries"_a, "begin"_a, "end"_a, "n_probes"_a, "chosen"_a.noconvert(),
          "distances"_a.noconvert());
}

template <class T>
void bind_lists(nb::module_& m) {
  m.def(
      "nearest_of_lists",
      [](const BoundRows<T>& rows, const BoundRows<T>& queries, Index begin, Index end,
         Matrix<const Column> lists, Matrix<Column> chosen, Matrix<T> distances) {
        require_range(queries.rows.n_rows(), begin, end);
        require(queries.rows.width() == rows.rows.width() &&
                    queries.rows.is_dense() == rows.rows.is_dense(),
                "queries must be stored like the rows");
        const Index n = end - begin, length = size(lists, 1), k = size(chosen, 1);
        require(size(lists, 0) == n && size(chosen, 0) == n && size(distances, 0) == n &&
                    size(distances, 1) == k && k >= 1,
                "lists and outputs must have one row per query");
        require_below(lists.data(), n * length, 0, rows.rows.n_rows(), "row out of bounds");
        nb::gil_scoped_release release;
        nearest_of_lists(rows.rows, queries.rows, begin, end, lists.data(), length, k,
                         chosen.data(), distances.data());
      },
      "rows"_a, "queries"_a, "begin"_a, "end"_a, "lists"_a.noconvert(), "chosen"_a.noconvert(),
      "distances"_a.noconvert());
}

}  // namespace

void bind_nearest(nb::module_& m) {
  bind<float>(m, "NearestFloat32");
  bind<double>(m, "NearestFloat64");
  bind_lists<float>(m);
  bind_lists<double>(m);
  bind_cells<float>(m, "CellsFloat32");
  bind_cells<double>(m, "CellsFloat64");
}

}  // namespace hyperlocal::bindings
