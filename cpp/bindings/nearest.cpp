#include "nearest.hpp"

#include "bindings/bind.hpp"
#include "bindings/bound_rows.hpp"

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

}  // namespace

void bind_nearest(nb::module_& m) {
  bind<float>(m, "NearestFloat32");
  bind<double>(m, "NearestFloat64");
}

}  // namespace hyperlocal::bindings
