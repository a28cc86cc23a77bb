// The gate as a function of anchors that move.
//
// With s_jc = W_jc·[φ; B] the score of anchor j, the loss L of a row has, for the soft gate,
//     p_j = ∂L/∂γ_j,   ℓ_j = γ_j (p_j − Σ_l γ_l p_l),   ∂L/∂v_j = 2β ℓ_j (x − v_j)
// (LLC-SAPL, equations 13–16, regrouped). `MovingGate` is that chain; the descents compute p.
//
// Which k anchors are a row's neighbors is decided between epochs, by `recode_rows`: besides them a
// row has some anchors in reserve, the next nearest ones of the last search among all anchors, and
// those that have come nearer replace neighbors that have moved away.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "coding.hpp"
#include "rows.hpp"
#include "simd.hpp"

namespace hyperlocal {

namespace detail {

// out += factor · (x − v); out may be v.
template <class T>
void add_difference(const RowView<T>& x, Index width, T factor, const T* v, T* out) {
  if (x.is_dense()) {
    add_scaled_difference(x.values, v, width, factor, out);
  } else {
    for (Index i = 0; i < width; ++i) out[i] -= factor * v[i];
    for (Index i = 0; i < x.size; ++i) out[x.columns[i]] += factor * x.values[i];
  }
}

// Faster than to search for the index.
inline double smallest(const std::vector<double>& values) {
  double found = std::numeric_limits<double>::infinity();
#pragma omp simd reduction(min : found)
  for (std::size_t i = 0; i < values.size(); ++i) found = std::min(found, values[i]);
  return found;
}

inline double largest(const std::vector<double>& values) {
  double found = -std::numeric_limits<double>::infinity();
#pragma omp simd reduction(max : found)
  for (std::size_t i = 0; i < values.size(); ++i) found = std::max(found, values[i]);
  return found;
}

}  // namespace detail

template <class T>
struct MovingGate {
  const Rows<T>& places;  // rows in the gate's space
  T* anchors;             // m × d
  Index n_anchors;
  Index k;
  Column* neighbors;   // N × k
  T* codes;            // N × k, the weights γ that the lifted rows read
  T* squared_norms;    // ‖lifted_i‖²
  const T* row_norms;  // ‖[φ_i; B]‖²
  double beta;
  bool normalize;  // lifted rows of norm one

  // γ from squared distances into `gamma`; returns what the lifted row multiplies it by.
  double weigh(Index row, const double* squared, double* gamma) const {
    detail::soft_weights(squared, k, beta, gamma);
    if (!normalize) return 1;
    const double length = std::sqrt(gate_norm(gamma) * double(row_norms[row]));
    return length > 0 ? 1 / length : 0;
  }

  double gate_norm(const double* gamma) const {
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (Index j = 0; j < k; ++j) sum += gamma[j] * gamma[j];
    return sum;
  }

  // ‖lifted‖² of a row with the codes scale·γ.
  T lifted_norm(Index row, double scale, const double* gamma) const {
    return static_cast<T>(scale * scale * gate_norm(gamma) * double(row_norms[row]));
  }

  void write_codes(Index row, double scale, const double* gamma) const {
    for (Index j = 0; j < k; ++j) codes[row * k + j] = static_cast<T>(scale * gamma[j]);
  }

  // From p = ∂L/∂(scale·γ) to the coefficients of x − v_j in ∂L/∂v_j, in place.
  void pull_back(const double* gamma, double scale, double* p) const {
    if (normalize) {
      // scale·γ = γ/(‖γ‖ ‖[φ; B]‖): what lies along γ has no effect.
      subtract(p, gamma, weighted_sum(gamma, p) / gate_norm(gamma));
      for (Index j = 0; j < k; ++j) p[j] *= scale;
    }
    subtract(p, nullptr, weighted_sum(gamma, p));
    for (Index j = 0; j < k; ++j) p[j] *= 2 * beta * gamma[j];
  }

 private:
  double weighted_sum(const double* gamma, const double* p) const {
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (Index j = 0; j < k; ++j) sum += gamma[j] * p[j];
    return sum;
  }

  // p −= factor · direction (of ones, if null). Differences that rounding alone could leave are
  // zero: steps of anchors have a length of their own, however small the gradient.
  void subtract(double* p, const double* direction, double factor) const {
    double largest = 0;
#pragma omp simd reduction(max : largest)
    for (Index j = 0; j < k; ++j) largest = std::max(largest, std::abs(p[j]));
    const double noise = 16 * double(std::numeric_limits<T>::epsilon()) * largest;
#pragma omp simd
    for (Index j = 0; j < k; ++j) {
      const double left = p[j] - factor * (direction == nullptr ? 1 : direction[j]);
      p[j] = std::abs(left) <= noise ? 0 : left;
    }
  }
};

// Codes the rows anew by the nearest of their neighbors and reserves (N × r, anchors that may
// become neighbors). The weights do not follow.
template <class T>
void recode_rows(const MovingGate<T>& gate, Visits rows, Column* all_reserves, Index r) {
  const Index k = gate.k;
  RowBuffer<T> buffer;
  detail::LocalGeometry<T> geometry(gate.places, gate.anchors, gate.n_anchors, k);
  std::vector<double> near(k), far(r), gamma(k);
  for (Index n = 0; n < rows.size; ++n) {
    const Index row = rows[n];
    Column *neighbors = gate.neighbors + row * k, *reserves = all_reserves + row * r;
    const RowView<T> place = gate.places.fetch(row, buffer);
    geometry.set_row(place, neighbors);
    geometry.squared_distances(k, near.data());
    geometry.set_row(place, reserves);
    geometry.squared_distances(r, far.data());
    while (r > 0 && detail::smallest(far) < detail::largest(near)) {  // none changes sides twice
      const auto leaving = std::max_element(near.begin(), near.end());
      const auto coming = std::min_element(far.begin(), far.end());
      std::swap(neighbors[leaving - near.begin()], reserves[coming - far.begin()]);
      std::swap(*leaving, *coming);
    }
    const double scale = gate.weigh(row, near.data(), gamma.data());
    gate.squared_norms[row] = gate.lifted_norm(row, scale, gamma.data());
    gate.write_codes(row, scale, gamma.data());
  }
}

}  // namespace hyperlocal
