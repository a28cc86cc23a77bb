// One kernel SVM per query, trained on the query's nearest rows.
//
// One-vs-rest over the classes present; for each the C-SVC of LIBSVM,
//
//   max_α  Σ_i α_i − ½ Σ_ij α_i α_j y_i y_j K_ij,   0 ≤ α_i ≤ C_i,   Σ_i α_i y_i = 0,
//
// by sequential minimal optimization with second-order working sets (Fan, Chen and Lin 2005). All
// classes share one Gram matrix, whose last row and column belong to the query itself. With two
// classes present one problem is solved for both, and with one there is none.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "neighborhood_gram.hpp"
#include "rows.hpp"
#include "small_svm.hpp"

namespace hyperlocal {

// Where the SVMs of several centers are written: center i owns the columns starts[i] …
// starts[i+1]-1, one per class present (one in all for two-class data, none where its neighbors
// are of one class).
struct TrainedSvms {
  const Index* starts;
  Column* classes;
  double* beta;  // columns × k
  double* bias;
  const double* scales;  // 1/σ² per center
  Index n_centers, n_columns, k;
};

// Rows with classes, or with values.
template <class T>
struct Neighborhood {
  const Rows<T>& rows;
  const Column* target;  // classes
  const double* costs;
  Index n_classes;
  NeighborhoodOptions options;
  const double* values = nullptr;  // rows × targets
  Index n_targets = 0;
  double epsilon = 0;

  bool has_values() const { return values != nullptr; }
  Index n_columns() const {
    if (has_values()) return n_targets;
    return n_classes == 2 ? 1 : n_classes;
  }
};

// Scores of the classes present in a neighborhood, written as scores of all classes: one column for
// two of them.
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

// Solves one neighborhood after the other; one per thread.
template <class T>
class NeighborhoodWorker {
 public:
  NeighborhoodWorker(const Neighborhood<T>& data, Index k)
      : data_(data),
        k_(k),
        svm_(k),
        costs_(k),
        rows_(k),
        slots_(k),
        slot_of_class_(data.n_classes, -1),
        found_(data.n_classes) {}

  Index n_unsolved() const { return n_unsolved_; }

  // Takes the k neighbors of a query. Where at least two of the classes in question are among them
  // (a flag for each class, or null for all), the rows of other classes are left out.
  void gather(const Column* neighbors, const std::uint8_t* in_question) {
    const auto asked = [&](Index i) { return in_question[data_.target[neighbors[i]]] != 0; };
    bool is_mixed = false;
    if (in_question != nullptr) {
      Column first = -1;
      for (Index i = 0; i < k_ && !is_mixed; ++i) {
        if (!asked(i)) continue;
        const Column label = data_.target[neighbors[i]];
        is_mixed = first >= 0 && label != first;
        first = label;
      }
    }
    n_ = 0;
    for (Index i = 0; i < k_; ++i)
      if (!is_mixed || asked(i)) rows_[n_++] = neighbors[i];
    find_classes();
  }

  bool is_mixed() const { return n_present() > 1; }

  // Columns that the models of a center need.
  Index columns_of(const Column* neighbors) {
    gather(neighbors, nullptr);
    if (!is_mixed()) return 0;
    return data_.n_classes == 2 ? 1 : n_present();
  }

  const Column* rows() const { return rows_.data(); }
  Index n() const { return n_; }

  // Scores of the query by its Gram matrix, whose rows are k + 1 apart.
  void score(const double* gram, T* out) {
    found_.scores.resize(found_.present.size());
    const double* cross = gram + n_ * (k_ + 1);
    for_each_problem(gram, [&](Index slot) {
      double sum = svm_.bias();
      for (Index i = 0; i < n_; ++i) sum += svm_.beta()[i] * cross[i];
      found_.scores[slot] = sum;
      if (n_present() == 2) found_.scores[1 - slot] = -sum;
    });
    found_.write(out);
  }

  // The score of the nearest neighbor's class.
  void follow_nearest(T* out) const { found_.write_unanimous(found_.present[0], out); }

  // Writes the models of center `c`, on all of its neighbors.
  void train(const double* gram, Index c, const TrainedSvms& models) {
    const bool binary = data_.n_classes == 2;
    const Index start = models.starts[c];
    for_each_problem(gram, [&](Index slot) {
      if (binary) return write(models, start, found_.present[slot], 1);
      write(models, start + slot, found_.present[slot], 1);
      if (n_present() == 2) write(models, start + 1 - slot, found_.present[1 - slot], -1);
    });
  }

 private:
  Index n_present() const { return static_cast<Index>(found_.present.size()); }

  // Lists the classes present, that of the nearest neighbor first.
  void find_classes() {
    found_.present.clear();
    for (Index i = 0; i < n_; ++i) {
      const Column label = data_.target[rows_[i]];
      if (slot_of_class_[label] < 0) {
        slot_of_class_[label] = static_cast<Column>(found_.present.size());
        found_.present.push_back(label);
      }
      slots_[i] = slot_of_class_[label];
      costs_[i] = data_.costs[rows_[i]];
    }
    for (const Column label : found_.present) slot_of_class_[label] = -1;
  }

  // Calls `use(slot)` after each solved problem; of two classes the larger one is positive.
  template <class Use>
  void for_each_problem(const double* gram, const Use& use) {
    const bool two = n_present() == 2;
    const Index larger = two && found_.present[1] > found_.present[0] ? 1 : 0;
    for (Index slot = two ? larger : 0; slot < (two ? larger + 1 : n_present()); ++slot) {
      for (Index i = 0; i < n_; ++i)
        slots_[i] == slot ? svm_.set(i, 1, 0, costs_[i]) : svm_.set(i, -1, -costs_[i], 0);
      const bool solved =
          svm_.solve(gram, k_ + 1, n_, data_.options.tol, data_.options.max_steps);
      n_unsolved_ += !solved;
      use(slot);
    }
  }

  void write(const TrainedSvms& models, Index column, Column label, double sign) {
    models.classes[column] = label;
    models.bias[column] = sign * svm_.bias();
    for (Index i = 0; i < k_; ++i) models.beta[column * k_ + i] = sign * svm_.beta()[i];
  }

  const Neighborhood<T>& data_;
  Index k_, n_ = 0;  // neighbors, and those gathered
  SmallSvm svm_;
  std::vector<double> costs_;
  std::vector<Column> rows_, slots_, slot_of_class_;
  ClassScores found_;
  Index n_unsolved_ = 0;
};

// Each query's k nearest rows, and their squared distances.
template <class T>
struct NeighborLists {
  Index k;
  const Column* rows;
  const T* distances;
};

// Scores of a range of queries, each by its own SVMs; returns how many did not converge. Each query
// may name the classes in question, by a flag for each class.
template <class T>
Index neighborhood_scores(const Neighborhood<T>& data, const Rows<T>& queries, Range range,
                          NeighborLists<T> lists, const std::uint8_t* in_question, T* out) {
  const Index k = lists.k;
  NeighborhoodWorker<T> worker(data, k);
  NeighborhoodGram<T> gram(data.rows, data.options, k);
  RowBuffer<T> buffer;
  for (Index row = range.begin; row < range.end; ++row, lists.rows += k, lists.distances += k) {
    const double scale = scale_of(data.options, lists.distances, k);
    worker.gather(lists.rows, in_question);
    if (scale > 0 && worker.is_mixed()) {
      gram.fill(worker.rows(), worker.n(), queries.fetch(row, buffer), scale);
      worker.score(gram.values(), out);
    } else {
      worker.follow_nearest(out);
    }
    if (in_question != nullptr) in_question += data.n_classes;
    out += data.n_columns();
  }
  return worker.n_unsolved();
}

// The same with Gram matrices that the caller computed, (k+1) × (k+1) per query.
template <class T>
Index gram_scores(const Neighborhood<T>& data, Index n, const Column* neighbors,
                  const double* grams, Index k, T* out) {
  NeighborhoodWorker<T> worker(data, k);
  for (Index row = 0; row < n; ++row, out += data.n_columns()) {
    worker.gather(neighbors + row * k, nullptr);
    if (worker.is_mixed()) {
      worker.score(grams + row * (k + 1) * (k + 1), out);
    } else {
      worker.follow_nearest(out);
    }
  }
  return worker.n_unsolved();
}

// Trains the SVMs of a range of centers, whose lists, scales and columns count from its beginning.
template <class T>
Index train_neighborhoods(const Neighborhood<T>& data, const Rows<T>& centers, Range range,
                          const Column* neighbors, const TrainedSvms& models) {
  const Index k = models.k;
  NeighborhoodWorker<T> worker(data, k);
  NeighborhoodGram<T> gram(data.rows, data.options, k);
  RowBuffer<T> buffer;
  for (Index c = 0; c < range.size(); ++c) {
    if (models.starts[c] == models.starts[c + 1]) continue;
    worker.gather(neighbors + c * k, nullptr);
    gram.fill(worker.rows(), worker.n(), centers.fetch(range.begin + c, buffer), models.scales[c]);
    worker.train(gram.values(), c, models);
  }
  return worker.n_unsolved();
}

}  // namespace hyperlocal
