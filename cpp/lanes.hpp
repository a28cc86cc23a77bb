// A few numbers side by side: `Lanes<T, n>` loads, multiplies, adds and sums n of them at once.
//
// GCC and Clang have vector types, which they map to whatever the instruction set offers; other
// compilers get arrays with the same operators, and their own vectorizer. Short rows are why this
// exists: loops left to the vectorizer spend most of a 20-feature row in their prologues.
#pragma once

#include <cstdint>
#include <cstring>

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
struct VectorOf {
  typedef T type __attribute__((vector_size(n * sizeof(T))));
};

// The number in every lane; x − 0 is x, signed zeros too, so this costs no subtraction.
template <class T, int n>
HYPERLOCAL_INLINE typename VectorOf<T, n>::type filled(T number) {
  return number - typename VectorOf<T, n>::type{};
}

// x where the mask is set, and y elsewhere.
template <class Mask, class Vector>
HYPERLOCAL_INLINE Vector where(const Mask& mask, const Vector& x, const Vector& y) {
  return mask ? x : y;
}

#else

template <class T, int n>
struct VectorOf {
  T values[n];
  using type = VectorOf;
  T& operator[](int lane) { return values[lane]; }
  T operator[](int lane) const { return values[lane]; }
};

#define HYPERLOCAL_LANE_OPERATOR(op, Result)                                          \
  template <class T, int n>                                                           \
  VectorOf<Result, n> operator op(const VectorOf<T, n>& a, const VectorOf<T, n>& b) { \
    VectorOf<Result, n> result;                                                       \
    for (int lane = 0; lane < n; ++lane) result[lane] = a[lane] op b[lane];           \
    return result;                                                                    \
  }
HYPERLOCAL_LANE_OPERATOR(+, T)
HYPERLOCAL_LANE_OPERATOR(-, T)
HYPERLOCAL_LANE_OPERATOR(*, T)
HYPERLOCAL_LANE_OPERATOR(/, T)
HYPERLOCAL_LANE_OPERATOR(<, bool)
HYPERLOCAL_LANE_OPERATOR(<=, bool)
HYPERLOCAL_LANE_OPERATOR(>=, bool)
#undef HYPERLOCAL_LANE_OPERATOR

template <class T, int n>
VectorOf<T, n> filled(T number) {
  VectorOf<T, n> vector;
  for (T& value : vector.values) value = number;
  return vector;
}

template <class T, int n>
VectorOf<T, n> where(const VectorOf<bool, n>& mask, const VectorOf<T, n>& x, VectorOf<T, n> y) {
  for (int lane = 0; lane < n; ++lane)
    if (mask[lane]) y[lane] = x[lane];
  return y;
}

#endif

template <class T, int n>
struct Lanes {
  using Vector = typename VectorOf<T, n>::type;
  Vector value;

  static Lanes zero() { return {Vector{}}; }
  static Lanes all(T number) { return {filled<T, n>(number)}; }
  static Lanes load(const T* from) {
    Lanes lanes;
    std::memcpy(&lanes.value, from, sizeof(Vector));
    return lanes;
  }
  void store(T* to) const { std::memcpy(to, &value, sizeof(Vector)); }
  Lanes times(T factor) const { return {value * all(factor).value}; }
  void add_product(const Lanes& other, T factor) { add_product(other, all(factor)); }
  void add_product(const Lanes& other, const Lanes& factor) {
    value = value + other.value * factor.value;
  }

  void add(const Lanes& other) { value = value + other.value; }
  void subtract(T number) { value = value - all(number).value; }
  void lower_to(const Lanes& other) { value = where(other.value < value, other.value, value); }
  // Adds one where a key comes before the other: it is less, or equal and of an earlier place.
  void count_before(T key, T place, const Lanes& keys, const Lanes& places) {
    const Vector own = all(key).value, none = zero().value, one = all(T(1)).value;
    const Vector is_less = where(own < keys.value, one, none);
    const Vector is_not_more = where(own <= keys.value, one, none);
    value = value + where(all(place).value < places.value, is_not_more, is_less);
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

  friend HYPERLOCAL_INLINE Lanes operator+(const Lanes& a, const Lanes& b) {
    return {a.value + b.value};
  }
  friend HYPERLOCAL_INLINE Lanes operator-(const Lanes& a, const Lanes& b) {
    return {a.value - b.value};
  }
  friend HYPERLOCAL_INLINE Lanes operator*(const Lanes& a, const Lanes& b) {
    return {a.value * b.value};
  }
  friend HYPERLOCAL_INLINE Lanes operator/(const Lanes& a, const Lanes& b) {
    return {a.value / b.value};
  }
  // x where a ≥ b, and y elsewhere.
  friend HYPERLOCAL_INLINE Lanes choose(const Lanes& a, const Lanes& b, const Lanes& x,
                                        const Lanes& y) {
    return {where(a.value >= b.value, x.value, y.value)};
  }
};

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

}  // namespace hyperlocal
