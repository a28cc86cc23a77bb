// Contributions through a tree of gates in single precision, along eight lines at a time.
//
// The integrals are those of tree_paths.hpp, whose head states them: one reference is in each lane,
// and a node is visited if it is on the path of some line. The first integral is of tanh g between
// the ends of a part, with log cosh g = |g| − log(1 + |tanh g|) + a constant. Rounding leaves some
// millionths of the largest contribution.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "simd.hpp"
#include "tanh.hpp"
#include "tree.hpp"
#include "tree_parts.hpp"

namespace hyperlocal {

namespace detail {

class TreeSums {
 public:
  static constexpr int lanes = 8;
  using Lane = Lanes<float, lanes>;

  TreeSums(const TreePaths& paths, const double* shares)
      : paths_(paths),
        shares_(shares),
        nodes_(paths.nodes, paths.nodes + paths.shape.n_nodes() * paths.shape.block()),
        products_(paths.shape.n_nodes() * paths.shape.n_vectors()),
        origin_(paths.shape.stride),
        unit_(paths.shape.stride),
        start_products_(products_.size()),
        starts_(paths.shape.stride) {
    find_units();
    const Index stride = paths.shape.stride;
    for (std::size_t i = 0; i < nodes_.size(); ++i)
      nodes_[i] = static_cast<float>(paths.nodes[i] / unit_[static_cast<Index>(i) % stride]);
  }

  // Whether numbers are of a size at which rounding to single precision matters little.
  static bool fits(const TreePaths& paths) {
    constexpr double large = 1e4;
    const Index n = paths.n_references * paths.shape.n_nodes() * paths.shape.n_vectors();
    return std::all_of(paths.products, paths.products + n,
                       [](double product) { return std::fabs(product) < large; });
  }

  // The references from `begin` on; lanes without one repeat the last, with no share.
  void start(Index begin) {
    const TreeShape& shape = paths_.shape;
    const Index n_products = static_cast<Index>(products_.size());
    for (int r = 0; r < lanes; ++r) {
      const Index own = std::min(begin + r, paths_.n_references - 1);
      share_.value[r] = begin + r < paths_.n_references ? static_cast<float>(shares_[own]) : 0.0f;
      for (Index i = 0; i < n_products; ++i)
        start_products_[i].value[r] = static_cast<float>(paths_.products[own * n_products + i]);
      for (Index v = 0; v < shape.stride; ++v)
        starts_[v].value[r] = around_origin(paths_.references[own * shape.stride + v], v);
    }
  }

  // Adds to out, (columns, stride).
  void add(const double* row, double* out) {
    visits_.clear();
    weights_.clear();
    row_ = row;
    visit(0, Lane::zero(), Lane::all(1));
    const TreeShape& shape = paths_.shape;
    for (Index c = 0; c < shape.n_columns; ++c)
      for (Index v = 0; v < shape.stride; v += block) add_block(c, v, out + c * shape.stride + v);
  }

 private:
  static constexpr int block = 8;  // features whose sums stay in registers
  // Of the change of g: both rules err by about a millionth there.
  static constexpr float flat = 0.1f;

  // Differences of rows keep their digits around the mean of the references, and their size in
  // powers of two near those of the features.
  void find_units() {
    const Index stride = paths_.shape.stride, n = paths_.n_references;
    for (Index v = 0; v < stride; ++v) {
      double sum = 0, size = 0;
      for (Index r = 0; r < n; ++r) sum += paths_.references[r * stride + v];
      origin_[v] = sum / static_cast<double>(n);
      for (Index r = 0; r < n; ++r)
        size = std::max(size, std::fabs(paths_.references[r * stride + v] - origin_[v]));
      int exponent = 0;
      if (size > 0) std::frexp(size, &exponent);
      unit_[v] = std::ldexp(1.0, -std::clamp(exponent, -1000, 1000));
    }
  }

  float around_origin(double number, Index v) const {
    return static_cast<float>((number - origin_[v]) * unit_[v]);
  }

  // A node that lines pass between a and b; in lanes of lines that do not, a is b.
  void visit(Index node, const Lane& a, const Lane& b) {
    const TreeShape& shape = paths_.shape;
    const Index place = node * shape.n_vectors();
    find_products(node, place);
    integrate(node, place, a, b);
    if (!shape.is_inner(node)) return;
    const Lane start = start_products_[place + kRoute];
    const Lane change = Lane::all(static_cast<float>(products_[place + kRoute])) - start;
    // Where the route's product is zero; beyond the part where it keeps its sign.
    Lane turn;
    for (int r = 0; r < lanes; ++r) {
      const float from = start.value[r], to = from + change.value[r];
      const float t = (from > 0) == (to > 0) ? 1.0f : from / (from - to);
      turn.value[r] = std::clamp(t, a.value[r], b.value[r]);
    }
    Lane left_a, left_b, right_a, right_b;
    for (int r = 0; r < lanes; ++r) {
      const bool goes_left = start.value[r] > 0;
      left_a.value[r] = goes_left ? a.value[r] : turn.value[r];
      left_b.value[r] = goes_left ? turn.value[r] : b.value[r];
      right_a.value[r] = goes_left ? turn.value[r] : a.value[r];
      right_b.value[r] = goes_left ? b.value[r] : turn.value[r];
    }
    if ((left_b - left_a).sum() > 0) visit(2 * node + 1, left_a, left_b);
    if ((right_b - right_a).sum() > 0) visit(2 * node + 2, right_a, right_b);
  }

  void find_products(Index node, Index place) {
    const TreeShape& shape = paths_.shape;
    const auto view = RowView<double>::of_dense(row_, shape.stride);
    const double* vectors = paths_.nodes + node * shape.block();
    double* out = products_.data() + place;
    row_dots<3>(view, vectors, shape.stride, out, 1);
    for (Index v = 3; v < shape.n_vectors(); ++v)
      row_dots<1>(view, vectors + v * shape.stride, shape.stride, out + v, 1);
  }

  // Values at both ends of the parts of all lanes, side by side.
  struct Ends {
    float first[lanes], last[lanes];
  };

  Ends at_ends(Index place, const Lane& a, const Lane& b) const {
    const Lane start = start_products_[place];
    const Lane change = Lane::all(static_cast<float>(products_[place])) - start;
    Ends ends;
    (start + a * change).store(ends.first);
    (start + b * change).store(ends.last);
    return ends;
  }

  void integrate(Index node, Index place, const Lane& a, const Lane& b) {
    const Ends g = at_ends(place + kGate, a, b);
    const Ends tanhs = tanhs_of(g), logs = logs_of(tanhs);
    float lengths[lanes], shares[lanes], on_weights[lanes];
    (b - a).store(lengths);
    share_.store(shares);
#pragma omp simd
    for (int r = 0; r < lanes; ++r) {
      const float step = g.last[r] - g.first[r], t0 = tanhs.first[r], t1 = tanhs.last[r];
      const bool is_flat = std::fabs(step) < flat;
      // Large numbers are subtracted from each other first.
      const float change =
          (std::fabs(g.last[r]) - std::fabs(g.first[r])) - (logs.last[r] - logs.first[r]);
      const float simple = 0.5f * (t0 + t1) + step * (t1 * t1 - t0 * t0) * (1.0f / 12);
      on_weights[r] = lengths[r] * (is_flat ? simple : change / (is_flat ? 1.0f : step));
    }
    visits_.push_back(node);
    weights_.push_back(Lane::load(on_weights) * share_);
    for (Index c = 0; c < paths_.shape.n_columns; ++c) {
      const Ends s = at_ends(place + kFirstColumn + c, a, b);
      float on_gates[lanes];
#pragma omp simd
      for (int r = 0; r < lanes; ++r) {
        const float step = g.last[r] - g.first[r], t0 = tanhs.first[r], t1 = tanhs.last[r];
        const float s0 = s.first[r], s1 = s.last[r], along = s1 - s0;
        const bool is_flat = std::fabs(step) < flat;
        const float at0 = 1 - t0 * t0, at1 = 1 - t1 * t1;
        const float slopes =
            at0 * (along - 2 * t0 * s0 * step) - at1 * (along - 2 * t1 * s1 * step);
        const float simple = 0.5f * (at0 * s0 + at1 * s1) + slopes * (1.0f / 12);
        const float change = (s1 * t1 - s0 * t0) * lengths[r] - along * on_weights[r];
        const float found = is_flat ? simple * lengths[r] : change / (is_flat ? 1.0f : step);
        on_gates[r] = shares[r] * found;
      }
      weights_.push_back(Lane::load(on_gates));
    }
  }

  static Ends tanhs_of(const Ends& g) {
    Ends found;
    tanhs_of(g.first, found.first);
    tanhs_of(g.last, found.last);
    return found;
  }

  static void tanhs_of(const float* g, float* out) {
#pragma omp simd
    for (int r = 0; r < lanes; ++r) {
      const float e = exp_of_negative(-2 * std::fabs(g[r]));
      out[r] = std::copysign((1 - e) / (1 + e), g[r]);
    }
  }

  // log(1 + |tanh g|)
  static Ends logs_of(const Ends& tanhs) {
    Ends found;
    logs_of(tanhs.first, found.first);
    logs_of(tanhs.last, found.last);
    return found;
  }

  // log(1 + y) = 2 artanh(y / (2 + y)), whose argument is at most 1/3.
  static void logs_of(const float* tanhs, float* out) {
#pragma omp simd
    for (int r = 0; r < lanes; ++r) {
      const float y = std::fabs(tanhs[r]), z = y / (2 + y);
      out[r] = 2 * z * artanh_series<0>(z * z);
    }
  }

  template <int k>
  static HYPERLOCAL_INLINE float artanh_series(float square) {
    constexpr float coefficient = 1.0f / (2 * k + 1);
    if constexpr (k == 7)
      return coefficient;
    else
      return coefficient + square * artanh_series<k + 1>(square);
  }

  // Of some features: sums over the nodes, times the differences of the ends.
  void add_block(Index c, Index v, double* out) const {
    const TreeShape& shape = paths_.shape;
    const Index per_node = 1 + shape.n_columns;
    Lane sums[block];
    for (Lane& sum : sums) sum = Lane::zero();
    for (std::size_t i = 0; i < visits_.size(); ++i) {
      const float* vectors = nodes_.data() + visits_[i] * shape.block() + v;
      const float *own = vectors + (kFirstColumn + c) * shape.stride,
                  *gate = vectors + kGate * shape.stride;
      const Lane on_weight = weights_[i * per_node], on_gate = weights_[i * per_node + 1 + c];
      for (int k = 0; k < block; ++k) {
        sums[k].add_product(on_weight, own[k]);
        sums[k].add_product(on_gate, gate[k]);
      }
    }
    for (int k = 0; k < block; ++k) {
      Lane away = starts_[v + k];
      away.subtract(around_origin(row_[v + k], v + k));
      out[k] -= static_cast<double>((away * sums[k]).sum());
    }
  }

  const TreePaths& paths_;
  const double* shares_;
  const double* row_ = nullptr;
  std::vector<float> nodes_;
  std::vector<double> products_, origin_, unit_;
  std::vector<Lane> start_products_, starts_, weights_;
  std::vector<Index> visits_;
  Lane share_;
};

}  // namespace detail

}  // namespace hyperlocal
