// Python's door to the kernels: checks shapes and indices, releases the GIL, does no arithmetic.
// Arrays are taken as they are (exact dtype, C order), so that no silent copy can happen.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <optional>
#include <stdexcept>
#include <string>

#include "anchor_descent.hpp"
#include "coding.hpp"
#include "dual.hpp"
#include "grouping.hpp"
#include "latent.hpp"
#include "lifted.hpp"
#include "local_deep.hpp"
#include "losses.hpp"
#include "nearest.hpp"
#include "neighborhood.hpp"
#include "pegasos.hpp"
#include "sgd.hpp"
#include "tree_walk.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace hyperlocal;

namespace {

template <class T, int n>
using Array = nb::ndarray<T, nb::ndim<n>, nb::c_contig, nb::device::cpu>;
template <class T>
using Vector = Array<T, 1>;
template <class T>
using Matrix = Array<T, 2>;

void require(bool condition, const char* message) {
  if (!condition) throw std::invalid_argument(message);
}

template <class A>
Index size(const A& array, int axis = 0) {
  return static_cast<Index>(array.shape(axis));
}

void require_range(const Index n, Index begin, Index end) {
  require(0 <= begin && begin <= end && end <= n, "range out of bounds");
}

template <class I>
void require_below(const I* values, Index n, Index lowest, Index limit, const char* message) {
  for (Index i = 0; i < n; ++i) require(values[i] >= lowest && values[i] < limit, message);
}

// The kernels' views do not own memory: these keep the arrays alive.
template <class T>
struct BoundRows {
  Matrix<const T> dense;
  Vector<const T> values;
  Vector<const Column> columns;
  Vector<const Index> starts;
  Rows<T> rows;

  BoundRows(Matrix<const T> x, bool quadratic, T scale)
      : dense(x), rows(x.data(), size(x, 0), size(x, 1), quadratic, scale) {}

  BoundRows(Vector<const T> x, Vector<const Column> cols, Vector<const Index> begins,
            Index n_features, bool quadratic, T scale)
      : values(x),
        columns(cols),
        starts(begins),
        rows(x.data(), cols.data(), begins.data(), size(begins) - 1, n_features, quadratic, scale) {
    require(n_features >= 0, "n_features must not be negative");
    require(size(begins) >= 1 && size(x) == size(cols), "CSR arrays do not fit together");
    require(begins.data()[0] == 0 && begins.data()[size(begins) - 1] == size(x),
            "CSR starts do not span the values");
    for (Index row = 0; row + 1 < size(begins); ++row)
      require(begins.data()[row] <= begins.data()[row + 1], "CSR starts must not decrease");
    require_below(cols.data(), size(cols), 0, n_features, "CSR column out of bounds");
  }
};

template <class T>
struct BoundLifted {
  BoundRows<T> bound_rows;
  Matrix<const Column> anchors;
  Matrix<const T> mix;
  Index n_anchors;
  Lifted<T> lifted;

  BoundLifted(const BoundRows<T>& source, Matrix<const Column> indices, Matrix<const T> weights,
              Index m, T bias, bool shared_bias)
      : bound_rows(source),
        anchors(indices),
        mix(weights),
        n_anchors(m),
        lifted(source.rows, Codes<T>{indices.data(), weights.data(), size(indices, 1)}, bias,
               shared_bias) {
    require(size(indices, 0) == source.rows.n_rows() && size(weights, 0) == size(indices, 0) &&
                size(weights, 1) == size(indices, 1),
            "codes must have one row per row");
    require_below(indices.data(), size(indices, 0) * size(indices, 1), 0, m,
                  "anchor index out of bounds");
  }

  template <class W>
  void require_weights(const Array<W, 3>& weights) const {
    require(size(weights, 0) == n_anchors && size(weights, 2) == lifted.block_width(),
            "weights must have shape (anchors, classes, features + 1)");
  }
};

template <class T>
struct BoundDual {
  BoundLifted<T> source;
  Vector<const Column> target;
  Vector<const T> costs, norms;
  Index n_columns;
  Loss loss;

  BoundDual(const BoundLifted<T>& lifted, Vector<const Column> targets, Vector<const T> c,
            Vector<const T> squared_norms, Index columns, Loss l)
      : source(lifted),
        target(targets),
        costs(c),
        norms(squared_norms),
        n_columns(columns),
        loss(l) {
    const Index n = lifted.lifted.n_rows();
    require(size(targets) == n && size(c) == n && size(squared_norms) == n,
            "one target, cost and norm per row");
    require_below(targets.data(), n, -1, columns, "target out of bounds");
  }

  DualProblem<T> problem() const {
    return {source.lifted, target.data(), costs.data(), norms.data(), n_columns, loss};
  }

  DualState<T> state(Array<T, 3>& weights, Matrix<T>& alpha, Matrix<std::uint8_t>& active) const {
    source.require_weights(weights);
    const Index n = source.lifted.n_rows();
    require(size(weights, 1) == n_columns && size(alpha, 0) == n && size(alpha, 1) == n_columns &&
                size(active, 0) == n && size(active, 1) == n_columns,
            "weights, alpha and active must have one column per class");
    return {weights.data(), alpha.data(), active.data()};
  }

  void require_multiclass() const {
    require(n_columns >= 2, "Crammer-Singer needs two columns");
    require(loss != Loss::log, "Crammer-Singer needs a hinge loss");
    require_below(target.data(), size(target), 0, n_columns, "every row needs a class");
  }
};

const ShrinkBounds* as_bounds(const Matrix<const double>& bounds, Index n_columns) {
  static_assert(sizeof(ShrinkBounds) == 2 * sizeof(double));
  require(size(bounds, 0) == n_columns && size(bounds, 1) == 2, "bounds must be (columns, 2)");
  return reinterpret_cast<const ShrinkBounds*>(bounds.data());
}

ColumnReport* as_reports(Matrix<double>& reports, Index n_columns) {
  static_assert(sizeof(ColumnReport) == 4 * sizeof(double));
  require(size(reports, 0) == n_columns && size(reports, 1) == 4, "reports must be (columns, 4)");
  return reinterpret_cast<ColumnReport*>(reports.data());
}

// A gate whose anchors and codes are changed in place; the lifted rows read the same codes.
template <class T>
struct BoundGate {
  BoundRows<T> places;
  Matrix<T> anchors;
  Matrix<Column> neighbours;
  Matrix<T> codes;
  Vector<T> norms;
  Vector<const T> row_norms;
  MovingGate<T> gate;

  BoundGate(const BoundRows<T>& rows, Matrix<T> v, Matrix<Column> indices, Matrix<T> weights,
            Vector<T> squared_norms, Vector<const T> lengths, double beta, bool normalize)
      : places(rows),
        anchors(v),
        neighbours(indices),
        codes(weights),
        norms(squared_norms),
        row_norms(lengths),
        gate{places.rows,          v.data(),       size(v, 0),       indices.data(), weights.data(),
             squared_norms.data(), lengths.data(), size(indices, 1), beta,           normalize} {
    const Index n = rows.rows.n_rows(), k = size(indices, 1);
    require(size(v, 1) == rows.rows.width(), "anchors have the wrong width");
    require(k >= 1 && k <= size(v, 0), "k must lie between 1 and the number of anchors");
    require(size(indices, 0) == n && size(weights, 0) == n && size(weights, 1) == k,
            "codes must have one row per row");
    require(size(squared_norms) == n && size(lengths) == n, "one norm per row");
    require_below(indices.data(), n * k, 0, size(v, 0), "anchor index out of bounds");
  }
  BoundGate(const BoundGate&) = delete;  // the gate points into this object

  void require_codes_of(const BoundLifted<T>& lifted) const {
    require(lifted.mix.data() == codes.data() && lifted.anchors.data() == neighbours.data() &&
                lifted.n_anchors == size(anchors, 0),
            "lifted rows and gate must share their codes");
  }
};

template <class T>
struct BoundAnchorEpoch {
  BoundDual<T> dual;
  Array<T, 3> weights;
  Matrix<T> alpha;
  Matrix<double> momentum;
  Matrix<std::uint8_t> active;
  Vector<double> spread;
  Vector<const double> rates;
  Vector<const Index> order;
  Matrix<const double> bounds;
  Matrix<double> reports;
  Index n_threads;
  bool crammer_singer;
  AnchorEpoch<T> epoch;

  BoundAnchorEpoch(const BoundDual<T>& problem, const BoundGate<T>& gate, Array<T, 3> w,
                   Matrix<T> a, Matrix<std::uint8_t> flags, Matrix<double> average,
                   Vector<double> spreads, Vector<const double> steps, Index n_moves, bool joint,
                   double own_share, Vector<const Index> visits, Index batch_size,
                   Matrix<const double> limits, Matrix<double> told, Index threads)
      : dual(problem),
        weights(w),
        alpha(a),
        momentum(average),
        active(flags),
        spread(spreads),
        rates(steps),
        order(visits),
        bounds(limits),
        reports(told),
        n_threads(threads),
        crammer_singer(joint),
        epoch(dual.problem(), dual.state(weights, alpha, active), gate.gate,
              AnchorMotion{momentum.data(), spread.data(), rates.data(), n_moves}, joint, own_share,
              order.data(), size(order), checked_batch(batch_size, threads),
              as_bounds(bounds, joint ? 1 : dual.n_columns),
              as_reports(reports, joint ? 1 : dual.n_columns), threads) {
    if (joint) dual.require_multiclass();
    gate.require_codes_of(dual.source);
    require(dual.norms.data() == gate.norms.data(), "problem and gate must share their norms");
    require(size(average, 0) == size(gate.anchors, 0) &&
                size(average, 1) == size(gate.anchors, 1) && size(spreads) == size(gate.anchors, 0),
            "momentum and spread must fit the anchors");
    require(size(steps) == (size(visits) + batch_size - 1) / batch_size, "one rate per batch");
    require_below(visits.data(), size(visits), 0, dual.source.lifted.n_rows(), "row out of bounds");
  }
  BoundAnchorEpoch(const BoundAnchorEpoch&) = delete;

  static Index checked_batch(Index batch_size, Index threads) {
    require(batch_size >= 1 && threads >= 1, "batch_size and n_threads must be positive");
    return batch_size;
  }
};

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
void bind_rows(nb::module_& m, const char* name) {
  using Bound = BoundRows<T>;
  nb::class_<Bound>(m, name)
      .def(nb::init<Matrix<const T>, bool, T>(), "dense"_a.noconvert(), "quadratic"_a,
           "scale"_a = T(1))
      .def(nb::init<Vector<const T>, Vector<const Column>, Vector<const Index>, Index, bool, T>(),
           "values"_a.noconvert(), "columns"_a.noconvert(), "starts"_a.noconvert(), "n_features"_a,
           "quadratic"_a, "scale"_a = T(1))
      .def_prop_ro("n_rows", [](const Bound& b) { return b.rows.n_rows(); })
      .def_prop_ro("width", [](const Bound& b) { return b.rows.width(); })
      .def(
          "squared_norms",
          [](const Bound& b, Index begin, Index end, Vector<T> out) {
            require_range(b.rows.n_rows(), begin, end);
            require(size(out) == end - begin, "out has the wrong length");
            nb::gil_scoped_release release;
            row_squared_norms(b.rows, begin, end, out.data());
          },
          "begin"_a, "end"_a, "out"_a.noconvert())
      .def(
          "gather",
          [](const Bound& b, Vector<const Index> chosen, Matrix<T> out) {
            require_below(chosen.data(), size(chosen), 0, b.rows.n_rows(), "row out of bounds");
            require(size(out, 0) == size(chosen) && size(out, 1) == b.rows.width(),
                    "out has the wrong shape");
            nb::gil_scoped_release release;
            gather_rows(b.rows, chosen.data(), size(chosen), out.data());
          },
          "chosen"_a.noconvert(), "out"_a.noconvert())
      .def(
          "encode",
          [](const Bound& b, Index begin, Index end, Matrix<const T> anchors,
             Matrix<const T> products, Vector<const T> half_norms, Coding coding, double beta,
             double ridge, double locality, Matrix<Column> chosen, Matrix<T> weights,
             Matrix<T> distances) {
            require_range(b.rows.n_rows(), begin, end);
            const Index n = end - begin, n_anchors = size(anchors, 0), k = size(chosen, 1);
            require(size(anchors, 1) == b.rows.width(), "anchors have the wrong width");
            require(size(products, 0) == n && size(products, 1) == n_anchors &&
                        size(half_norms) == n_anchors,
                    "products must be (rows, anchors)");
            require(k >= 1 && k <= n_anchors, "k must lie between 1 and the number of anchors");
            require(size(chosen, 0) == n && size(weights, 0) == n && size(weights, 1) == k &&
                        size(distances, 0) == n && size(distances, 1) == k,
                    "outputs must be (rows, k)");
            nb::gil_scoped_release release;
            encode(b.rows, begin, end, anchors.data(), n_anchors, k, products.data(),
                   half_norms.data(), CodingOptions{coding, beta, ridge, locality}, chosen.data(),
                   weights.data(), distances.data());
          },
          "begin"_a, "end"_a, "anchors"_a.noconvert(), "products"_a.noconvert(),
          "half_norms"_a.noconvert(), "coding"_a, "beta"_a, "ridge"_a, "locality"_a,
          "chosen"_a.noconvert(), "weights"_a.noconvert(), "distances"_a.noconvert())
      .def(
          "group_sums",
          [](const Bound& b, Vector<const Column> groups, Vector<const double> row_weights,
             Matrix<double> sums, Vector<double> masses) {
            require(size(groups) == b.rows.n_rows() && size(row_weights) == b.rows.n_rows(),
                    "one group and weight per row");
            require(size(sums, 1) == b.rows.width() && size(masses) == size(sums, 0),
                    "sums must be (groups, width)");
            require_below(groups.data(), size(groups), 0, size(sums, 0), "group out of bounds");
            nb::gil_scoped_release release;
            group_sums(b.rows, groups.data(), row_weights.data(), sums.data(), masses.data());
          },
          "groups"_a.noconvert(), "row_weights"_a.noconvert(), "sums"_a.noconvert(),
          "masses"_a.noconvert());
}

template <class T>
void bind_lifted(nb::module_& m, const char* name) {
  using Bound = BoundLifted<T>;
  nb::class_<Bound>(m, name)
      .def(nb::init<const BoundRows<T>&, Matrix<const Column>, Matrix<const T>, Index, T, bool>(),
           "rows"_a, "anchors"_a.noconvert(), "weights"_a.noconvert(), "n_anchors"_a, "bias"_a,
           "shared_bias"_a = false)
      .def(
          "scores",
          [](const Bound& b, Index begin, Index end, Array<const T, 3> weights, Matrix<T> out) {
            require_range(b.lifted.n_rows(), begin, end);
            b.require_weights(weights);
            require(size(out, 0) == end - begin && size(out, 1) == size(weights, 1),
                    "out has the wrong shape");
            nb::gil_scoped_release release;
            lifted_scores(b.lifted, begin, end, weights.data(), size(weights, 1), out.data());
          },
          "begin"_a, "end"_a, "weights"_a.noconvert(), "out"_a.noconvert())
      .def(
          "add",
          [](const Bound& b, Matrix<const T> steps, Array<T, 3> weights, Index column_begin,
             Index column_end) {
            b.require_weights(weights);
            require(size(steps, 0) == b.lifted.n_rows() && size(steps, 1) == size(weights, 1),
                    "steps has the wrong shape");
            require_range(size(weights, 1), column_begin, column_end);
            nb::gil_scoped_release release;
            lifted_add(b.lifted, steps.data(), weights.data(), size(weights, 1), column_begin,
                       column_end);
          },
          "steps"_a.noconvert(), "weights"_a.noconvert(), "column_begin"_a, "column_end"_a)
      .def(
          "squared_norms",
          [](const Bound& b, Index begin, Index end, Vector<T> out) {
            require_range(b.lifted.n_rows(), begin, end);
            require(size(out) == end - begin, "out has the wrong length");
            nb::gil_scoped_release release;
            lifted_squared_norms(b.lifted, begin, end, out.data());
          },
          "begin"_a, "end"_a, "out"_a.noconvert())
      .def(
          "group_by_anchor",
          [](const Bound& b, Index begin, Index end, Vector<Index> starts, Vector<Index> rows,
             Vector<Index> places) {
            require_range(b.lifted.n_rows(), begin, end);
            const Index n_pairs = (end - begin) * b.lifted.codes().k;
            require(
                size(starts) == b.n_anchors + 1 && size(rows) == n_pairs && size(places) == n_pairs,
                "outputs have the wrong length");
            nb::gil_scoped_release release;
            group_by_anchor(b.lifted.codes(), begin, end, b.n_anchors, starts.data(), rows.data(),
                            places.data());
          },
          "begin"_a, "end"_a, "starts"_a.noconvert(), "rows"_a.noconvert(), "places"_a.noconvert())
      .def(
          "combine",
          [](const Bound& b, Index begin, Index end, Vector<const Index> places,
             Matrix<const T> partial, Matrix<T> out) {
            require_range(b.lifted.n_rows(), begin, end);
            require(size(places) == (end - begin) * b.lifted.codes().k &&
                        size(out, 0) == end - begin && size(partial, 1) == size(out, 1),
                    "arrays do not fit together");
            require_below(places.data(), size(places), -1, size(partial, 0), "place out of bounds");
            nb::gil_scoped_release release;
            combine_partial_scores(b.lifted.codes(), begin, end, places.data(), partial.data(),
                                   size(partial, 1), out.data());
          },
          "begin"_a, "end"_a, "places"_a.noconvert(), "partial"_a.noconvert(), "out"_a.noconvert());
}

template <class T>
void bind_dual(nb::module_& m, const char* name) {
  using Bound = BoundDual<T>;
  nb::class_<Bound>(m, name)
      .def(nb::init<const BoundLifted<T>&, Vector<const Column>, Vector<const T>, Vector<const T>,
                    Index, Loss>(),
           "lifted"_a, "target"_a.noconvert(), "costs"_a.noconvert(), "squared_norms"_a.noconvert(),
           "n_columns"_a, "loss"_a)
      .def(
          "epoch",
          [](const Bound& b, Array<T, 3> weights, Matrix<T> alpha, Matrix<std::uint8_t> active,
             Vector<const Index> order, Index column_begin, Index column_end,
             Matrix<const double> bounds, Matrix<double> reports) {
            const auto state = b.state(weights, alpha, active);
            require_below(order.data(), size(order), 0, b.source.lifted.n_rows(),
                          "row out of bounds");
            require_range(b.n_columns, column_begin, column_end);
            const auto* limits = as_bounds(bounds, b.n_columns);
            auto* out = as_reports(reports, b.n_columns);
            nb::gil_scoped_release release;
            dual_epoch(b.problem(), state, order.data(), size(order), column_begin, column_end,
                       limits, out);
          },
          "weights"_a.noconvert(), "alpha"_a.noconvert(), "active"_a.noconvert(),
          "order"_a.noconvert(), "column_begin"_a, "column_end"_a, "bounds"_a.noconvert(),
          "reports"_a.noconvert())
      .def(
          "check",
          [](const Bound& b, Array<T, 3> weights, Matrix<T> alpha, Matrix<std::uint8_t> active,
             Index begin, Index end, Matrix<const T> scores, Matrix<const double> bounds,
             Vector<double> losses, Vector<double> gaps) {
            const auto state = b.state(weights, alpha, active);
            require_range(b.source.lifted.n_rows(), begin, end);
            require(size(scores, 0) == end - begin && size(scores, 1) == b.n_columns &&
                        size(losses) == b.n_columns && size(gaps) == b.n_columns,
                    "arrays do not fit together");
            const auto* limits = as_bounds(bounds, b.n_columns);
            nb::gil_scoped_release release;
            dual_check(b.problem(), state, begin, end, scores.data(), limits, losses.data(),
                       gaps.data());
          },
          "weights"_a.noconvert(), "alpha"_a.noconvert(), "active"_a.noconvert(), "begin"_a,
          "end"_a, "scores"_a.noconvert(), "bounds"_a.noconvert(), "losses"_a.noconvert(),
          "gaps"_a.noconvert())
      .def(
          "crammer_singer_epoch",
          [](const Bound& b, Array<T, 3> weights, Matrix<T> alpha, Matrix<std::uint8_t> active,
             Vector<const Index> order, Matrix<const double> bounds, Matrix<double> reports) {
            b.require_multiclass();
            const auto state = b.state(weights, alpha, active);
            require_below(order.data(), size(order), 0, b.source.lifted.n_rows(),
                          "row out of bounds");
            const auto* limits = as_bounds(bounds, 1);
            auto* out = as_reports(reports, 1);
            nb::gil_scoped_release release;
            crammer_singer_epoch(b.problem(), state, order.data(), size(order), *limits, *out);
          },
          "weights"_a.noconvert(), "alpha"_a.noconvert(), "active"_a.noconvert(),
          "order"_a.noconvert(), "bounds"_a.noconvert(), "reports"_a.noconvert())
      .def(
          "crammer_singer_check",
          [](const Bound& b, Array<T, 3> weights, Matrix<T> alpha, Matrix<std::uint8_t> active,
             Index begin, Index end, Matrix<const T> scores, Matrix<const double> bounds,
             Vector<double> losses, Vector<double> gaps) {
            b.require_multiclass();
            const auto state = b.state(weights, alpha, active);
            require_range(b.source.lifted.n_rows(), begin, end);
            require(size(scores, 0) == end - begin && size(scores, 1) == b.n_columns &&
                        size(losses) == 1 && size(gaps) == 1,
                    "arrays do not fit together");
            const auto* limits = as_bounds(bounds, 1);
            nb::gil_scoped_release release;
            crammer_singer_check(b.problem(), state, begin, end, scores.data(), *limits,
                                 *losses.data(), *gaps.data());
          },
          "weights"_a.noconvert(), "alpha"_a.noconvert(), "active"_a.noconvert(), "begin"_a,
          "end"_a, "scores"_a.noconvert(), "bounds"_a.noconvert(), "losses"_a.noconvert(),
          "gaps"_a.noconvert());
}

template <class T>
void bind_anchor_descent(nb::module_& m, const char* gate_name, const char* epoch_name) {
  nb::class_<BoundGate<T>>(m, gate_name)
      .def(nb::init<const BoundRows<T>&, Matrix<T>, Matrix<Column>, Matrix<T>, Vector<T>,
                    Vector<const T>, double, bool>(),
           "places"_a, "anchors"_a.noconvert(), "neighbours"_a.noconvert(), "codes"_a.noconvert(),
           "squared_norms"_a.noconvert(), "row_norms"_a.noconvert(), "beta"_a, "normalize"_a);
  using Bound = BoundAnchorEpoch<T>;
  nb::class_<Bound>(m, epoch_name)
      .def(nb::init<const BoundDual<T>&, const BoundGate<T>&, Array<T, 3>, Matrix<T>,
                    Matrix<std::uint8_t>, Matrix<double>, Vector<double>, Vector<const double>,
                    Index, bool, double, Vector<const Index>, Index, Matrix<const double>,
                    Matrix<double>, Index>(),
           "dual"_a, "gate"_a, "weights"_a.noconvert(), "alpha"_a.noconvert(),
           "active"_a.noconvert(), "momentum"_a.noconvert(), "spread"_a.noconvert(),
           "rates"_a.noconvert(), "n_moves"_a, "crammer_singer"_a, "own_share"_a,
           "order"_a.noconvert(), "batch_size"_a, "bounds"_a.noconvert(), "reports"_a.noconvert(),
           "n_threads"_a, nb::keep_alive<1, 3>())
      .def(
          "run",
          [](Bound& b, Index part, Index column_begin, Index column_end) {
            require_range(b.dual.n_columns, column_begin, column_end);
            require(0 <= part && part < b.n_threads, "part out of bounds");
            require(!b.crammer_singer || column_end == column_begin ||
                        column_end - column_begin == b.dual.n_columns,
                    "Crammer-Singer needs all columns at once");
            nb::gil_scoped_release release;
            b.epoch.run(part, {column_begin, column_end});
          },
          "part"_a, "column_begin"_a, "column_end"_a)
      .def("give_up", [](Bound& b) { b.epoch.give_up(); });
}

template <class T>
void bind_sgd(nb::module_& m) {
  m.def(
      "sgd_epoch",
      [](const BoundLifted<T>& source, Vector<const Column> target, Vector<const T> costs,
         Loss loss, bool crammer_singer, Array<T, 3> weights, std::optional<Array<T, 3>> average,
         double visits, double lambda, double t0, Index skip, bool decay_bias,
         Vector<const Index> order, Index column_begin, Index column_end,
         const BoundGate<T>* learned_gate) {
        source.require_weights(weights);
        const Index n = source.lifted.n_rows(), n_columns = size(weights, 1);
        require(size(target) == n && size(costs) == n, "one target and cost per row");
        require_below(target.data(), n, crammer_singer ? 0 : -1, n_columns, "target out of bounds");
        require_below(order.data(), size(order), 0, n, "row out of bounds");
        require_range(n_columns, column_begin, column_end);
        require(skip >= 1 && lambda > 0 && t0 > 0, "skip, lambda and t0 must be positive");
        require(!crammer_singer || (n_columns >= 2 && column_begin == 0 && column_end == n_columns),
                "Crammer-Singer needs all columns at once");
        if (average) {
          source.require_weights(*average);
          require(size(*average, 1) == n_columns, "average must have the shape of weights");
        }
        const SgdProblem<T> problem{source.lifted,    target.data(), costs.data(),  n_columns,
                                    source.n_anchors, loss,          crammer_singer};
        SgdState<T> state{weights.data(), average ? average->data() : nullptr, visits};
        const SgdSchedule schedule{lambda, t0, skip, decay_bias};
        if (learned_gate == nullptr) {
          nb::gil_scoped_release release;
          sgd_epoch(problem, state, schedule, order.data(), size(order), column_begin, column_end,
                    FixedGate{});
          return;
        }
        learned_gate->require_codes_of(source);
        require(column_begin == 0 && column_end == n_columns, "a gate learns from all columns");
        nb::gil_scoped_release release;
        sgd_epoch(problem, state, schedule, order.data(), size(order), column_begin, column_end,
                  LearnedGate<T>(learned_gate->gate, source.lifted, weights.data(), n_columns));
      },
      "lifted"_a, "target"_a.noconvert(), "costs"_a.noconvert(), "loss"_a, "crammer_singer"_a,
      "weights"_a.noconvert(), "average"_a.noconvert().none(), "visits"_a, "lambda_"_a, "t0"_a,
      "skip"_a, "decay_bias"_a, "order"_a.noconvert(), "column_begin"_a, "column_end"_a,
      "learned_gate"_a.none() = nb::none());
}

template <class T>
void bind_nearest(nb::module_& m, const char* name) {
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

template <class T>
void bind_neighborhood(nb::module_& m, const char* name, const char* models_name) {
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

template <class T>
void bind_pegasos(nb::module_& m) {
  m.def(
      "pegasos_epoch",
      [](const BoundRows<T>& source, T bias, std::optional<Vector<const Column>> target,
         std::optional<Vector<const T>> values, Vector<const T> costs, Loss loss, Coupling coupling,
         double epsilon, Matrix<T> scaled, std::optional<Matrix<double>> past,
         Matrix<double> columns, double steps, double lambda, double radius, Index batch_size,
         Vector<const Index> order, Index column_begin, Index column_end) {
        const Index n = source.rows.n_rows(), n_columns = size(scaled, 0);
        const bool is_regression = coupling == Coupling::regression;
        require(is_regression ? values.has_value() : target.has_value(),
                "regression needs values, classification needs targets");
        if (is_regression) {
          require(size(*values) == n, "one value per row");
          require(n_columns == 1, "regression has one column");
        } else {
          require(size(*target) == n, "one target per row");
          const Index lowest = coupling == Coupling::one_vs_rest ? -1 : 0;
          require_below(target->data(), n, lowest, n_columns, "target out of bounds");
        }
        const bool is_joint =
            coupling == Coupling::crammer_singer || coupling == Coupling::multinomial;
        require(!is_joint || (n_columns >= 2 && column_begin == 0 && column_end == n_columns),
                "joint losses need all columns at once");
        require(size(costs) == n, "one cost per row");
        require(size(scaled, 1) == source.rows.width() + 1, "scaled must be (columns, width + 1)");
        require(!past || (size(*past, 0) == n_columns && size(*past, 1) == size(scaled, 1)),
                "past must have the shape of scaled");
        static_assert(sizeof(PegasosColumn) == 3 * sizeof(double));
        require(size(columns, 0) == n_columns && size(columns, 1) == 3, "columns must be (c, 3)");
        require(steps >= 0 && lambda > 0 && radius > 0 && batch_size >= 1,
                "lambda, radius and batch_size must be positive");
        require_below(order.data(), size(order), 0, n, "row out of bounds");
        require_range(n_columns, column_begin, column_end);
        const PegasosProblem<T> problem{source.rows,
                                        bias,
                                        target ? target->data() : nullptr,
                                        values ? values->data() : nullptr,
                                        costs.data(),
                                        n_columns,
                                        loss,
                                        coupling,
                                        epsilon};
        PegasosState<T> state{scaled.data(), past ? past->data() : nullptr,
                              reinterpret_cast<PegasosColumn*>(columns.data()), steps};
        // No batch is larger than the visits there are.
        const PegasosSchedule schedule{lambda, radius,
                                       std::min(batch_size, std::max<Index>(1, size(order)))};
        nb::gil_scoped_release release;
        pegasos_epoch(problem, state, schedule, order.data(), size(order), column_begin,
                      column_end);
      },
      "rows"_a, "bias"_a, "target"_a.noconvert().none(), "values"_a.noconvert().none(),
      "costs"_a.noconvert(), "loss"_a, "coupling"_a, "epsilon"_a, "scaled"_a.noconvert(),
      "past"_a.noconvert().none(), "columns"_a.noconvert(), "steps"_a, "lambda_"_a, "radius"_a,
      "batch_size"_a, "order"_a.noconvert(), "column_begin"_a, "column_end"_a);
  m.def(
      "kernel_pegasos_block",
      [](Matrix<const T> products, Matrix<const T> kernel, Vector<const Column> target,
         Vector<const double> costs, double lambda, double steps, Vector<double> squared_norms,
         Vector<double> losses, Matrix<double> added) {
        const Index n = size(products, 0), n_columns = size(products, 1);
        require(size(kernel, 0) == n && size(kernel, 1) == n, "kernel must be (rows, rows)");
        require(size(target) == n && size(costs) == n, "one target and cost per row");
        require_below(target.data(), n, -1, n_columns, "target out of bounds");
        require(size(squared_norms) == n_columns && size(losses) == n_columns,
                "one norm and loss per column");
        require(size(added, 0) == n && size(added, 1) == n_columns,
                "added must be (rows, columns)");
        require(lambda > 0 && steps >= 0, "lambda must be positive");
        nb::gil_scoped_release release;
        kernel_pegasos_block(KernelBlock<T>{products.data(), kernel.data(), target.data(),
                                            costs.data(), n, n_columns},
                             lambda, steps, squared_norms.data(), losses.data(), added.data());
      },
      "products"_a.noconvert(), "kernel"_a.noconvert(), "target"_a.noconvert(),
      "costs"_a.noconvert(), "lambda_"_a, "steps"_a, "squared_norms"_a.noconvert(),
      "losses"_a.noconvert(), "added"_a.noconvert());
}

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
void bind_trees(nb::module_& m) {
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

template <class T>
LatentShape checked_latent(const Array<T, 3>& weights, Index n_models, double q) {
  const LatentShape shape{size(weights, 1), n_models, size(weights, 2)};
  require(n_models >= 1 && n_models <= shape.stride && shape.stride % 8 == 0,
          "models must be padded to a multiple of 8");
  require(q >= 1, "q must be at least 1");
  return shape;
}

template <class T>
void bind_latent(nb::module_& m) {
  m.def(
      "latent_epoch",
      [](const BoundRows<T>& b, Vector<const Column> target, Vector<const T> costs,
         Array<T, 3> weights, Index n_models, double q, double alpha, double step,
         double first_visit, double n_visits, Vector<const Index> order, std::uint64_t seed,
         Array<const T, 3> held) {
        const auto shape = checked_latent(weights, n_models, q);
        const Index n = b.rows.n_rows();
        require(size(weights, 0) == b.rows.width() + 1, "weights must be (features + 1, …)");
        require(shape.n_classes >= 2, "two classes are needed");
        for (int axis = 0; axis < 3; ++axis)
          require(size(held, axis) == size(weights, axis), "held must fit the weights");
        require(size(target) == n && size(costs) == n, "one target and cost per row");
        require_below(target.data(), n, 0, shape.n_classes, "target out of bounds");
        require_below(order.data(), size(order), 0, n, "row out of bounds");
        const LatentProblem<T> problem{b.rows, target.data(), costs.data(), shape, {q}, alpha};
        nb::gil_scoped_release release;
        return latent_epoch(problem, LatentSchedule{step, first_visit, n_visits}, order.data(),
                            size(order), seed, held.data(), weights.data());
      },
      "rows"_a, "target"_a.noconvert(), "costs"_a.noconvert(), "weights"_a.noconvert(),
      "n_models"_a, "q"_a, "alpha"_a, "step"_a, "first_visit"_a, "n_visits"_a,
      "order"_a.noconvert(), "seed"_a, "held"_a.noconvert());
  m.def(
      "latent_scores",
      [](Array<T, 3> products, Index n_models, double q, bool make_gates, Matrix<T> scores) {
        const auto shape = checked_latent(products, n_models, q);
        require(size(scores, 0) == size(products, 0) && size(scores, 1) == shape.n_classes,
                "scores must be (rows, classes)");
        nb::gil_scoped_release release;
        latent_scores(products.data(), size(products, 0), shape, {q}, make_gates, scores.data());
      },
      "products"_a.noconvert(), "n_models"_a, "q"_a, "make_gates"_a, "scores"_a.noconvert());
}

bool cpu_supports_x86_64_v3() {
#if (defined(__GNUC__) || defined(__clang__)) && defined(__x86_64__)
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
         __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
#else
  return false;
#endif
}

}  // namespace

NB_MODULE(HYPERLOCAL_MODULE, m) {
  m.def("cpu_supports_x86_64_v3", &cpu_supports_x86_64_v3);
  nb::enum_<Coding>(m, "Coding")
      .value("hard", Coding::hard)
      .value("soft", Coding::soft)
      .value("inverse_distance", Coding::inverse_distance)
      .value("lle", Coding::lle)
      .value("llc", Coding::llc)
      .value("lcc", Coding::lcc);
  nb::enum_<Loss>(m, "Loss")
      .value("hinge", Loss::hinge)
      .value("squared_hinge", Loss::squared_hinge)
      .value("log", Loss::log);
  nb::enum_<Coupling>(m, "Coupling")
      .value("one_vs_rest", Coupling::one_vs_rest)
      .value("crammer_singer", Coupling::crammer_singer)
      .value("multinomial", Coupling::multinomial)
      .value("regression", Coupling::regression);
  bind_rows<float>(m, "RowsFloat32");
  bind_rows<double>(m, "RowsFloat64");
  bind_lifted<float>(m, "LiftedFloat32");
  bind_lifted<double>(m, "LiftedFloat64");
  bind_dual<float>(m, "DualFloat32");
  bind_dual<double>(m, "DualFloat64");
  bind_anchor_descent<float>(m, "MovingGateFloat32", "AnchorEpochFloat32");
  bind_anchor_descent<double>(m, "MovingGateFloat64", "AnchorEpochFloat64");
  bind_sgd<float>(m);
  bind_sgd<double>(m);
  nb::enum_<Kernel>(m, "Kernel")
      .value("linear", Kernel::linear)
      .value("poly", Kernel::poly)
      .value("rbf", Kernel::rbf);
  bind_nearest<float>(m, "NearestFloat32");
  bind_nearest<double>(m, "NearestFloat64");
  bind_neighborhood<float>(m, "NeighborhoodFloat32", "LocalSvmsFloat32");
  bind_neighborhood<double>(m, "NeighborhoodFloat64", "LocalSvmsFloat64");
  bind_pegasos<float>(m);
  bind_pegasos<double>(m);
  bind_trees<float>(m);
  bind_trees<double>(m);
  bind_latent<float>(m);
  bind_latent<double>(m);
}
