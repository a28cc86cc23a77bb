// Prediction by trees of gates with hard routing: each row walks one path.
//
// Many rows walk together: what a node holds is read once for all rows there, four rows at a time,
// and the rows are independent. A row's score does not depend on the rows beside it, to the
// last bit.
#pragma once

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "rows.hpp"
#include "simd.hpp"
#include "tanh.hpp"
#include "tree.hpp"

namespace hyperlocal {

namespace detail {

// Rows that walk together: enough to share nodes, few enough to stay in the second-level cache.
constexpr Index most_walkers = 512, fewest_walkers = 32, walker_bytes = 1 << 18;

template <class T>
Index walkers(Index stride) {
  const Index fit = walker_bytes / (stride * static_cast<Index>(sizeof(T)));
  return std::clamp(fit, fewest_walkers, most_walkers);
}

// Products of the dense rows named with `n_vectors` vectors (stride apart): that of row r with
// vector j at out[j · apart + r]. Each is summed in the same order for any number of rows.
template <int n_rows, int n_vectors, class T>
HYPERLOCAL_INLINE void tile_dots(const T* dense, const Index* rows, const T* vectors, Index stride,
                                 Index n_used, T* out, Index apart) {
  constexpr int n = lanes_per_register<T>;
  const T* x[n_rows];
  Lanes<T, n> sums[n_rows][n_vectors];
  for (int r = 0; r < n_rows; ++r) {
    x[r] = dense + rows[r] * stride;
    for (auto& sum : sums[r]) sum = Lanes<T, n>::zero();
  }
  for (Index v = 0; v < n_used; v += n) {
    Lanes<T, n> weights[n_vectors];
    for (int j = 0; j < n_vectors; ++j) weights[j] = Lanes<T, n>::load(vectors + j * stride + v);
    for (int r = 0; r < n_rows; ++r) {
      const auto values = Lanes<T, n>::load(x[r] + v);
      for (int j = 0; j < n_vectors; ++j) sums[r][j].add_product(weights[j], values);
    }
  }
  for (int j = 0; j < n_vectors; ++j) {
    if constexpr (n_rows == 4) {
      sums_of_four(sums[0][j], sums[1][j], sums[2][j], sums[3][j], out + j * apart);
    } else {
      for (int r = 0; r < n_rows; ++r) out[j * apart + r] = sums[r][j].sum();
    }
  }
}

// Rows that walk down one tree. At each level they are in the order of their nodes; a
// node's rows are sent on before the next node is read, so that they stay in the first-level
// cache.
// `with_nodes`: whether the nodes are requested.
template <class T, bool with_nodes>
class Walk {
 public:
  Walk(const TreeShape& shape, Index capacity)
      : shape_(shape),
        capacity_(capacity),
        right_(capacity + 1),
        order_((shape.depth + 1) * capacity + 1),
        nodes_(with_nodes ? (shape.depth + 1) * capacity : 0),
        products_((shape.depth + 1) * shape.n_vectors() * capacity) {}

  // Calls arrive(level, row, node, gate, products) for each row at each level: tanh(θ'·x), and the
  // products with w … `capacity` apart.
  template <class Arrive>
  void run(const T* tree, const PaddedRows<T>& x, Arrive arrive) {
    std::iota(order_.begin(), order_.begin() + x.size(), Index(0));
    if (x.size() > 0) descend(tree, x, {0, 0, 0, x.size()});
    for (Index level = 0; level <= shape_.depth; ++level) {
      T* gates = products(level) + kGate * capacity_;
      tanh_in_place(gates, x.size());
      for (Index k = 0; k < x.size(); ++k)
        arrive(level, order(level)[k], with_nodes ? nodes_[level * capacity_ + k] : 0, gates[k],
               products(level) + kFirstColumn * capacity_ + k);
    }
  }

 private:
  // The rows order(level)[begin … end-1] are at one node.
  struct Group {
    Index level, node, begin, end;
  };

  Index* order(Index level) { return order_.data() + level * capacity_; }
  T* products(Index level) { return products_.data() + level * shape_.n_vectors() * capacity_; }

  void descend(const T* tree, const PaddedRows<T>& x, const Group& here) {
    const bool is_inner = here.level < shape_.depth;
    project(tree + here.node * shape_.block(), x, here, is_inner ? kRoute : kGate);
    if (with_nodes)
      std::fill_n(nodes_.begin() + here.level * capacity_ + here.begin, here.end - here.begin,
                  here.node);
    if (!is_inner) return;
    const Index middle = split(here), left = 2 * here.node + 1;
    if (middle > here.begin) descend(tree, x, {here.level + 1, left, here.begin, middle});
    if (here.end > middle) descend(tree, x, {here.level + 1, left + 1, middle, here.end});
  }

  void project(const T* block, const PaddedRows<T>& x, const Group& here, Index first) {
    const Index* rows = order(here.level);
    in_threes(first, shape_.n_vectors(), [&](Index j, auto count) {
      const T* vectors = block + j * shape_.stride;
      T* out = products(here.level) + j * capacity_;
      Index k = here.begin;
      if (x.dense() != nullptr) {
        const auto tile = [&](auto n_rows) {
          tile_dots<n_rows(), count()>(x.dense(), rows + k, vectors, shape_.stride, x.n_used(),
                                       out + k, capacity_);
          k += n_rows();
        };
        while (k + 4 <= here.end) tile(std::integral_constant<int, 4>{});
        if (k + 2 <= here.end) tile(std::integral_constant<int, 2>{});
        if (k < here.end) tile(std::integral_constant<int, 1>{});
      }
      for (; k < here.end; ++k)
        row_dots<count()>(x[rows[k]], vectors, shape_.stride, out + k, capacity_);
    });
  }

  // Sends the rows of a node on, those that go left first; returns where the others begin. Which
  // way a row goes is as good as random, so every row is written to both sides, and the ends move:
  // a mispredicted branch would cost more.
  Index split(const Group& here) {
    const T* routes = products(here.level) + kRoute * capacity_;
    const Index* rows = order(here.level);
    Index* next = order(here.level + 1);
    Index middle = here.begin, n_right = 0;
    for (Index k = here.begin; k < here.end; ++k) {
      const Index goes_left = static_cast<Index>(routes[k] > 0);
      next[middle] = right_[n_right] = rows[k];
      middle += goes_left;
      n_right += 1 - goes_left;
    }
    std::copy_n(right_.begin(), n_right, next + middle);
    return middle;
  }

  TreeShape shape_;
  Index capacity_;
  std::vector<Index> right_;
  std::vector<Index> order_, nodes_;  // (levels, capacity)
  std::vector<T> products_;           // (levels, vectors, capacity), each level in its order
};

// Calls action(first place, rows, walk, capacity) for batches of a range of rows.
template <bool with_nodes, class T, class Action>
void in_walks(const Rows<T>& rows, Range range, const TreeShape& shape, Action action) {
  const Index capacity = std::min(walkers<T>(shape.stride), std::max(range.size(), Index(1)));
  PaddedRows<T> x(shape.stride, capacity);
  Walk<T, with_nodes> walk(shape, capacity);
  for (Index start = range.begin; start < range.end; start += capacity) {
    x.load(rows, std::min(capacity, range.end - start), [start](Index i) { return start + i; });
    action(start - range.begin, x, walk, capacity);
  }
}

}  // namespace detail

// Scores of a range of rows by trees with hard routing, (rows, n_trees · n_columns): one path
// per row and tree. Returns whether the rows are finite and their products do not overflow: that
// is checked on the way, while they are in the cache.
template <class T>
bool tree_scores(const Rows<T>& rows, Range range, const TreeShape& shape, const T* nodes,
                 Index n_trees, T* out) {
  const Index width = n_trees * shape.n_columns;
  bool sound = true;
  std::fill_n(out, range.size() * width, T(0));
  detail::in_walks<false>(
      rows, range, shape, [&](Index start, const auto& x, auto& walk, Index capacity) {
        sound &= x.are_sound();
        for (Index tree = 0; tree < n_trees; ++tree)
          walk.run(nodes + tree * shape.n_nodes() * shape.block(), x,
                   [&](Index, Index i, Index, T gate, const T* linear) {
                     T* scores = out + (start + i) * width + tree * shape.n_columns;
                     for (Index column = 0; column < shape.n_columns; ++column)
                       scores[column] += gate * linear[column * capacity];
                   });
      });
  return sound;
}

// The gate of one tree with hard routing: the nodes of each row's path, root first, and their
// tanh(θ'·x), both (rows, depth + 1).
template <class T>
void tree_paths(const Rows<T>& rows, Range range, const TreeShape& shape, const T* nodes,
                Column* path, T* gates) {
  detail::in_walks<true>(rows, range, shape, [&](Index start, const auto& x, auto& walk, Index) {
    walk.run(nodes, x, [&](Index level, Index i, Index node, T gate, const T*) {
      const Index place = (start + i) * (shape.depth + 1) + level;
      path[place] = static_cast<Column>(node);
      gates[place] = gate;
    });
  });
}

}  // namespace hyperlocal
