#include "nearest.hpp"

#include "bindings/arrays.hpp"
#include "bindings/bind.hpp"
#include "cells.hpp"

namespace hyperlocal::bindings {

namespace {

// Outputs (queries, k).
template <class T>
WrittenNeighbors<T> checked_outputs(const Matrix<Column>& chosen, const Matrix<T>& distances,
                                    Index n_queries, Index k) {
  require_shape("chosen", chosen, n_queries, k);
  require_shape("distances", distances, n_queries, k);
  return {k, chosen.data(), distances.data()};
}

template <class T>
void bind_search(nb::module_& m) {
  using Kernel = NearestRows<T>;
  auto nearest_class = kernel_class<NearestRows, T>(m, "NearestRows");
  def(nearest_class, "add", args("products"_array, "half_norms"_array, "slack"_array),
      [](Kernel& nearest, Matrix<const T> products, Vector<const T> half_norms,
         Vector<const T> slack) {
        const Index n = size(half_norms);
        require_between("rows of half_norms", n, Index(0), nearest.n_left());
        require_shape("products", products, nearest.n_queries(), n);
        require_shape("slack", slack, nearest.n_queries());
        nb::gil_scoped_release release;
        nearest.add(products.data(), half_norms.data(), slack.data(), n);
      });
  def(nearest_class, "finish", args("chosen"_array, "distances"_array, "bounds"_array),
      [](Kernel& nearest, Matrix<Column> chosen, Matrix<T> distances, Vector<T> bounds) {
        require(nearest.n_left() == 0, "products: not those of all rows have been added");
        const auto out = checked_outputs(chosen, distances, nearest.n_queries(), nearest.k());
        require_shape("bounds", bounds, nearest.n_queries());
        nb::gil_scoped_release release;
        nearest.finish(out, bounds.data());
      });
  def_maker(m, "nearest_rows", args("rows"_a, "queries"_a, "begin"_a, "end"_a, "k"_a),
            [](const Rows<T>& rows, const Rows<T>& queries, Index begin, Index end, Index k) {
              require_size("n_rows", rows.n_rows(), 0);
              require_between("k", k, Index(1), rows.n_rows());
              require_alike("queries", queries, rows);
              return Kernel(rows, queries,
                            checked_range("begin, end", queries.n_rows(), begin, end), k);
            });
}

template <class T>
void bind_cells(nb::module_& m) {
  auto cells_class = kernel_class<Cells, T>(m, "Cells");
  def(cells_class, "nearest",
      args("queries"_a, "begin"_a, "end"_a, "n_probes"_a, "chosen"_array, "distances"_array),
      [](const Cells<T>& cells, const Rows<T>& queries, Index begin, Index end, Index n_probes,
         Matrix<Column> chosen, Matrix<T> distances) {
        const Range range = checked_range("begin, end", queries.n_rows(), begin, end);
        require(queries.is_dense() && queries.width() == cells.width(),
                "queries must be stored like the points, with as many features");
        const Index k = size(chosen, 1);
        require_positive("n_probes", double(n_probes));
        require_between("columns of chosen", k, Index(1), cells.n_points());
        const auto out = checked_outputs(chosen, distances, range.size(), k);
        nb::gil_scoped_release release;
        cells.nearest(queries, range, n_probes, out);
      });
  def(m, "cells", args("points"_array, "cells"_array, "centers"_array),
      [](Matrix<const T> points, Vector<const Column> cells, Matrix<const T> centers) {
        const Index n = size(points, 0), n_cells = size(centers, 0), width = size(points, 1);
        require_size("points", n, 0);
        require_size("features of points", width, 0);
        require_size("centers", n_cells, 0);
        require_shape("cells", cells, n);
        require_shape("centers", centers, n_cells, width);
        require_indices("cells", cells, n_cells);
        return Cells<T>(points.data(), cells.data(), n, centers.data(), n_cells, width);
      });
}

}  // namespace

template <class T>
void bind_nearest(nb::module_& m) {
  bind_search<T>(m);
  bind_cells<T>(m);
  def(m, "nearest_of_lists",
      args("rows"_a, "queries"_a, "begin"_a, "end"_a, "lists"_array, "chosen"_array,
           "distances"_array),
      [](const Rows<T>& rows, const Rows<T>& queries, Index begin, Index end,
         Matrix<const Column> lists, Matrix<Column> chosen, Matrix<T> distances) {
        const Range range = checked_range("begin, end", queries.n_rows(), begin, end);
        const Index length = size(lists, 1);
        require_alike("queries", queries, rows);
        require_size("columns of chosen", size(chosen, 1));
        require_shape("lists", lists, range.size(), length);
        require_indices("lists", lists, rows.n_rows());
        const auto out = checked_outputs(chosen, distances, range.size(), size(chosen, 1));
        nb::gil_scoped_release release;
        nearest_of_lists(rows, queries, range, lists.data(), length, out);
      });
}

HYPERLOCAL_BOTH_PRECISIONS(bind_nearest);

}  // namespace hyperlocal::bindings
