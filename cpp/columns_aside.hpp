// Weights with their columns side by side, and scores of all columns at once.
//
// Where columns lie one after the other, a score is a dot product per column: it ends in a sum
// across a register, which takes long for a short row, and a sparse row jumps from number to number
// in each column anew. Side by side, a number of the row meets whole registers of columns.
#pragma once

#include <algorithm>
#include <vector>

#include "lifted.hpp"

namespace hyperlocal {

// Some columns' weights, n_blocks × (p+1) × c: block, feature, column.
template <class T>
class ColumnsAside {
 public:
  static constexpr int lanes = lanes_per_register<T>;

  // Whether so many visits take less time, that of rearranging the weights included. (26 columns of
  // 16 features took 135 instead of 350 ns per row, 10 of 50 features 180 instead of 230; longer
  // dense rows gain nothing.)
  static bool is_faster(const Lifted<T>& lifted, Index n_visits, Index n_columns) {
    if (n_columns <= 2) return false;
    if (lifted.rows().is_dense())
      return lifted.block_width() <= widest && n_visits >= lifted.n_blocks();
    const double read = double(lifted.codes().k) * (lifted.rows().mean_size() + 1);
    const double moved = double(lifted.n_blocks()) * double(lifted.block_width());
    return double(n_visits) * read >= reads_per_move * moved;
  }

  ColumnsAside(const Lifted<T>& lifted, Index n_columns, Range columns)
      : lifted_(lifted),
        n_all_(n_columns),
        columns_(columns),
        n_(columns.size()),
        width_(lifted.block_width()) {}

  void load(const T* weights) {
    // Scores read whole registers, up to four, and do not use what is beyond the last column.
    numbers_.assign(lifted_.n_blocks() * width_ * n_ + most_registers * lanes, T(0));
    move([&](Index aside, Index stored) { numbers_[aside] = weights[stored]; });
  }
  void store(T* weights) const {
    move([&](Index aside, Index stored) { weights[stored] = numbers_[aside]; });
  }
  T* numbers() { return numbers_.data(); }

  // lifted_i · W_c, a number per column.
  HYPERLOCAL_INLINE void scores(Index row, const RowView<T>& x, T* out) const {
    for (Index first = 0; first < n_; first += most_registers * lanes) {
      const Index n = std::min<Index>(most_registers * lanes, n_ - first);
      if (n > 2 * lanes)
        add_anchors<4, 2>(row, x, first, n, out + first);
      else if (n > lanes)
        add_anchors<2, 4>(row, x, first, n, out + first);
      else
        add_anchors<1, 8>(row, x, first, n, out + first);
    }
  }

  // W_c += steps[c] · lifted_i.
  HYPERLOCAL_INLINE void add(Index row, const RowView<T>& x, const T* steps) {
    Index first = 0;
    for (; first + lanes <= n_; first += lanes) add_columns<lanes>(row, x, steps, first);
    if (first + lanes / 2 <= n_) {
      add_columns<lanes / 2>(row, x, steps, first);
      first += lanes / 2;
    }
    for (; first < n_; ++first) add_columns<1>(row, x, steps, first);
  }

  // Calls act(start, n_inner, n_biases) for each block of numbers: the last ones are biases.
  template <class Action>
  void for_each_block(Action act) const {
    for (Index block = 0; block < lifted_.n_blocks(); ++block)
      act(block * width_ * n_, (width_ - 1) * n_, n_);
  }

 private:
  using Register = Lanes<T, lanes>;
  static constexpr int most_registers = 4;
  static constexpr Index widest = 64;
  static constexpr double reads_per_move = 4;

  template <class Action>
  void move(Action act) const {
    for (Index block = 0; block < lifted_.n_blocks(); ++block)
      for (Index column = 0; column < n_; ++column) {
        const Index stored = (block * n_all_ + columns_.begin + column) * width_;
        const Index aside = block * width_ * n_ + column;
        for (Index v = 0; v < width_; ++v) act(aside + v * n_, stored + v);
      }
  }

  const T* block_of(Index anchor, Index first) const {
    return numbers_.data() + anchor * width_ * n_ + first;
  }

  // Columns first … first + n - 1 of one row, which some registers hold; so many anchors at a time
  // that additions do not wait for each other.
  template <int n_registers, int n_together>
  HYPERLOCAL_INLINE void add_anchors(Index row, const RowView<T>& x, Index first, Index n,
                                     T* out) const {
    const Index k = lifted_.codes().k;
    Register sums[n_registers];
    for (auto& sum : sums) sum = Register::zero();
    Index j = 0;
    for (; j + n_together <= k; j += n_together)
      add_blocks<n_registers, n_together>(row, j, x, first, sums);
    for (; j < k; ++j) add_blocks<n_registers, 1>(row, j, x, first, sums);
    T written[n_registers * lanes];
    for (int i = 0; i < n_registers; ++i) sums[i].store(written + i * lanes);
    std::copy_n(written, n, out);
    if (lifted_.offset() == 0) return;
    const T* global = block_of(lifted_.n_anchors(), first) + (width_ - 1) * n_;
    for (Index i = 0; i < n; ++i) out[i] += lifted_.offset() * global[i];
  }

  template <int n_registers, int n_together>
  HYPERLOCAL_INLINE void add_blocks(Index row, Index j, const RowView<T>& x, Index first,
                                    Register* sums) const {
    const Column* anchors = lifted_.codes().anchors_of(row) + j;
    const T* mix = lifted_.codes().weights_of(row) + j;
    const T* blocks[n_together];
    Register own[n_together][n_registers];
    for (int a = 0; a < n_together; ++a) {
      blocks[a] = block_of(anchors[a], first);
      for (auto& sum : own[a]) sum = Register::zero();
    }
    each_number(x, [&](Index place, T value) {
      for (int a = 0; a < n_together; ++a)
        for (int i = 0; i < n_registers; ++i)
          own[a][i].add_product(Register::load(blocks[a] + place + i * lanes), value);
    });
    for (int a = 0; a < n_together; ++a)
      for (int i = 0; i < n_registers; ++i) sums[i].add_product(own[a][i], mix[a]);
  }

  // The step of some columns, which lie in one register.
  template <int n>
  HYPERLOCAL_INLINE void add_columns(Index row, const RowView<T>& x, const T* steps, Index first) {
    steps += first;
    if (std::all_of(steps, steps + n, [](T step) { return step == 0; })) return;
    const auto own = Lanes<T, n>::load(steps);
    const auto add_to = [&](T* numbers, const Lanes<T, n>& scaled, T value) {
      auto sum = Lanes<T, n>::load(numbers);
      sum.add_product(scaled, value);
      sum.store(numbers);
    };
    const Column* anchors = lifted_.codes().anchors_of(row);
    const T* mix = lifted_.codes().weights_of(row);
    for (Index j = 0; j < lifted_.codes().k; ++j) {
      if (mix[j] == 0) continue;
      T* block = numbers_.data() + anchors[j] * width_ * n_ + first;
      const auto scaled = own.times(mix[j]);
      each_number(x, [&](Index place, T value) { add_to(block + place, scaled, value); });
    }
    if (lifted_.offset() == 0) return;
    T* global = numbers_.data() + ((lifted_.n_anchors() + 1) * width_ - 1) * n_ + first;
    add_to(global, own, lifted_.offset());
  }

  // Calls act(place, value) for each number of [x; bias], and where its columns start in a block.
  template <class Action>
  HYPERLOCAL_INLINE void each_number(const RowView<T>& x, Action act) const {
    if (x.is_dense())
      for (Index v = 0; v < x.size; ++v) act(v * n_, x.values[v]);
    else
      for (Index v = 0; v < x.size; ++v) act(x.columns[v] * n_, x.values[v]);
    act((width_ - 1) * n_, lifted_.bias());
  }

  const Lifted<T>& lifted_;
  Index n_all_;
  Range columns_;
  Index n_, width_;
  std::vector<T> numbers_;
};

// scores[i, c] = lifted_i · W_c for the rows in a range; `scores` starts at its first row.
template <class T>
void lifted_scores(const Lifted<T>& lifted, Range range, const T* weights, Index n_columns,
                   T* scores) {
  RowBuffer<T> buffer;
  if (ColumnsAside<T>::is_faster(lifted, range.size(), n_columns)) {
    ColumnsAside<T> aside(lifted, n_columns, {0, n_columns});
    aside.load(weights);
    for (Index row = range.begin; row < range.end; ++row, scores += n_columns)
      aside.scores(row, lifted.fetch(row, buffer), scores);
    return;
  }
  for (Index row = range.begin; row < range.end; ++row) {
    const RowView<T> x = lifted.fetch(row, buffer);
    for (Index column = 0; column < n_columns; ++column)
      *scores++ = lifted.dot(row, x, weights, n_columns, column);
  }
}

}  // namespace hyperlocal
