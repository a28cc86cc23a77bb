// Arrays as Python gives them, and the checks of their shapes and indices.
// They are taken as they are (exact dtype, C order), so that no silent copy can happen.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <stdexcept>

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

inline void require(bool condition, const char* message) {
  if (!condition) throw std::invalid_argument(message);
}

template <class A>
Index size(const A& array, int axis = 0) {
  return static_cast<Index>(array.shape(axis));
}

inline void require_range(const Index n, Index begin, Index end) {
  require(0 <= begin && begin <= end && end <= n, "range out of bounds");
}

template <class I>
void require_below(const I* values, Index n, Index lowest, Index limit, const char* message) {
  int is_bad = 0;  // no exit on the way, so that whole registers are compared at once
#pragma omp simd reduction(| : is_bad)
  for (Index i = 0; i < n; ++i)
    is_bad |= static_cast<int>(values[i] < lowest) | static_cast<int>(values[i] >= limit);
  require(is_bad == 0, message);
}

}  // namespace hyperlocal::bindings
