#include "gate_paths.hpp"

#include "bindings/arrays.hpp"
#include "bindings/bind.hpp"

namespace hyperlocal::bindings {

namespace {

// Nodes and weights, the rows of a matrix.
PathRule checked_rule(const char* name, const Matrix<const double>& rule) {
  require_shape(name, rule, 2, any_size);
  return {rule.data(), rule.data() + size(rule, 1), size(rule, 1)};
}

// An array of no rows stands for none.
template <class A, class... Sizes>
const double* given(const char* name, const A& array, Sizes... wanted) {
  if (array.size() == 0) return nullptr;
  require_shape(name, array, wanted...);
  return array.data();
}

GatePaths checked_paths(Matrix<const double> row_logits, Matrix<const double> start_logits,
                        Array<const double, 3> row_scores, Array<const double, 3> start_scores,
                        Array<const double, 4> linear, Array<const double, 3> squares,
                        Array<const double, 4> gates) {
  const Index n = size(row_logits), m = size(row_logits, 1);
  const Index n_columns = size(row_scores, 2), n_references = size(start_logits, 1);
  require_size("anchors of row_logits", m);
  require_size("references of start_logits", n_references);
  require_shape("start_logits", start_logits, m, any_size);
  require_shape("row_scores", row_scores, n, m, any_size);
  require_shape("start_scores", start_scores, m, n_columns, n_references);
  return {n,
          m,
          n_columns,
          n_references,
          size(gates, 1),
          row_logits.data(),
          start_logits.data(),
          row_scores.data(),
          start_scores.data(),
          given("linear", linear, n, m, n_columns, n_references),
          given("squares", squares, n, Index(6), n_references),
          given("gates", gates, n, any_size, m, n_references)};
}

// Rows and references each with their inner numbers; slopes of no rows where they do not change.
PathFeatures checked_features(Array<const double, 3> rows, Array<const double, 3> starts,
                              Array<const double, 4> row_slopes,
                              Array<const double, 4> start_slopes, Matrix<const double> anchors,
                              Matrix<const double> factors, Vector<const double> shares,
                              Index n_paired) {
  const Index n = size(rows, 1), d = size(rows, 2), n_references = size(starts, 1);
  const Index m = size(anchors), n_columns = size(start_slopes, 2);
  const bool is_curved = row_slopes.size() > 0;
  require_shape("rows", rows, 2, any_size, any_size);
  require_shape("starts", starts, 2, any_size, d);
  require_shape("anchors", anchors, any_size, d);
  require_shape("start_slopes", start_slopes, is_curved ? n_references : Index(1), m, any_size, d);
  if (is_curved) require_shape("row_slopes", row_slopes, n, m, n_columns, d);
  require_shape("factors", factors, 2, d);
  require_shape("shares", shares, n_references);
  require_between("n_paired", n_paired, Index(0), d);
  return {d,
          n_paired,
          n,
          n_references,
          m,
          n_columns,
          is_curved,
          rows.data(),
          starts.data(),
          rows.data() + n * d,
          starts.data() + n_references * d,
          row_slopes.data(),
          start_slopes.data(),
          anchors.data(),
          factors.data(),
          factors.data() + d,
          shares.data()};
}

void require_fitting(const GatePaths& paths, const PathFeatures& features) {
  require(features.n_rows == paths.n_rows && features.n_references == paths.n_references &&
              features.n_anchors == paths.n_anchors && features.n_columns == paths.n_columns &&
              features.is_curved == (paths.linear != nullptr),
          "features must be of the same rows, references, anchors and columns, with slopes of the "
          "rows where linear is given");
}

std::pair<PathRule, PathRule> checked_rules(const GatePaths& paths, const PathOptions& options,
                                            const Matrix<const double>& coarse,
                                            const Matrix<const double>& fine) {
  require_between("n_active", options.n_active, Index(1), paths.n_anchors);
  require_positive("factor", options.factor);
  const PathRule first = checked_rule("coarse", coarse), second = checked_rule("fine", fine);
  require(paths.gates == nullptr || (second.size == 0 && first.size == paths.n_nodes),
          "coarse must have a node for each of the gates given, and fine must have none");
  return {first, second};
}

}  // namespace

void bind_gate_paths(nb::module_& m) {
  nb::class_<PathOptions>(m, "PathOptions")
      .def(nb::init<Index, bool, double, double, double, double, double>(), nb::kw_only(),
           "n_active"_a, "is_unit"_a, "factor"_a, "alpha"_a, "beta"_a, "bias"_a, "tolerance"_a);
  auto paths_class = nb::class_<GatePaths>(m, "GatePaths");
  paths_class.def_prop_ro("width", &GatePaths::width);
  def(paths_class, "moments", args("options"_a, "coarse"_array, "fine"_array, "out"_array),
      [](const GatePaths& paths, const PathOptions& options, Matrix<const double> coarse,
         Matrix<const double> fine, Array<double, 3> out) {
        const auto [first, second] = checked_rules(paths, options, coarse, fine);
        require_shape("out", out, paths.n_rows, paths.n_references, paths.width());
        nb::gil_scoped_release release;
        path_moments(paths, options, first, second, out.data());
      });
  nb::class_<PathFeatures>(m, "PathFeatures");
  def_maker(m, "path_features",
            args("rows"_array, "starts"_array, "row_slopes"_array, "start_slopes"_array,
                 "anchors"_array, "factors"_array, "shares"_array, "n_paired"_a),
            checked_features);
  def(paths_class, "contributions",
      args("options"_a, "coarse"_array, "fine"_array, "features"_a, "out"_array),
      [](const GatePaths& paths, const PathOptions& options, Matrix<const double> coarse,
         Matrix<const double> fine, const PathFeatures& features, Array<double, 3> out) {
        const auto [first, second] = checked_rules(paths, options, coarse, fine);
        require_fitting(paths, features);
        require_shape("out", out, paths.n_rows, paths.n_columns, features.n_features);
        nb::gil_scoped_release release;
        path_contributions(paths, options, first, second, features, out.data());
      });
  def_maker(m, "gate_paths",
            args("row_logits"_array, "start_logits"_array, "row_scores"_array, "start_scores"_array,
                 "linear"_array, "squares"_array, "gates"_array),
            checked_paths);
}

}  // namespace hyperlocal::bindings
