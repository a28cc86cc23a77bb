// The losses of a margin u = y·f(x), or of a residual, their dual step and their share of the
// duality gap.
//
// For row i with cost C_i = C·s_i, primal and dual read (one column of weights)
//     P(w) = ½‖w‖² + Σ_i C_i ℓ(u_i),     D(α) = −½‖Σ_i α_i y_i z_i‖² − Σ_i C_i ℓ*(−α_i/C_i).
// With w = Σ_i α_i y_i z_i, P − D = Σ_i [C_i ℓ(u_i) + α_i u_i + C_i ℓ*(−α_i/C_i)]: each row's
// share is computed from its own margin, and none is negative.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace hyperlocal {

enum class Loss { hinge, squared_hinge, log };

inline double softplus(double z) {
  return z > 0 ? z + std::log1p(std::exp(-z)) : std::log1p(std::exp(z));
}

inline double loss_value(Loss loss, double margin) {
  switch (loss) {
    case Loss::hinge:
      return std::max(0.0, 1 - margin);
    case Loss::squared_hinge: {
      const double slack = std::max(0.0, 1 - margin);
      return slack * slack;
    }
    case Loss::log:
      return softplus(-margin);
  }
  return 0;
}

// −ℓ'(u), which is never negative.
inline double loss_pull(Loss loss, double margin) {
  switch (loss) {
    case Loss::hinge:
      return margin < 1 ? 1 : 0;
    case Loss::squared_hinge:
      return 2 * std::max(0.0, 1 - margin);
    case Loss::log:
      return 1 / (1 + std::exp(margin));
  }
  return 0;
}

// The class with the largest score besides the true one.
template <class T>
std::int64_t best_rival(const T* scores, std::int64_t n_classes, std::int64_t truth) {
  std::int64_t rival = truth == 0 ? 1 : 0;
  for (std::int64_t c = 0; c < n_classes; ++c)
    if (c != truth && scores[c] > scores[rival]) rival = c;
  return rival;
}

// pulls[c] = −∂ℓ/∂f_c of one row, for columns begin … end-1 of one-vs-rest.
template <class T>
void one_vs_rest_pulls(Loss loss, const T* scores, std::int64_t begin, std::int64_t end,
                       std::int64_t truth, T* pulls) {
  for (std::int64_t c = begin; c < end; ++c) {
    const double label = c == truth ? 1 : -1;
    pulls[c] = static_cast<T>(label * loss_pull(loss, label * double(scores[c])));
  }
}

// The same for Crammer–Singer: the true class and its best rival have opposite ones.
template <class T>
void crammer_singer_pulls(Loss loss, const T* scores, std::int64_t n_classes, std::int64_t truth,
                          T* pulls) {
  const std::int64_t rival = best_rival(scores, n_classes, truth);
  std::fill_n(pulls, n_classes, T(0));
  pulls[truth] = static_cast<T>(loss_pull(loss, double(scores[truth]) - double(scores[rival])));
  pulls[rival] = -pulls[truth];
}

// C ℓ*(−α/C).
inline double conjugate_value(Loss loss, double alpha, double cost) {
  switch (loss) {
    case Loss::hinge:
      return -alpha;
    case Loss::squared_hinge:
      return -alpha + alpha * alpha / (4 * cost);
    case Loss::log: {
      const double share = alpha / cost;
      const auto xlogx = [](double x) { return x > 0 ? x * std::log(x) : 0.0; };
      return cost * (xlogx(share) + xlogx(1 - share));
    }
  }
  return 0;
}

// Written so that nothing cancels: the shares of the hinge losses are exactly zero at the optimum.
inline double gap_share(Loss loss, double alpha, double margin, double cost) {
  const double slack = 1 - margin;
  switch (loss) {
    case Loss::hinge:
      return slack > 0 ? (cost - alpha) * slack : -alpha * slack;
    case Loss::squared_hinge: {
      const double residual = slack - alpha / (2 * cost);
      return slack > 0 ? cost * residual * residual : -alpha * slack + alpha * alpha / (4 * cost);
    }
    case Loss::log:
      return std::max(0.0, cost * loss_value(loss, margin) + alpha * margin +
                               conjugate_value(loss, alpha, cost));
  }
  return 0;
}

// The derivative of −D in α where it exists (hinge losses).
inline double dual_gradient(Loss loss, double alpha, double margin, double cost) {
  return margin - 1 + (loss == Loss::squared_hinge ? alpha / (2 * cost) : 0);
}

// Log loss: the root of q(C σ(z) − α) + u + z, increasing in z; returns the new α = C σ(z).
inline double log_dual_optimum(double alpha, double margin, double q, double cost) {
  double low = -margin - q * (cost - alpha);
  double high = -margin + q * alpha;
  double z = std::min(std::max(-margin, low), high);
  for (int iteration = 0; iteration < 50; ++iteration) {
    const double sigma = 1 / (1 + std::exp(-z));
    const double value = q * (cost * sigma - alpha) + margin + z;
    if (std::abs(value) < 1e-12 * (1 + std::abs(z))) break;
    (value > 0 ? high : low) = z;
    z -= value / (1 + q * cost * sigma * (1 - sigma));
    if (!(z > low && z < high)) z = 0.5 * (low + high);
  }
  return cost / (1 + std::exp(-z));
}

// The α that maximizes D along its own coordinate; q = ‖z_i‖².
inline double dual_optimum(Loss loss, double alpha, double margin, double q, double cost) {
  if (loss == Loss::log) return log_dual_optimum(alpha, margin, q, cost);
  const double gradient = dual_gradient(loss, alpha, margin, cost);
  const double curvature = q + (loss == Loss::squared_hinge ? 1 / (2 * cost) : 0);
  const double moved = alpha - gradient / std::max(curvature, 1e-300);
  return std::max(0.0, loss == Loss::hinge ? std::min(moved, cost) : moved);
}

// How D grows when α becomes `next`; q = ‖z_i‖².
template <class AnyLoss>
double dual_gain(const AnyLoss& loss, double alpha, double next, double margin, double q,
                 double cost) {
  const double step = next - alpha;
  return -step * margin - 0.5 * q * step * step - conjugate_value(loss, next, cost) +
         conjugate_value(loss, alpha, cost);
}

// A loss of the residual r = y − f(x), by its conjugate: with a dual variable α per row,
//     C L*(α/C) = ε|α| + κ α²/(4C),   C·lower ≤ α ≤ C·upper,   L(r) = max_b b r − L*(b).
// κ = 0: ε-insensitive with bounds ∓1, pinball of the quantile q with ε = 0 and bounds q − 1, q.
// κ = 1: squared ε-insensitive without bounds, squared with ε = 0, Huber with bounds ∓2δ too.
// All formulas above hold with u = f − y in place of the margin, w = Σ_i α_i z_i and lower < 0 <
// upper.
struct ResidualLoss {
  double epsilon;
  double curvature;
  double lower;
  double upper;

  // Compared as floats, so that a variable of single precision can be at a bound.
  bool at_lower(double alpha, double cost) const { return float(alpha) <= float(cost * lower); }
  bool at_upper(double alpha, double cost) const { return float(alpha) >= float(cost * upper); }
};

// L'(r), the b where the maximum is attained.
inline double loss_pull(const ResidualLoss& loss, double u) {
  const double beyond = u < 0 ? std::max(0.0, -u - loss.epsilon) : std::min(0.0, loss.epsilon - u);
  if (loss.curvature > 0)
    return std::min(std::max(2 * beyond / loss.curvature, loss.lower), loss.upper);
  return beyond > 0 ? loss.upper : beyond < 0 ? loss.lower : 0;
}

inline double loss_value(const ResidualLoss& loss, double u) {
  const double b = loss_pull(loss, u);
  return -b * u - loss.epsilon * std::abs(b) - 0.25 * loss.curvature * b * b;
}

inline double conjugate_value(const ResidualLoss& loss, double alpha, double cost) {
  return loss.epsilon * std::abs(alpha) + 0.25 * loss.curvature * alpha * alpha / cost;
}

// C (L(r) − b r + L*(b)) with b = α/C, as differences from the b' = L'(r) of the maximum.
inline double gap_share(const ResidualLoss& loss, double alpha, double u, double cost) {
  const double b = alpha / cost, best = loss_pull(loss, u);
  const double share = (best - b) * (-u - 0.25 * loss.curvature * (best + b)) -
                       loss.epsilon * (std::abs(best) - std::abs(b));
  return std::max(0.0, cost * share);
}

// The derivative of −D but for that of ε|α|, which has two at zero.
inline double dual_gradient(const ResidualLoss& loss, double alpha, double u, double cost) {
  return u + 0.5 * loss.curvature * alpha / cost;
}

inline double dual_optimum(const ResidualLoss& loss, double alpha, double u, double q,
                           double cost) {
  const double curvature = std::max(q + 0.5 * loss.curvature / cost, 1e-300);
  const double free = q * alpha - u;
  const double beyond = std::max(0.0, std::abs(free) - loss.epsilon) / curvature;
  return std::min(std::max(std::copysign(beyond, free), cost * loss.lower), cost * loss.upper);
}

}  // namespace hyperlocal
