// tanh and exp of many numbers at once, to a few units of the last place of one.
//
// The library's are called one number at a time; in a tree of gates tanh would cost more than all
// dot products.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

#include "simd.hpp"

namespace hyperlocal {

namespace detail {

template <class T>
struct ExpConstants;

// `shifter` rounds to an integer, which is then found in the low bits of the mantissa. ln 2 is
// split so that its multiples are exact. The Taylor series reaches the last place for |r| ≤ ln 2
// / 2.
template <>
struct ExpConstants<float> {
  using Bits = std::uint32_t;
  static constexpr float shifter = 12582912.0f;  // 1.5 · 2^23
  static constexpr int mantissa = 23;
  static constexpr float ln2_high = 0.693359375f;
  static constexpr float ln2_low = -2.12194440e-4f;
  static constexpr float lowest = -80.0f;
  static constexpr int degree = 7;
};

template <>
struct ExpConstants<double> {
  using Bits = std::uint64_t;
  static constexpr double shifter = 6755399441055744.0;  // 1.5 · 2^52
  static constexpr int mantissa = 52;
  static constexpr double ln2_high = 0.693145751953125;
  static constexpr double ln2_low = 1.42860682030941723212e-6;
  static constexpr double lowest = -700.0;
  static constexpr int degree = 13;
};

constexpr double one_over_factorial(int n) {
  return n < 2 ? 1 : one_over_factorial(n - 1) / n;
}

// Σ_{m ≥ n} r^(m − n) / m!. Written out by the compiler: a loop in here would keep the loop around
// it from being vectorized.
template <class T, int n>
HYPERLOCAL_INLINE T exp_series(T r) {
  constexpr T coefficient = static_cast<T>(one_over_factorial(n));
  if constexpr (n == ExpConstants<T>::degree)
    return coefficient;
  else
    return exp_series<T, n + 1>(r) * r + coefficient;
}

// e^y for y ≤ 0; zero where it is next to nothing.
template <class T>
HYPERLOCAL_INLINE T exp_of_negative(T y) {
  using C = ExpConstants<T>;
  const bool vanishes = y < C::lowest;
  y = vanishes ? C::lowest : y;
  const T shifted = y * T(1.44269504088896340736) + C::shifter;
  const T k = shifted - C::shifter;
  const T r = (y - k * C::ln2_high) - k * C::ln2_low;
  typename C::Bits bits;
  std::memcpy(&bits, &shifted, sizeof(T));
  bits = (bits << C::mantissa) + (typename C::Bits((1 << (sizeof(T) == 4 ? 7 : 10)) - 1)
                                  << C::mantissa);  // 2^k: the exponent alone
  T power;
  std::memcpy(&power, &bits, sizeof(T));
  return vanishes ? T(0) : exp_series<T, 0>(r) * power;
}

}  // namespace detail

// values ← exp(−factor · values), of numbers that are not negative and not NaN
template <class T>
void exp_of_negatives(T* values, std::int64_t size, T factor) {
#pragma omp simd
  for (std::int64_t i = 0; i < size; ++i) values[i] = detail::exp_of_negative(-factor * values[i]);
}

// values ← tanh(factor · values)
template <class T>
void tanh_in_place(T* values, std::int64_t size, T factor = 1) {
#pragma omp simd
  for (std::int64_t i = 0; i < size; ++i) {
    const T z = factor * values[i];
    const T e = detail::exp_of_negative(T(-2) * std::fabs(z));
    values[i] = std::copysign((T(1) - e) / (T(1) + e), z);
  }
}

}  // namespace hyperlocal
