// Averages on the way from references to rows that explanations of trees of gates need.
//
// f_c(x) = Σ_n tanh(θ'_n·x) (w_nc·x) over the nodes n on the row's path. On the line r + t (x − r),
// 0 ≤ t ≤ 1, products with the vectors of nodes are linear in t. So a node is on the path for t in
// one interval [a, b], and with g = θ'·x(t) and s = w·x(t)
//
//   ∫ tanh g dt           = [log cosh g] / g'
//   ∫ (1 − tanh² g) s dt  = ([s tanh g] − s' ∫ tanh g dt) / g'
//
// between a and b; by the trapezoidal rule with the slopes at its ends where g hardly changes
// there. The average gradient of f_c is the sum over nodes of the first times w_nc and of the
// second times θ'_n.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "simd.hpp"
#include "tanh.hpp"
#include "tree.hpp"
#include "tree_parts.hpp"
#include "tree_sums.hpp"

namespace hyperlocal {

namespace detail {

class LinesThroughTree {
 public:
  explicit LinesThroughTree(const TreePaths& paths)
      : paths_(paths), products_(paths.shape.n_nodes() * paths.shape.n_vectors()) {}

  // Calls arrive(reference, columns' average gradients of `stride` numbers each) for each one.
  template <class Arrive>
  void go(const double* row, Arrive arrive) {
    find_parts(row);
    integrate();
    for (Index r = 0; r < paths_.n_references; ++r) {
      average(r);
      arrive(r, averages_.data());
    }
  }

 private:
  // A node that is on the path between a and b, of some line.
  struct Part {
    Index node;
    double a, b;
  };

  // The parts of all lines to a row, one line after the other.
  void find_parts(const double* row) {
    parts_.clear();
    first_.assign(1, 0);
    is_known_.assign(paths_.shape.n_nodes(), false);
    for (Index r = 0; r < paths_.n_references; ++r) {
      descend(row, r, {0, 0, 1});
      first_.push_back(static_cast<Index>(parts_.size()));
    }
  }

  void descend(const double* row, Index r, const Part& here) {
    find_products(row, here.node);
    parts_.push_back(here);
    if (!paths_.shape.is_inner(here.node)) return;
    const Index place = here.node * paths_.shape.n_vectors() + kRoute;
    const double start = start_of(r, place), end = products_[place];
    const double turn =
        std::clamp((start > 0) == (end > 0) ? 1 : start / (start - end), here.a, here.b);
    const Index first = 2 * here.node + (start > 0 ? 1 : 2), second = 4 * here.node + 3 - first;
    if (turn > here.a) descend(row, r, {first, here.a, turn});
    if (turn < here.b) descend(row, r, {second, turn, here.b});
  }

  double start_of(Index r, Index place) const {
    return paths_.products[r * static_cast<Index>(products_.size()) + place];
  }

  void find_products(const double* row, Index node) {
    if (is_known_[node]) return;
    is_known_[node] = true;
    const TreeShape& shape = paths_.shape;
    const auto view = RowView<double>::of_dense(row, shape.stride);
    double* out = products_.data() + node * shape.n_vectors();
    const double* block = paths_.nodes + node * shape.block();
    row_dots<3>(view, block, shape.stride, out, 1);
    for (Index v = 3; v < shape.n_vectors(); ++v)
      row_dots<1>(view, block + v * shape.stride, shape.stride, out + v, 1);
  }

  // on_weights_: the first integral of each part. on_gates_: the second one, (columns, parts).
  void integrate() {
    const Index n = static_cast<Index>(parts_.size()), n_columns = paths_.shape.n_columns;
    gates_.resize(2 * n);
    lengths_.resize(n);
    scores_.resize(2 * n_columns * n);
    for (Index r = 0; r < paths_.n_references; ++r)
      for (Index i = first_[r]; i < first_[r + 1]; ++i) {
        const Index place = parts_[i].node * paths_.shape.n_vectors();
        lengths_[i] = parts_[i].b - parts_[i].a;
        put(parts_[i], r, place + kGate, gates_.data() + i);
        for (Index c = 0; c < n_columns; ++c)
          put(parts_[i], r, place + kFirstColumn + c, scores_.data() + 2 * c * n + i);
      }
    tanhs_ = gates_;
    tanh_in_place(tanhs_.data(), 2 * n);
    integrate_weights(n);
    for (Index c = 0; c < n_columns; ++c) integrate_gates(n, c);
  }

  // A product where a part begins, and `parts` places further where it ends.
  void put(const Part& part, Index r, Index place, double* out) const {
    const double start = start_of(r, place), change = products_[place] - start;
    out[0] = start + part.a * change;
    out[parts_.size()] = start + part.b * change;
  }

  void integrate_weights(Index n) {
    const double *g = gates_.data(), *tanhs = tanhs_.data(), *lengths = lengths_.data();
    on_weights_.resize(n);
    double* out = on_weights_.data();
#pragma omp simd
    for (Index i = 0; i < n; ++i) {
      const double step = g[n + i] - g[i], first = tanhs[i], last = tanhs[n + i];
      const bool is_flat = std::fabs(step) < flat;
      const double change = log_cosh(g[n + i], last) - log_cosh(g[i], first);
      const double simple =
          0.5 * (first + last) + step * (last * last - first * first) * (1.0 / 12);
      out[i] = lengths[i] * (is_flat ? simple : change / (is_flat ? 1 : step));
    }
  }

  void integrate_gates(Index n, Index c) {
    const double *g = gates_.data(), *tanhs = tanhs_.data(), *lengths = lengths_.data();
    const double *on_weights = on_weights_.data(), *scores = scores_.data() + 2 * c * n;
    on_gates_.resize(paths_.shape.n_columns * n);
    double* out = on_gates_.data() + c * n;
#pragma omp simd
    for (Index i = 0; i < n; ++i) {
      const double step = g[n + i] - g[i], first = tanhs[i], last = tanhs[n + i];
      const double start = scores[i], end = scores[n + i], along = end - start;
      const bool is_flat = std::fabs(step) < flat;
      const double at_first = 1 - first * first, at_last = 1 - last * last;
      const double slopes =
          at_first * (along - 2 * first * start * step) - at_last * (along - 2 * last * end * step);
      const double simple = 0.5 * (at_first * start + at_last * end) + slopes * (1.0 / 12);
      const double change = (end * last - start * first) * lengths[i] - along * on_weights[i];
      out[i] = is_flat ? simple * lengths[i] : change / (is_flat ? 1 : step);
    }
  }

  // log cosh g is |g| − log(1 + |tanh g|), and log(1 + y) = 2 artanh(y / (2 + y)), whose
  // argument is at most 1/3: the series reaches the last place.
  static HYPERLOCAL_INLINE double log_cosh(double g, double tanh) {
    const double y = std::fabs(tanh), z = y / (2 + y);
    return std::fabs(g) - 2 * z * artanh_series<0>(z * z);
  }

  template <int k>
  static HYPERLOCAL_INLINE double artanh_series(double square) {
    constexpr double coefficient = 1.0 / (2 * k + 1);
    if constexpr (k == 16)
      return coefficient;
    else
      return coefficient + square * artanh_series<k + 1>(square);
  }

  // Σ over the parts of a line, (columns, stride), some features at a time.
  void average(Index r) {
    const Index stride = paths_.shape.stride;
    averages_.resize(paths_.shape.n_columns * stride);
    for (Index c = 0; c < paths_.shape.n_columns; ++c) {
      Index v = 0;
      for (; v + 16 <= stride; v += 16) average<4>(r, c, v);
      for (; v < stride; v += 8) average<2>(r, c, v);
    }
  }

  template <int n_lanes>
  void average(Index r, Index c, Index v) {
    using Lane = Lanes<double, 4>;
    const TreeShape& shape = paths_.shape;
    const double* on_gates = on_gates_.data() + c * static_cast<Index>(parts_.size());
    Lane weights[n_lanes], gates[n_lanes];  // apart: additions of one sum depend on each other
    for (int i = 0; i < n_lanes; ++i) weights[i] = gates[i] = Lane::zero();
    for (Index part = first_[r]; part < first_[r + 1]; ++part) {
      const double* block = paths_.nodes + parts_[part].node * shape.block() + v;
      const double *own = block + (kFirstColumn + c) * shape.stride,
                   *gate = block + kGate * shape.stride;
      for (int i = 0; i < n_lanes; ++i) {
        weights[i].add_product(Lane::load(own + 4 * i), on_weights_[part]);
        gates[i].add_product(Lane::load(gate + 4 * i), on_gates[part]);
      }
    }
    for (int i = 0; i < n_lanes; ++i)
      (weights[i] + gates[i]).store(averages_.data() + c * shape.stride + v + 4 * i);
  }

  // Of the change of g: the rule without it errs by less than 1e-10 of the size of the terms.
  static constexpr double flat = 1e-2;

  const TreePaths& paths_;
  std::vector<double> products_, gates_, tanhs_, lengths_, scores_, on_weights_, on_gates_,
      averages_;
  std::vector<Part> parts_;
  std::vector<Index> first_;
  std::vector<bool> is_known_;
};

}  // namespace detail

// Rows (rows, stride) with their constant; out: average gradients, (references, rows, columns,
// stride).
inline void tree_path_averages(const TreePaths& paths, const double* rows, Index n_rows,
                               double* out) {
  const Index stride = paths.shape.stride, size = paths.shape.n_columns * stride;
  detail::LinesThroughTree lines(paths);
  for (Index row = 0; row < n_rows; ++row)
    lines.go(rows + row * stride, [&](Index r, const double* averages) {
      std::copy_n(averages, size, out + (r * n_rows + row) * size);
    });
}

// Adds Σ_r shares_r (x − x_r) times the averages to out, (rows, columns, stride).
inline void tree_path_contributions(const TreePaths& paths, const double* rows, Index n_rows,
                                    const double* shares, double* out) {
  const Index stride = paths.shape.stride, n_columns = paths.shape.n_columns;
  const Index size = n_columns * stride;
  if (detail::TreeSums::fits(paths)) {
    std::vector<double> found(n_rows * size);
    detail::TreeSums sums(paths, shares);
    for (Index begin = 0; begin < paths.n_references; begin += detail::TreeSums::lanes) {
      sums.start(begin);
      for (Index row = 0; row < n_rows; ++row)
        sums.add(rows + row * stride, found.data() + row * size);
    }
    double nothing = 0;
#pragma omp simd reduction(+ : nothing)
    for (Index i = 0; i < n_rows * size; ++i) nothing += 0 * found[i];
    if (nothing == 0) {
      for (Index i = 0; i < n_rows * size; ++i) out[i] += found[i];
      return;
    }
  }
  detail::LinesThroughTree lines(paths);
  for (Index row = 0; row < n_rows; ++row, out += size) {
    const double* x = rows + row * stride;
    lines.go(x, [&](Index r, const double* averages) {
      const double* start = paths.references + r * stride;
      for (Index c = 0; c < n_columns; ++c)
        for (Index v = 0; v < stride; ++v)
          out[c * stride + v] += shares[r] * (x[v] - start[v]) * averages[c * stride + v];
    });
  }
}

}  // namespace hyperlocal
