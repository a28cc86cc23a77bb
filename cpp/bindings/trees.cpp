#include "bindings/bind.hpp"
#include "bindings/bound_rows.hpp"
#include "local_deep.hpp"
#include "tree_walk.hpp"

namespace hyperlocal::bindings {

namespace {

TreeShape checked_shape(Index depth, Index n_vectors, Index stride, Index width) {
  require(depth >= 0 && depth < 30, "depth must lie between 0 and 29");
  require(n_vectors >= 3, "a node needs a route, a gate and a weight vector");
  require(stride % 8 == 0 && stride > width, "the stride must be a multiple of 8 above the width");
  return {depth, n_vectors - 2, stride};
}

// Nodes (nodes, vectors, stride) of one tree over rows, and labels for its columns.
template <class T, class N>
TreeShape checked_tree(const BoundRows<T>& b, const Array<N, 3>& nodes, Index depth) {
  const auto shape = checked_shape(depth, size(nodes, 1), size(nodes, 2), b.rows.width());
  require(size(nodes, 0) == shape.n_nodes(), "nodes must be those of a complete tree");
  return shape;
}

template <class T>
TreeTargets<T> checked_targets(const BoundRows<T>& b, const Vector<const Column>& target,
                               const Vector<const T>& costs, const Vector<const Index>& order,
                               Index first_column) {
  const Index n = b.rows.n_rows();
  require(size(target) == n && size(costs) == n, "one target and cost per row");
  require_below(order.data(), size(order), 0, n, "row out of bounds");
  return {target.data(), costs.data(), first_column};
}

nb::tuple as_tuple(const TreeReport& report) {
  return nb::make_tuple(report.loss, report.projection, report.reach);
}

template <class T>
void bind(nb::module_& m) {
  m.def(
      "tree_epoch",
      [](const BoundRows<T>& b, Vector<const Column> target, Vector<const T> costs,
         Index first_column, Array<T, 3> nodes, Array<T, 3> mean, Array<T, 3> square, Index depth,
         double alpha, double sharpness, bool hard, Vector<const double> rates,
         Vector<const Index> order) {
        const auto shape = checked_tree(b, nodes, depth);
        const auto targets = checked_targets(b, target, costs, order, first_column);
        for (const auto& moments : {mean, square})
          for (int axis = 0; axis < 3; ++axis)
            require(size(moments, axis) == size(nodes, axis), "moments must fit the nodes");
        require(size(rates) == (size(order) + detail::tree_batch - 1) / detail::tree_batch,
                "one rate per batch");
        TreeReport report;
        {
          nb::gil_scoped_release release;
          report = tree_epoch(b.rows, targets, shape, nodes.data(),
                              AdamState<T>{mean.data(), square.data()}, alpha,
                              Routing{sharpness, hard}, rates.data(), order.data(), size(order));
        }
        return as_tuple(report);
      },
      "rows"_a, "target"_a.noconvert(), "costs"_a.noconvert(), "first_column"_a,
      "nodes"_a.noconvert(), "mean"_a.noconvert(), "square"_a.noconvert(), "depth"_a, "alpha"_a,
      "sharpness"_a, "hard"_a, "rates"_a.noconvert(), "order"_a.noconvert());
  m.def(
      "tree_gradient",
      [](const BoundRows<T>& b, Vector<const Column> target, Vector<const T> costs,
         Index first_column, Array<const T, 3> nodes, Index depth, double alpha, double sharpness,
         bool hard, Vector<const Index> order, Array<T, 3> gradient, Matrix<T> scores) {
        const auto shape = checked_tree(b, nodes, depth);
        const auto targets = checked_targets(b, target, costs, order, first_column);
        for (int axis = 0; axis < 3; ++axis)
          require(size(gradient, axis) == size(nodes, axis), "the gradient must fit the nodes");
        require(size(order) <= detail::tree_batch, "one batch at a time");
        require(size(scores, 0) == size(order) && size(scores, 1) == shape.n_columns,
                "scores must be (rows, columns)");
        TreeReport report;
        {
          nb::gil_scoped_release release;
          report =
              tree_gradient(b.rows, targets, shape, nodes.data(), alpha, Routing{sharpness, hard},
                            order.data(), size(order), gradient.data(), scores.data());
        }
        return as_tuple(report);
      },
      "rows"_a, "target"_a.noconvert(), "costs"_a.noconvert(), "first_column"_a,
      "nodes"_a.noconvert(), "depth"_a, "alpha"_a, "sharpness"_a, "hard"_a, "order"_a.noconvert(),
      "gradient"_a.noconvert(), "scores"_a.noconvert());
  m.def(
      "tree_scores",
      [](const BoundRows<T>& b, Index begin, Index end, Array<const T, 4> nodes, Index depth,
         Matrix<T> out) {
        require_range(b.rows.n_rows(), begin, end);
        const auto shape = checked_shape(depth, size(nodes, 2), size(nodes, 3), b.rows.width());
        require(size(nodes, 1) == shape.n_nodes(), "nodes must be those of complete trees");
        require(size(out, 0) == end - begin && size(out, 1) == size(nodes, 0) * shape.n_columns,
                "out has the wrong shape");
        nb::gil_scoped_release release;
        return tree_scores(b.rows, begin, end, shape, nodes.data(), size(nodes, 0), out.data());
      },
      "rows"_a, "begin"_a, "end"_a, "nodes"_a.noconvert(), "depth"_a, "out"_a.noconvert());
  m.def(
      "tree_paths",
      [](const BoundRows<T>& b, Index begin, Index end, Array<const T, 3> nodes, Index depth,
         Matrix<Column> path, Matrix<T> gates) {
        require_range(b.rows.n_rows(), begin, end);
        const auto shape = checked_tree(b, nodes, depth);
        require(size(path, 0) == end - begin && size(path, 1) == depth + 1 &&
                    size(gates, 0) == end - begin && size(gates, 1) == depth + 1,
                "outputs must be (rows, depth + 1)");
        nb::gil_scoped_release release;
        tree_paths(b.rows, begin, end, shape, nodes.data(), path.data(), gates.data());
      },
      "rows"_a, "begin"_a, "end"_a, "nodes"_a.noconvert(), "depth"_a, "path"_a.noconvert(),
      "gates"_a.noconvert());
}

}  // namespace

void bind_trees(nb::module_& m) {
  bind<float>(m);
  bind<double>(m);
}

}  // namespace hyperlocal::bindings
