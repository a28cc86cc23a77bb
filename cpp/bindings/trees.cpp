#include <nanobind/stl/tuple.h>

#include <tuple>

#include "bindings/arrays.hpp"
#include "bindings/bind.hpp"
#include "local_deep.hpp"
#include "tree_walk.hpp"

namespace hyperlocal::bindings {

namespace {

TreeShape checked_shape(Index depth, Index n_vectors, Index stride, Index width) {
  require_between("depth", depth, Index(0), Index(29));
  require_size("vectors of nodes (route, gate and weights)", n_vectors, 3);
  require_between("stride of nodes", stride, width + 1, largest_size);
  require(stride % 8 == 0, "stride of nodes must be a multiple of 8");
  return {depth, n_vectors - 2, stride};
}

// Nodes (nodes, vectors, stride) of one complete tree.
template <class T, class N>
TreeShape checked_tree(const Rows<T>& rows, const Array<N, 3>& nodes, Index depth) {
  const auto shape = checked_shape(depth, size(nodes, 1), size(nodes, 2), rows.width());
  require_shape("nodes", nodes, shape.n_nodes(), any_size, any_size);
  return shape;
}

// The sum of losses, Σ P|θ·x| and Σ P.
std::tuple<double, double, double> as_tuple(const TreeReport& report) {
  return {report.loss, report.projection, report.reach};
}

template <class T>
void bind_training(nb::module_& m) {
  auto problem_class = kernel_class<TreeProblem, T>(m, "TreeProblem");
  def(problem_class, "epoch",
      args("nodes"_array, "mean"_array, "square"_array, "first_column"_a, "routing"_a,
           "rates"_array, "order"_array),
      [](const TreeProblem<T>& problem, Array<T, 3> nodes, Array<T, 3> mean, Array<T, 3> square,
         Index first_column, const Routing& routing, Vector<const double> rates,
         Vector<const Index> order) {
        const auto shape = checked_tree(problem.rows, nodes, problem.depth);
        const Visits visits = checked_visits(order, problem.rows.n_rows());
        require_same_shape("mean", mean, nodes);
        require_same_shape("square", square, nodes);
        require_size("first_column", first_column, 0);
        require_shape("rates", rates, n_batches(visits.size, detail::tree_batch));
        nb::gil_scoped_release release;
        return as_tuple(tree_epoch(problem, {shape, nodes.data(), mean.data(), square.data()},
                                   first_column, routing, rates.data(), visits));
      });
  def(problem_class, "gradient",
      args("nodes"_array, "first_column"_a, "routing"_a, "order"_array, "gradient"_array,
           "scores"_array),
      [](const TreeProblem<T>& problem, Array<const T, 3> nodes, Index first_column,
         const Routing& routing, Vector<const Index> order, Array<T, 3> gradient,
         Matrix<T> scores) {
        const auto shape = checked_tree(problem.rows, nodes, problem.depth);
        const Visits visits = checked_visits(order, problem.rows.n_rows());
        require_same_shape("gradient", gradient, nodes);
        require_size("first_column", first_column, 0);
        require_between("rows in order", visits.size, Index(0), detail::tree_batch);
        require_shape("scores", scores, visits.size, shape.n_columns);
        nb::gil_scoped_release release;
        return as_tuple(tree_gradient(problem, shape, nodes.data(), first_column, routing, visits,
                                      gradient.data(), scores.data()));
      });
  def_maker(m, "tree_problem", args("rows"_a, "target"_array, "costs"_array, "depth"_a, "alpha"_a),
            [](const Rows<T>& rows, Vector<const Column> target, Vector<const T> costs, Index depth,
               double alpha) {
              require_shape("target", target, rows.n_rows());
              require_shape("costs", costs, rows.n_rows());
              return TreeProblem<T>{rows, target.data(), costs.data(), depth, alpha};
            });
}

}  // namespace

template <class T>
void bind_trees(nb::module_& m) {
  bind_training<T>(m);
  def(m, "tree_scores", args("rows"_a, "begin"_a, "end"_a, "nodes"_array, "depth"_a, "out"_array),
      [](const Rows<T>& rows, Index begin, Index end, Array<const T, 4> nodes, Index depth,
         Matrix<T> out) {
        const Range range = checked_range("begin, end", rows.n_rows(), begin, end);
        const auto shape = checked_shape(depth, size(nodes, 2), size(nodes, 3), rows.width());
        require_shape("nodes", nodes, any_size, shape.n_nodes(), any_size, any_size);
        require_size("trees of nodes", size(nodes, 0), 0);
        require_shape("out", out, range.size(), size(nodes, 0) * shape.n_columns);
        nb::gil_scoped_release release;
        return tree_scores(rows, range, shape, nodes.data(), size(nodes, 0), out.data());
      });
  def(m, "tree_paths",
      args("rows"_a, "begin"_a, "end"_a, "nodes"_array, "depth"_a, "path"_array, "gates"_array),
      [](const Rows<T>& rows, Index begin, Index end, Array<const T, 3> nodes, Index depth,
         Matrix<Column> path, Matrix<T> gates) {
        const Range range = checked_range("begin, end", rows.n_rows(), begin, end);
        const auto shape = checked_tree(rows, nodes, depth);
        require_shape("path", path, range.size(), depth + 1);
        require_shape("gates", gates, range.size(), depth + 1);
        nb::gil_scoped_release release;
        tree_paths(rows, range, shape, nodes.data(), path.data(), gates.data());
      });
}

HYPERLOCAL_BOTH_PRECISIONS(bind_trees);

}  // namespace hyperlocal::bindings
