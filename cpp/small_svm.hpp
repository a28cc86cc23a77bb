// A kernel SVM on a few rows, by sequential minimal optimization with second-order working sets
// (Fan, Chen and Lin 2005); the objective, the tolerance and the bias are those of LIBSVM's C-SVC
// and ε-SVR.
#pragma once

#include <algorithm>
#include <cassert>
#include <limits>
#include <vector>

#include "rows.hpp"

namespace hyperlocal {

// max p·β − ½ βᵀKβ,  Σβ = 0,  lowest_i ≤ β_i ≤ highest_i. Of classes β_i = y_i α_i, p = y, and β_i is
// between 0 and y_i C_i. Of values each row has two variables: p = y − ε, between 0 and C_i, and
// p = y + ε, between −C_i and 0. The gradient is g = p − Kβ, and β is optimal when no g of a β that
// may grow exceeds one of a β that may shrink. A step goes over the rows twice: once for its
// partner, once to move the gradient and find the next candidates on the way.
class SmallSvm {
 public:
  explicit SmallSvm(Index n)
      : beta_(n),
        gradient_(n),
        lowest_(n),
        highest_(n),
        if_growing_(n),
        if_shrinking_(n),
        diagonal_(n),
        gains_(n) {}

  // Sets p and the bounds of one variable, before `solve`.
  void set(Index i, double pull, double lowest, double highest) {
    gradient_[i] = pull;
    lowest_[i] = lowest;
    highest_[i] = highest;
  }

  // `gram` is n × n with rows `stride` apart. Returns whether it converged.
  bool solve(const double* gram, Index stride, Index n, double tol, Index max_steps) {
    assert(n <= static_cast<Index>(beta_.size()) && n <= stride);
    for (Index i = 0; i < n; ++i) {
      beta_[i] = 0;
      diagonal_[i] = gram[i * stride + i];
      note_room(i);
    }
    move_gradient(gram, gram, 0, n);
    for (Index step = 0; step < max_steps && largest_growing_ - smallest_shrinking_ > tol; ++step)
      if (!improve(gram, stride, n)) break;
    bias_ = find_bias(n);
    return !(largest_growing_ - smallest_shrinking_ > tol);
  }

  const double* beta() const { return beta_.data(); }
  double bias() const { return bias_; }

 private:
  static constexpr double infinity = std::numeric_limits<double>::infinity();
  static constexpr double least_curvature = 1e-12;

  // The first l that `is(l)` holds for, or n. Chunks of a known length are passed over at once.
  template <class Is>
  HYPERLOCAL_INLINE static Index first_of(Index n, const Is& is) {
    constexpr Index chunk = 16;
    Index l = 0;
    for (; l + chunk <= n; l += chunk) {
      int n_found = 0;
#pragma omp simd reduction(+ : n_found)
      for (Index lane = 0; lane < chunk; ++lane) n_found += is(l + lane) ? 1 : 0;
      if (n_found > 0) break;
    }
    while (l < n && !is(l)) ++l;
    return l;
  }

  // What is added to a gradient so that it does not count where β is at its bound.
  void note_room(Index i) {
    if_growing_[i] = beta_[i] < highest_[i] ? 0 : -infinity;
    if_shrinking_[i] = beta_[i] > lowest_[i] ? 0 : infinity;
  }

  // g −= moved (row_i − row_j); the extremes of what may grow and what may shrink follow.
  HYPERLOCAL_INLINE void move_gradient(const double* row_i, const double* row_j, double moved,
                                       Index n) {
    double largest = -infinity, smallest = infinity;
    double* gradient = gradient_.data();
    const double *growing = if_growing_.data(), *shrinking = if_shrinking_.data();
#pragma omp simd reduction(max : largest) reduction(min : smallest)
    for (Index l = 0; l < n; ++l) {
      const double g = gradient[l] - moved * (row_i[l] - row_j[l]);
      gradient[l] = g;
      const double up = g + growing[l], down = g + shrinking[l];
      largest = up > largest ? up : largest;
      smallest = down < smallest ? down : smallest;
    }
    largest_growing_ = largest;
    smallest_shrinking_ = smallest;
  }

  // Moves weight from one row to another, where it gains most; false if there is no such pair.
  HYPERLOCAL_INLINE bool improve(const double* gram, Index stride, Index n) {
    const double largest = largest_growing_;
    const double *gradient = gradient_.data(), *shrinking = if_shrinking_.data();
    const double *growing = if_growing_.data(), *diagonal = diagonal_.data();
    const Index i = first_of(n, [=](Index l) { return gradient[l] + growing[l] == largest; });
    if (i == n) return false;  // kernel values that are no numbers
    const double *row_i = gram + i * stride, own = row_i[i];

    double best = 0;
    double* gains = gains_.data();
#pragma omp simd reduction(max : best)
    for (Index j = 0; j < n; ++j) {
      const double difference = largest - (gradient[j] + shrinking[j]);
      const double curvature = own + diagonal[j] - 2 * row_i[j];
      const double bounded = curvature > least_curvature ? curvature : least_curvature;
      const double positive = difference > 0 ? difference : 0;
      const double gain = positive * positive / bounded;
      gains[j] = gain;
      best = gain > best ? gain : best;
    }
    const Index j = first_of(n, [=](Index l) { return gains[l] == best; });
    if (j == n || best == 0) return false;

    const double* row_j = gram + j * stride;
    const double curvature = own + diagonal_[j] - 2 * row_i[j];
    const double room_i = highest_[i] - beta_[i], room_j = beta_[j] - lowest_[j];
    const double wanted = (largest - gradient_[j]) / std::max(curvature, least_curvature);
    const double moved = std::min(wanted, std::min(room_i, room_j));
    beta_[i] = moved == room_i ? highest_[i] : beta_[i] + moved;
    beta_[j] = moved == room_j ? lowest_[j] : beta_[j] - moved;
    note_room(i);
    note_room(j);
    move_gradient(row_i, row_j, moved, n);
    return true;
  }

  // Where the margins of the free rows lie, or the middle of what the others allow.
  double find_bias(Index n) const {
    double sum = 0;
    Index n_free = 0;
    for (Index i = 0; i < n; ++i) {
      if (beta_[i] > lowest_[i] && beta_[i] < highest_[i]) {
        sum += gradient_[i];
        ++n_free;
      }
    }
    if (n_free > 0) return sum / double(n_free);
    return 0.5 * (largest_growing_ + smallest_shrinking_);
  }

  std::vector<double> beta_, gradient_, lowest_, highest_, if_growing_, if_shrinking_, diagonal_;
  std::vector<double> gains_;
  double largest_growing_ = 0, smallest_shrinking_ = 0, bias_ = 0;
};

}  // namespace hyperlocal
