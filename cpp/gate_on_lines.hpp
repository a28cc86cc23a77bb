// A soft gate on lines whose logits are linear in t: z(t) = z(0) + t (z(1) − z(0)).
//
// One line in each lane. At a t, the anchors that are active in some lane are listed, with weights
// γ ∝ exp(z) over the `n_active` largest logits of the lane, 0 elsewhere.
#pragma once

#include <algorithm>
#include <limits>
#include <vector>

#include "rows.hpp"
#include "tanh.hpp"

namespace hyperlocal::detail {

class GateOnLines {
 public:
  static constexpr int lanes = 4;
  using Lane = Lanes<double, lanes>;

  GateOnLines(Index n_anchors, Index n_active)
      : start(n_anchors),
        change(n_anchors),
        weights(n_anchors),
        active(n_anchors),
        m_(n_anchors),
        n_active_(n_active),
        keeps_largest_(2 * n_active <= n_anchors + 1),
        logits_(n_anchors),
        kept_(keeps_largest_ ? n_active : n_anchors - n_active + 1) {}

  std::vector<Lane> start, change;  // z(0), and z(1) − z(0)
  std::vector<Lane> weights;        // of the anchors listed; not scaled
  std::vector<Index> active;        // the anchors listed
  Index n_listed = 0;
  bool jumps[lanes] = {};  // whether the set of active anchors has changed on the way

  // All lines end at one row.
  void go_to(const double* logits) {
    for (Index j = 0; j < m_; ++j) change[j] = Lane::all(logits[j]) - start[j];
  }

  void forget_jumps() { std::fill_n(jumps, lanes, false); }

  void list_all() {
    for (n_listed = 0; n_listed < m_; ++n_listed) active[n_listed] = n_listed;
  }

  void find(double t, bool is_first) {
    const Lane at = Lane::all(t);
    Lane top = Lane::all(-std::numeric_limits<double>::infinity());
    for (Index j = 0; j < m_; ++j) {
      logits_[j] = start[j] + at * change[j];
      top = choose(top, logits_[j], top, logits_[j]);
    }
    if (n_active_ < m_) {
      list_active(top, is_first);
    } else {
      list_all();
      for (Index j = 0; j < m_; ++j) weights[j] = logits_[j] - top;
    }
    double* values = reinterpret_cast<double*>(weights.data());
    const Index n = n_listed * lanes;
#pragma omp simd
    for (Index v = 0; v < n; ++v) values[v] = exp_of_negative(values[v]);
  }

 private:
  // Lists the anchors that are active in some lane, with their logits below the largest; −∞ where
  // they are not active.
  void list_active(const Lane& top, bool is_first) {
    const Lane least = least_active(), one = Lane::all(1.0), none = Lane::zero();
    const Lane never = Lane::all(-std::numeric_limits<double>::infinity());
    Lane signature = none;  // a number of the set: it differs where the set does
    double number = 0.1;
    n_listed = 0;
    for (Index j = 0; j < m_; ++j) {
      const Lane is_in = choose(logits_[j], least, one, none);
      weights[n_listed] = choose(logits_[j], least, logits_[j] - top, never);
      active[n_listed] = j;
      n_listed += is_in.sum() > 0 ? 1 : 0;
      signature.add_product(is_in, number);
      number = number * 1.5 - (number > 1 ? 1.0 : 0.0);
    }
    for (int r = 0; r < lanes; ++r)
      jumps[r] |= !is_first && signature.value[r] != signature_.value[r];
    signature_ = signature;
  }

  // The smallest logit of an active anchor. The largest logits (or the others and this one,
  // whichever are fewer) are kept sorted by exchanges of whole lanes, which need no branches.
  Lane least_active() {
    const Lane sign = Lane::all(keeps_largest_ ? -1.0 : 1.0);
    const auto n_kept = static_cast<Index>(kept_.size());
    std::fill(kept_.begin(), kept_.end(), Lane::all(std::numeric_limits<double>::infinity()));
    for (Index j = 0; j < m_; ++j) {
      Lane key = sign * logits_[j];
      const Index n = std::min(j + 1, n_kept);
      for (Index i = 0; i < n; ++i) {
        const Lane one = kept_[i];
        kept_[i] = choose(one, key, key, one);
        key = choose(one, key, one, key);
      }
    }
    return sign * kept_.back();
  }

  Index m_, n_active_;
  bool keeps_largest_;
  std::vector<Lane> logits_, kept_;
  Lane signature_{};
};

}  // namespace hyperlocal::detail
