// One kernel SVM per query, trained on the query's nearest rows.
//
// One-vs-rest over the classes present; for each the C-SVC of LIBSVM,
//
//   max_α  Σ_i α_i − ½ Σ_ij α_i α_j y_i y_j K_ij,   0 ≤ α_i ≤ C_i,   Σ_i α_i y_i = 0,
//
// by sequential minimal optimisation with second-order working sets (Fan, Chen and Lin 2005). All
// classes share one Gram matrix, whose last row and column belong to the query itself. With two
// classes present one problem serves both, and with one there is none.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "rows.hpp"
#include "tanh.hpp"

namespace hyperlocal {

enum class Kernel { linear, poly, rbf };

struct NeighborhoodOptions {
  Kernel kernel;
  double sigma;  // what rows about the query are divided by; 0: the root mean squared distance to
                 // the neighbours
  Index degree;  // poly: (x·x' + coef0)^degree
  double coef0;
  double tol;  // of the optimality conditions, as in LIBSVM
  Index max_steps;
};

// With β_i = y_i α_i:  max y·β − ½ βᵀKβ,  Σβ = 0,  β_i between 0 and y_i C_i. The gradient is
// g = y − Kβ, and β is optimal when no g of a β that may grow exceeds one of a β that may shrink.
class SmallSvm {
 public:
  explicit SmallSvm(Index n)
      : beta_(n), gradient_(n), lowest_(n), highest_(n), diagonal_(n), gains_(n) {}

  // `gram` is n × n with rows `stride` apart, `y` holds ±1. Returns whether it converged.
  bool solve(const double* gram, Index stride, Index n, const double* y, const double* costs,
             double tol, Index max_steps) {
    for (Index i = 0; i < n; ++i) {
      beta_[i] = 0;
      gradient_[i] = y[i];
      lowest_[i] = y[i] < 0 ? -costs[i] : 0;
      highest_[i] = y[i] < 0 ? 0 : costs[i];
      diagonal_[i] = gram[i * stride + i];
    }
    bool converged = false;
    for (Index step = 0; step < max_steps && !converged; ++step)
      converged = !improve(gram, stride, n, tol);
    converged = converged || !(largest_growing(n) - smallest_shrinking(n) > tol);
    bias_ = find_bias(n);
    return converged;
  }

  const double* beta() const { return beta_.data(); }
  double bias() const { return bias_; }

 private:
  static constexpr double infinity = std::numeric_limits<double>::infinity();
  static constexpr double least_curvature = 1e-12;

  double largest_growing(Index n) const {
    double largest = -infinity;
#pragma omp simd reduction(max : largest)
    for (Index i = 0; i < n; ++i) {
      const double value = beta_[i] < highest_[i] ? gradient_[i] : -infinity;
      largest = value > largest ? value : largest;
    }
    return largest;
  }

  double smallest_shrinking(Index n) const {
    double smallest = infinity;
#pragma omp simd reduction(min : smallest)
    for (Index i = 0; i < n; ++i) {
      const double value = beta_[i] > lowest_[i] ? gradient_[i] : infinity;
      smallest = value < smallest ? value : smallest;
    }
    return smallest;
  }

  // Moves weight from one row to another, where it gains most; false at the optimum.
  HYPERLOCAL_INLINE bool improve(const double* gram, Index stride, Index n, double tol) {
    const double largest = largest_growing(n);
    if (!(largest - smallest_shrinking(n) > tol)) return false;
    Index i = 0;
    while (i < n && !(beta_[i] < highest_[i] && gradient_[i] == largest)) ++i;
    if (i == n) return false;  // kernel values that are no numbers
    const double* row_i = gram + i * stride;

    double best = 0;
#pragma omp simd reduction(max : best)
    for (Index j = 0; j < n; ++j) {
      const double difference = largest - gradient_[j];
      const double curvature = diagonal_[i] + diagonal_[j] - 2 * row_i[j];
      const double bounded = curvature > least_curvature ? curvature : least_curvature;
      const double gain = difference * difference / bounded;
      const double allowed = beta_[j] > lowest_[j] && difference > 0 ? gain : -infinity;
      gains_[j] = allowed;
      best = allowed > best ? allowed : best;
    }
    Index j = 0;
    while (j < n && gains_[j] != best) ++j;
    if (j == n) return false;

    const double* row_j = gram + j * stride;
    const double curvature = diagonal_[i] + diagonal_[j] - 2 * row_i[j];
    const double room_i = highest_[i] - beta_[i], room_j = beta_[j] - lowest_[j];
    const double wanted = (largest - gradient_[j]) / std::max(curvature, least_curvature);
    const double moved = std::min(wanted, std::min(room_i, room_j));
    beta_[i] = moved == room_i ? highest_[i] : beta_[i] + moved;
    beta_[j] = moved == room_j ? lowest_[j] : beta_[j] - moved;
#pragma omp simd
    for (Index l = 0; l < n; ++l) gradient_[l] -= moved * (row_i[l] - row_j[l]);
    return true;
  }

  // Where the margins of the free rows lie, or the middle of what the others allow.
  double find_bias(Index n) const {
    double sum = 0;
    Index n_free = 0;
    for (Index i = 0; i < n; ++i) {
      if (beta_[i] > lowest_[i] && beta_[i] < highest_[i]) {
        sum += gradient_[i];
        ++n_free;
      }
    }
    if (n_free > 0) return sum / double(n_free);
    return 0.5 * (largest_growing(n) + smallest_shrinking(n));
  }

  std::vector<double> beta_, gradient_, lowest_, highest_, diagonal_, gains_;
  double bias_ = 0;
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

// Products of a query's neighbours, and of the query as the last row, with one another: about the
// query, so that they keep their digits wherever it lies.
template <class T>
class ProductMatrix {
 public:
  ProductMatrix(const Rows<T>& rows, Index n)
      : rows_(rows), n_(n), padded_((n + wide - 1) / wide * wide) {
    if (rows.is_dense()) {
      tile_.resize(static_cast<std::size_t>(padded_ * features_per_tile));
      sums_.resize(static_cast<std::size_t>(padded_ * padded_));
      starts_.resize(static_cast<std::size_t>(n));
    } else {
      written_out_.resize(static_cast<std::size_t>(rows.width()));
      products_.resize(static_cast<std::size_t>(n * n));
    }
  }

  void fill(const Column* neighbors, const RowView<T>& query) {
    rows_.is_dense() ? fill_dense(neighbors, query) : fill_sparse(neighbors, query);
  }

  // (x_i − q)·(x_j − q) for i ≤ j.
  HYPERLOCAL_INLINE double operator()(Index i, Index j) const {
    return rows_.is_dense() ? double(sums_[i * padded_ + j]) : products_[i * n_ + j];
  }

 private:
  static constexpr int lanes = lanes_per_register<T>;
  static constexpr Index tall = 4, wide = 2 * lanes, features_per_tile = 64;

  void fill_dense(const Column* neighbors, const RowView<T>& query) {
    for (Index i = 0; i + 1 < n_; ++i) starts_[i] = rows_.fetch(neighbors[i], buffer_).values;
    starts_[n_ - 1] = query.values;
    std::fill(sums_.begin(), sums_.end(), T(0));
    for (Index first = 0; first < query.size; first += features_per_tile) {
      const Index n_features = std::min(features_per_tile, query.size - first);
      for (Index i = 0; i < n_; ++i) {
        const T* x = starts_[i] + first;
        for (Index v = 0; v < n_features; ++v)
          tile_[v * padded_ + i] = x[v] - query.values[first + v];
      }
      for (Index i = 0; i < padded_; i += tall)
        for (Index j = i / wide * wide; j < padded_; j += wide) add_products(i, j, n_features);
    }
  }

  // A block of `tall` × `wide` products stays in registers while the features pass by.
  HYPERLOCAL_INLINE void add_products(Index i, Index j, Index n_features) {
    Lanes<T, lanes> left[tall], right[tall];
    for (int a = 0; a < tall; ++a) {
      const T* sum = &sums_[(i + a) * padded_ + j];
      left[a] = Lanes<T, lanes>::load(sum);
      right[a] = Lanes<T, lanes>::load(sum + lanes);
    }
    for (Index v = 0; v < n_features; ++v) {
      const T* feature = &tile_[v * padded_];
      const auto x = Lanes<T, lanes>::load(feature + j);
      const auto y = Lanes<T, lanes>::load(feature + j + lanes);
      for (int a = 0; a < tall; ++a) {
        left[a].add_product(x, feature[i + a]);
        right[a].add_product(y, feature[i + a]);
      }
    }
    for (int a = 0; a < tall; ++a) {
      T* sum = &sums_[(i + a) * padded_ + j];
      left[a].store(sum);
      right[a].store(sum + lanes);
    }
  }

  void fill_sparse(const Column* neighbors, const RowView<T>& query) {
    const auto row = [&](Index i) {
      return i + 1 < n_ ? rows_.fetch(neighbors[i], buffer_) : query;
    };
    for (Index i = 0; i < n_; ++i) {
      const RowView<T> x = row(i);
      for (Index v = 0; v < x.size; ++v) written_out_[x.columns[v]] = x.values[v];
      for (Index j = i; j < n_; ++j) products_[i * n_ + j] = exact_dot(row(j), written_out_.data());
      for (Index v = 0; v < x.size; ++v) written_out_[x.columns[v]] = 0;
    }
    const Index q = n_ - 1;
    const double own = products_[q * n_ + q];
    for (Index i = 0; i < n_; ++i)
      for (Index j = i; j < n_; ++j)
        products_[i * n_ + j] += own - products_[i * n_ + q] - products_[j * n_ + q];
  }

  const Rows<T>& rows_;
  Index n_, padded_;
  std::vector<T> tile_, sums_, written_out_;
  std::vector<double> products_;
  std::vector<const T*> starts_;
  RowBuffer<T> buffer_;
};

}  // namespace detail

// Where the SVMs of several centres are written: centre i owns the columns starts[i] …
// starts[i+1]-1, one per class present (one in all for two-class data, none where its neighbours
// are of one class).
struct TrainedSvms {
  const Index* starts;
  Column* classes;
  double* beta;  // columns × k
  double* bias;
  const double* scales;  // 1/σ² per centre
};

template <class T>
struct Neighborhood {
  const Rows<T>& rows;
  const Column* target;
  const double* costs;
  Index n_classes;
  NeighborhoodOptions options;

  Index n_columns() const { return n_classes == 2 ? 1 : n_classes; }
};

// What a neighbourhood says of the classes present in it, written as scores of all classes: one
// column for two of them.
class ClassScores {
 public:
  explicit ClassScores(Index n_classes) : n_classes_(n_classes) {}

  std::vector<Column> present;  // that of the nearest row first
  std::vector<double> scores;

  template <class T>
  void write_unanimous(Column label, T* out) const {
    if (n_classes_ == 2) {
      *out = label == 1 ? T(1) : T(-1);
      return;
    }
    std::fill_n(out, n_classes_, T(-1));
    out[label] = 1;
  }

  // Classes that are absent score below all others. Of equal best scores the one whose class comes
  // nearest wins, by the least difference there is.
  template <class T>
  void write(T* out) const {
    const Index n_present = static_cast<Index>(present.size());
    T best = -std::numeric_limits<T>::infinity(), worst = -best;
    Index first = 0, n_best = 0;
    for (Index slot = 0; slot < n_present; ++slot) {
      const T score = static_cast<T>(scores[slot]);
      if (score > best) first = slot, n_best = 0;
      n_best += score >= best;
      best = std::max(best, score);
      worst = std::min(worst, score);
    }
    const T winning = n_best > 1 ? std::nextafter(best, std::numeric_limits<T>::infinity()) : best;
    if (n_classes_ == 2) {
      *out = present[first] == 1 ? winning : -winning;
      return;
    }
    std::fill_n(out, n_classes_, std::min(T(-1), worst - T(1)));
    for (Index slot = 0; slot < n_present; ++slot)
      out[present[slot]] = slot == first ? winning : static_cast<T>(scores[slot]);
  }

 private:
  Index n_classes_;
};

// Solves one neighbourhood after the other; one per thread.
template <class T>
class NeighborhoodWorker {
 public:
  NeighborhoodWorker(const Neighborhood<T>& data, Index k)
      : data_(data),
        k_(k),
        svm_(k),
        gram_(static_cast<std::size_t>((k + 1) * (k + 1))),
        y_(k),
        costs_(k),
        slots_(k),
        slot_of_class_(data.n_classes, -1),
        found_(data.n_classes) {}

  Index n_unsolved() const { return n_unsolved_; }

  // Columns that the models of a centre need.
  Index columns_of(const Column* neighbors) {
    find_classes(neighbors);
    if (n_present() < 2) return 0;
    return data_.n_classes == 2 ? 1 : n_present();
  }

  // 1/σ², or 0 where all neighbours lie on the query.
  double scale(const T* distances) const {
    if (data_.options.sigma > 0) return 1 / (data_.options.sigma * data_.options.sigma);
    double sum = 0;
    for (Index i = 0; i < k_; ++i) sum += double(distances[i]);
    return sum > 0 ? double(k_) / sum : 0;
  }

  void fill_gram(const Column* neighbors, const RowView<T>& query, double scale,
                 detail::ProductMatrix<T>& products) {
    products.fill(neighbors, query);
    for (Index i = 0; i <= k_; ++i) {
      double* row = gram_.data() + i * (k_ + 1);
      if (data_.options.kernel == Kernel::rbf) {
        for (Index j = i; j <= k_; ++j)
          row[j] = std::max(products(i, i) + products(j, j) - 2 * products(i, j), 0.0);
        exp_of_negatives(row + i, k_ + 1 - i, 0.5 * scale);
      } else {
        for (Index j = i; j <= k_; ++j)
          row[j] = detail::kernel_value(data_.options, scale, products(i, j));
      }
      for (Index j = i + 1; j <= k_; ++j) gram_[j * (k_ + 1) + i] = row[j];
    }
  }

  const double* gram() const { return gram_.data(); }

  // Scores of a query whose Gram matrix is given; `decisive` is false where the nearest neighbour
  // must decide. Where both of two rivals are present, they alone meet (`rivals` may be null).
  void score(const Column* neighbors, const double* gram, bool decisive, const Column* rivals,
             T* out) {
    find_classes(neighbors);
    if (n_present() == 1 || !decisive) return found_.write_unanimous(found_.present[0], out);
    if (rivals != nullptr) leave_to(rivals[0], rivals[1]);
    found_.scores.resize(found_.present.size());
    const double* cross = gram + k_ * (k_ + 1);
    for_each_problem(gram, [&](Index slot) {
      double sum = svm_.bias();
      for (Index i = 0; i < k_; ++i) sum += svm_.beta()[i] * cross[i];
      found_.scores[slot] = sum;
      if (n_present() == 2) found_.scores[1 - slot] = -sum;
    });
    found_.write(out);
  }

  // Keeps the models of centre `c`, for which `columns_of` columns were set aside.
  void train(const Column* neighbors, const double* gram, Index c, const TrainedSvms& models) {
    find_classes(neighbors);
    if (n_present() < 2) return;
    const bool binary = data_.n_classes == 2;
    const Index start = models.starts[c];
    for_each_problem(gram, [&](Index slot) {
      if (binary) return keep(models, start, found_.present[slot], 1);
      keep(models, start + slot, found_.present[slot], 1);
      if (n_present() == 2) keep(models, start + 1 - slot, found_.present[1 - slot], -1);
    });
  }

 private:
  Index n_present() const { return static_cast<Index>(found_.present.size()); }

  // Lists the classes present, that of the nearest neighbour first.
  void find_classes(const Column* neighbors) {
    found_.present.clear();
    for (Index i = 0; i < k_; ++i) {
      const Column label = data_.target[neighbors[i]];
      if (slot_of_class_[label] < 0) {
        slot_of_class_[label] = static_cast<Column>(found_.present.size());
        found_.present.push_back(label);
      }
      slots_[i] = slot_of_class_[label];
      costs_[i] = data_.costs[neighbors[i]];
    }
    for (const Column label : found_.present) slot_of_class_[label] = -1;
  }

  // Calls `use(slot)` after each solved problem; of two classes the larger one is positive.
  template <class Use>
  void for_each_problem(const double* gram, const Use& use) {
    const bool two = n_present() == 2;
    const Index larger = two && found_.present[1] > found_.present[0] ? 1 : 0;
    for (Index slot = two ? larger : 0; slot < (two ? larger + 1 : n_present()); ++slot) {
      for (Index i = 0; i < k_; ++i) y_[i] = slots_[i] == slot ? 1 : -1;
      const bool solved = svm_.solve(gram, k_ + 1, k_, y_.data(), costs_.data(), data_.options.tol,
                                     data_.options.max_steps);
      n_unsolved_ += !solved;
      use(slot);
    }
  }

  // Rows of all classes but two may have no dual variable: as if they were not there.
  void leave_to(Column one, Column other) {
    const std::vector<Column> all = found_.present;
    std::vector<Column> two;
    for (const Column label : all)
      if (label == one || label == other) two.push_back(label);
    if (two.size() != 2) return;
    for (Index i = 0; i < k_; ++i) {
      const auto place = std::find(two.begin(), two.end(), all[slots_[i]]);
      if (place == two.end()) costs_[i] = 0;
      slots_[i] = static_cast<Column>(place - two.begin());
    }
    found_.present = two;
  }

  void keep(const TrainedSvms& models, Index column, Column label, double sign) {
    models.classes[column] = label;
    models.bias[column] = sign * svm_.bias();
    for (Index i = 0; i < k_; ++i) models.beta[column * k_ + i] = sign * svm_.beta()[i];
  }

  const Neighborhood<T>& data_;
  Index k_;
  SmallSvm svm_;
  std::vector<double> gram_, y_, costs_;
  std::vector<Column> slots_, slot_of_class_;
  ClassScores found_;
  Index n_unsolved_ = 0;
};

// Scores of the queries begin … end-1, each by its own SVMs; returns how many did not converge.
// Each query may name a few classes that are in question.
template <class T>
Index neighborhood_scores(const Neighborhood<T>& data, const Rows<T>& queries, Index begin,
                          Index end, const Column* neighbors, const T* distances, Index k,
                          const Column* rivals, T* out) {
  NeighborhoodWorker<T> worker(data, k);
  detail::ProductMatrix<T> products(data.rows, k + 1);
  RowBuffer<T> buffer;
  for (Index row = begin; row < end; ++row, neighbors += k, distances += k) {
    const double scale = worker.scale(distances);
    const bool solves = scale > 0 && worker.columns_of(neighbors) > 0;
    if (solves) worker.fill_gram(neighbors, queries.fetch(row, buffer), scale, products);
    worker.score(neighbors, worker.gram(), solves, rivals, out);
    if (rivals != nullptr) rivals += 2;
    out += data.n_columns();
  }
  return worker.n_unsolved();
}

// The same with Gram matrices that the caller computed, (k+1) × (k+1) per query.
template <class T>
Index gram_scores(const Neighborhood<T>& data, Index n, const Column* neighbors,
                  const double* grams, Index k, T* out) {
  NeighborhoodWorker<T> worker(data, k);
  for (Index row = 0; row < n; ++row) {
    worker.score(neighbors + row * k, grams + row * (k + 1) * (k + 1), true, nullptr, out);
    out += data.n_columns();
  }
  return worker.n_unsolved();
}

// Trains the SVMs of the centres begin … end-1; their lists, scales and columns count from `begin`.
template <class T>
Index train_neighborhoods(const Neighborhood<T>& data, const Rows<T>& centres, Index begin,
                          Index end, const Column* neighbors, Index k, const TrainedSvms& models) {
  NeighborhoodWorker<T> worker(data, k);
  detail::ProductMatrix<T> products(data.rows, k + 1);
  RowBuffer<T> buffer;
  for (Index c = 0; c < end - begin; ++c) {
    if (models.starts[c] == models.starts[c + 1]) continue;
    const Column* own = neighbors + c * k;
    worker.fill_gram(own, centres.fetch(begin + c, buffer), models.scales[c], products);
    worker.train(own, worker.gram(), c, models);
  }
  return worker.n_unsolved();
}

}  // namespace hyperlocal
