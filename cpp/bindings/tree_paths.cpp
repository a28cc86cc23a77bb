#include "tree_paths.hpp"

#include "bindings/arrays.hpp"
#include "bindings/bind.hpp"

namespace hyperlocal::bindings {

namespace {

// Nodes (nodes, vectors, stride) of one tree.
TreePaths checked_tree_paths(Array<const double, 3> nodes, Index depth,
                             Matrix<const double> references, Array<const double, 3> products) {
  require_between("depth", depth, Index(0), Index(29));
  require_size("vectors of nodes (route, gate and weights)", size(nodes, 1), 3);
  const TreeShape shape{depth, size(nodes, 1) - 2, size(nodes, 2)};
  require_shape("nodes", nodes, shape.n_nodes(), any_size, any_size);
  require(shape.stride > 0 && shape.stride % 8 == 0, "stride of nodes must be a multiple of 8");
  require_shape("references", references, any_size, shape.stride);
  require_shape("products", products, size(references), shape.n_nodes(), shape.n_vectors());
  return {shape, size(references), nodes.data(), references.data(), products.data()};
}

}  // namespace

void bind_tree_paths(nb::module_& m) {
  auto paths_class = nb::class_<TreePaths>(m, "TreePaths");
  def_maker(m, "tree_lines", args("nodes"_array, "depth"_a, "references"_array, "products"_array),
            checked_tree_paths);
  def(paths_class, "averages", args("rows"_array, "out"_array),
      [](const TreePaths& paths, Matrix<const double> rows, Array<double, 4> out) {
        require_shape("rows", rows, any_size, paths.shape.stride);
        require_shape("out", out, paths.n_references, size(rows), paths.shape.n_columns,
                      paths.shape.stride);
        nb::gil_scoped_release release;
        tree_path_averages(paths, rows.data(), size(rows), out.data());
      });
  def(paths_class, "contributions", args("rows"_array, "shares"_array, "out"_array),
      [](const TreePaths& paths, Matrix<const double> rows, Vector<const double> shares,
         Array<double, 3> out) {
        require_shape("rows", rows, any_size, paths.shape.stride);
        require_shape("shares", shares, paths.n_references);
        require_shape("out", out, size(rows), paths.shape.n_columns, paths.shape.stride);
        nb::gil_scoped_release release;
        tree_path_contributions(paths, rows.data(), size(rows), shares.data(), out.data());
      });
}

}  // namespace hyperlocal::bindings
