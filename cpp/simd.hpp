// A few numbers side by side: `Lanes<T, n>` loads, multiplies, adds and sums n of them at once.
//
// GCC and Clang have vector types, which they map to whatever the instruction set offers; other
// compilers get plain arrays and their own vectorizer. Short rows are why this exists: loops left
// to the vectorizer spend most of a 20-feature row in their prologues.
#pragma once

#include <cstdint>
#include <cstring>

#ifdef __AVX2__
#include <immintrin.h>
#endif

namespace hyperlocal {

// Marks what runs once or more per visit of a row. Left to itself the compiler calls some of it,
// and a call passes the view of the row through memory: that alone doubled the time of a short
// visit.
#if defined(__GNUC__) || defined(__clang__)
#define HYPERLOCAL_INLINE __attribute__((always_inline)) inline
#else
#define HYPERLOCAL_INLINE inline
#endif

#if defined(__GNUC__) || defined(__clang__)

template <class T, int n>
struct Lanes {
  typedef T Vector __attribute__((vector_size(n * sizeof(T))));
  Vector value;

  static Lanes zero() { return {Vector{}}; }
  static Lanes load(const T* from) {
    Lanes lanes;
    std::memcpy(&lanes.value, from, sizeof(Vector));
    return lanes;
  }
  void store(T* to) const { std::memcpy(to, &value, sizeof(Vector)); }
  Lanes times(T factor) const { return {value * factor}; }
  void add_product(const Lanes& other, T factor) { value += other.value * factor; }
  void add_product(const Lanes& other, const Lanes& factor) { value += other.value * factor.value; }

  void add(const Lanes& other) { value += other.value; }
  void subtract(T number) { value -= number; }
  void lower_to(const Lanes& other) { value = other.value < value ? other.value : value; }
  // Adds one where a key comes before the other: it is less, or equal and of an earlier place.
  void count_before(T key, T place, const Lanes& keys, const Lanes& places) {
    const Vector one = Vector{} + T(1);
    value += place < places.value ? (key <= keys.value ? one : Vector{})
                                  : (key < keys.value ? one : Vector{});
  }

  // In one fixed order: halves onto halves. (Written as a loop over lanes, it goes through memory.)
  T sum() const {
    if constexpr (n == 2) {
      return value[0] + value[1];
    } else {
      Lanes<T, n / 2> low, high;
      std::memcpy(&low.value, &value, sizeof(low.value));
      std::memcpy(&high.value, reinterpret_cast<const char*>(&value) + sizeof(low.value),
                  sizeof(high.value));
      low.add(high);
      return low.sum();
    }
  }
};

#else

template <class T, int n>
struct Lanes {
  T value[n];

  static Lanes zero() { return Lanes{}; }
  static Lanes load(const T* from) {
    Lanes lanes;
    std::memcpy(lanes.value, from, sizeof(lanes.value));
    return lanes;
  }
  void store(T* to) const { std::memcpy(to, value, sizeof(value)); }
  Lanes times(T factor) const {
    Lanes product;
    for (int lane = 0; lane < n; ++lane) product.value[lane] = value[lane] * factor;
    return product;
  }
  void add_product(const Lanes& other, T factor) {
    for (int lane = 0; lane < n; ++lane) value[lane] += other.value[lane] * factor;
  }
  void add_product(const Lanes& other, const Lanes& factor) {
    for (int lane = 0; lane < n; ++lane) value[lane] += other.value[lane] * factor.value[lane];
  }
  void add(const Lanes& other) {
    for (int lane = 0; lane < n; ++lane) value[lane] += other.value[lane];
  }
  void subtract(T number) {
    for (int lane = 0; lane < n; ++lane) value[lane] -= number;
  }
  void lower_to(const Lanes& other) {
    for (int lane = 0; lane < n; ++lane)
      value[lane] = other.value[lane] < value[lane] ? other.value[lane] : value[lane];
  }
  void count_before(T key, T place, const Lanes& keys, const Lanes& places) {
    for (int lane = 0; lane < n; ++lane)
      value[lane] += place < places.value[lane] ? key <= keys.value[lane] : key < keys.value[lane];
  }
  T sum() const {
    T sums[n];
    std::memcpy(sums, value, sizeof(value));
    for (int width = n / 2; width > 0; width /= 2)
      for (int lane = 0; lane < width; ++lane) sums[lane] += sums[lane + width];
    return sums[0];
  }
};

#endif

// One operation for each lane; `choose` is x where a ≥ b, and y elsewhere.
#if defined(__GNUC__) || defined(__clang__)
#define HYPERLOCAL_LANE_OPERATOR(op)                                               \
  template <class T, int n>                                                        \
  HYPERLOCAL_INLINE Lanes<T, n> operator op(Lanes<T, n> a, const Lanes<T, n>& b) { \
    return {a.value op b.value};                                                   \
  }
template <class T, int n>
HYPERLOCAL_INLINE Lanes<T, n> choose(const Lanes<T, n>& a, const Lanes<T, n>& b,
                                     const Lanes<T, n>& x, const Lanes<T, n>& y) {
  return {a.value >= b.value ? x.value : y.value};
}
#else
#define HYPERLOCAL_LANE_OPERATOR(op)                                                     \
  template <class T, int n>                                                              \
  HYPERLOCAL_INLINE Lanes<T, n> operator op(Lanes<T, n> a, const Lanes<T, n>& b) {       \
    for (int lane = 0; lane < n; ++lane) a.value[lane] = a.value[lane] op b.value[lane]; \
    return a;                                                                            \
  }
template <class T, int n>
HYPERLOCAL_INLINE Lanes<T, n> choose(const Lanes<T, n>& a, const Lanes<T, n>& b,
                                     const Lanes<T, n>& x, Lanes<T, n> y) {
  for (int lane = 0; lane < n; ++lane)
    if (a.value[lane] >= b.value[lane]) y.value[lane] = x.value[lane];
  return y;
}
#endif
HYPERLOCAL_LANE_OPERATOR(+)
HYPERLOCAL_LANE_OPERATOR(-)
HYPERLOCAL_LANE_OPERATOR(*)
HYPERLOCAL_LANE_OPERATOR(/)
#undef HYPERLOCAL_LANE_OPERATOR

// The sums of four registers, to out[0 … 3]: the same bits as each one's own sum, for fewer steps.
template <class T, int n>
inline void sums_of_four(const Lanes<T, n>& a, const Lanes<T, n>& b, const Lanes<T, n>& c,
                         const Lanes<T, n>& d, T* out) {
#if defined(__has_builtin)
#if __has_builtin(__builtin_shufflevector)
#define HYPERLOCAL_HAS_SHUFFLE
#endif
#endif
#ifdef HYPERLOCAL_HAS_SHUFFLE
  if constexpr (n == 4) {
    const auto ac = __builtin_shufflevector(a.value, c.value, 0, 1, 4, 5) +
                    __builtin_shufflevector(a.value, c.value, 2, 3, 6, 7);
    const auto bd = __builtin_shufflevector(b.value, d.value, 0, 1, 4, 5) +
                    __builtin_shufflevector(b.value, d.value, 2, 3, 6, 7);
    const Lanes<T, 4> sums{__builtin_shufflevector(ac, bd, 0, 4, 2, 6) +
                           __builtin_shufflevector(ac, bd, 1, 5, 3, 7)};
    sums.store(out);
    return;
  }
  if constexpr (n == 8) {
    const auto halved = [](const Lanes<T, 8>& x) {
      return Lanes<T, 4>{__builtin_shufflevector(x.value, x.value, 0, 1, 2, 3) +
                         __builtin_shufflevector(x.value, x.value, 4, 5, 6, 7)};
    };
    return sums_of_four(halved(a), halved(b), halved(c), halved(d), out);
  }
#endif
  out[0] = a.sum();
  out[1] = b.sum();
  out[2] = c.sum();
  out[3] = d.sum();
}

// Asks for memory that will be read soon: rows are visited in random order, and without this the
// visits of short rows would mostly wait for memory.
inline void prefetch(const void* address) {
#if defined(__GNUC__) || defined(__clang__)
  __builtin_prefetch(address);
#else
  (void)address;
#endif
}

// Numbers in one 32-byte register.
template <class T>
constexpr int lanes_per_register = static_cast<int>(32 / sizeof(T));

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

// Lists the values that are not above a bound, and their places; returns how many. There must be
// room for all of them.
template <class T>
HYPERLOCAL_INLINE std::int64_t list_within(const T* values, std::int64_t size, T bound, T* within,
                                           std::int32_t* places) {
  std::int64_t n = 0, i = 0;
#ifdef __AVX2__
  if constexpr (sizeof(T) == 4)
    i = detail::list_within_eight(values, size, bound, within, places, n);
#endif
  for (; i < size; ++i) {
    within[n] = values[i];
    places[n] = static_cast<std::int32_t>(i);
    n += !(values[i] > bound);
  }
  return n;
}

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
