// The nearest few of many points, searched for in the nearest cells of a partition.
//
// Points are stored side by side, so that a register holds one feature of several of them: even
// rows of few features then keep it full, and nothing has to be summed across its lanes.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "nearest.hpp"
#include "rows.hpp"

namespace hyperlocal {

template <class T>
class PackedPoints {
 public:
  static constexpr int lanes = lanes_per_register<T>;
  static constexpr Index side = 2 * lanes;

  explicit PackedPoints(Index width) : width_(width) {}

  Index n_groups() const { return static_cast<Index>(names_.size()) / side; }
  // Of the points in a group; −1 where there is none.
  const Column* names(Index group) const { return names_.data() + group * side; }

  // Adds points as groups of their own, in the order of their names.
  void add(const T* points, const Column* names, Index n) {
    for (Index first = 0; first < n; first += side) {
      const Index start = static_cast<Index>(values_.size());
      values_.resize(values_.size() + static_cast<std::size_t>(width_ * side), T(0));
      for (Index lane = 0; lane < side; ++lane) {
        names_.push_back(first + lane < n ? names[first + lane] : -1);
        if (first + lane >= n) continue;
        const T* x = points + Index(names[first + lane]) * width_;
        for (Index v = 0; v < width_; ++v) values_[start + v * side + lane] = x[v];
      }
    }
  }

  // ‖x − point‖² for the points of a group; what is written for missing ones means nothing.
  HYPERLOCAL_INLINE void distances(const T* x, Index group, T* out) const {
    const T* values = values_.data() + group * width_ * side;
    // Several independent sums: the additions of one alone would depend on each other.
    Lanes<T, lanes> left[n_sums], right[n_sums];
    for (int i = 0; i < n_sums; ++i) left[i] = right[i] = Lanes<T, lanes>::zero();
    Index v = 0;
    for (; v + n_sums <= width_; v += n_sums)
      for (int i = 0; i < n_sums; ++i, values += side)
        add_squares(values, x[v + i], left[i], right[i]);
    for (; v < width_; ++v, values += side) add_squares(values, x[v], left[0], right[0]);
    for (int i = 1; i < n_sums; ++i) {
      left[0].add(left[i]);
      right[0].add(right[i]);
    }
    left[0].store(out);
    right[0].store(out + lanes);
  }

 private:
  static constexpr int n_sums = 4;

  HYPERLOCAL_INLINE static void add_squares(const T* values, T x, Lanes<T, lanes>& left,
                                            Lanes<T, lanes>& right) {
    auto a = Lanes<T, lanes>::load(values), b = Lanes<T, lanes>::load(values + lanes);
    a.subtract(x);
    b.subtract(x);
    left.add_product(a, a);
    right.add_product(b, b);
  }

  Index width_;
  std::vector<T> values_;
  std::vector<Column> names_;
};

template <class T>
class Cells {
 public:
  // `points` is n × width and `centers` n_cells × width; `cells` names the cell of each point.
  Cells(const T* points, const Column* cells, Index n, const T* centers, Index n_cells, Index width)
      : width_(width), n_points_(n), centers_(width), members_(width) {
    std::vector<std::vector<Column>> lists(static_cast<std::size_t>(n_cells));
    for (Index i = 0; i < n; ++i) lists[cells[i]].push_back(static_cast<Column>(i));
    starts_.push_back(0);
    for (const std::vector<Column>& list : lists) {
      members_.add(points, list.data(), static_cast<Index>(list.size()));
      starts_.push_back(members_.n_groups());
    }
    for (Index c = 0; c < n_cells; ++c) {
      T farthest = 0;
      for (const Column point : lists[c])
        farthest = std::max(farthest, squared_difference(points + Index(point) * width,
                                                         centers + c * width, width));
      radii_.push_back(std::sqrt(farthest) * T(1.001));
    }
    std::vector<Column> all(static_cast<std::size_t>(n_cells));
    std::iota(all.begin(), all.end(), Column(0));
    centers_.add(centers, all.data(), n_cells);
  }

  Index width() const { return width_; }
  Index n_points() const { return n_points_; }

  // The k nearest points among those in the `n_probes` nearest cells (or in all, if these have
  // fewer than k), nearest first, equal distances by their index. Cell by cell, so that a cell is
  // read into the cache once for all queries that probe it.
  void nearest(const Rows<T>& queries, Range range, Index n_probes, WrittenNeighbors<T> out) const {
    RowBuffer<T> buffer;
    const auto query = [&](Index row) { return queries.fetch(row, buffer).values; };
    std::vector<std::vector<Visit>> first(starts_.size()), later(starts_.size());
    Nearest probed(std::min(n_probes, n_cells()));
    for (Index row = range.begin; row < range.end; ++row) {
      probed.clear();
      scan(centers_, 0, centers_.n_groups(), query(row), probed);
      for (const auto& [distance, cell] : probed.places)
        (cell == probed.places[0].second ? first : later)[cell].push_back({row, distance});
    }
    std::vector<Nearest> found(static_cast<std::size_t>(range.size()), Nearest(out.k));
    for (const auto* visits : {&first, &later})
      for (Index cell = 0; cell < n_cells(); ++cell)
        for (const Visit& visit : (*visits)[cell]) {
          Nearest& own = found[visit.row - range.begin];
          if (!is_beyond(visit.distance, radii_[cell], own.limit()))
            scan(members_, starts_[cell], starts_[cell + 1], query(visit.row), own);
        }
    for (Index row = range.begin; row < range.end; ++row) {
      Nearest& own = found[row - range.begin];
      if (!own.is_full()) {
        own.clear();
        scan(members_, 0, members_.n_groups(), query(row), own);
      }
      out.write(own.places);
    }
  }

 private:
  // The nearest few of the points measured so far, nearest first.
  struct Nearest {
    explicit Nearest(Index most) : n_wanted(static_cast<std::size_t>(most)) {}

    std::size_t n_wanted;
    std::vector<std::pair<T, Column>> places;

    void clear() { places.clear(); }
    bool is_full() const { return places.size() == n_wanted; }
    T limit() const { return is_full() ? places.back().first : std::numeric_limits<T>::infinity(); }

    void insert(T distance, Column name) {
      const std::pair<T, Column> place(distance, name);
      if (!is_full())
        places.push_back(place);
      else if (place < places.back())
        places.back() = place;
      else
        return;
      for (std::size_t j = places.size() - 1; j > 0 && place < places[j - 1]; --j)
        std::swap(places[j], places[j - 1]);
    }
  };

  struct Visit {
    Index row;
    T distance;  // from the center of the cell
  };

  // Whether all points of a cell are farther from the query than `limit`, up to rounding.
  static bool is_beyond(T distance, T radius, T limit) {
    const T gap = std::sqrt(distance) - radius;
    return gap > 0 && gap * gap > T(1.001) * limit;
  }

  Index n_cells() const { return static_cast<Index>(starts_.size()) - 1; }

  HYPERLOCAL_INLINE static void scan(const PackedPoints<T>& points, Index begin, Index end,
                                     const T* x, Nearest& nearest) {
    constexpr Index side = PackedPoints<T>::side;
    T distances[side];
    for (Index group = begin; group < end; ++group) {
      points.distances(x, group, distances);
      const T limit = nearest.limit();
      int n_near = 0;
#pragma omp simd reduction(+ : n_near)
      for (Index lane = 0; lane < side; ++lane) n_near += distances[lane] <= limit ? 1 : 0;
      if (n_near == 0) continue;
      const Column* names = points.names(group);
      for (Index lane = 0; lane < side && names[lane] >= 0; ++lane)
        if (distances[lane] <= limit) nearest.insert(distances[lane], names[lane]);
    }
  }

  Index width_, n_points_;
  PackedPoints<T> centers_, members_;
  std::vector<Index> starts_;
  std::vector<T> radii_;
};

}  // namespace hyperlocal
