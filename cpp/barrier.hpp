// Where the threads of one computation wait for each other between its phases.
//
// Each thread runs one part inside `run`, and calls `wait` at the end of every phase. A part that
// throws, or a call of `cancel`, breaks the barrier: all other parts leave at their next `wait`,
// and the first exception is rethrown once they have left. So no thread waits for one that never
// comes, and none still reads or writes when the caller sees the exception.
#pragma once

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
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
      wake();
      while (n_inside_.load() > 1) std::this_thread::yield();
      throw;
    }
  }

  // Phases last microseconds, so threads spin at first: to sleep and to be woken takes longer.
  // Where another computation has the core of a thread that is waited for, spinning only keeps it
  // from coming back: a thread that has spun in vain sleeps, and spins for a shorter time from then
  // on.
  void wait() {
    const std::int64_t phase = phase_.load();
    if (n_arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == n_threads_) {
      n_arrived_.store(0, std::memory_order_relaxed);
      phase_.store(phase + 1);
      if (n_asleep_.load() > 0) wake();
      return;
    }
    const int spins = spins_.load(std::memory_order_relaxed);
    if (spun(phase, spins)) {
      spins_.store(std::min(2 * spins, most_spins), std::memory_order_relaxed);
    } else {
      spins_.store(std::max(spins / 2, fewest_spins), std::memory_order_relaxed);
      sleep(phase);
    }
    if (is_broken_.load(std::memory_order_relaxed)) throw Broken{};
  }

  // Ends all parts at their next `wait`, and those that have yet to start.
  void cancel() {
    is_broken_.store(true);
    wake();
  }

 private:
  struct Broken {};
  struct Leave {
    std::atomic<std::int64_t>& n_inside;
    ~Leave() { n_inside.fetch_sub(1); }
  };
  static constexpr int most_spins = 4096, fewest_spins = 16;  // 4096 take some 50 microseconds

  static void pause() {
#if (defined(__GNUC__) || defined(__clang__)) && defined(__x86_64__)
    __builtin_ia32_pause();
#endif
  }
  bool is_over(std::int64_t phase) const { return phase_.load() != phase || is_broken_.load(); }

  // Whether the phase was over before so many spins were.
  bool spun(std::int64_t phase, int spins) const {
    for (int i = 0; i < spins; ++i) {
      if (is_over(phase)) return true;
      pause();
    }
    return is_over(phase);
  }

  // A sleeper counts itself before it looks at the phase, and who ends the phase looks at the count
  // after: one of them sees the other.
  void sleep(std::int64_t phase) {
    std::unique_lock<std::mutex> lock(mutex_);
    n_asleep_.fetch_add(1);
    awake_.wait(lock, [&] { return is_over(phase); });
    n_asleep_.fetch_sub(1);
  }

  void wake() {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
    }
    awake_.notify_all();
  }

  std::int64_t n_threads_;
  std::atomic<std::int64_t> n_arrived_{0}, phase_{0}, n_inside_{0}, n_asleep_{0};
  std::atomic<bool> is_broken_{false};
  std::atomic<int> spins_{most_spins};
  std::mutex mutex_;
  std::condition_variable awake_;
};

}  // namespace hyperlocal
