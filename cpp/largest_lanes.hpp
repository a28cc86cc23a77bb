// The least of the k largest of some numbers, in each lane.
#pragma once

#include <algorithm>
#include <iterator>
#include <limits>
#include <vector>

#include "rows.hpp"
#include "simd.hpp"

namespace hyperlocal {

namespace detail {

template <class Lane, class Real>
Lane filled_lane(Real number) {
  Real numbers[sizeof(Lane) / sizeof(Real)];
  std::fill(std::begin(numbers), std::end(numbers), number);
  return Lane::load(numbers);
}

// Compared in the order of an instruction that has no need to choose afterwards.
template <class Lane>
HYPERLOCAL_INLINE Lane larger(const Lane& one, const Lane& other) {
#if defined(__GNUC__) || defined(__clang__)
  return {one.value > other.value ? one.value : other.value};
#else
  return choose(one, other, one, other);
#endif
}

// The k largest of m (or the others and the least of them, whichever are fewer) are kept sorted by
// exchanges of whole lanes, which need no branches.
template <class Real, int lanes>
class LargestInLanes {
 public:
  using Lane = Lanes<Real, lanes>;

  LargestInLanes(Index m, Index k)
      : m_(m), k_(k), sign_(2 * k <= m + 1 ? -1 : 1), kept_(sign_ < 0 ? k : m - k + 1) {}

  // Of m numbers, the largest of which is `top`.
  Lane least(const Lane* numbers, const Lane& top) {
    if (k_ == 1) return top;
    switch (kept_.size()) {
      case 2:
        return last<2>(numbers);
      case 3:
        return last<3>(numbers);
      case 4:
        return last<4>(numbers);
      case 5:
        return last<5>(numbers);
      case 6:
        return last<6>(numbers);
      case 7:
        return last<7>(numbers);
      case 8:
        return last<8>(numbers);
      default:
        return last_of_many(numbers);
    }
  }

 private:
  // As many as there are registers for.
  template <int n_kept>
  Lane last(const Lane* numbers) const {
    Lane kept[n_kept];
    for (Lane& one : kept) one = never();
    for (Index j = 0; j < m_; ++j) exchange(kept, n_kept, numbers[j].times(sign_));
    return kept[n_kept - 1].times(sign_);
  }

  Lane last_of_many(const Lane* numbers) {
    const auto n_kept = static_cast<Index>(kept_.size());
    std::fill(kept_.begin(), kept_.end(), never());
    for (Index j = 0; j < m_; ++j)
      exchange(kept_.data(), std::min(j + 1, n_kept), numbers[j].times(sign_));
    return kept_.back().times(sign_);
  }

  static HYPERLOCAL_INLINE void exchange(Lane* kept, Index n, Lane key) {
    for (Index i = 0; i < n; ++i) {
      const Lane one = kept[i];
      kept[i].lower_to(key);
      key = larger(one, key);
    }
  }

  static Lane never() { return filled_lane<Lane>(std::numeric_limits<Real>::infinity()); }

  Index m_, k_;
  Real sign_;  // −1 where the largest are kept
  std::vector<Lane> kept_;
};

}  // namespace detail

}  // namespace hyperlocal
