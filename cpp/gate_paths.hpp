// Averages on the way from references to rows that explanations of a gated model need.
//
// On the line r + t (x − r), 0 ≤ t ≤ 1, the logits z_j of a soft gate are linear in t and the
// scores s_jc of the local models are polynomials of degree two, s_jc(t) = s_jc(0) + t b_jc + t²
// c_jc. So both are given at the ends, and a node of the quadrature costs a few numbers per anchor:
//
//   γ_j ∝ exp(z_j) over the `n_active` largest logits, Σ γ = 1; or ‖γ‖ = factor (`is_unit`)
//   a   = 1, or 1 / √(‖φ‖² + B²) where rows are normalized
//   f_c = a Σ_j γ_j s_jc
//
// With quadrature weights ω, a row and a reference get, in this order:
//
//   start_j  = Σ_t ω (1 − t) a γ_j        how much of the local model's slope at the reference,
//   end_j    = Σ_t ω t a γ_j              and at the row, is in the average (their sum alone where
//                                         slopes are the same everywhere)
//   gate_cj  = Σ_t ω a γ_j (s_jc − q_j f_c / a)      ∂f_c/∂z_j; q = 1, or γ_j / ‖γ‖² (`is_unit`)
//   shrink_c = −Σ_t ω (1 − t, t) f_c (α, 2β ‖p‖²) / (‖φ‖² + B²)    four numbers per column, for
//                                         normalized rows: the parts of u(0), u(1), p(0) and p(1)
//
// where φ is a polynomial of the numbers u, ‖φ‖² = α ‖u‖² + β ‖p‖⁴, and p are those of them that
// are multiplied with each other. A line whose averages do not add up to f(1) − f(0), though its
// active anchors stay the same, is computed again with the finer rule.
//
// References are computed side by side, one in each lane. Averages are in double precision.
// Contributions by quadrature, whose error is larger by far, are in single precision: a line from
// each of eight references at a time. Where numbers are too large or too small for it, they are in
// double precision.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "path_lines.hpp"
#include "path_sums.hpp"

namespace hyperlocal {

// out: averages, (rows, references, width).
inline void path_moments(const GatePaths& paths, const PathOptions& options, const PathRule& coarse,
                         const PathRule& fine, double* out) {
  detail::LinesToRow<double> lines(paths, options);
  if (fine.size > 0) lines.find_ends();
  for (Index begin = 0; begin < paths.n_references; begin += lines.lanes) {
    lines.start(begin);
    for (Index row = 0; row < paths.n_rows; ++row) {
      lines.go(row, coarse, fine);
      lines.write(out + row * paths.n_references * paths.width());
    }
  }
}

namespace detail {

template <class Real>
void add_contributions(const GatePaths& paths, const PathOptions& options, const PathRule& coarse,
                       const PathRule& fine, const PathFeatures& features, double* out) {
  LinesToRow<Real> lines(paths, options);
  if (fine.size > 0) lines.find_ends();
  PathSums<Real, LinesToRow<Real>::lanes> sums(features, paths.squares != nullptr);
  for (Index begin = 0; begin < paths.n_references; begin += lines.lanes) {
    lines.start(begin);
    sums.start(lines.sources(), lines.n_lines());
    for (Index row = 0; row < paths.n_rows; ++row) {
      lines.go(row, coarse, fine);
      sums.add(row, lines.sums(), out + row * paths.n_columns * features.n_features);
    }
  }
}

constexpr Index rows_to_compare = 64;

// Whether numbers of rows (rows, size) and of references (size, references) differ from each other
// by more than a small share of them: where they do not, single precision would lose their changes.
// Some of the rows tell.
inline bool are_apart(const double* rows, Index n_rows, const double* starts, Index n_references,
                      Index size) {
  constexpr double small_share = 1e-3;
  const Index step = 1 + n_rows / rows_to_compare;
  std::vector<double> lowest(size), highest(size);
  for (Index i = 0; i < size; ++i) {
    const auto [low, high] =
        std::minmax_element(starts + i * n_references, starts + (i + 1) * n_references);
    lowest[i] = *low;
    highest[i] = *high;
  }
  for (Index row = 0; row < n_rows; row += step)
    for (Index i = 0; i < size; ++i) {
      const double number = rows[row * size + i];
      lowest[i] = number < lowest[i] ? number : lowest[i];
      highest[i] = number > highest[i] ? number : highest[i];
    }
  double change = 0, largest = 0;
  for (Index i = 0; i < size; ++i) {
    change = std::max(change, highest[i] - lowest[i]);
    largest = std::max({largest, std::fabs(lowest[i]), std::fabs(highest[i])});
  }
  return change >= small_share * largest;
}

// The same of rows and references themselves, by their squares (rows, 6, references).
inline bool are_lengths_apart(const double* squares, Index n_rows, Index n_references) {
  constexpr double small_share = 1e-4;
  const Index step = 1 + n_rows / rows_to_compare;
  for (Index part = 0; part < 6; part += 3) {
    double change = 0, largest = 0;
    for (Index row = 0; row < n_rows; row += step) {
      const double* start = squares + (row * 6 + part) * n_references;
      const double *product = start + n_references, *end = product + n_references;
      for (Index r = 0; r < n_references; ++r) {
        const double size = start[r] > end[r] ? start[r] : end[r];
        const double apart = start[r] - 2 * product[r] + end[r];
        change = apart > change ? apart : change;
        largest = size > largest ? size : largest;
      }
    }
    if (change < small_share * largest) return false;
  }
  return true;
}

// Whether products of two numbers are in the range of single precision, as is a squared length.
inline bool fit_in_single(const GatePaths& paths, const PathOptions& options,
                          const PathFeatures& features) {
  constexpr double large = 1e18, small = 1e-18;
  const auto are_all = [](const double* numbers, Index n, auto&& is_good) {
    return numbers == nullptr || std::all_of(numbers, numbers + n, is_good);
  };
  const auto are_not_large = [&](const double* numbers, Index n) {
    return are_all(numbers, n, [](double number) { return std::fabs(number) < large; });
  };
  const auto vanish = [&](const double* numbers, Index n) {
    return are_all(numbers, n, [](double number) { return std::fabs(number) < small; });
  };
  const Index n = paths.n_rows, m = paths.n_anchors, n_references = paths.n_references;
  const Index n_scores = m * paths.n_columns, d = features.n_features;
  if (vanish(paths.row_scores, n * n_scores) && vanish(paths.start_scores, n_scores * n_references))
    return false;
  const Index n_lengths = 6 * n * n_references;
  const bool may_vanish = options.bias * options.bias < small;
  const auto is_seen = [](double square) { return square == 0 || std::fabs(square) > small; };
  return are_not_large(paths.row_logits, n * m) &&
         are_not_large(paths.start_logits, m * n_references) &&
         are_not_large(paths.row_scores, n * n_scores) &&
         are_not_large(paths.start_scores, n_scores * n_references) &&
         are_not_large(paths.linear, n * n_scores * n_references) &&
         are_not_large(paths.squares, n_lengths) && are_not_large(features.rows, n * d) &&
         are_not_large(features.row_inner, n * d) &&
         are_not_large(features.starts, n_references * d) &&
         are_not_large(features.start_inner, n_references * d) &&
         are_not_large(features.anchors, m * d) &&
         are_not_large(features.start_slopes,
                       (features.is_curved ? n_references : 1) * n_scores * d) &&
         (!features.is_curved || are_not_large(features.row_slopes, n * n_scores * d)) &&
         (!may_vanish || are_all(paths.squares, n_lengths, is_seen)) &&
         are_apart(paths.row_scores, n, paths.start_scores, n_references, n_scores) &&
         (paths.squares == nullptr || are_lengths_apart(paths.squares, n, n_references));
}

}  // namespace detail

// Adds contributions to out, (rows, columns, features).
inline void path_contributions(const GatePaths& paths, const PathOptions& options,
                               const PathRule& coarse, const PathRule& fine,
                               const PathFeatures& features, double* out) {
  if (paths.gates == nullptr && paths.n_anchors > 1 &&
      detail::fit_in_single(paths, options, features)) {
    std::vector<double> found(paths.n_rows * paths.n_columns * features.n_features);
    detail::add_contributions<float>(paths, options, coarse, fine, features, found.data());
    // Products of three numbers may be too large all the same.
    const Index n = static_cast<Index>(found.size());
    const double* from = found.data();
    double nothing = 0;
#pragma omp simd reduction(+ : nothing)
    for (Index i = 0; i < n; ++i) nothing += 0 * from[i];
    if (nothing == 0) {
      for (Index i = 0; i < n; ++i) out[i] += from[i];
      return;
    }
  }
  detail::add_contributions<double>(paths, options, coarse, fine, features, out);
}

}  // namespace hyperlocal
