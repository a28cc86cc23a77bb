// ML3: latent locally linear models (Fornoni, Caputo and Orabona 2013), trained by single-row SGD.
//
// A class has m linear models and is scored by the best mix of them in the unit ball of ‖·‖_p:
//
//     s_c(x) = max {β·z : β ≥ 0, ‖β‖_p ≤ 1} = ‖[z]_+‖_q,   z = W_c x,   1/p + 1/q = 1,
//     attained at β = ([z]_+ / s_c)^(q − 1).  x carries a constant 1.
//
// Minimized: α/2 ‖W‖² + the mean over rows of s_i max(0, 1 − s_y(x_i) + max_{c≠y} s_c(x_i)).
// The gradient of a score is β ⊗ x. Concave-convex: within an epoch the true class's β is that of
// the weights at the epoch's start, `held`, while the rival's is the present one; with β fixed, the
// loss is convex in W. (This is no detail: with the present β on both sides the LETTER test error
// rises from 3.5 to 4.0 %.) A true class none of whose models has a positive score is pulled up
// along a random mix.
//
// Weights are stored feature by feature, (features + 1, classes, models), the models padded with
// zeros: a row's products are then sums of whole vectors, and sparse rows read few of them.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "losses.hpp"
#include "rows.hpp"
#include "simd.hpp"

namespace hyperlocal {

struct LatentShape {
  Index n_classes;
  Index n_models;
  Index stride;  // models with their padding

  Index width() const { return n_classes * stride; }
};

// The dual exponent q ≥ 1.
struct LatentNorm {
  double q;
};

namespace detail {

template <class T>
T positive_power(T z, double q) {
  if (q == 1) return z;
  if (q == 2) return z * z;
  if (q == 3) return z * z * z;
  return static_cast<T>(std::pow(double(z), q));
}

// Σ_m (z_m / largest)^q over positive z.
template <class T, class Power>
T sum_of_powers(const T* z, Index size, T largest, Power power) {
  T sum = 0;
#pragma omp simd reduction(+ : sum)
  for (Index m = 0; m < size; ++m) {
    const T ratio = z[m] > 0 ? z[m] / largest : T(0);
    sum += power(ratio);
  }
  return sum;
}

}  // namespace detail

// ‖[z]_+‖_q, scaled by the largest entry so that no power overflows.
template <class T>
T latent_score(const T* z, Index size, const LatentNorm& norm) {
  T largest = 0;
#pragma omp simd reduction(max : largest)
  for (Index m = 0; m < size; ++m) largest = z[m] > largest ? z[m] : largest;
  if (!(largest > 0)) return 0;
  const double q = norm.q;
  if (q == 1) return largest * detail::sum_of_powers(z, size, largest, [](T r) { return r; });
  if (q == 2)
    return largest * std::sqrt(detail::sum_of_powers(z, size, largest, [](T r) { return r * r; }));
  if (q == 3)
    return largest *
           std::cbrt(detail::sum_of_powers(z, size, largest, [](T r) { return r * r * r; }));
  T sum = 0;
  for (Index m = 0; m < size; ++m)
    if (z[m] > 0) sum += static_cast<T>(std::pow(double(z[m] / largest), q));
  return largest * static_cast<T>(std::pow(double(sum), 1 / q));
}

// β of a positive score; may overwrite z.
template <class T>
void latent_gate(const T* z, Index size, T score, const LatentNorm& norm, T* beta) {
  for (Index m = 0; m < size; ++m) {
    const T ratio = z[m] / score;
    if (norm.q == 1)
      beta[m] = z[m] > 0 ? T(1) : T(0);
    else
      beta[m] = z[m] > 0 ? detail::positive_power(ratio, norm.q - 1) : T(0);
  }
}

// Scores (rows, classes) of products z (rows, classes, stride); z becomes β if requested.
template <class T>
void latent_scores(T* z, Index n_rows, const LatentShape& shape, const LatentNorm& norm,
                   bool make_gates, T* scores) {
  for (Index i = 0; i < n_rows * shape.n_classes; ++i, z += shape.stride) {
    scores[i] = latent_score(z, shape.n_models, norm);
    if (!make_gates) continue;
    if (scores[i] > 0)
      latent_gate(z, shape.n_models, scores[i], norm, z);
    else
      std::fill_n(z, shape.n_models, T(0));
  }
}

template <class T>
struct LatentProblem {
  const Rows<T>& rows;
  const Column* target;  // class of each row
  const T* costs;        // weights of rows, one on average
  Index n_models;
  LatentNorm norm;
  double alpha;
};

// Step `step · (1 − visit/n_visits)` over the whole run.
struct LatentSchedule {
  double step;
  double first_visit;
  double n_visits;
};

namespace detail {

// A stream of numbers in (0, 1] (splitmix64).
class SmallRandom {
 public:
  explicit SmallRandom(std::uint64_t seed) : state_(seed) {}
  double uniform() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15ULL);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return (double((z ^ (z >> 31)) >> 11) + 1) * 0x1.0p-53;
  }

 private:
  std::uint64_t state_;
};

// A random β ≥ 0 with ‖β‖_p = 1.
template <class T>
void random_gate(Index size, const LatentNorm& norm, SmallRandom& random, T* beta) {
  for (Index m = 0; m < size; ++m) beta[m] = static_cast<T>(random.uniform());
  const T score = latent_score(beta, size, norm);
  latent_gate(beta, size, score, norm, beta);
}

template <int n, class T>
void latent_products_chunk(const RowView<T>& x, Index n_features, const T* weights, Index width,
                           T* z) {
  constexpr int lanes = lanes_per_register<T>;
  Lanes<T, lanes> sums[n];
  const T* constant = weights + n_features * width;
  for (int r = 0; r < n; ++r) sums[r] = Lanes<T, lanes>::load(constant + r * lanes);
  for (Index v = 0; v < x.size; ++v) {
    const T* w = weights + (x.is_dense() ? v : Index(x.columns[v])) * width;
    for (int r = 0; r < n; ++r)
      sums[r].add_product(Lanes<T, lanes>::load(w + r * lanes), x.values[v]);
  }
  for (int r = 0; r < n; ++r) sums[r].store(z + r * lanes);
}

// z = W x for the first `size` of `width` models, a multiple of a register.
template <class T>
void latent_products(const RowView<T>& x, Index n_features, const T* weights, Index width,
                     Index size, T* z) {
  constexpr Index lanes = lanes_per_register<T>;
  Index j = 0;
  for (; j + 8 * lanes <= size; j += 8 * lanes)
    latent_products_chunk<8>(x, n_features, weights + j, width, z + j);
  for (; j < size; j += lanes) latent_products_chunk<1>(x, n_features, weights + j, width, z + j);
}

// W_c += factor · β ⊗ [x, 1]
template <class T>
void add_outer(const RowView<T>& x, Index n_features, const T* beta, Index stride, T factor,
               T* weights, Index width) {
  for (Index v = 0; v < x.size; ++v) {
    const Index feature = x.is_dense() ? v : Index(x.columns[v]);
    add_scaled(beta, stride, factor * x.values[v], weights + feature * width);
  }
  add_scaled(beta, stride, factor, weights + n_features * width);
}

}  // namespace detail

// Visits rows; returns the sum of weighted losses before each step. The weights are
// stored as scale · V in between, so that their decay costs nothing.
template <class T>
double latent_epoch(const LatentProblem<T>& problem, const LatentShape& shape,
                    const LatentSchedule& schedule, Visits visits, std::uint64_t seed,
                    const T* held, T* weights) {
  const Index n_features = problem.rows.width(), width = shape.width();
  RowBuffer<T> buffer;
  std::vector<T> z(width), scores(shape.n_classes), beta(shape.stride, T(0));
  detail::SmallRandom random(seed);
  double scale = 1, loss = 0;
  const auto fold_scale = [&] {
    const T factor = static_cast<T>(scale);
    for (Index v = 0; v < (n_features + 1) * width; ++v) weights[v] *= factor;
    scale = 1;
  };
  const auto move = [&](Index c, const RowView<T>& x, double step) {
    detail::add_outer(x, n_features, beta.data(), shape.stride, static_cast<T>(step / scale),
                      weights + c * shape.stride, width);
  };
  const auto hold_gate = [&](Index c, const RowView<T>& x) {
    T* products = z.data() + c * shape.stride;
    detail::latent_products(x, n_features, held + c * shape.stride, width, shape.stride, products);
    const T score = latent_score(products, shape.n_models, problem.norm);
    if (score > 0)
      latent_gate(products, shape.n_models, score, problem.norm, beta.data());
    else
      detail::random_gate(shape.n_models, problem.norm, random, beta.data());
  };
  for (Index visit = 0; visit < visits.size; ++visit) {
    if (visit + 6 < visits.size) problem.rows.prefetch_row(visits[visit + 6]);
    const Index row = visits[visit];
    const RowView<T> x = problem.rows.fetch(row, buffer);
    detail::latent_products(x, n_features, weights, width, width, z.data());
    for (Index c = 0; c < shape.n_classes; ++c)
      scores[c] = latent_score(z.data() + c * shape.stride, shape.n_models, problem.norm);
    const Index truth = problem.target[row];
    const Index rival = best_rival(scores.data(), shape.n_classes, truth);
    const double slack = 1 - scale * (double(scores[truth]) - double(scores[rival]));
    const double rate =
        schedule.step * (1 - (schedule.first_visit + double(visit)) / schedule.n_visits);
    scale *= 1 - rate * problem.alpha;
    if (slack > 0) {
      const double step = rate * double(problem.costs[row]);
      loss += double(problem.costs[row]) * slack;
      if (scores[rival] > 0) {
        latent_gate(z.data() + rival * shape.stride, shape.n_models, scores[rival], problem.norm,
                    beta.data());
        move(rival, x, -step);
      }
      hold_gate(truth, x);
      move(truth, x, step);
    }
    if (scale < 1e-3) fold_scale();
  }
  fold_scale();
  return loss;
}

}  // namespace hyperlocal
