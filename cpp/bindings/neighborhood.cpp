#include "neighborhood.hpp"

#include <nanobind/stl/optional.h>

#include <cstdint>
#include <optional>

#include "bindings/arrays.hpp"
#include "bindings/bind.hpp"
#include "cached_svms.hpp"
#include "neighborhood_values.hpp"

namespace hyperlocal::bindings {

namespace {

void require_options(const NeighborhoodOptions& options) {
  require(options.sigma >= 0, "sigma must not be negative");
  require_between("degree", options.degree, Index(0), largest_size);
  require_positive("tol", options.tol);
  require_positive("max_steps", double(options.max_steps));
}

template <class T>
void require_neighbors(const Neighborhood<T>& data, const Matrix<const Column>& neighbors,
                       Index n) {
  require_size("columns of neighbors", size(neighbors, 1));
  require_shape("neighbors", neighbors, n, any_size);
  require_indices("neighbors", neighbors, data.rows.n_rows());
}

template <class T>
void require_columns(const Neighborhood<T>& data, const Matrix<const Column>& neighbors,
                     const TrainedSvms& models) {
  if (data.has_values()) {
    for (Index c = 0; c < models.n_centers; ++c)
      require(models.starts[c + 1] - models.starts[c] == data.n_targets,
              "starts: a center has as many columns as there are targets");
    return;
  }
  NeighborhoodWorker<T> worker(data, models.k);
  for (Index c = 0; c < models.n_centers; ++c) {
    const Index n_columns = models.starts[c + 1] - models.starts[c];
    require(n_columns == 0 || n_columns == worker.columns_of(neighbors.data() + c * models.k),
            "starts: a center has no columns, or as many as it has classes");
  }
}

template <class T>
void bind_makers(nb::module_& m) {
  def_maker(m, "neighborhood",
            args("rows"_a, "target"_array, "costs"_array, "n_classes"_a, "options"_a),
            [](const Rows<T>& rows, Vector<const Column> target, Vector<const double> costs,
               Index n_classes, const NeighborhoodOptions& options) {
              require_options(options);
              require_size("n_classes", n_classes, 2);
              require_shape("target", target, rows.n_rows());
              require_shape("costs", costs, rows.n_rows());
              require_indices("target", target, n_classes);
              for (Index i = 0; i < size(costs); ++i) require_positive("costs", costs.data()[i]);
              return Neighborhood<T>{rows, target.data(), costs.data(), n_classes, options};
            });
  def_maker(m, "valued_neighborhood",
            args("rows"_a, "values"_array, "costs"_array, "epsilon"_a, "options"_a),
            [](const Rows<T>& rows, Matrix<const double> values, Vector<const double> costs,
               double epsilon, const NeighborhoodOptions& options) {
              require_options(options);
              const Index n_targets = size(values, 1);
              require_size("columns of values", n_targets);
              require_shape("values", values, rows.n_rows(), n_targets);
              require_shape("costs", costs, rows.n_rows());
              require(epsilon >= 0, "epsilon must not be negative");
              for (Index i = 0; i < size(costs); ++i) require_positive("costs", costs.data()[i]);
              return Neighborhood<T>{rows,    nullptr,       costs.data(), n_targets,
                                     options, values.data(), n_targets,    epsilon};
            });
  def_maker(m, "support_vectors", args("starts"_array, "rows"_array, "beta"_array),
            [](Vector<const Index> starts, Vector<const Column> rows, Vector<const T> beta) {
              const Index n_centers = size(starts) - 1;
              require_size("starts", size(starts));
              require_starts("starts", starts, n_centers, size(rows));
              return SupportVectors<T>{n_centers,     size(rows),  size(beta),
                                       starts.data(), rows.data(), beta.data()};
            });
  def_maker(
      m, "cached_svms",
      args("neighborhood"_a, "nearest"_array, "scales"_array, "starts"_array, "classes"_array,
           "bias"_array, "support"_a),
      [](const Neighborhood<T>& data, Vector<const Column> nearest, Vector<const double> scales,
         Vector<const Index> starts, Vector<const Column> classes, Vector<const double> bias,
         const SupportVectors<T>& support) {
        const Index n = size(nearest), n_columns = size(classes), n_rows = data.rows.n_rows();
        require_shape("scales", scales, n);
        require_shape("bias", bias, n_columns);
        require_starts("starts", starts, n, n_columns);
        require_indices("nearest", nearest, n_rows);
        require_indices("classes", classes, data.n_classes);
        require(support.n_centers == n, "starts of support must have one number per center");
        require_indices_at("rows of support", support.rows, support.n_rows, n_rows);
        CachedSvms<T> models{
            data,    n, nearest.data(), scales.data(), starts.data(), classes.data(), bias.data(),
            support, {}};
        models.find_beta_starts();
        require(models.beta_starts[n] == support.n_beta,
                "beta of support must have one number per column and support vector");
        return models;
      });
}

}  // namespace

template <class T>
void bind_neighborhood(nb::module_& m) {
  auto neighborhood_class = kernel_class<Neighborhood, T>(m, "Neighborhood");
  def(neighborhood_class, "scores",
      args("queries"_a, "begin"_a, "end"_a, "neighbors"_array, "distances"_array,
           "in_question"_array.none(), "out"_array),
      [](const Neighborhood<T>& data, const Rows<T>& queries, Index begin, Index end,
         Matrix<const Column> neighbors, Matrix<const T> distances,
         std::optional<Matrix<const std::uint8_t>> in_question, Matrix<T> out) {
        const Range range = checked_range("begin, end", queries.n_rows(), begin, end);
        const Index n = range.size(), k = size(neighbors, 1);
        require_alike("queries", queries, data.rows);
        require_neighbors(data, neighbors, n);
        require_shape("distances", distances, n, k);
        require_shape("out", out, n, data.n_columns());
        if (in_question) require_shape("in_question", *in_question, n, data.n_classes);
        const auto* flags = in_question ? in_question->data() : nullptr;
        const NeighborLists<T> lists{k, neighbors.data(), distances.data()};
        nb::gil_scoped_release release;
        if (data.has_values())
          return neighborhood_values(data, queries, range, lists, out.data());
        return neighborhood_scores(data, queries, range, lists, flags, out.data());
      });
  def(neighborhood_class, "gram_scores", args("neighbors"_array, "grams"_array, "out"_array),
      [](const Neighborhood<T>& data, Matrix<const Column> neighbors, Array<const double, 3> grams,
         Matrix<T> out) {
        const Index n = size(neighbors, 0), k = size(neighbors, 1);
        require_neighbors(data, neighbors, n);
        require_shape("grams", grams, n, k + 1, k + 1);
        require_shape("out", out, n, data.n_columns());
        nb::gil_scoped_release release;
        if (data.has_values())
          return gram_values(data, n, neighbors.data(), grams.data(), k, out.data());
        return gram_scores(data, n, neighbors.data(), grams.data(), k, out.data());
      });
  def(neighborhood_class, "train",
      args("centers"_a, "begin"_a, "end"_a, "neighbors"_array, "models"_a),
      [](const Neighborhood<T>& data, const Rows<T>& centers, Index begin, Index end,
         Matrix<const Column> neighbors, const TrainedSvms& models) {
        const Range range = checked_range("begin, end", centers.n_rows(), begin, end);
        require_alike("centers", centers, data.rows);
        require_neighbors(data, neighbors, range.size());
        require(models.n_centers == range.size(), "models must have one scale per center");
        require(models.k == size(neighbors, 1), "models must have one beta per neighbor");
        require_columns(data, neighbors, models);
        nb::gil_scoped_release release;
        if (data.has_values())
          return train_values(data, centers, range, neighbors.data(), models);
        return train_neighborhoods(data, centers, range, neighbors.data(), models);
      });
  kernel_class<SupportVectors, T>(m, "SupportVectors");
  auto cached_class = kernel_class<CachedSvms, T>(m, "CachedSvms");
  def(cached_class, "scores", args("queries"_a, "begin"_a, "end"_a, "centers"_array, "out"_array),
      [](const CachedSvms<T>& models, const Rows<T>& queries, Index begin, Index end,
         Vector<const Column> centers, Matrix<T> out) {
        const Range range = checked_range("begin, end", queries.n_rows(), begin, end);
        require_alike("queries", queries, models.neighborhood.rows);
        require_shape("out", out, range.size(), models.neighborhood.n_columns());
        require_shape("centers", centers, range.size());
        require_indices("centers", centers, models.n_centers);
        nb::gil_scoped_release release;
        cached_scores(models, queries, range, centers.data(), out.data());
      });
  bind_makers<T>(m);
}

HYPERLOCAL_BOTH_PRECISIONS(bind_neighborhood);

}  // namespace hyperlocal::bindings
