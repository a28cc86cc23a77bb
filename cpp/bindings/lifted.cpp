#include "lifted.hpp"

#include "bindings/arrays.hpp"
#include "bindings/bind.hpp"
#include "columns_aside.hpp"
#include "grouping.hpp"
#include "lifted_products.hpp"

namespace hyperlocal::bindings {

template <class T>
void bind_lifted(nb::module_& m) {
  using Kernel = Lifted<T>;
  auto lifted_class = kernel_class<Lifted, T>(m, "Lifted");
  def(lifted_class, "scores", args("begin"_a, "end"_a, "weights"_array, "out"_array),
      [](const Kernel& lifted, Index begin, Index end, Array<const T, 3> weights, Matrix<T> out) {
        const Range range = checked_range("begin, end", lifted.n_rows(), begin, end);
        const Index n_columns = size(weights, 1);
        require_shape("weights", weights, lifted.n_blocks(), any_size, lifted.block_width());
        require_shape("out", out, range.size(), n_columns);
        nb::gil_scoped_release release;
        lifted_scores(lifted, range, weights.data(), n_columns, out.data());
      });
  def(lifted_class, "add", args("steps"_array, "weights"_array, "column_begin"_a, "column_end"_a),
      [](const Kernel& lifted, Matrix<const T> steps, Array<T, 3> weights, Index column_begin,
         Index column_end) {
        const Index n_columns = size(weights, 1);
        require_shape("weights", weights, lifted.n_blocks(), any_size, lifted.block_width());
        require_shape("steps", steps, lifted.n_rows(), n_columns);
        const Range columns =
            checked_range("column_begin, column_end", n_columns, column_begin, column_end);
        nb::gil_scoped_release release;
        lifted_add(lifted, steps.data(), weights.data(), n_columns, columns);
      });
  def(lifted_class, "squared_norms", args("begin"_a, "end"_a, "out"_array),
      [](const Kernel& lifted, Index begin, Index end, Vector<T> out) {
        const Range range = checked_range("begin, end", lifted.n_rows(), begin, end);
        require_shape("out", out, range.size());
        nb::gil_scoped_release release;
        lifted_squared_norms(lifted, range, out.data());
      });
  def(lifted_class, "group_by_anchor",
      args("begin"_a, "end"_a, "starts"_array, "rows"_array, "places"_array),
      [](const Kernel& lifted, Index begin, Index end, Vector<Index> starts, Vector<Index> rows,
         Vector<Index> places) {
        const Range range = checked_range("begin, end", lifted.n_rows(), begin, end);
        const Index n_pairs = range.size() * lifted.codes().k;
        require_shape("starts", starts, lifted.n_anchors() + 1);
        require_shape("rows", rows, n_pairs);
        require_shape("places", places, n_pairs);
        nb::gil_scoped_release release;
        group_by_anchor(lifted, range, starts.data(), rows.data(), places.data());
      });
  def(lifted_class, "combine",
      args("begin"_a, "end"_a, "places"_array, "partial"_array, "out"_array),
      [](const Kernel& lifted, Index begin, Index end, Vector<const Index> places,
         Matrix<const T> partial, Matrix<T> out) {
        const Range range = checked_range("begin, end", lifted.n_rows(), begin, end);
        const Index n_columns = size(partial, 1);
        require_shape("places", places, range.size() * lifted.codes().k);
        require_shape("out", out, range.size(), n_columns);
        require_indices("places", places, size(partial, 0), -1);
        nb::gil_scoped_release release;
        combine_partial_scores(lifted.codes(), range, places.data(), partial.data(), n_columns,
                               out.data());
      });
  def(lifted_class, "products",
      args("anchor"_a, "members"_array, "begin"_a, "features"_array, "costs"_array, "out"_array),
      [](const Kernel& lifted, Index anchor, Vector<const Index> members, Index begin,
         Matrix<const double> features, Vector<const double> costs, Matrix<double> out) {
        const Index n_columns = size(out, 1), width = lifted.block_width();
        const Range range =
            checked_range("begin, features", lifted.n_rows(), begin, begin + size(features, 0));
        require_between("anchor", anchor, Index(0), lifted.n_anchors() - 1);
        require_shape("features", features, range.size(), width);
        require_shape("costs", costs, lifted.n_rows());
        require_shape("out", out, n_columns, n_columns);
        require(n_columns >= lifted.n_anchors() * width, "out has too few columns");
        for (Index i = 0; i < size(members); ++i)
          require_between("members", members.data()[i], range.begin, range.end - 1);
        nb::gil_scoped_release release;
        lifted_products(lifted, anchor, {members.data(), size(members)}, range, features.data(),
                        costs.data(), out.data(), n_columns);
      });
  def_maker(m, "lifted",
            args("rows"_a, "anchors"_array, "weights"_array, "n_anchors"_a, "bias"_a,
                 "offset"_a = T(0)),
            [](const Rows<T>& rows, Matrix<const Column> anchors, Matrix<const T> weights,
               Index n_anchors, T bias, T offset) {
              require_size("n_anchors", n_anchors);
              require_shape("anchors", anchors, rows.n_rows(), any_size);
              require_shape("weights", weights, rows.n_rows(), size(anchors, 1));
              require_indices("anchors", anchors, n_anchors);
              const Codes<T> codes{anchors.data(), weights.data(), size(anchors, 1)};
              return Kernel(rows, codes, n_anchors, bias, offset);
            });
}

HYPERLOCAL_BOTH_PRECISIONS(bind_lifted);

}  // namespace hyperlocal::bindings
