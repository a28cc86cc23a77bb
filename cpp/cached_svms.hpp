// Local SVMs that were trained once, for centers among the rows, and are cached for all queries.
//
// Of a center's neighbors only the support vectors matter: rows with a dual variable that is not
// zero, in whichever of the center's columns.
#pragma once

#include "nearest.hpp"
#include "neighborhood.hpp"

namespace hyperlocal {

// The support vectors of all centers: center i has rows[starts[i]] … rows[starts[i+1]-1],
// and `beta` holds for one center after the other its dual variables, columns × support vectors.
template <class T>
struct SupportVectors {
  Index n_centers, n_rows, n_beta;
  const Index* starts;
  const Column* rows;
  const T* beta;

  Index size(Index c) const { return starts[c + 1] - starts[c]; }
};

// Center i owns the columns starts[i] … starts[i+1]-1: one per class present, one in all for
// two-class data, none where one class is present; of values one per target.
template <class T>
struct CachedSvms {
  const Neighborhood<T>& neighborhood;
  Index n_centers;
  const Column* nearest;  // a row on the center; its class wins where others are as good
  const double* scales;   // 1/σ²
  const Index* starts;
  const Column* classes;
  const double* bias;
  SupportVectors<T> support;
  std::vector<Index> beta_starts;

  Index n_columns(Index c) const { return starts[c + 1] - starts[c]; }

  // Where the dual variables of each center begin; the end of the last is their number.
  void find_beta_starts() {
    beta_starts.assign(1, 0);
    for (Index c = 0; c < n_centers; ++c)
      beta_starts.push_back(beta_starts[c] + n_columns(c) * support.size(c));
  }
};

namespace detail {

// Kernel values of one query after the other with the support vectors of its center.
template <class T>
class CenterKernel {
 public:
  explicit CenterKernel(const Neighborhood<T>& data)
      : data_(data), distance_(data.rows), written_out_(data.rows) {}

  // `on_center` is a row that lies on the center.
  const T* values(const RowView<T>& query, Column on_center, const Column* support, Index n,
                  double scale) {
    values_.resize(static_cast<std::size_t>(n));
    if (data_.options.kernel == Kernel::rbf) {
      fill_distances(query, support, n);
      const double largest = std::numeric_limits<T>::max();
      exp_of_negatives(values_.data(), n, static_cast<T>(std::min(0.5 * scale, largest)));
    } else {
      fill_products(query, on_center, support, n);
      for (Index i = 0; i < n; ++i)
        values_[i] = static_cast<T>(kernel_value(data_.options, scale, products_[i]));
    }
    return values_.data();
  }

 private:
  void fill_distances(const RowView<T>& query, const Column* support, Index n) {
    if (query.is_dense()) {
      const auto start = [&](Index i) { return data_.rows.fetch(support[i], buffer_).values; };
      return squared_differences(query.values, query.size, start, n, values_.data());
    }
    distance_.set(query);
    for (Index i = 0; i < n; ++i) values_[i] = distance_(support[i]);
  }

  // (v − c)·(x − c) = (v·x − c·x) − (v·c − c·c)
  void fill_products(const RowView<T>& query, Column on_center, const Column* support, Index n) {
    products_.resize(static_cast<std::size_t>(n));
    RowBuffer<T> other;
    const RowView<T> center = data_.rows.fetch(on_center, other);
    const T* x = written_out_.values_of(query);
    const double from_center = exact_dot(center, x);
    for (Index i = 0; i < n; ++i)
      products_[i] = exact_dot(data_.rows.fetch(support[i], buffer_), x) - from_center;
    const T* c = written_out_.values_of(center);
    const double norm = squared_norm(center);
    for (Index i = 0; i < n; ++i)
      products_[i] -= exact_dot(data_.rows.fetch(support[i], buffer_), c) - norm;
  }

  const Neighborhood<T>& data_;
  DistanceFrom<T> distance_;
  WrittenOut<T> written_out_;
  std::vector<double> products_;
  std::vector<T> values_;
  RowBuffer<T> buffer_;
};

template <class T>
T plain_dot(const T* a, const T* b, Index n) {
  T sum = 0;
#pragma omp simd reduction(+ : sum)
  for (Index i = 0; i < n; ++i) sum += a[i] * b[i];
  return sum;
}

}  // namespace detail

// Scores of the queries begin … end-1 by the models of their centers; nothing is trained.
template <class T>
void cached_scores(const CachedSvms<T>& models, const Rows<T>& queries, Range range,
                   const Column* centers, T* out) {
  const Neighborhood<T>& data = models.neighborhood;
  detail::CenterKernel<T> kernel(data);
  ClassScores found(data.n_classes);
  RowBuffer<T> buffer;
  for (Index row = range.begin; row < range.end; ++row, out += data.n_columns()) {
    const Index c = *centers++;
    const Index n_columns = models.n_columns(c), n_support = models.support.size(c);
    if (n_columns == 0) {
      found.write_unanimous(data.target[models.nearest[c]], out);
      continue;
    }
    const Column* support = models.support.rows + models.support.starts[c];
    const T* values = kernel.values(queries.fetch(row, buffer), models.nearest[c], support,
                                    n_support, models.scales[c]);
    const T* beta = models.support.beta + models.beta_starts[c];
    const auto score = [&](Index column) {
      return models.bias[models.starts[c] + column] +
             detail::plain_dot(beta + column * n_support, values, n_support);
    };
    if (data.has_values()) {
      for (Index t = 0; t < n_columns; ++t) out[t] = static_cast<T>(score(t));
      continue;
    }
    const Column first = data.target[models.nearest[c]];
    if (data.n_classes == 2) {  // the one column is that of class 1
      const double sum = score(0);
      found.present = {first, 1 - first};
      found.scores = {first == 1 ? sum : -sum, first == 1 ? -sum : sum};
    } else {
      const Column* classes = models.classes + models.starts[c];
      found.present.assign(classes, classes + n_columns);
      found.scores.resize(static_cast<std::size_t>(n_columns));
      for (Index column = 0; column < n_columns; ++column) found.scores[column] = score(column);
    }
    found.write(out);
  }
}

}  // namespace hyperlocal
