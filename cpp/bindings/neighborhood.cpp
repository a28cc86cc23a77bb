#include "neighborhood.hpp"

#include <nanobind/stl/optional.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "bindings/bind.hpp"
#include "bindings/bound_rows.hpp"
#include "kept_svms.hpp"

namespace hyperlocal::bindings {

namespace {

// Training rows with their labels and costs; each query's neighbours are told in every call.
template <class T>
struct BoundNeighborhood {
  BoundRows<T> source;
  Vector<const Column> target;
  Vector<const double> costs;
  Neighborhood<T> data;

  BoundNeighborhood(const BoundRows<T>& rows, Vector<const Column> labels, Vector<const double> c,
                    Index n_classes, Kernel kernel, double sigma, Index degree, double coef0,
                    double tol, Index max_steps)
      : source(rows),
        target(labels),
        costs(c),
        data{source.rows, labels.data(), c.data(), n_classes,
             NeighborhoodOptions{kernel, sigma, degree, coef0, tol, max_steps}} {
    const Index n = rows.rows.n_rows();
    require(size(labels) == n && size(c) == n, "one target and cost per row");
    require(n_classes >= 2, "there must be two classes");
    require_below(labels.data(), n, 0, n_classes, "target out of bounds");
    for (Index i = 0; i < n; ++i) require(c.data()[i] > 0, "costs must be positive");
    require(sigma >= 0 && degree >= 0 && tol > 0 && max_steps >= 1,
            "sigma, degree, tol and max_steps out of range");
  }
  BoundNeighborhood(const BoundNeighborhood&) = delete;  // the data point into this object

  void require_like(const BoundRows<T>& queries) const {
    require(queries.rows.width() == source.rows.width() &&
                queries.rows.is_dense() == source.rows.is_dense(),
            "queries must be stored like the rows");
  }

  void require_neighbors(const Matrix<const Column>& neighbors, Index n) const {
    require(size(neighbors, 0) == n && size(neighbors, 1) >= 1, "one list of neighbours per query");
    require_below(neighbors.data(), n * size(neighbors, 1), 0, source.rows.n_rows(),
                  "neighbour out of bounds");
  }

  void require_columns(const Matrix<const Column>& neighbors,
                       const Vector<const Index>& starts) const {
    NeighborhoodWorker<T> worker(data, size(neighbors, 1));
    for (Index c = 0; c < size(neighbors, 0); ++c) {
      const Index columns = starts.data()[c + 1] - starts.data()[c];
      require(
          columns == 0 || columns == worker.columns_of(neighbors.data() + c * size(neighbors, 1)),
          "a centre has no columns, or as many as it has classes");
    }
  }

  void require_out(const Matrix<T>& out, Index n) const {
    require(size(out, 0) == n && size(out, 1) == data.n_columns(), "out has the wrong shape");
  }
};

inline void require_starts(const Vector<const Index>& starts, Index n, Index end) {
  require(size(starts) == n + 1 && starts.data()[0] == 0 && starts.data()[n] == end &&
              std::is_sorted(starts.data(), starts.data() + n + 1),
          "starts must span what they cut");
}

template <class T>
struct BoundKeptSvms {
  const BoundNeighborhood<T>& neighborhood;
  Vector<const Column> nearest;
  Vector<const double> scales;
  Vector<const Index> starts;
  Vector<const Column> classes;
  Vector<const double> bias;
  Vector<const Index> support_starts;
  Vector<const Column> support;
  Vector<const T> beta;
  std::vector<Index> beta_starts;
  KeptSvms<T> models;

  BoundKeptSvms(const BoundNeighborhood<T>& source, Vector<const Column> on_centre,
                Vector<const double> scale, Vector<const Index> begins, Vector<const Column> labels,
                Vector<const double> biases, Vector<const Index> support_begins,
                Vector<const Column> rows, Vector<const T> weights)
      : neighborhood(source),
        nearest(on_centre),
        scales(scale),
        starts(begins),
        classes(labels),
        bias(biases),
        support_starts(support_begins),
        support(rows),
        beta(weights),
        beta_starts(on_centre.shape(0) + 1, 0) {
    const Index n = n_centres(), n_columns = size(labels), n_rows = source.source.rows.n_rows();
    require(size(scale) == n && size(biases) == n_columns,
            "one scale per centre and one bias per column");
    require_starts(begins, n, n_columns);
    require_starts(support_begins, n, size(rows));
    require_below(on_centre.data(), n, 0, n_rows, "nearest row out of bounds");
    require_below(rows.data(), size(rows), 0, n_rows, "support vector out of bounds");
    require_below(labels.data(), n_columns, 0, source.data.n_classes, "class out of bounds");
    models = {on_centre.data(),      scale.data(), begins.data(),      labels.data(), biases.data(),
              support_begins.data(), rows.data(),  beta_starts.data(), weights.data()};
    for (Index c = 0; c < n; ++c)
      beta_starts[c + 1] = beta_starts[c] + models.n_columns(c) * models.n_support(c);
    require(beta_starts[n] == size(weights), "one weight per column and support vector");
  }
  BoundKeptSvms(const BoundKeptSvms&) = delete;  // the models point into this object

  Index n_centres() const { return size(nearest); }
};

template <class T>
void bind(nb::module_& m, const char* name, const char* models_name) {
  using Bound = BoundNeighborhood<T>;
  nb::class_<Bound>(m, name)
      .def(nb::init<const BoundRows<T>&, Vector<const Column>, Vector<const double>, Index, Kernel,
                    double, Index, double, double, Index>(),
           "rows"_a, "target"_a.noconvert(), "costs"_a.noconvert(), "n_classes"_a, "kernel"_a,
           "sigma"_a, "degree"_a, "coef0"_a, "tol"_a, "max_steps"_a)
      .def(
          "scores",
          [](const Bound& b, const BoundRows<T>& queries, Index begin, Index end,
             Matrix<const Column> neighbors, Matrix<const T> distances,
             std::optional<Matrix<const std::uint8_t>> in_question, Matrix<T> out,
             Vector<Index> n_unsolved) {
            require_range(queries.rows.n_rows(), begin, end);
            const Index n = end - begin, k = size(neighbors, 1);
            b.require_like(queries);
            b.require_neighbors(neighbors, n);
            b.require_out(out, n);
            require(size(distances, 0) == n && size(distances, 1) == k, "one distance each");
            if (in_question.has_value())
              require(size(*in_question, 0) == n && size(*in_question, 1) == b.data.n_classes,
                      "a flag per query and class");
            require(size(n_unsolved) == 1, "n_unsolved is one number");
            nb::gil_scoped_release release;
            *n_unsolved.data() += neighborhood_scores(
                b.data, queries.rows, begin, end, neighbors.data(), distances.data(), k,
                in_question.has_value() ? in_question->data() : nullptr, out.data());
          },
          "queries"_a, "begin"_a, "end"_a, "neighbors"_a.noconvert(), "distances"_a.noconvert(),
          "in_question"_a.noconvert().none(), "out"_a.noconvert(), "n_unsolved"_a.noconvert())
      .def(
          "gram_scores",
          [](const Bound& b, Matrix<const Column> neighbors, Array<const double, 3> grams,
             Matrix<T> out, Vector<Index> n_unsolved) {
            const Index n = size(neighbors, 0), k = size(neighbors, 1);
            b.require_neighbors(neighbors, n);
            b.require_out(out, n);
            require(size(grams, 0) == n && size(grams, 1) == k + 1 && size(grams, 2) == k + 1,
                    "grams must be (queries, k + 1, k + 1)");
            require(size(n_unsolved) == 1, "n_unsolved is one number");
            nb::gil_scoped_release release;
            *n_unsolved.data() +=
                gram_scores(b.data, n, neighbors.data(), grams.data(), k, out.data());
          },
          "neighbors"_a.noconvert(), "grams"_a.noconvert(), "out"_a.noconvert(),
          "n_unsolved"_a.noconvert())
      .def(
          "train",
          [](const Bound& b, const BoundRows<T>& centres, Index begin, Index end,
             Matrix<const Column> neighbors, Vector<const double> scales,
             Vector<const Index> starts, Vector<Column> classes, Matrix<double> beta,
             Vector<double> bias, Vector<Index> n_unsolved) {
            require_range(centres.rows.n_rows(), begin, end);
            const Index n = end - begin, k = size(neighbors, 1), n_columns = size(classes);
            b.require_like(centres);
            b.require_neighbors(neighbors, n);
            require(size(scales) == n, "one scale per centre");
            require_starts(starts, n, n_columns);
            require(size(bias) == n_columns && size(beta, 0) == n_columns && size(beta, 1) == k,
                    "one bias and one weight per neighbour for each column");
            b.require_columns(neighbors, starts);
            require(size(n_unsolved) == 1, "n_unsolved is one number");
            const TrainedSvms models{starts.data(), classes.data(), beta.data(), bias.data(),
                                     scales.data()};
            nb::gil_scoped_release release;
            *n_unsolved.data() +=
                train_neighborhoods(b.data, centres.rows, begin, end, neighbors.data(), k, models);
          },
          "centres"_a, "begin"_a, "end"_a, "neighbors"_a.noconvert(), "scales"_a.noconvert(),
          "starts"_a.noconvert(), "classes"_a.noconvert(), "beta"_a.noconvert(),
          "bias"_a.noconvert(), "n_unsolved"_a.noconvert());
  using Models = BoundKeptSvms<T>;
  nb::class_<Models>(m, models_name)
      .def(nb::init<const Bound&, Vector<const Column>, Vector<const double>, Vector<const Index>,
                    Vector<const Column>, Vector<const double>, Vector<const Index>,
                    Vector<const Column>, Vector<const T>>(),
           "neighborhood"_a, "nearest"_a.noconvert(), "scales"_a.noconvert(),
           "starts"_a.noconvert(), "classes"_a.noconvert(), "bias"_a.noconvert(),
           "support_starts"_a.noconvert(), "support"_a.noconvert(), "beta"_a.noconvert(),
           nb::keep_alive<1, 2>())
      .def(
          "scores",
          [](const Models& b, const BoundRows<T>& queries, Index begin, Index end,
             Vector<const Column> centres, Matrix<T> out) {
            require_range(queries.rows.n_rows(), begin, end);
            b.neighborhood.require_like(queries);
            b.neighborhood.require_out(out, end - begin);
            require(size(centres) == end - begin, "one centre per query");
            require_below(centres.data(), size(centres), 0, b.n_centres(), "centre out of bounds");
            nb::gil_scoped_release release;
            kept_scores(b.neighborhood.data, b.models, queries.rows, begin, end, centres.data(),
                        out.data());
          },
          "queries"_a, "begin"_a, "end"_a, "centres"_a.noconvert(), "out"_a.noconvert());
}

}  // namespace

void bind_neighborhood(nb::module_& m) {
  nb::enum_<Kernel>(m, "Kernel")
      .value("linear", Kernel::linear)
      .value("poly", Kernel::poly)
      .value("rbf", Kernel::rbf);
  bind<float>(m, "NeighborhoodFloat32", "KeptSvmsFloat32");
  bind<double>(m, "NeighborhoodFloat64", "KeptSvmsFloat64");
}

}  // namespace hyperlocal::bindings
