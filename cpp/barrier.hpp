// Where the threads of one computation wait for each other between its phases.
//
// Each thread runs one part inside `run`, and calls `wait` at the end of every phase. A part that
// throws, or a call of `cancel`, breaks the barrier: all other parts leave at their next `wait`,
// and the first exception is rethrown once they have left. So no thread waits for one that never
// comes, and none still reads or writes when the caller sees the exception.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>

namespace hyperlocal {

class Barrier {
 public:
  explicit Barrier(std::int64_t n_threads) : n_threads_(n_threads) {}

  // Calls part(); returns whether it came to its end. False: another part failed or was cancelled.
  template <class Part>
  bool run(Part&& part) {
    n_inside_.fetch_add(1);
    const Leave leave{n_inside_};
    if (is_broken_.load()) return false;
    try {
      part();
      return true;
    } catch (const Broken&) {
      return false;
    } catch (...) {
      if (is_broken_.exchange(true)) return false;
      while (n_inside_.load() > 1) std::this_thread::yield();
      throw;
    }
  }

  // Phases last microseconds: threads spin at first, and yield when others take longer.
  void wait() {
    const std::int64_t phase = phase_.load(std::memory_order_acquire);
    if (n_arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == n_threads_) {
      n_arrived_.store(0, std::memory_order_relaxed);
      phase_.store(phase + 1, std::memory_order_release);
    }
    for (int spins = 0; phase_.load(std::memory_order_acquire) == phase; ++spins) {
      if (is_broken_.load(std::memory_order_relaxed)) throw Broken{};
      if (spins > most_spins) std::this_thread::yield();
    }
  }

  // Ends all parts at their next `wait`, and those that have yet to start.
  void cancel() { is_broken_.store(true); }

 private:
  struct Broken {};
  struct Leave {
    std::atomic<std::int64_t>& n_inside;
    ~Leave() { n_inside.fetch_sub(1); }
  };
  static constexpr int most_spins = 2000;

  std::int64_t n_threads_;
  std::atomic<std::int64_t> n_arrived_{0}, phase_{0}, n_inside_{0};
  std::atomic<bool> is_broken_{false};
};

}  // namespace hyperlocal
