// The kernel values of a query's neighbors, and of the query as the last one.
#pragma once

#include <algorithm>
#include <vector>

#include "product_matrix.hpp"
#include "rows.hpp"
#include "tanh.hpp"

namespace hyperlocal {

enum class Kernel { linear, poly, rbf };

struct NeighborhoodOptions {
  Kernel kernel;
  double sigma;  // what rows about the query are divided by; 0: the root mean squared distance to
                 // the neighbors
  Index degree;  // poly: (x·x' + coef0)^degree
  double coef0;
  double tol;  // of the optimality conditions, as in LIBSVM
  Index max_steps;
};

namespace detail {

inline double integer_power(double base, Index exponent) {
  double power = 1;
  for (; exponent > 0; exponent /= 2, base *= base)
    if (exponent % 2 == 1) power *= base;
  return power;
}

// k(x, x') of the linear and polynomial kernels, from the product of x and x' about the query;
// `scale` is 1/σ².
inline double kernel_value(const NeighborhoodOptions& options, double scale, double product) {
  if (options.kernel == Kernel::linear) return scale * product;
  return integer_power(scale * product + options.coef0, options.degree);
}

}  // namespace detail

// Kernel values within one neighborhood after the other, rows k + 1 apart.
template <class T>
class NeighborhoodGram {
 public:
  NeighborhoodGram(const Rows<T>& rows, const NeighborhoodOptions& options, Index k)
      : options_(options),
        products_(rows, k),
        stride_(k + 1),
        values_(static_cast<std::size_t>((k + 1) * (k + 1))) {}

  void fill(const Column* neighbors, Index n, const RowView<T>& query, double scale) {
    products_.fill(neighbors, n, query);
    for (Index i = 0; i <= n; ++i) {
      double* row = values_.data() + i * stride_;
      if (options_.kernel == Kernel::rbf) {
        for (Index j = i; j <= n; ++j)
          row[j] = std::max(products_(i, i) + products_(j, j) - 2 * products_(i, j), 0.0);
        exp_of_negatives(row + i, n + 1 - i, 0.5 * scale);
      } else {
        for (Index j = i; j <= n; ++j)
          row[j] = detail::kernel_value(options_, scale, products_(i, j));
      }
      for (Index j = i + 1; j <= n; ++j) values_[j * stride_ + i] = row[j];
    }
  }

  const double* values() const { return values_.data(); }

 private:
  const NeighborhoodOptions& options_;
  detail::ProductMatrix<T> products_;
  Index stride_;
  std::vector<double> values_;
};

// 1/σ², or 0 where all neighbors lie on the query.
template <class T>
double scale_of(const NeighborhoodOptions& options, const T* distances, Index k) {
  if (options.sigma > 0) return 1 / (options.sigma * options.sigma);
  double sum = 0;
  for (Index i = 0; i < k; ++i) sum += double(distances[i]);
  return sum > 0 ? double(k) / sum : 0;
}

}  // namespace hyperlocal
