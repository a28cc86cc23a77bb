// A kernel SVM on a few rows, by sequential minimal optimisation with second-order working sets
// (Fan, Chen and Lin 2005); the objective, the tolerance and the bias are those of LIBSVM's C-SVC.
#pragma once

#include <algorithm>
#include <limits>
#include <vector>

#include "rows.hpp"

namespace hyperlocal {

// With β_i = y_i α_i:  max y·β − ½ βᵀKβ,  Σβ = 0,  β_i between 0 and y_i C_i. The gradient is
// g = y − Kβ, and β is optimal when no g of a β that may grow exceeds one of a β that may shrink.
class SmallSvm {
 public:
  explicit SmallSvm(Index n)
      : beta_(n), gradient_(n), lowest_(n), highest_(n), diagonal_(n), gains_(n) {}

  // `gram` is n × n with rows `stride` apart, `y` holds ±1. Returns whether it converged.
  bool solve(const double* gram, Index stride, Index n, const double* y, const double* costs,
             double tol, Index max_steps) {
    for (Index i = 0; i < n; ++i) {
      beta_[i] = 0;
      gradient_[i] = y[i];
      lowest_[i] = y[i] < 0 ? -costs[i] : 0;
      highest_[i] = y[i] < 0 ? 0 : costs[i];
      diagonal_[i] = gram[i * stride + i];
    }
    bool converged = false;
    for (Index step = 0; step < max_steps && !converged; ++step)
      converged = !improve(gram, stride, n, tol);
    converged = converged || !(largest_growing(n) - smallest_shrinking(n) > tol);
    bias_ = find_bias(n);
    return converged;
  }

  const double* beta() const { return beta_.data(); }
  double bias() const { return bias_; }

 private:
  static constexpr double infinity = std::numeric_limits<double>::infinity();
  static constexpr double least_curvature = 1e-12;

  double largest_growing(Index n) const {
    double largest = -infinity;
#pragma omp simd reduction(max : largest)
    for (Index i = 0; i < n; ++i) {
      const double value = beta_[i] < highest_[i] ? gradient_[i] : -infinity;
      largest = value > largest ? value : largest;
    }
    return largest;
  }

  double smallest_shrinking(Index n) const {
    double smallest = infinity;
#pragma omp simd reduction(min : smallest)
    for (Index i = 0; i < n; ++i) {
      const double value = beta_[i] > lowest_[i] ? gradient_[i] : infinity;
      smallest = value < smallest ? value : smallest;
    }
    return smallest;
  }

  // Moves weight from one row to another, where it gains most; false at the optimum.
  HYPERLOCAL_INLINE bool improve(const double* gram, Index stride, Index n, double tol) {
    const double largest = largest_growing(n);
    if (!(largest - smallest_shrinking(n) > tol)) return false;
    Index i = 0;
    while (i < n && !(beta_[i] < highest_[i] && gradient_[i] == largest)) ++i;
    if (i == n) return false;  // kernel values that are no numbers
    const double* row_i = gram + i * stride;

    double best = 0;
#pragma omp simd reduction(max : best)
    for (Index j = 0; j < n; ++j) {
      const double difference = largest - gradient_[j];
      const double curvature = diagonal_[i] + diagonal_[j] - 2 * row_i[j];
      const double bounded = curvature > least_curvature ? curvature : least_curvature;
      const double gain = difference * difference / bounded;
      const double allowed = beta_[j] > lowest_[j] && difference > 0 ? gain : -infinity;
      gains_[j] = allowed;
      best = allowed > best ? allowed : best;
    }
    Index j = 0;
    while (j < n && gains_[j] != best) ++j;
    if (j == n) return false;

    const double* row_j = gram + j * stride;
    const double curvature = diagonal_[i] + diagonal_[j] - 2 * row_i[j];
    const double room_i = highest_[i] - beta_[i], room_j = beta_[j] - lowest_[j];
    const double wanted = (largest - gradient_[j]) / std::max(curvature, least_curvature);
    const double moved = std::min(wanted, std::min(room_i, room_j));
    beta_[i] = moved == room_i ? highest_[i] : beta_[i] + moved;
    beta_[j] = moved == room_j ? lowest_[j] : beta_[j] - moved;
#pragma omp simd
    for (Index l = 0; l < n; ++l) gradient_[l] -= moved * (row_i[l] - row_j[l]);
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
    return 0.5 * (largest_growing(n) + smallest_shrinking(n));
  }

  std::vector<double> beta_, gradient_, lowest_, highest_, diagonal_, gains_;
  double bias_ = 0;
};

}  // namespace hyperlocal
