#include "neighborhood.hpp"

#include <algorithm>

#include "bindings/bind.hpp"
#include "bindings/bound_rows.hpp"

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

  void require_out(const Matrix<T>& out, Index n) const {
    require(size(out, 0) == n && size(out, 1) == data.n_columns(), "out has the wrong shape");
  }
};

template <class T>
struct BoundLocalSvms {
  const BoundNeighborhood<T>& neighborhood;
  Matrix<const Column> neighbors;
  Vector<const Index> starts;
  Vector<Column> classes;
  Matrix<double> beta;
  Vector<double> bias;
  Vector<const double> scales;
  LocalSvms models;

  BoundLocalSvms(const BoundNeighborhood<T>& source, Matrix<const Column> lists,
                 Vector<const Index> begins, Vector<Column> labels, Matrix<double> weights,
                 Vector<double> biases, Vector<const double> scale)
      : neighborhood(source),
        neighbors(lists),
        starts(begins),
        classes(labels),
        beta(weights),
        bias(biases),
        scales(scale),
        models{begins.data(), labels.data(), weights.data(), biases.data(), scale.data()} {
    const Index n = size(lists, 0), n_columns = size(labels);
    source.require_neighbors(lists, n);
    require(size(begins) == n + 1 && size(scale) == n, "one start and scale per centre");
    require(size(biases) == n_columns && size(weights, 0) == n_columns &&
                size(weights, 1) == size(lists, 1),
            "one bias and one weight per neighbour for each column");
    require(begins.data()[0] == 0 && begins.data()[n] == n_columns &&
                std::is_sorted(begins.data(), begins.data() + n + 1),
            "starts must span the columns");
    require_below(labels.data(), n_columns, 0, source.data.n_classes, "class out of bounds");
  }

  // Before they are written to; to read them, the bounds above are enough.
  void require_columns(Index begin, Index end) const {
    NeighborhoodWorker<T> worker(neighborhood.data, size(neighbors, 1));
    for (Index c = begin; c < end; ++c) {
      const Index columns = starts.data()[c + 1] - starts.data()[c];
      require(
          columns == 0 || columns == worker.columns_of(neighbors.data() + c * size(neighbors, 1)),
          "a centre has no columns, or as many as it has classes");
    }
  }
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
             Matrix<const Column> neighbors, Matrix<const T> distances, Matrix<T> out,
             Vector<Index> n_unsolved) {
            require_range(queries.rows.n_rows(), begin, end);
            const Index n = end - begin, k = size(neighbors, 1);
            b.require_like(queries);
            b.require_neighbors(neighbors, n);
            b.require_out(out, n);
            require(size(distances, 0) == n && size(distances, 1) == k, "one distance each");
            require(size(n_unsolved) == 1, "n_unsolved is one number");
            nb::gil_scoped_release release;
            *n_unsolved.data() +=
                neighborhood_scores(b.data, queries.rows, begin, end, neighbors.data(),
                                    distances.data(), k, out.data());
          },
          "queries"_a, "begin"_a, "end"_a, "neighbors"_a.noconvert(), "distances"_a.noconvert(),
          "out"_a.noconvert(), "n_unsolved"_a.noconvert())
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
          "n_unsolved"_a.noconvert());
  using Models = BoundLocalSvms<T>;
  nb::class_<Models>(m, models_name)
      .def(nb::init<const Bound&, Matrix<const Column>, Vector<const Index>, Vector<Column>,
                    Matrix<double>, Vector<double>, Vector<const double>>(),
           "neighborhood"_a, "neighbors"_a.noconvert(), "starts"_a.noconvert(),
           "classes"_a.noconvert(), "beta"_a.noconvert(), "bias"_a.noconvert(),
           "scales"_a.noconvert(), nb::keep_alive<1, 2>())
      .def(
          "train",
          [](Models& b, const BoundRows<T>& centres, Index begin, Index end,
             Vector<Index> n_unsolved) {
            b.neighborhood.require_like(centres);
            require_range(size(b.neighbors, 0), begin, end);
            require(centres.rows.n_rows() == size(b.neighbors, 0), "one row per centre");
            require(size(n_unsolved) == 1, "n_unsolved is one number");
            b.require_columns(begin, end);
            nb::gil_scoped_release release;
            *n_unsolved.data() +=
                train_neighborhoods(b.neighborhood.data, centres.rows, begin, end,
                                    b.neighbors.data(), size(b.neighbors, 1), b.models);
          },
          "centres"_a, "begin"_a, "end"_a, "n_unsolved"_a.noconvert())
      .def(
          "scores",
          [](const Models& b, const BoundRows<T>& queries, Index begin, Index end,
             Vector<const Column> centres, Matrix<T> out) {
            require_range(queries.rows.n_rows(), begin, end);
            b.neighborhood.require_like(queries);
            b.neighborhood.require_out(out, end - begin);
            require(size(centres) == end - begin, "one centre per query");
            require_below(centres.data(), size(centres), 0, size(b.neighbors, 0),
                          "centre out of bounds");
            nb::gil_scoped_release release;
            centre_scores(b.neighborhood.data, queries.rows, begin, end, centres.data(),
                          b.neighbors.data(), size(b.neighbors, 1), b.models, out.data());
          },
          "queries"_a, "begin"_a, "end"_a, "centres"_a.noconvert(), "out"_a.noconvert());
}

}  // namespace

void bind_neighborhood(nb::module_& m) {
  nb::enum_<Kernel>(m, "Kernel")
      .value("linear", Kernel::linear)
      .value("poly", Kernel::poly)
      .value("rbf", Kernel::rbf);
  bind<float>(m, "NeighborhoodFloat32", "LocalSvmsFloat32");
  bind<double>(m, "NeighborhoodFloat64", "LocalSvmsFloat64");
}

}  // namespace hyperlocal::bindings
