// One kernel SVR per query, trained on the query's nearest rows.
//
// For each target the ε-SVR of LIBSVM,
//
//   max_β  Σ_i y_i β_i − ε Σ_i |β_i| − ½ Σ_ij β_i β_j K_ij,   |β_i| ≤ C_i,   Σ_i β_i = 0,
//
// by sequential minimal optimization; β_i is the sum of two variables, of which one is positive and
// one negative. All targets share one Gram matrix, whose last row and column belong to the query.
#pragma once

#include <vector>

#include "neighborhood.hpp"

namespace hyperlocal {

// Solves one neighborhood after the other; one per thread.
template <class T>
class ValueWorker {
 public:
  ValueWorker(const Neighborhood<T>& data, Index k)
      : data_(data),
        k_(k),
        svm_(2 * k),
        gram_(data.rows, data.options, k),
        doubled_(static_cast<std::size_t>(4 * k * k)),
        beta_(k) {}

  Index n_unsolved() const { return n_unsolved_; }

  const double* fill_gram(const Column* neighbors, const RowView<T>& query, double scale) {
    gram_.fill(neighbors, k_, query, scale);
    return gram_.values();
  }

  // Values of the query by its Gram matrix, whose rows are k + 1 apart.
  void score(const Column* neighbors, const double* gram, T* out) {
    const double* cross = gram + k_ * (k_ + 1);
    for_each_target(neighbors, gram, [&](Index t) {
      double sum = svm_.bias();
      for (Index i = 0; i < k_; ++i) sum += beta_[i] * cross[i];
      out[t] = static_cast<T>(sum);
    });
  }

  // Writes the models of center `c`, a column for each target.
  void train(const Column* neighbors, const double* gram, Index c, const TrainedSvms& models) {
    for_each_target(neighbors, gram, [&](Index t) {
      const Index column = models.starts[c] + t;
      models.classes[column] = static_cast<Column>(t);
      models.bias[column] = svm_.bias();
      for (Index i = 0; i < k_; ++i) models.beta[column * k_ + i] = beta_[i];
    });
  }

 private:
  // Calls `use(t)` after each solved problem.
  template <class Use>
  void for_each_target(const Column* neighbors, const double* gram, const Use& use) {
    for (Index i = 0; i < 2 * k_; ++i)
      for (Index j = 0; j < 2 * k_; ++j)
        doubled_[i * 2 * k_ + j] = gram[i % k_ * (k_ + 1) + j % k_];
    for (Index t = 0; t < data_.n_targets; ++t) {
      for (Index i = 0; i < k_; ++i) {
        const double value = data_.values[neighbors[i] * data_.n_targets + t];
        const double cost = data_.costs[neighbors[i]];
        svm_.set(i, value - data_.epsilon, 0, cost);
        svm_.set(k_ + i, value + data_.epsilon, -cost, 0);
      }
      n_unsolved_ += !svm_.solve(doubled_.data(), 2 * k_, 2 * k_, data_.options.tol,
                                 data_.options.max_steps);
      for (Index i = 0; i < k_; ++i) beta_[i] = svm_.beta()[i] + svm_.beta()[k_ + i];
      use(t);
    }
  }

  const Neighborhood<T>& data_;
  Index k_;
  SmallSvm svm_;
  NeighborhoodGram<T> gram_;
  std::vector<double> doubled_, beta_;
  Index n_unsolved_ = 0;
};

// Values of a range of queries, each by its own SVRs; returns how many did not converge.
template <class T>
Index neighborhood_values(const Neighborhood<T>& data, const Rows<T>& queries, Range range,
                          NeighborLists<T> lists, T* out) {
  const Index k = lists.k;
  ValueWorker<T> worker(data, k);
  RowBuffer<T> buffer;
  for (Index row = range.begin; row < range.end; ++row, out += data.n_columns()) {
    const double scale = scale_of(data.options, lists.distances, k);
    const double* gram = worker.fill_gram(lists.rows, queries.fetch(row, buffer), scale);
    worker.score(lists.rows, gram, out);
    lists.rows += k;
    lists.distances += k;
  }
  return worker.n_unsolved();
}

// The same with Gram matrices that the caller computed, (k+1) × (k+1) per query.
template <class T>
Index gram_values(const Neighborhood<T>& data, Index n, const Column* neighbors,
                  const double* grams, Index k, T* out) {
  ValueWorker<T> worker(data, k);
  for (Index row = 0; row < n; ++row, neighbors += k, grams += (k + 1) * (k + 1)) {
    worker.score(neighbors, grams, out);
    out += data.n_columns();
  }
  return worker.n_unsolved();
}

// Trains the SVRs of a range of centers, whose lists, scales and columns count from its beginning.
template <class T>
Index train_values(const Neighborhood<T>& data, const Rows<T>& centers, Range range,
                   const Column* neighbors, const TrainedSvms& models) {
  ValueWorker<T> worker(data, models.k);
  RowBuffer<T> buffer;
  for (Index c = 0; c < range.size(); ++c, neighbors += models.k) {
    const RowView<T> center = centers.fetch(range.begin + c, buffer);
    worker.train(neighbors, worker.fill_gram(neighbors, center, models.scales[c]), c, models);
  }
  return worker.n_unsolved();
}

}  // namespace hyperlocal
