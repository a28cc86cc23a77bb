// Dual coordinate descent by parts: several threads share an epoch over one column of weights.
//
// Rows are divided into parts. An epoch has rounds; in a round each part visits some of its rows
// (dual.hpp) with weights of its own, and then all changes are added up:
//     W ← W + Σ_p ΔW_p,   ΔW_p = Σ_{i in p} Δα_i y_i z_i.
// Where parts share an anchor j, each is stiffer there: the curvature is multiplied by σ_pj ≥ 1.
// With s = √σ, rows stretched by s on weights divided by s have the same scores and σ times the
// squares, so a part visits stretched rows on weights W / s (as solvers/member.py does). The parts'
// gains then count ½ Σ_p σ_pj ‖ΔW_pj‖² where the whole counts ½ ‖Σ_p ΔW_pj‖²; the difference is
// summed up, so that the growth of D is known exactly.
//
// Parts are given, whatever the number of threads is, and the sum over parts is in their order:
// the same bits for any number of threads.
#pragma once

#include <algorithm>
#include <vector>

#include "barrier.hpp"
#include "dual.hpp"

namespace hyperlocal {

// Codes stretched by s of their row's part and anchor, and the squared norms of stretched rows, for
// a range of rows. `stretches` is n_parts × n_blocks; the last one of a row is of the offset.
template <class T>
void stretch_codes(const Lifted<T>& lifted, const T* squared_norms, const std::uint8_t* part_of,
                   const T* stretches, Range range, T* gate, T* norms) {
  const Codes<T>& codes = lifted.codes();
  const double constant = double(lifted.offset()) * double(lifted.offset());
  for (Index row = range.begin; row < range.end; ++row) {
    const T* own = stretches + part_of[row] * lifted.n_blocks();
    const Column* anchors = codes.anchors_of(row);
    const T* weights = codes.weights_of(row);
    double plain = 0, stretched = 0;
    for (Index j = 0; j < codes.k; ++j) {
      const T weight = weights[j] * own[anchors[j]];
      gate[row * codes.k + j] = weight;
      plain += double(weights[j]) * double(weights[j]);
      stretched += double(weight) * double(weight);
    }
    const double factor = plain > 0 ? stretched / plain : 1;
    const double last = constant == 0 ? 0 : own[lifted.n_anchors()];
    norms[row] =
        static_cast<T>((double(squared_norms[row]) - constant) * factor + last * last * constant);
  }
}

// Memory of the parts. Nothing that one part writes at a visit lies in a cache line of another: to
// move a line between two cores takes about as long as a visit. Of the weights, only blocks that
// several parts use are exchanged, once a round.
template <class T>
struct PartsMemory {
  T* weights;                 // n_parts × n_padded × c × (p+1): what each part visits with
  T* alpha;                   // n_parts × N × c, of which each part uses its own rows
  std::uint8_t* active;       // n_parts × N × c
  const T* stretches;         // n_parts × n_blocks
  const std::uint8_t* users;  // n_parts × n_blocks: whether a row of the part has the anchor
  Index n_parts, n_rows, n_columns, n_blocks, n_padded, block_width;
};

// One epoch, to be run by one or more threads at once. The problem is of stretched rows and has one
// group of columns; the weights of the state are those that all parts share. Its variables are not
// used: the parts have their own.
template <class T>
class PartsEpoch {
 public:
  PartsEpoch(const DualState<T>& state, const PartsMemory<T>& memory, const Index* order,
             const Index* starts, Index n_rounds, Index n_threads, ColumnReport* reports)
      : state_(state),
        memory_(memory),
        order_(order),
        starts_(starts),
        n_rounds_(n_rounds),
        n_threads_(n_threads),
        reports_(reports),
        block_size_(memory.n_columns * memory.block_width),
        parts_(memory.n_parts),
        barrier_(n_threads) {
    const Index n_parts = memory.n_parts;
    for (Index block = 0; block < memory.n_blocks; ++block) {
      Index n_users = 0;
      for (Index part = 0; part < n_parts; ++part) n_users += uses(part, block);
      if (n_users > 1) shared_.push_back(block);
    }
    for (Part& part : parts_) {
      part.base.resize(shared_.size() * block_size_);
      for (auto& changes : part.changes) changes.resize(part.base.size());
      for (auto& stiff : part.stiff) stiff.resize(shared_.size());
    }
  }

  Index n_threads() const { return n_threads_; }
  void cancel() { barrier_.cancel(); }

  // Runs the share of one thread; all must run at once. Returns whether the epoch came to its end.
  bool run(Index thread) {
    const auto each_own = [&](const auto& act) {
      for (Index part = thread; part < memory_.n_parts; part += n_threads_) act(part);
    };
    return barrier_.run([&] {
      each_own([&](Index part) { load(part); });
      for (Index round = 0; round < n_rounds_; ++round) {
        each_own([&](Index part) {
          visit(part, round);
          publish(part, round % 2);
        });
        // Changes have two places in turn: a part may write the next while others read these.
        barrier_.wait();
        each_own([&](Index part) { absorb(part, round % 2); });
      }
      barrier_.wait();
      if (thread == 0) store();
    });
  }

  // ½ Σ_j (Σ_p σ_pj ‖ΔW_pj‖² − ‖Σ_p ΔW_pj‖²) over all rounds: what D grew beyond the parts' gains.
  double excess() const { return 0.5 * parts_[0].excess; }

 private:
  // A part's copy of the shared blocks, and what it changed in a round: W's change, and
  // σ ‖ΔW_pj‖² per block.
  struct alignas(128) Part {
    std::vector<T> base;
    std::vector<T> changes[2];
    std::vector<double> stiff[2];
    std::vector<T> sums;
    double excess = 0;
  };

  bool uses(Index part, Index block) const {
    return memory_.users[part * memory_.n_blocks + block] != 0;
  }
  T shrink(Index part, Index block) const {
    return 1 / memory_.stretches[part * memory_.n_blocks + block];
  }
  T* own(Index part, Index block) const {
    return memory_.weights + (part * memory_.n_padded + block) * block_size_;
  }
  T* whole(Index block) const { return state_.weights + block * block_size_; }

  // The state with a part's own weights and variables.
  DualState<T> state_of(Index part) const {
    const Index first = part * memory_.n_rows * memory_.n_columns;
    DualState<T> state = state_;
    state.weights = own(part, 0);
    state.alpha = memory_.alpha + first;
    state.active = memory_.active + first;
    return state;
  }

  void load(Index part) {
    for (Index block = 0; block < memory_.n_blocks; ++block)
      if (uses(part, block)) scale(whole(block), shrink(part, block), own(part, block));
    for (std::size_t i = 0; i < shared_.size(); ++i)
      std::copy_n(whole(shared_[i]), block_size_, &parts_[part].base[i * block_size_]);
  }

  void store() {
    for (Index part = 0; part < memory_.n_parts; ++part)
      for (Index block = 0; block < memory_.n_blocks; ++block)
        if (uses(part, block)) std::copy_n(own(part, block), block_size_, whole(block));
    for (std::size_t i = 0; i < shared_.size(); ++i)
      std::copy_n(&parts_[0].base[i * block_size_], block_size_, whole(shared_[i]));
  }

  Visits rows_of(Index part, Index round) const {
    const Range share = Range::part_of(starts_[part + 1] - starts_[part], round, n_rounds_);
    return {order_ + starts_[part] + share.begin, share.size()};
  }

  void visit(Index part, Index round) {
    const DualState<T> state = state_of(part);
    dual_epoch(state, rows_of(part, round), {0, state.problem.n_columns}, reports_ + part);
    if (round + 1 == n_rounds_) return;
    // The first rows of the next round: their memory arrives while this thread waits.
    const Visits next = rows_of(part, round + 1);
    for (Index visit = 0; visit < std::min(next.size, DualState<T>::visits_ahead); ++visit)
      state.prefetch_visit(next, visit - DualState<T>::visits_ahead);
  }

  void publish(Index part, Index place) {
    Part& mine = parts_[part];
    for (std::size_t i = 0; i < shared_.size(); ++i) {
      if (!uses(part, shared_[i])) continue;
      mine.stiff[place][i] =
          change(&mine.base[i * block_size_], own(part, shared_[i]), shrink(part, shared_[i]),
                 &mine.changes[place][i * block_size_]);
    }
  }

  // Adds all changes to the part's copy. All parts do the same sums, so all copies are the same.
  void absorb(Index part, Index place) {
    Part& mine = parts_[part];
    std::vector<T>& sums = mine.sums;
    sums.resize(block_size_);
    for (std::size_t i = 0; i < shared_.size(); ++i) {
      T* base = &mine.base[i * block_size_];
      std::fill(sums.begin(), sums.end(), T(0));
      double stiff = 0;
      for (Index other = 0; other < memory_.n_parts; ++other) {
        if (!uses(other, shared_[i])) continue;
        stiff += parts_[other].stiff[place][i];
        const T* changes = &parts_[other].changes[place][i * block_size_];
        for (Index v = 0; v < block_size_; ++v) sums[v] += changes[v];
      }
      mine.excess += stiff - add(sums.data(), base);
      if (uses(part, shared_[i])) scale(base, shrink(part, shared_[i]), own(part, shared_[i]));
    }
  }

  void scale(const T* from, T factor, T* to) const {
    for (Index v = 0; v < block_size_; ++v) to[v] = from[v] * factor;
  }

  // to += from; returns ‖from‖².
  T add(const T* from, T* to) const {
    constexpr int n = lanes_per_register<T>;
    auto squares = Lanes<T, n>::zero();
    Index v = 0;
    for (; v + n <= block_size_; v += n) {
      const auto values = Lanes<T, n>::load(from + v);
      squares.add_product(values, values);
      auto sum = Lanes<T, n>::load(to + v);
      sum.add(values);
      sum.store(to + v);
    }
    T total = squares.sum();
    for (; v < block_size_; ++v) {
      total += from[v] * from[v];
      to[v] += from[v];
    }
    return total;
  }

  // out = (own − factor · base) · factor; returns ‖own − factor · base‖² = σ ‖ΔW‖².
  T change(const T* base, const T* own, T factor, T* out) const {
    constexpr int n = lanes_per_register<T>;
    auto squares = Lanes<T, n>::zero();
    Index v = 0;
    for (; v + n <= block_size_; v += n) {
      auto difference = Lanes<T, n>::load(own + v);
      difference.add_product(Lanes<T, n>::load(base + v), -factor);
      squares.add_product(difference, difference);
      difference.times(factor).store(out + v);
    }
    T total = squares.sum();
    for (; v < block_size_; ++v) {
      const T difference = own[v] - factor * base[v];
      total += difference * difference;
      out[v] = difference * factor;
    }
    return total;
  }

  DualState<T> state_;
  PartsMemory<T> memory_;
  const Index* order_;   // the rows of the first part, of the second, …
  const Index* starts_;  // n_parts + 1
  Index n_rounds_, n_threads_;
  ColumnReport* reports_;  // one per part
  Index block_size_;
  std::vector<Index> shared_;  // blocks that several parts use
  std::vector<Part> parts_;
  Barrier barrier_;
};

}  // namespace hyperlocal
