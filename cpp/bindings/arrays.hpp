// Arrays as Python gives them, and the checks of shapes, sizes and indices. Arrays are taken as
// they are (exact dtype, C order), so that no silent copy can happen. Errors name the argument.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>

#include "rows.hpp"

namespace hyperlocal::bindings {

namespace nb = nanobind;
using namespace nb::literals;

template <class T, int n>
using Array = nb::ndarray<T, nb::ndim<n>, nb::c_contig, nb::device::cpu>;
template <class T>
using Vector = Array<T, 1>;
template <class T>
using Matrix = Array<T, 2>;

// The name of an argument that is an array.
inline auto operator""_array(const char* name, std::size_t) {
  return nb::arg(name).noconvert();
}

// Sizes that are also used as indices of 32 bits; products of two of them fit into 64.
constexpr Index largest_size = std::numeric_limits<Column>::max();
// In place of a size that may be any.
constexpr Index any_size = -1;

template <class A>
Index size(const A& array, int axis = 0) {
  return static_cast<Index>(array.shape(axis));
}

inline void require(bool condition, const char* message) {
  if (!condition) throw std::invalid_argument(message);
}

// An error about one argument; the text is only written where there is one.
template <class... Parts>
[[noreturn]] void refuse(const char* name, const Parts&... parts) {
  throw std::invalid_argument((std::string(name) + ... + parts));
}

template <class Number>
void require_between(const char* name, Number value, Number lowest, Number highest) {
  if (value >= lowest && value <= highest) return;
  refuse(name, " must lie between ", std::to_string(lowest), " and ", std::to_string(highest));
}

inline void require_positive(const char* name, double value) {
  if (!(value > 0)) refuse(name, " must be positive");
}

// A number of things that are counted by 32-bit indices.
inline void require_size(const char* name, Index value, Index lowest = 1) {
  require_between(name, value, lowest, largest_size);
}

// E.g. "weights must have shape (4, 3, 5), not (4, 2, 5)".
inline void require_sizes(const char* name, const Index* sizes, const Index* wanted, int n) {
  const auto fits = [](Index has, Index wants) { return wants == any_size || has == wants; };
  if (std::equal(sizes, sizes + n, wanted, fits)) return;
  const auto written = [n](const Index* shape) {
    std::string text = "(";
    for (int axis = 0; axis < n; ++axis)
      text += (axis > 0 ? ", " : "") + (shape[axis] < 0 ? "any" : std::to_string(shape[axis]));
    return text + ")";
  };
  refuse(name, " must have shape ", written(wanted), ", not ", written(sizes));
}

template <class A, class... Sizes>
void require_shape(const char* name, const A& array, Sizes... wanted) {
  constexpr int n = sizeof...(Sizes);
  const Index wants[n] = {wanted...};
  Index sizes[n];
  for (int axis = 0; axis < n; ++axis) sizes[axis] = size(array, axis);
  require_sizes(name, sizes, wants, n);
}

template <class A, class B>
void require_same_shape(const char* name, const A& array, const B& other) {
  require_shape(name, array, size(other, 0), size(other, 1), size(other, 2));
}

inline Range checked_range(const char* name, Index n, Index begin, Index end) {
  if (!(0 <= begin && begin <= end && end <= n))
    refuse(name, " must be a range within 0 and ", std::to_string(n));
  return {begin, end};
}

template <class I>
void require_indices_at(const char* name, const I* values, Index n, Index limit, Index lowest = 0) {
  int is_bad = 0;  // no exit on the way, so that whole registers are compared at once
#pragma omp simd reduction(| : is_bad)
  for (Index i = 0; i < n; ++i)
    is_bad |= static_cast<int>(values[i] < lowest) | static_cast<int>(values[i] >= limit);
  if (is_bad != 0)
    refuse(name, " has an index out of bounds: all must lie between ", std::to_string(lowest),
           " and ", std::to_string(limit - 1));
}

template <class A>
void require_indices(const char* name, const A& array, Index limit, Index lowest = 0) {
  require_indices_at(name, array.data(), static_cast<Index>(array.size()), limit, lowest);
}

// Where the parts of n things begin that are `end` in all.
inline void require_starts(const char* name, const Vector<const Index>& starts, Index n,
                           Index end) {
  require_shape(name, starts, n + 1);
  if (starts.data()[0] != 0 || starts.data()[n] != end ||
      !std::is_sorted(starts.data(), starts.data() + n + 1))
    refuse(name, " must begin at 0, never decrease, and end with ", std::to_string(end));
}

// Rows to visit, of n.
inline Visits checked_visits(const Vector<const Index>& order, Index n) {
  require_indices("order", order, n);
  return {order.data(), size(order)};
}

template <class T>
void require_alike(const char* name, const Rows<T>& queries, const Rows<T>& rows) {
  if (queries.width() != rows.width() || queries.is_dense() != rows.is_dense())
    refuse(name, " must be stored like the rows, with as many features");
}

// The class of a kernel for one precision: `Dual` becomes DualFloat32 or DualFloat64.
template <template <class> class Kernel, class T>
nb::class_<Kernel<T>> kernel_class(nb::module_& m, const char* name) {
  const std::string full_name = std::string(name) + (sizeof(T) == 4 ? "Float32" : "Float64");
  return nb::class_<Kernel<T>>(m, full_name.c_str());
}

// The names of a function's arguments.
template <class... Names>
auto args(const Names&... names) {
  return std::make_tuple(names...);
}

// A method of a class, or a function of a module.
template <class Scope, class Names, class Function>
void def(Scope& scope, const char* name, const Names& names, Function function) {
  std::apply([&](const auto&... each) { scope.def(name, function, each...); }, names);
}

template <class Names, class Make, std::size_t... i>
void def_keeping(nb::module_& m, const char* name, const Names& names, Make make,
                 std::index_sequence<i...>) {
  m.def(name, make, std::get<i>(names)..., nb::keep_alive<0, i + 1>()...);
}

// A function that makes an object which points into the arguments: they live as long as it does.
template <class Names, class Make>
void def_maker(nb::module_& m, const char* name, const Names& names, Make make) {
  def_keeping(m, name, names, make, std::make_index_sequence<std::tuple_size_v<Names>>());
}

}  // namespace hyperlocal::bindings
