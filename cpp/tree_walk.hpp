// Prediction by trees of gates with hard routing: each row walks one path.
//
// Many rows walk together, level by level, kept in the order of their nodes: what a node holds is
// read once for all rows there, four rows at a time, and no row waits for another's turn. A row's
// score does not depend on the rows beside it, to the last bit.
#pragma once

#include <algorithm>
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
                                 T* out, Index apart) {
  constexpr int n = lanes_per_register<T>;
  const T* x[n_rows];
  Lanes<T, n> sums[n_rows][n_vectors];
  for (int r = 0; r < n_rows; ++r) {
    x[r] = dense + rows[r] * stride;
    for (auto& sum : sums[r]) sum = Lanes<T, n>::zero();
  }
  for (Index v = 0; v < stride; v += n) {
    Lanes<T, n> weights[n_vectors];
    for (int j = 0; j < n_vectors; ++j) weights[j] = Lanes<T, n>::load(vectors + j * stride + v);
    for (int r = 0; r < n_rows; ++r) {
      const auto values = Lanes<T, n>::load(x[r] + v);
      for (int j = 0; j < n_vectors; ++j) sums[r][j].add_product(weights[j], values);
    }
  }
  for (int r = 0; r < n_rows; ++r)
    for (int j = 0; j < n_vectors; ++j) out[j * apart + r] = sums[r][j].sum();
}

// Rows on their way down one tree.
template <class T>
class Walk {
 public:
  Walk(const TreeShape& shape, Index capacity)
      : shape_(shape),
        capacity_(capacity),
        order_(capacity + 1),
        next_order_(capacity + 1),
        right_(capacity + 1),
        products_(shape.n_vectors() * capacity) {}

  // Calls arrive(level, row, node, gate, products) for each row at each level: tanh(θ'·x), and the
  // products with w … `capacity` apart.
  template <class Arrive>
  void run(const T* nodes, const PaddedRows<T>& x, Arrive arrive) {
    std::iota(order_.begin(), order_.begin() + x.size(), Index(0));
    groups_.assign(1, {0, 0, x.size()});
    for (Index level = 0; level <= shape_.depth; ++level) {
      for (const Group& group : groups_) project(nodes, x, group, level < shape_.depth);
      T* gates = products_.data() + kGate * capacity_;
      tanh_in_place(gates, x.size());
      for (const Group& group : groups_)
        for (Index k = group.begin; k < group.end; ++k)
          arrive(level, order_[k], group.node, gates[k],
                 products_.data() + kFirstColumn * capacity_ + k);
      if (level < shape_.depth) split();
    }
  }

 private:
  // The rows order_[begin … end-1] are at one node.
  struct Group {
    Index node, begin, end;
  };

  void project(const T* nodes, const PaddedRows<T>& x, const Group& group, bool is_inner) {
    const T* block = nodes + group.node * shape_.block();
    const Index first = is_inner ? kRoute : kGate;
    in_threes(first, shape_.n_vectors(), [&](Index j, auto count) {
      const T* vectors = block + j * shape_.stride;
      T* out = products_.data() + j * capacity_;
      Index k = group.begin;
      if (x.dense() != nullptr) {
        const auto tile = [&](auto n_rows) {
          tile_dots<n_rows(), count()>(x.dense(), order_.data() + k, vectors, shape_.stride,
                                       out + k, capacity_);
          k += n_rows();
        };
        while (k + 4 <= group.end) tile(std::integral_constant<int, 4>{});
        if (k + 2 <= group.end) tile(std::integral_constant<int, 2>{});
        if (k < group.end) tile(std::integral_constant<int, 1>{});
      }
      for (; k < group.end; ++k)
        row_dots<count()>(x[order_[k]], vectors, shape_.stride, out + k, capacity_);
    });
  }

  // Sends the rows of each group on, left ones first. Which way a row goes is as good as random, so
  // every row is written to both sides, and the ends move: a wrong guess would cost more.
  void split() {
    next_groups_.clear();
    const T* routes = products_.data() + kRoute * capacity_;
    for (const Group& group : groups_) {
      Index middle = group.begin, n_right = 0;
      for (Index k = group.begin; k < group.end; ++k) {
        const Index goes_left = static_cast<Index>(routes[k] > 0);
        next_order_[middle] = right_[n_right] = order_[k];
        middle += goes_left;
        n_right += 1 - goes_left;
      }
      std::copy_n(right_.begin(), n_right, next_order_.begin() + middle);
      const Index left = 2 * group.node + 1;
      if (middle > group.begin) next_groups_.push_back({left, group.begin, middle});
      if (n_right > 0) next_groups_.push_back({left + 1, middle, group.end});
    }
    groups_.swap(next_groups_);
    order_.swap(next_order_);
  }

  TreeShape shape_;
  Index capacity_;
  std::vector<Index> order_, next_order_, right_;
  std::vector<Group> groups_, next_groups_;
  std::vector<T> products_;  // (vectors, capacity), in the order of order_
};

// Calls action(first place, rows, walk) for batches of rows begin … end-1.
template <class T, class Action>
void in_walks(const Rows<T>& rows, Index begin, Index end, const TreeShape& shape, Action action) {
  const Index capacity = std::min(walkers<T>(shape.stride), std::max(end - begin, Index(1)));
  PaddedRows<T> x(shape.stride, capacity);
  Walk<T> walk(shape, capacity);
  for (Index start = begin; start < end; start += capacity) {
    x.load(rows, std::min(capacity, end - start), [start](Index i) { return start + i; });
    action(start - begin, x, walk, capacity);
  }
}

}  // namespace detail

// Scores of rows begin … end-1 by trees with hard routing, (rows, n_trees · n_columns): one path
// per row and tree.
template <class T>
void tree_scores(const Rows<T>& rows, Index begin, Index end, const TreeShape& shape,
                 const T* nodes, Index n_trees, T* out) {
  const Index width = n_trees * shape.n_columns;
  std::fill_n(out, (end - begin) * width, T(0));
  detail::in_walks(rows, begin, end, shape,
                   [&](Index start, const auto& x, auto& walk, Index capacity) {
                     for (Index tree = 0; tree < n_trees; ++tree)
                       walk.run(nodes + tree * shape.n_nodes() * shape.block(), x,
                                [&](Index, Index i, Index, T gate, const T* linear) {
                                  T* scores = out + (start + i) * width + tree * shape.n_columns;
                                  for (Index column = 0; column < shape.n_columns; ++column)
                                    scores[column] += gate * linear[column * capacity];
                                });
                   });
}

// The gate of one tree with hard routing: the nodes of each row's path, root first, and their
// tanh(θ'·x), both (rows, depth + 1).
template <class T>
void tree_paths(const Rows<T>& rows, Index begin, Index end, const TreeShape& shape, const T* nodes,
                Column* path, T* gates) {
  detail::in_walks(rows, begin, end, shape, [&](Index start, const auto& x, auto& walk, Index) {
    walk.run(nodes, x, [&](Index level, Index i, Index node, T gate, const T*) {
      const Index place = (start + i) * (shape.depth + 1) + level;
      path[place] = static_cast<Column>(node);
      gates[place] = gate;
    });
  });
}

}  // namespace hyperlocal
