// The k smallest of `size` keys, ascending; ties go to the smaller index.
//
// Comparisons of random keys are branches that no processor predicts, so this counts instead: the
// k-th smallest of the minima of 2k or more interleaved groups bounds the k-th smallest key; the
// few keys within the bound are ranked by counting how many come before each. Many ties fall back
// to insertion.
#pragma once

#include <algorithm>
#include <cassert>
#include <cstdint>
#include <limits>
#include <vector>

#include "rows.hpp"
#include "simd.hpp"

#ifdef __AVX2__
#include <immintrin.h>
#endif

namespace hyperlocal {
namespace detail {

#ifdef __AVX2__
// For each set of lanes, their numbers in order.
struct LanesOfMask {
  std::uint8_t lanes[256][8] = {};
  constexpr LanesOfMask() {
    for (int mask = 0; mask < 256; ++mask)
      for (int lane = 0, n = 0; lane < 8; ++lane)
        if (mask >> lane & 1) lanes[mask][n++] = static_cast<std::uint8_t>(lane);
  }
};
inline constexpr LanesOfMask lanes_of_mask;

// The same as below for the first numbers, eight at a time; returns how many it has seen.
inline std::int64_t list_within_eight(const float* values, std::int64_t size, float bound,
                                      float* within, std::int32_t* places, std::int64_t& n) {
  const __m256 limit = _mm256_set1_ps(bound);
  __m256i own = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  std::int64_t i = 0;
  for (; i + 8 <= size; i += 8) {
    const __m256 eight = _mm256_loadu_ps(values + i);
    const int mask = _mm256_movemask_ps(_mm256_cmp_ps(eight, limit, _CMP_NGT_UQ));
    const auto* lanes = reinterpret_cast<const __m128i*>(lanes_of_mask.lanes[mask]);
    const __m256i order = _mm256_cvtepu8_epi32(_mm_loadl_epi64(lanes));
    _mm256_storeu_ps(within + n, _mm256_permutevar8x32_ps(eight, order));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(places + n),
                        _mm256_permutevar8x32_epi32(own, order));
    own = _mm256_add_epi32(own, _mm256_set1_epi32(8));
    n += __builtin_popcount(static_cast<unsigned>(mask));
  }
  return i;
}
#endif

// Lists the values that are not above a bound, and their places; returns how many. There must be
// room for all of them.
template <class T>
HYPERLOCAL_INLINE std::int64_t list_within(const T* values, std::int64_t size, T bound, T* within,
                                           std::int32_t* places) {
  std::int64_t n = 0, i = 0;
#ifdef __AVX2__
  if constexpr (sizeof(T) == 4) i = list_within_eight(values, size, bound, within, places, n);
#endif
  for (; i < size; ++i) {
    within[n] = values[i];
    places[n] = static_cast<std::int32_t>(i);
    n += !(values[i] > bound);
  }
  return n;
}

template <class T>
class SmallestK {
 public:
  SmallestK(Index size, Index k)
      : size_(size), k_(k), keys_(size + most_to_count), found_(size), sorted_(k) {}

  HYPERLOCAL_INLINE void select(const T* keys, Column* chosen) {
    assert(1 <= k_ && k_ <= size_);
    if (k_ == 1) {
      *chosen = first_smallest(keys);
      return;
    }
    const Index n = list_within(keys, size_, bound(keys), keys_.data(), found_.data());
    if (n <= 16)
      rank<16>(n, chosen);
    else if (n <= 32)
      rank<32>(n, chosen);
    else if (n <= most_to_count)
      rank<most_to_count>(n, chosen);
    else
      insert(n, chosen);
  }

 private:
  static constexpr int most_to_count = 64;
  static constexpr int lanes = lanes_per_register<T>;
  using Register = Lanes<T, lanes>;

  // How many of the n first keys come before each of the first `n_places`, in the order of keys and
  // places.
  template <int n_places>
  static HYPERLOCAL_INLINE void count_before(const T* keys, Index n, T* counts) {
    constexpr int n_registers = n_places / lanes;
    T iota[lanes];
    for (int lane = 0; lane < lanes; ++lane) iota[lane] = T(lane);
    Register own[n_registers], places[n_registers], before[n_registers];
    for (int i = 0; i < n_registers; ++i) {
      own[i] = Register::load(keys + i * lanes);
      places[i] = Register::load(iota);
      places[i].subtract(T(-i * lanes));
      before[i] = Register::zero();
    }
    for (Index j = 0; j < n; ++j)
      for (int i = 0; i < n_registers; ++i)
        before[i].count_before(keys[j], T(j), own[i], places[i]);
    for (int i = 0; i < n_registers; ++i) before[i].store(counts + i * lanes);
  }

  Column first_smallest(const T* keys) const {
    T least = std::numeric_limits<T>::infinity();
#pragma omp simd reduction(min : least)
    for (Index i = 0; i < size_; ++i) least = keys[i] < least ? keys[i] : least;
    const T* place = std::find(keys, keys + size_, least);
    return static_cast<Column>(place == keys + size_ ? 0 : place - keys);
  }

  // At least k keys are not above this.
  HYPERLOCAL_INLINE T bound(const T* keys) const {
    if (k_ <= 8 && size_ >= 32) return bound_of_groups<16>(keys);
    if (k_ <= 16 && size_ >= 64) return bound_of_groups<32>(keys);
    if (k_ <= 32 && size_ >= 128) return bound_of_groups<64>(keys);
    return std::numeric_limits<T>::infinity();
  }

  template <int n_groups>
  HYPERLOCAL_INLINE T bound_of_groups(const T* keys) const {
    constexpr int n_registers = n_groups / lanes;
    Register least[n_registers];
    for (int i = 0; i < n_registers; ++i) least[i] = Register::load(keys + i * lanes);
    for (Index start = n_groups; start + n_groups <= size_; start += n_groups)
      for (int i = 0; i < n_registers; ++i)
        least[i].lower_to(Register::load(keys + start + i * lanes));
    T minima[n_groups], counts[n_groups];
    for (int i = 0; i < n_registers; ++i) least[i].store(minima + i * lanes);
    count_before<n_groups>(minima, n_groups, counts);
    T bound = std::numeric_limits<T>::infinity();
    for (int i = 0; i < n_groups; ++i) bound = counts[i] == T(k_ - 1) ? minima[i] : bound;
    return bound;
  }

  template <int n_places>
  HYPERLOCAL_INLINE void rank(Index n, Column* chosen) {
    T counts[n_places];
    Column sorted[n_places];
    for (Index i = n; i < n_places; ++i) keys_[i] = std::numeric_limits<T>::infinity();
    // Keys that are not numbers leave places empty.
    for (Column& place : sorted) place = found_[0];
    count_before<n_places>(keys_.data(), n, counts);
    for (Index i = 0; i < n; ++i) sorted[static_cast<Index>(counts[i])] = found_[i];
    std::copy_n(sorted, k_, chosen);
  }

  void insert(Index n, Column* chosen) {
    Index filled = 0;
    for (Index i = 0; i < n; ++i) {
      const T key = keys_[i];
      if (filled == k_ && !(key < sorted_[k_ - 1])) continue;
      Index place = filled < k_ ? filled++ : k_ - 1;
      for (; place > 0 && key < sorted_[place - 1]; --place) {
        sorted_[place] = sorted_[place - 1];
        chosen[place] = chosen[place - 1];
      }
      sorted_[place] = key;
      chosen[place] = found_[i];
    }
  }

  Index size_, k_;
  std::vector<T> keys_;
  std::vector<Column> found_;
  std::vector<T> sorted_;
};

}  // namespace detail
}  // namespace hyperlocal
