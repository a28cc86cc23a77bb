// From a row to its k nearest anchors and their weights γ (Σγ = 1).
//
// The caller gives the products of a block of rows with all anchors (one GEMM). They only rank the
// anchors; the distances that weights depend on are computed again for the k chosen ones, for dense
// rows from the differences v − x: x·x − 2 x·v + v·v loses all digits near an anchor, or far from
// the origin.
#pragma once

#include <algorithm>
#include <limits>

#include "rows.hpp"
#include "smallest_k.hpp"
#include "tanh.hpp"

namespace hyperlocal {

enum class Coding { hard, soft, inverse_distance, lle, llc, lcc };

struct CodingOptions {
  Coding coding;
  double beta;      // soft: γ ∝ exp(−β d); llc: penalty exp(β d)
  double ridge;     // lle, llc: added to the Gram matrix, relative to its mean diagonal
  double locality;  // llc: λ, lcc: μ
};

namespace detail {

// Solves A z = b for a symmetric positive definite k × k matrix A (destroyed); z replaces b.
inline void solve_positive_definite(double* a, double* b, Index k) {
  for (Index i = 0; i < k; ++i) {
    for (Index j = 0; j <= i; ++j) {
      double sum = a[i * k + j];
      for (Index l = 0; l < j; ++l) sum -= a[i * k + l] * a[j * k + l];
      a[i * k + j] = i == j ? std::sqrt(std::max(sum, std::numeric_limits<double>::min()))
                            : sum / a[j * k + j];
    }
  }
  for (Index i = 0; i < k; ++i) {
    for (Index l = 0; l < i; ++l) b[i] -= a[i * k + l] * b[l];
    b[i] /= a[i * k + i];
  }
  for (Index i = k - 1; i >= 0; --i) {
    for (Index l = i + 1; l < k; ++l) b[i] -= a[l * k + i] * b[l];
    b[i] /= a[i * k + i];
  }
}

inline void normalize_sum(double* gamma, Index k) {
  double sum = 0;
#pragma omp simd reduction(+ : sum)
  for (Index j = 0; j < k; ++j) sum += gamma[j];
#pragma omp simd
  for (Index j = 0; j < k; ++j) gamma[j] /= sum;
}

inline void soft_weights(const double* distances, Index k, double beta, double* gamma) {
  double nearest = distances[0];
#pragma omp simd reduction(min : nearest)
  for (Index j = 0; j < k; ++j) nearest = std::min(nearest, distances[j]);
  for (Index j = 0; j < k; ++j) gamma[j] = distances[j] - nearest;
  exp_of_negatives(gamma, k, beta);
  normalize_sum(gamma, k);
}

// γ ∝ 1/√d; a row that lies on anchors is shared by them alone.
inline void inverse_distance_weights(const double* distances, Index k, double* gamma) {
  const bool on_anchor = distances[0] <= 0;
  for (Index j = 0; j < k; ++j) {
    if (on_anchor)
      gamma[j] = distances[j] <= 0 ? 1 : 0;
    else
      gamma[j] = std::sqrt(distances[0] / distances[j]);
  }
  normalize_sum(gamma, k);
}

// min γᵀGγ + Σ_j penalty_j γ_j², Σγ = 1: solve (G + diag) z = 1, scale z.
inline void reconstruction_weights(double* gram, const double* distances, Index k,
                                   const CodingOptions& options, double* gamma) {
  double mean_diagonal = 0;
  for (Index j = 0; j < k; ++j) mean_diagonal += gram[j * k + j] / double(k);
  if (mean_diagonal <= 0) mean_diagonal = 1;  // the row lies on every one of its anchors
  for (Index j = 0; j < k; ++j) {
    double penalty = options.ridge;
    if (options.coding == Coding::llc) {
      const double locality = std::exp(options.beta * (distances[j] - distances[k - 1]));
      penalty += options.locality * locality * locality;
    }
    gram[j * k + j] += penalty * mean_diagonal;
    gamma[j] = 1;
  }
  solve_positive_definite(gram, gamma, k);
  normalize_sum(gamma, k);
}

// argmin over t of ½ a t² + g t + μ_p |p + t| + μ_q |q − t|, a ≥ 0: where the slope changes sign.
inline double best_transfer(double a, double g, double p, double mu_p, double q, double mu_q) {
  const double breaks[2] = {std::min(-p, q), std::max(-p, q)};
  const auto slope_at = [&](double t, double side) {
    const double sign_p = p + t == 0 ? side : (p + t > 0 ? 1 : -1);
    const double sign_q = q - t == 0 ? -side : (q - t > 0 ? 1 : -1);
    return a * t + g + mu_p * sign_p - mu_q * sign_q;
  };
  for (const double t : breaks) {
    if (slope_at(t, -1) > 0) {  // the minimum lies left of this break
      return a > 0 ? t - slope_at(t, -1) / a : t;
    }
    if (slope_at(t, 1) >= 0) return t;
  }
  return a > 0 ? breaks[1] - slope_at(breaks[1], 1) / a : breaks[1];
}

// min γᵀGγ + μ Σ_j |γ_j| d_j, Σγ = 1, by exact transfers of weight between pairs of anchors.
inline void lcc_weights(const double* gram, const double* distances, Index k, double mu,
                        double* gamma, double* gradient) {
  constexpr int max_sweeps = 100;
  constexpr double tolerance = 1e-10;
  for (Index j = 0; j < k; ++j) gamma[j] = j == 0 ? 1 : 0;
  for (Index j = 0; j < k; ++j) gradient[j] = 2 * gram[j * k];
  for (int sweep = 0; sweep < max_sweeps; ++sweep) {
    double largest = 0;
    for (Index p = 0; p < k; ++p) {
      for (Index q = p + 1; q < k; ++q) {
        const double curvature = gram[p * k + p] + gram[q * k + q] - 2 * gram[p * k + q];
        const double t = best_transfer(2 * std::max(curvature, 0.0), gradient[p] - gradient[q],
                                       gamma[p], mu * distances[p], gamma[q], mu * distances[q]);
        if (t == 0) continue;
        gamma[p] += t;
        gamma[q] -= t;
        for (Index j = 0; j < k; ++j) gradient[j] += 2 * t * (gram[j * k + p] - gram[j * k + q]);
        largest = std::max(largest, std::abs(t));
      }
    }
    if (largest < tolerance) break;
  }
}

// The error of an exponent of the soft gate that is too large.
constexpr double visible_error = 1e-3;

// Squared distances of one row to its chosen anchors, and (v_i − x)·(v_j − x) for pairs of them.
template <class T>
class LocalGeometry {
 public:
  LocalGeometry(const Rows<T>& rows, const T* anchors, Index n_anchors, Index k)
      : anchors_(anchors), width_(rows.width()), k_(k), norms_(n_anchors), written_(rows) {
    measure_anchors(0, n_anchors);
  }

  // To be called for anchors that moved; only sparse rows need it.
  void measure_anchors(Index begin, Index end) {
    for (Index j = begin; j < end; ++j) norms_[j] = squared_norm(anchor(j));
  }

  HYPERLOCAL_INLINE void set_row(const RowView<T>& x, const Column* chosen) {
    x_ = x;
    chosen_ = chosen;
    if (!x.is_dense()) own_ = squared_norm(x);
  }

  // To the n anchors chosen first.
  HYPERLOCAL_INLINE void squared_distances(Index n, double* out) const {
    if (x_.is_dense()) {
      const auto start = [&](Index j) { return anchors_ + chosen_[j] * width_; };
      return squared_differences(x_.values, width_, start, n, out);
    }
    for (Index j = 0; j < n; ++j) {
      const double product = exact_dot(x_, anchor(chosen_[j]).values);
      out[j] = distance_from_products(own_, norms_[chosen_[j]], product);
    }
  }

  // The same in double precision: of single-precision rows far from all anchors, distances differ
  // in their last digits only.
  void exact_distances(Index n, double* out) const {
    if (!x_.is_dense()) return;  // they are exact already
    for (Index j = 0; j < n; ++j) {
      const T* v = anchors_ + chosen_[j] * width_;
      double sum = 0;
#pragma omp simd reduction(+ : sum)
      for (Index i = 0; i < width_; ++i) {
        const double difference = double(v[i]) - double(x_.values[i]);
        sum += difference * difference;
      }
      out[j] = sum;
    }
  }

  // gram is k × k. Of differences: one of products would not be positive definite to rounding.
  void fill_gram(double* gram) {
    const T* x = written_.values_of(x_);
    differences_.resize(static_cast<std::size_t>(k_ * width_));
    for (Index j = 0; j < k_; ++j) {
      const T* v = anchors_ + chosen_[j] * width_;
      double* difference = differences_.data() + j * width_;
      for (Index i = 0; i < width_; ++i) difference[i] = double(v[i]) - double(x[i]);
    }
    for (Index i = 0; i < k_; ++i) {
      const auto row = RowView<double>::of_dense(differences_.data() + i * width_, width_);
      for (Index j = 0; j <= i; ++j)
        gram[i * k_ + j] = gram[j * k_ + i] = exact_dot(row, differences_.data() + j * width_);
    }
  }

 private:
  RowView<T> anchor(Index j) const { return RowView<T>::of_dense(anchors_ + j * width_, width_); }

  const T* anchors_;
  Index width_, k_;
  std::vector<double> norms_, differences_;
  WrittenOut<T> written_;
  RowView<T> x_{};
  const Column* chosen_ = nullptr;
  double own_ = 0;
};

// The weights of one row from its distances, nearest first.
inline void code_weights(const CodingOptions& options, const double* squared, double* gram, Index k,
                         double* gamma, double* scratch) {
  switch (options.coding) {
    case Coding::hard:
      for (Index j = 0; j < k; ++j) gamma[j] = j == 0;
      return;
    case Coding::soft:
      return soft_weights(squared, k, options.beta, gamma);
    case Coding::inverse_distance:
      return inverse_distance_weights(squared, k, gamma);
    case Coding::lle:
    case Coding::llc:
      return reconstruction_weights(gram, squared, k, options, gamma);
    case Coding::lcc:
      return lcc_weights(gram, squared, k, options.locality, gamma, scratch);
  }
}

}  // namespace detail

// What rows are coded by: anchors (m × d), and ½ v·v of each.
template <class T>
struct Coder {
  const Rows<T>& rows;
  const T* anchors;
  Index n_anchors;
  const T* half_norms;
  CodingOptions options;

  bool needs_gram() const {
    return options.coding == Coding::lle || options.coding == Coding::llc ||
           options.coding == Coding::lcc;
  }
};

// Where codes are written: of each row the k nearest anchors and some that come next, n_chosen ≥ k
// in all, and the weights and squared distances of the k nearest.
template <class T>
struct WrittenCodes {
  Index k, n_chosen;
  Column* chosen;
  T* weights;
  T* distances;
};

// Codes a range of rows. `products` holds x·v for these rows (n × m): anchors are ranked by
// ½ v·v − x·v. Both may be taken about any common origin.
template <class T>
void encode(const Coder<T>& coder, Range range, const T* products, WrittenCodes<T> out) {
  const Index n_anchors = coder.n_anchors, k = out.k;
  const bool needs_gram = coder.needs_gram();
  RowBuffer<T> buffer;
  detail::LocalGeometry<T> geometry(coder.rows, coder.anchors, n_anchors, k);
  detail::SmallestK<T> nearest(n_anchors, out.n_chosen);
  std::vector<T> keys(n_anchors);
  std::vector<double> squared(k), gamma(k), scratch(k), gram(needs_gram ? k * k : 0);
  std::vector<Column> order(out.n_chosen);
  for (Index row = range.begin; row < range.end; ++row, products += n_anchors) {
    for (Index j = 0; j < n_anchors; ++j) keys[j] = coder.half_norms[j] - products[j];
    nearest.select(keys.data(), order.data());
    geometry.set_row(coder.rows.fetch(row, buffer), order.data());
    geometry.squared_distances(k, squared.data());
    if (coder.options.coding == Coding::soft &&
        coder.options.beta * squared[0] * std::numeric_limits<T>::epsilon() > detail::visible_error)
      geometry.exact_distances(k, squared.data());
    // The ranking may be off in the last digits: sort by the distances that count.
    for (Index j = 1; j < k; ++j)
      for (Index i = j; i > 0 && squared[i] < squared[i - 1]; --i) {
        std::swap(squared[i], squared[i - 1]);
        std::swap(order[i], order[i - 1]);
      }
    if (needs_gram) geometry.fill_gram(gram.data());
    detail::code_weights(coder.options, squared.data(), gram.data(), k, gamma.data(),
                         scratch.data());
    out.chosen = std::copy(order.begin(), order.end(), out.chosen);
    for (Index j = 0; j < k; ++j) {
      *out.weights++ = static_cast<T>(gamma[j]);
      *out.distances++ = static_cast<T>(squared[j]);
    }
  }
}

}  // namespace hyperlocal
