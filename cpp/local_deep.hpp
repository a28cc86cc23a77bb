// LDKL: a tree of gates over linear models (Jose et al. 2013), trained by mini-batch Adam.
//
// A complete binary tree of depth D has 2^D − 1 inner nodes and 2^D leaves, numbered from the root
// level by level; the children of n are 2n + 1 (left) and 2n + 2. Every node has a gate θ' and one
// weight vector w_c per column, every inner node a route θ as well; x carries a constant 1.
//
//     f_c(x) = Σ_n P_n(x) · tanh(θ'_n·x) · (w_nc·x),
//     P_n = Π over the path from the root of ½(1 + t_l) to the left, ½(1 − t_l) to the right,
//     t_l = tanh(s θ_l·x), or the sign of θ_l·x where routing is hard (zero goes right).
//
// Minimized: α/2 (‖W‖² + ‖Θ‖² + ‖Θ'‖²) + the mean over rows of s_i Σ_c hinge(y_ic f_c(x_i)).
// One pass from the leaves up gives every gradient:
//     F_c(n) = tanh(θ'_n·x)(w_nc·x) + ½(1 + t) F_c(left) + ½(1 − t) F_c(right),
//     ∂f_c/∂θ_l = P_l · ½(F_c(left) − F_c(right)) · s(1 − t²) · x.
#pragma once

#include <algorithm>
#include <cassert>
#include <cmath>
#include <vector>

#include "rows.hpp"
#include "simd.hpp"
#include "tanh.hpp"
#include "tree.hpp"

namespace hyperlocal {

struct Routing {
  double sharpness;  // s
  bool hard;
};

template <class T>
struct TreeProblem {
  const Rows<T>& rows;
  const Column* target;  // the column in which a row is positive, -1 for none
  const T* costs;        // weights of rows, one on average
  Index depth;
  double alpha;
};

// What a run of batches reports.
struct TreeReport {
  double loss;        // Σ of weighted hinge losses before each step
  double projection;  // Σ P|θ·x| over inner nodes
  double reach;       // Σ P
};

namespace detail {

constexpr Index tree_batch = 32;
constexpr double least_reach = 1e-4;
// From so many rows on, projecting the whole batch at once is faster than row by row.
constexpr Index rows_for_tile = 8;

// Products of `n_vectors` vectors (stride apart) with all rows of a transposed batch.
template <int n_vectors, class T>
void project_tile(const T* transposed, const T* vectors, Index stride, T* out) {
  constexpr int n = lanes_per_register<T>, registers = 4;
  for (Index row = 0; row < tree_batch; row += registers * n) {
    Lanes<T, n> sums[n_vectors][registers];
    for (auto& of_vector : sums)
      for (auto& sum : of_vector) sum = Lanes<T, n>::zero();
    const T* x = transposed + row;
    for (Index v = 0; v < stride; ++v, x += tree_batch)
      for (int r = 0; r < registers; ++r) {
        const auto values = Lanes<T, n>::load(x + r * n);
        for (int j = 0; j < n_vectors; ++j) sums[j][r].add_product(values, vectors[j * stride + v]);
      }
    for (int j = 0; j < n_vectors; ++j)
      for (int r = 0; r < registers; ++r) sums[j][r].store(out + j * tree_batch + row + r * n);
  }
}

// out_j += Σ_i pulls_ji x_i for `n_vectors` vectors j (stride apart) and the dense rows named.
template <int n_vectors, class T>
void add_rows(const T* x, Index stride, const Index* rows, Index n_rows, const T* pulls, T* out) {
  constexpr int n = lanes_per_register<T>;
  for (Index v = 0; v < stride; v += n) {
    Lanes<T, n> sums[n_vectors];
    for (int j = 0; j < n_vectors; ++j) sums[j] = Lanes<T, n>::load(out + j * stride + v);
    for (Index i = 0; i < n_rows; ++i) {
      const auto values = Lanes<T, n>::load(x + rows[i] * stride + v);
      for (int j = 0; j < n_vectors; ++j)
        sums[j].add_product(values, pulls[j * tree_batch + rows[i]]);
    }
    for (int j = 0; j < n_vectors; ++j) sums[j].store(out + j * stride + v);
  }
}

}  // namespace detail

// One batch of rows in a tree. All values are stored per node and row, rows side by side.
template <class T>
class TreeBatch {
 public:
  explicit TreeBatch(const TreeShape& shape)
      : shape_(shape),
        x_(shape.stride, kBatch),
        reach_(shape.n_nodes() * kBatch),
        products_(shape.n_nodes() * shape.n_vectors() * kBatch),
        subtree_(shape.n_nodes() * shape.n_columns * kBatch),
        pulls_(shape.n_vectors() * kBatch),
        loss_pulls_(shape.n_columns * kBatch) {}

  void load(const Rows<T>& rows, Visits batch) {
    assert(batch.size <= kBatch);
    x_.load(rows, batch.size, [batch](Index i) { return batch[i]; });
    if (x_.dense() == nullptr) return;
    transposed_.assign(static_cast<std::size_t>(shape_.stride * kBatch), T(0));
    for (Index i = 0; i < batch.size; ++i)
      for (Index v = 0; v < shape_.stride; ++v)
        transposed_[v * kBatch + i] = x_.dense()[i * shape_.stride + v];
  }

  // From the root down, then F from the leaves up.
  void forward(const T* nodes, const Routing& routing, TreeReport& report) {
    routing_ = routing;
    std::fill(reach_.begin(), reach_.end(), T(0));
    std::fill_n(reach_.begin(), x_.size(), T(1));
    for (Index node = 0; node < shape_.n_nodes(); ++node) visit(nodes, node, report);
    for (Index node = shape_.n_nodes() - 1; node >= 0; --node) sum_subtree(node);
  }

  T score(Index column, Index i) const { return subtree_[column * kBatch + i]; }

  // Pulls of the mean hinge loss at the scores; the tree's columns begin at `first_column`.
  void compare(const TreeProblem<T>& problem, Visits batch, Index first_column,
               TreeReport& report) {
    for (Index column = 0; column < shape_.n_columns; ++column)
      for (Index i = 0; i < kBatch; ++i) {
        T& pull = loss_pulls_[column * kBatch + i];
        pull = 0;
        if (i >= x_.size()) continue;
        const Index row = batch[i];
        const T label = problem.target[row] == first_column + column ? T(1) : T(-1);
        const T slack = T(1) - label * score(column, i);
        if (!(slack > 0)) continue;
        report.loss += double(problem.costs[row]) * double(slack);
        pull = -label * problem.costs[row] / static_cast<T>(x_.size());
      }
  }

  // The gradient of one node's vectors [θ, θ', w …] into `out`; a frozen or leaf θ gets zero.
  void gradient(const T* nodes, Index node, T alpha, T* out) {
    const T* block = nodes + node * shape_.block();
    const Index first = learns_route(node) ? detail::kRoute : detail::kGate;
    std::fill_n(out, shape_.stride, T(0));
    for (Index v = first * shape_.stride; v < shape_.block(); ++v) out[v] = alpha * block[v];
    Index rows[kBatch];
    const Index n_rows = pull_node(node, rows);
    if (n_rows == 0) return;
    if (x_.dense() != nullptr) {
      detail::in_threes(first, shape_.n_vectors(), [&](Index j, auto count) {
        detail::add_rows<count()>(x_.dense(), shape_.stride, rows, n_rows,
                                  pulls_.data() + j * kBatch, out + j * shape_.stride);
      });
      return;
    }
    for (Index r = 0; r < n_rows; ++r) {
      const RowView<T>& x = x_[rows[r]];
      for (Index j = first; j < shape_.n_vectors(); ++j)
        for (Index v = 0; v < x.size; ++v)
          out[j * shape_.stride + x.columns[v]] += pulls_[j * kBatch + rows[r]] * x.values[v];
    }
  }

  bool learns_route(Index node) const { return shape_.is_inner(node) && !routing_.hard; }

 private:
  static constexpr Index kBatch = detail::tree_batch;

  // Of a node: the projections on θ, θ', w …; the first two become t and tanh(θ'·x).
  T* products(Index node) { return products_.data() + node * shape_.n_vectors() * kBatch; }
  T* subtree(Index node) { return subtree_.data() + node * shape_.n_columns * kBatch; }

  void visit(const T* nodes, Index node, TreeReport& report) {
    const T* reach = reach_.data() + node * kBatch;
    T* out = products(node);
    const Index n_here = kBatch - std::count(reach, reach + kBatch, T(0));
    std::fill_n(out, shape_.n_vectors() * kBatch, T(0));
    if (n_here == 0) return;
    project(nodes + node * shape_.block(), node, reach, n_here, out);
    tanh_in_place(out + detail::kGate * kBatch, kBatch);
    for (Index j = detail::kFirstColumn; j < shape_.n_vectors(); ++j)
      for (Index i = 0; i < kBatch; ++i)
        if (reach[i] == 0) out[j * kBatch + i] = 0;
    if (!shape_.is_inner(node)) return;
    for (Index i = 0; i < kBatch; ++i) {
      report.projection += double(reach[i]) * std::fabs(double(out[i]));
      report.reach += double(reach[i]);
    }
    route(node, reach, out);
  }

  void project(const T* block, Index node, const T* reach, Index n_here, T* out) {
    const Index first = shape_.is_inner(node) ? detail::kRoute : detail::kGate;
    if (x_.dense() != nullptr && n_here >= detail::rows_for_tile) {
      detail::in_threes(first, shape_.n_vectors(), [&](Index j, auto count) {
        detail::project_tile<count()>(transposed_.data(), block + j * shape_.stride, shape_.stride,
                                      out + j * kBatch);
      });
      return;
    }
    for (Index i = 0; i < x_.size(); ++i) {
      if (reach[i] == 0) continue;
      detail::in_threes(first, shape_.n_vectors(), [&](Index j, auto count) {
        detail::row_dots<count()>(x_[i], block + j * shape_.stride, shape_.stride,
                                  out + j * kBatch + i, kBatch);
      });
    }
  }

  // Turns θ·x into t and passes the reach on to the children; a reach below the limit becomes zero.
  void route(Index node, const T* reach, T* t) {
    if (routing_.hard) {
      for (Index i = 0; i < kBatch; ++i) t[i] = t[i] > 0 ? T(1) : T(-1);
    } else {
      tanh_in_place(t, kBatch, static_cast<T>(routing_.sharpness));
    }
    const auto kept = [](T p) { return p > T(detail::least_reach) ? p : T(0); };
    T* left = reach_.data() + (2 * node + 1) * kBatch;
    for (Index i = 0; i < kBatch; ++i) {
      left[i] = kept(reach[i] * T(0.5) * (T(1) + t[i]));
      left[kBatch + i] = kept(reach[i] * T(0.5) * (T(1) - t[i]));
    }
  }

  void sum_subtree(Index node) {
    const T* own = products(node);
    const T* gate = own + detail::kGate * kBatch;
    for (Index column = 0; column < shape_.n_columns; ++column) {
      const T* linear = own + (detail::kFirstColumn + column) * kBatch;
      T* sum = subtree(node) + column * kBatch;
      for (Index i = 0; i < kBatch; ++i) sum[i] = gate[i] * linear[i];
      if (!shape_.is_inner(node)) continue;
      const T* left = subtree(2 * node + 1) + column * kBatch;
      const T* right = subtree(2 * node + 2) + column * kBatch;
      for (Index i = 0; i < kBatch; ++i)
        sum[i] += T(0.5) * ((T(1) + own[i]) * left[i] + (T(1) - own[i]) * right[i]);
    }
  }

  // What each row pulls at the node's vectors; returns how many rows pull, and which.
  Index pull_node(Index node, Index* rows) {
    const T* reach = reach_.data() + node * kBatch;
    const T* own = products(node);
    const T* gate = own + detail::kGate * kBatch;
    const bool learns = learns_route(node);
    T* route_pull = pulls_.data();
    T* gate_pull = pulls_.data() + detail::kGate * kBatch;
    std::fill_n(pulls_.begin(), 2 * kBatch, T(0));
    bool pulls[kBatch] = {};
    for (Index column = 0; column < shape_.n_columns; ++column) {
      const T* linear = own + (detail::kFirstColumn + column) * kBatch;
      const T* up = loss_pulls_.data() + column * kBatch;
      T* weight_pull = pulls_.data() + (detail::kFirstColumn + column) * kBatch;
      for (Index i = 0; i < kBatch; ++i) {
        const T pull = reach[i] * up[i];
        pulls[i] |= pull != 0;
        weight_pull[i] = pull * gate[i];
        gate_pull[i] += pull * linear[i] * (T(1) - gate[i] * gate[i]);
      }
      if (!learns) continue;
      const T* left = subtree(2 * node + 1) + column * kBatch;
      const T* right = subtree(2 * node + 2) + column * kBatch;
      const T half_sharpness = static_cast<T>(0.5 * routing_.sharpness);
      for (Index i = 0; i < kBatch; ++i)
        route_pull[i] +=
            reach[i] * up[i] * (left[i] - right[i]) * half_sharpness * (T(1) - own[i] * own[i]);
    }
    Index n_rows = 0;
    for (Index i = 0; i < kBatch; ++i)
      if (pulls[i]) rows[n_rows++] = i;
    return n_rows;
  }

  TreeShape shape_;
  Routing routing_{};
  detail::PaddedRows<T> x_;
  std::vector<T> transposed_;
  std::vector<T> reach_, products_, subtree_, pulls_, loss_pulls_;
};

// The nodes of a tree, and Adam's averages of gradients and of their squares.
template <class T>
struct TreeState {
  TreeShape shape;
  T* nodes;
  T* mean;
  T* square;
};

namespace detail {

constexpr double adam_mean = 0.9, adam_square = 0.999, adam_epsilon = 1e-8;

template <class T>
void adam_step(const T* gradient, Index size, double rate, T* mean, T* square, T* values) {
  const T keep_mean = T(adam_mean), keep_square = T(adam_square), step = static_cast<T>(rate);
#pragma omp simd
  for (Index v = 0; v < size; ++v) {
    mean[v] += (T(1) - keep_mean) * (gradient[v] - mean[v]);
    square[v] += (T(1) - keep_square) * (gradient[v] * gradient[v] - square[v]);
    values[v] -= step * mean[v] / (std::sqrt(square[v]) + T(adam_epsilon));
  }
}

}  // namespace detail

// Visits rows, a batch at a time; batch b takes a step of rates[b], in which Adam's correction for
// its first steps is contained.
template <class T>
TreeReport tree_epoch(const TreeProblem<T>& problem, const TreeState<T>& state, Index first_column,
                      const Routing& routing, const double* rates, Visits visits) {
  const TreeShape& shape = state.shape;
  TreeBatch<T> batch(shape);
  TreeReport report{};
  std::vector<T> gradient(static_cast<std::size_t>(shape.block()));
  for (Index begin = 0; begin < visits.size; begin += detail::tree_batch, ++rates) {
    const Visits rows = visits.from(begin, std::min(detail::tree_batch, visits.size - begin));
    batch.load(problem.rows, rows);
    batch.forward(state.nodes, routing, report);
    batch.compare(problem, rows, first_column, report);
    for (Index node = 0; node < shape.n_nodes(); ++node) {
      batch.gradient(state.nodes, node, static_cast<T>(problem.alpha), gradient.data());
      const Index skip = batch.learns_route(node) ? 0 : shape.stride;
      const Index start = node * shape.block() + skip;
      detail::adam_step(gradient.data() + skip, shape.block() - skip, *rates, state.mean + start,
                        state.square + start, state.nodes + start);
    }
  }
  return report;
}

// Gradient and scores (rows, columns) of one batch: what `tree_epoch` steps along.
template <class T>
TreeReport tree_gradient(const TreeProblem<T>& problem, const TreeShape& shape, const T* nodes,
                         Index first_column, const Routing& routing, Visits rows, T* gradient,
                         T* scores) {
  TreeBatch<T> batch(shape);
  TreeReport report{};
  batch.load(problem.rows, rows);
  batch.forward(nodes, routing, report);
  batch.compare(problem, rows, first_column, report);
  for (Index node = 0; node < shape.n_nodes(); ++node)
    batch.gradient(nodes, node, static_cast<T>(problem.alpha), gradient + node * shape.block());
  for (Index i = 0; i < rows.size; ++i)
    for (Index column = 0; column < shape.n_columns; ++column)
      scores[i * shape.n_columns + column] = batch.score(column, i);
  return report;
}

}  // namespace hyperlocal
