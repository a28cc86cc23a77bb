// Local SVMs that were trained once, for centres among the rows, and are kept to answer queries.
//
// Of a centre's neighbours only the support vectors matter: rows with a dual variable that is not
// zero, in whichever of the centre's columns.
#pragma once

#include "neighborhood.hpp"

namespace hyperlocal {

// Centre i owns the columns starts[i] … starts[i+1]-1 (one per class present, one in all for
// two-class data, none where one class is present), the support vectors support_starts[i] …, and
// from beta_starts[i] a matrix of dual variables, columns × support vectors.
template <class T>
struct KeptSvms {
  const Column* nearest;  // a row on the centre; its class wins where others are as good
  const double* scales;   // 1/σ²
  const Index* starts;
  const Column* classes;
  const double* bias;
  const Index* support_starts;
  const Column* support;
  const Index* beta_starts;
  const T* beta;

  Index n_columns(Index c) const { return starts[c + 1] - starts[c]; }
  Index n_support(Index c) const { return support_starts[c + 1] - support_starts[c]; }
};

namespace detail {

// Kernel values of one query after the other with the support vectors of its centre.
template <class T>
class CentreKernel {
 public:
  explicit CentreKernel(const Neighborhood<T>& data)
      : data_(data),
        written_out_(data.rows.is_dense() ? 0 : static_cast<std::size_t>(data.rows.width())) {}

  // `on_centre` is a row that lies on the centre.
  const T* values(const RowView<T>& query, Column on_centre, const Column* support, Index n,
                  double scale) {
    values_.resize(static_cast<std::size_t>(n));
    if (data_.options.kernel == Kernel::rbf) {
      fill_distances(query, support, n);
      const double largest = std::numeric_limits<T>::max();
      exp_of_negatives(values_.data(), n, static_cast<T>(std::min(0.5 * scale, largest)));
    } else {
      fill_products(query, on_centre, support, n);
      for (Index i = 0; i < n; ++i)
        values_[i] = static_cast<T>(kernel_value(data_.options, scale, products_[i]));
    }
    return values_.data();
  }

 private:
  const T* write_out(const RowView<T>& x, T factor) {
    if (x.is_dense()) return x.values;
    for (Index v = 0; v < x.size; ++v) written_out_[x.columns[v]] = factor * x.values[v];
    return written_out_.data();
  }

  void fill_distances(const RowView<T>& query, const Column* support, Index n) {
    if (query.is_dense()) {
      const auto start = [&](Index i) { return data_.rows.fetch(support[i], buffer_).values; };
      return squared_differences(query.values, query.size, start, n, values_.data());
    }
    const T* x = write_out(query, T(1));
    const double norm = squared_norm(query);
    for (Index i = 0; i < n; ++i) {
      const RowView<T> v = data_.rows.fetch(support[i], buffer_);
      values_[i] = static_cast<T>(std::max(norm + squared_norm(v) - 2 * exact_dot(v, x), 0.0));
    }
    write_out(query, T(0));
  }

  // (v − c)·(x − c) = (v·x − c·x) − (v·c − c·c)
  void fill_products(const RowView<T>& query, Column on_centre, const Column* support, Index n) {
    products_.resize(static_cast<std::size_t>(n));
    RowBuffer<T> other;
    const RowView<T> centre = data_.rows.fetch(on_centre, other);
    const T* x = write_out(query, T(1));
    const double from_centre = exact_dot(centre, x);
    for (Index i = 0; i < n; ++i)
      products_[i] = exact_dot(data_.rows.fetch(support[i], buffer_), x) - from_centre;
    write_out(query, T(0));
    const T* c = write_out(centre, T(1));
    const double norm = squared_norm(centre);
    for (Index i = 0; i < n; ++i)
      products_[i] -= exact_dot(data_.rows.fetch(support[i], buffer_), c) - norm;
    write_out(centre, T(0));
  }

  const Neighborhood<T>& data_;
  std::vector<double> products_;
  std::vector<T> values_, written_out_;
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

// Scores of the queries begin … end-1 by the models of their centres; nothing is trained.
template <class T>
void kept_scores(const Neighborhood<T>& data, const KeptSvms<T>& models, const Rows<T>& queries,
                 Index begin, Index end, const Column* centres, T* out) {
  detail::CentreKernel<T> kernel(data);
  ClassScores found(data.n_classes);
  RowBuffer<T> buffer;
  for (Index row = begin; row < end; ++row, out += data.n_columns()) {
    const Index c = *centres++;
    const Index n_columns = models.n_columns(c), n_support = models.n_support(c);
    const Column first = data.target[models.nearest[c]];
    if (n_columns == 0) {
      found.write_unanimous(first, out);
      continue;
    }
    const Column* support = models.support + models.support_starts[c];
    const T* values = kernel.values(queries.fetch(row, buffer), models.nearest[c], support,
                                    n_support, models.scales[c]);
    const T* beta = models.beta + models.beta_starts[c];
    const auto score = [&](Index column) {
      return models.bias[models.starts[c] + column] +
             detail::plain_dot(beta + column * n_support, values, n_support);
    };
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
