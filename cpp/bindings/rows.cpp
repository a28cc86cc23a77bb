#include "rows.hpp"

#include "bindings/arrays.hpp"
#include "bindings/bind.hpp"
#include "coding.hpp"
#include "grouping.hpp"

namespace hyperlocal::bindings {

namespace {

// Products of all features.
constexpr Index all_paired = -1;

// Columns of the lifted row, the constant among them, have indices of 32 bits.
void require_width(const char* name, Index n_features, bool quadratic, Index n_paired) {
  constexpr Index largest_width = largest_size - 1;
  require_between(name, n_features, Index(0), largest_width);
  require_between("n_paired", n_paired, Index(0), n_features);
  if (quadratic)
    require_between("quadratic width", quadratic_width(n_features, n_paired), Index(0),
                    largest_width);
}

template <class T>
void bind_makers(nb::module_& m) {
  def_maker(m, "rows",
            args("dense"_array, "quadratic"_a = false, "scale"_a = T(1), "n_paired"_a = all_paired),
            [](Matrix<const T> dense, bool quadratic, T scale, Index n_paired) {
              const Index n_features = size(dense, 1);
              if (n_paired == all_paired) n_paired = n_features;
              require_width("features of dense", n_features, quadratic, n_paired);
              return Rows<T>(dense.data(), nullptr, nullptr, size(dense, 0), n_features, quadratic,
                             scale, n_paired);
            });
  def_maker(m, "rows",
            args("values"_array, "columns"_array, "starts"_array, "n_features"_a,
                 "quadratic"_a = false, "scale"_a = T(1)),
            [](Vector<const T> values, Vector<const Column> columns, Vector<const Index> starts,
               Index n_features, bool quadratic, T scale) {
              require_width("n_features", n_features, quadratic, n_features);
              require_shape("columns", columns, size(values));
              require_size("starts", size(starts));
              require_starts("starts", starts, size(starts) - 1, size(values));
              require_indices("columns", columns, n_features);
              return Rows<T>(values.data(), columns.data(), starts.data(), size(starts) - 1,
                             n_features, quadratic, scale, n_features);
            });
  def_maker(m, "coder", args("rows"_a, "anchors"_array, "half_norms"_array, "options"_a),
            [](const Rows<T>& rows, Matrix<const T> anchors, Vector<const T> half_norms,
               const CodingOptions& options) {
              require_size("n_anchors", size(anchors, 0), 0);
              require_shape("anchors", anchors, any_size, rows.width());
              require_shape("half_norms", half_norms, size(anchors, 0));
              return Coder<T>{rows, anchors.data(), size(anchors, 0), half_norms.data(), options};
            });
}

}  // namespace

template <class T>
void bind_rows(nb::module_& m) {
  using Kernel = Rows<T>;
  auto rows_class = kernel_class<Rows, T>(m, "Rows");
  rows_class.def_prop_ro("n_rows", &Kernel::n_rows);
  rows_class.def_prop_ro("width", &Kernel::width);
  def(rows_class, "squared_norms", args("begin"_a, "end"_a, "out"_array),
      [](const Kernel& rows, Index begin, Index end, Vector<T> out) {
        const Range range = checked_range("begin, end", rows.n_rows(), begin, end);
        require_shape("out", out, range.size());
        nb::gil_scoped_release release;
        row_squared_norms(rows, range, out.data());
      });
  def(rows_class, "gather", args("chosen"_array, "out"_array),
      [](const Kernel& rows, Vector<const Index> chosen, Matrix<T> out) {
        require_indices("chosen", chosen, rows.n_rows());
        require_shape("out", out, size(chosen), rows.width());
        nb::gil_scoped_release release;
        gather_rows(rows, {chosen.data(), size(chosen)}, out.data());
      });
  def(rows_class, "group_sums",
      args("groups"_array, "row_weights"_array, "sums"_array, "masses"_array),
      [](const Kernel& rows, Vector<const Column> groups, Vector<const double> row_weights,
         Matrix<double> sums, Vector<double> masses) {
        require_shape("groups", groups, rows.n_rows());
        require_shape("row_weights", row_weights, rows.n_rows());
        require_shape("sums", sums, any_size, rows.width());
        require_shape("masses", masses, size(sums, 0));
        require_indices("groups", groups, size(sums, 0));
        nb::gil_scoped_release release;
        group_sums(rows, groups.data(), row_weights.data(), sums.data(), masses.data());
      });
  auto coder_class = kernel_class<Coder, T>(m, "Coder");
  def(coder_class, "encode",
      args("begin"_a, "end"_a, "products"_array, "chosen"_array, "weights"_array,
           "distances"_array),
      [](const Coder<T>& coder, Index begin, Index end, Matrix<const T> products,
         Matrix<Column> chosen, Matrix<T> weights, Matrix<T> distances) {
        const Range range = checked_range("begin, end", coder.rows.n_rows(), begin, end);
        const Index n = range.size(), k = size(weights, 1), n_chosen = size(chosen, 1);
        require_between("columns of chosen", n_chosen, Index(1), coder.n_anchors);
        require_between("columns of weights", k, Index(1), n_chosen);
        require_shape("products", products, n, coder.n_anchors);
        require_shape("chosen", chosen, n, n_chosen);
        require_shape("weights", weights, n, k);
        require_shape("distances", distances, n, k);
        nb::gil_scoped_release release;
        encode(coder, range, products.data(),
               {k, n_chosen, chosen.data(), weights.data(), distances.data()});
      });
  bind_makers<T>(m);
}

HYPERLOCAL_BOTH_PRECISIONS(bind_rows);

}  // namespace hyperlocal::bindings
