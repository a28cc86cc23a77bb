// Sums, products and distances of arrays, a register of numbers at a time.
#pragma once

#include <cstdint>

#include "lanes.hpp"

namespace hyperlocal {

namespace detail {

// The share of positions v … in steps of n_sums registers; ends where less than a step is left.
template <int n_lanes, int n_sums, int n_blocks, class T>
HYPERLOCAL_INLINE std::int64_t mixed_dot_chunk(const T* x, std::int64_t v, std::int64_t size,
                                               const T* const* blocks, const T* mix, T& total) {
  Lanes<T, n_lanes> sums[n_sums];
  for (auto& sum : sums) sum = Lanes<T, n_lanes>::zero();
  for (; v + n_sums * n_lanes <= size; v += n_sums * n_lanes) {
    for (int i = 0; i < n_sums; ++i) {
      const std::int64_t at = v + i * n_lanes;
      auto mixed = Lanes<T, n_lanes>::load(blocks[0] + at).times(mix[0]);
      for (int j = 1; j < n_blocks; ++j)
        mixed.add_product(Lanes<T, n_lanes>::load(blocks[j] + at), mix[j]);
      sums[i].add_product(Lanes<T, n_lanes>::load(x + at), mixed);
    }
  }
  for (int width = n_sums / 2; width > 0; width /= 2)
    for (int i = 0; i < width; ++i) sums[i].add(sums[i + width]);
  total += sums[0].sum();
  return v;
}

}  // namespace detail

// [x; last] · Σ_j mix_j blocks_j; each block has one number more than x.
template <int n_blocks, class T>
HYPERLOCAL_INLINE T mixed_dot(const T* x, std::int64_t size, T last, const T* const* blocks,
                              const T* mix) {
  constexpr int n = lanes_per_register<T>;
  // With few blocks the additions of one sum depend on each other: four sums are used.
  constexpr int n_sums = n_blocks < 4 ? 4 : 1;
  T total = 0;
  std::int64_t v = 0;
  if (size >= n_sums * n)
    v = detail::mixed_dot_chunk<n, n_sums, n_blocks>(x, v, size, blocks, mix, total);
  if (n_sums > 1 && size - v >= n)
    v = detail::mixed_dot_chunk<n, 1, n_blocks>(x, v, size, blocks, mix, total);
  if (size - v >= n / 2)
    v = detail::mixed_dot_chunk<n / 2, 1, n_blocks>(x, v, size, blocks, mix, total);
  for (; v <= size; ++v) {
    T mixed = mix[0] * blocks[0][v];
    for (int j = 1; j < n_blocks; ++j) mixed += mix[j] * blocks[j][v];
    total += (v < size ? x[v] : last) * mixed;
  }
  return total;
}

// ‖x − y‖². From differences, so that it is precise also far from the origin.
template <class T>
T squared_difference(const T* x, const T* y, std::int64_t size) {
  constexpr int n = lanes_per_register<T>;
  auto sums = Lanes<T, n>::zero();
  std::int64_t v = 0;
  for (; v + n <= size; v += n) {
    auto difference = Lanes<T, n>::load(x + v);
    difference.add_product(Lanes<T, n>::load(y + v), T(-1));
    sums.add_product(difference, difference);
  }
  T total = sums.sum();
  for (; v < size; ++v) total += (x[v] - y[v]) * (x[v] - y[v]);
  return total;
}

// ‖x − start(i)‖² for i < n, four at a time: `start` returns where a row begins.
template <class T, class Start, class Out>
HYPERLOCAL_INLINE void squared_differences(const T* x, std::int64_t size, const Start& start,
                                           std::int64_t n, Out* out) {
  constexpr int lanes = lanes_per_register<T>;
  std::int64_t i = 0;
  for (; i + 4 <= n; i += 4) {
    const T* y[4] = {start(i), start(i + 1), start(i + 2), start(i + 3)};
    Lanes<T, lanes> sums[4];
    for (auto& sum : sums) sum = Lanes<T, lanes>::zero();
    std::int64_t v = 0;
    for (; v + lanes <= size; v += lanes) {
      const auto own = Lanes<T, lanes>::load(x + v);
      for (int j = 0; j < 4; ++j) {
        auto difference = Lanes<T, lanes>::load(y[j] + v);
        difference.add_product(own, T(-1));
        sums[j].add_product(difference, difference);
      }
    }
    T totals[4];
    sums_of_four(sums[0], sums[1], sums[2], sums[3], totals);
    for (; v < size; ++v)
      for (int j = 0; j < 4; ++j) totals[j] += (y[j][v] - x[v]) * (y[j][v] - x[v]);
    for (int j = 0; j < 4; ++j) out[i + j] = totals[j];
  }
  for (; i < n; ++i) out[i] = squared_difference(start(i), x, size);
}

// [x; last] · blocks_j for four blocks, each of one number more than x.
template <class T>
HYPERLOCAL_INLINE void dots_of_four(const T* x, std::int64_t size, T last, const T* const* blocks,
                                    T* out) {
  constexpr int lanes = lanes_per_register<T>;
  Lanes<T, lanes> sums[4];
  for (auto& sum : sums) sum = Lanes<T, lanes>::zero();
  std::int64_t v = 0;
  for (; v + lanes <= size; v += lanes) {
    const auto own = Lanes<T, lanes>::load(x + v);
    for (int j = 0; j < 4; ++j) sums[j].add_product(Lanes<T, lanes>::load(blocks[j] + v), own);
  }
  sums_of_four(sums[0], sums[1], sums[2], sums[3], out);
  for (; v < size; ++v)
    for (int j = 0; j < 4; ++j) out[j] += blocks[j][v] * x[v];
  for (int j = 0; j < 4; ++j) out[j] += blocks[j][size] * last;
}

// Copies x to y; returns ‖x‖².
template <class T>
HYPERLOCAL_INLINE T copy_with_norm(const T* x, std::int64_t size, T* y) {
  constexpr int n = lanes_per_register<T>, n_sums = 4;
  Lanes<T, n> sums[n_sums];
  for (auto& sum : sums) sum = Lanes<T, n>::zero();
  std::int64_t v = 0;
  for (; v + n_sums * n <= size; v += n_sums * n)
    for (int i = 0; i < n_sums; ++i) {
      const auto values = Lanes<T, n>::load(x + v + i * n);
      sums[i].add_product(values, values);
      values.store(y + v + i * n);
    }
  for (; v + n <= size; v += n) {
    const auto values = Lanes<T, n>::load(x + v);
    sums[0].add_product(values, values);
    values.store(y + v);
  }
  for (int i = 1; i < n_sums; ++i) sums[0].add(sums[i]);
  T norm = sums[0].sum();
  for (; v < size; ++v) {
    norm += x[v] * x[v];
    y[v] = x[v];
  }
  return norm;
}

// y += factor · x.
template <class T>
void add_scaled(const T* x, std::int64_t size, T factor, T* y) {
  constexpr int n = lanes_per_register<T>;
  std::int64_t v = 0;
  for (; v + n <= size; v += n) {
    auto sum = Lanes<T, n>::load(y + v);
    sum.add_product(Lanes<T, n>::load(x + v), factor);
    sum.store(y + v);
  }
  if (v + n / 2 <= size) {
    auto sum = Lanes<T, n / 2>::load(y + v);
    sum.add_product(Lanes<T, n / 2>::load(x + v), factor);
    sum.store(y + v);
    v += n / 2;
  }
  for (; v < size; ++v) y[v] += factor * x[v];
}

// blocks_j += factors_j · [x; last] for several blocks of one number more than x. Each part of a
// short row is loaded once for all of them: a loop per block would spend its time in starting.
template <int n_blocks, class T>
HYPERLOCAL_INLINE void add_to_blocks(const T* x, std::int64_t size, T last, const T* factors,
                                     T* const* blocks) {
  constexpr int n = lanes_per_register<T>;
  std::int64_t v = 0;
  const auto add_lanes = [&](const auto& values, std::int64_t width) {
    for (int j = 0; j < n_blocks; ++j) {
      auto sum = values.load(blocks[j] + v);
      sum.add_product(values, factors[j]);
      sum.store(blocks[j] + v);
    }
    v += width;
  };
  while (v + n <= size) add_lanes(Lanes<T, n>::load(x + v), n);
  if (v + n / 2 <= size) add_lanes(Lanes<T, n / 2>::load(x + v), n / 2);
  for (; v <= size; ++v) {
    const T value = v < size ? x[v] : last;
    for (int j = 0; j < n_blocks; ++j) blocks[j][v] += factors[j] * value;
  }
}

// out += factor · (x − y); out may be y.
template <class T>
HYPERLOCAL_INLINE void add_scaled_difference(const T* x, const T* y, std::int64_t size, T factor,
                                             T* out) {
  constexpr int n = lanes_per_register<T>;
  std::int64_t v = 0;
  for (; v + n <= size; v += n) {
    auto difference = Lanes<T, n>::load(x + v);
    difference.add_product(Lanes<T, n>::load(y + v), T(-1));
    auto sum = Lanes<T, n>::load(out + v);
    sum.add_product(difference, factor);
    sum.store(out + v);
  }
  for (; v < size; ++v) out[v] += factor * (x[v] - y[v]);
}

}  // namespace hyperlocal
