// Threads for batches. Work is cut into blocks by the caller; block b always does the same work, so results
// that are combined in block order do not depend on timing.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "base/interruption.h"

namespace crfkit {

// Cuts items 0 .. n - 1 into one contiguous run per thread, of about equal total length: [threads + 1].
template <class Length>
std::vector<int64_t> equal_runs(int64_t n, int threads, Length&& length) {
  int64_t total = 0, seen = 0;
  for (int64_t i = 0; i < n; ++i) total += length(i);
  std::vector<int64_t> cuts{0};
  for (int64_t i = 0; i < n && static_cast<int>(cuts.size()) < threads; ++i) {
    seen += length(i);
    if (seen * threads >= total * static_cast<int64_t>(cuts.size())) cuts.push_back(i + 1);
  }
  cuts.resize(static_cast<size_t>(threads) + 1, n);
  return cuts;
}

// The same without empty runs, and so perhaps fewer: [runs + 1].
template <class Length>
std::vector<int64_t> filled_runs(int64_t n, int threads, Length&& length) {
  std::vector<int64_t> cuts = equal_runs(n, threads, length);
  cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
  return cuts;
}

enum class Ending { kEarly, kWhole };  // whether a loop may be ended between its blocks and inside them

// Calls fn(block, worker) for block = 0..n_blocks-1 on up to n_threads threads; blocks are handed out in
// order. The first exception thrown by a block is rethrown here after all threads have stopped; the others
// then end at their next `poll`. A loop that must not be left half done has Ending::kWhole, and its blocks do
// not poll.
template <Ending ending = Ending::kEarly, class Fn>
void parallel_for(int n_blocks, int n_threads, Fn&& fn) {
  constexpr bool early = ending == Ending::kEarly;
  constexpr long long kBlockWork = 100'000;  // nanoseconds
  if (n_threads > n_blocks) n_threads = n_blocks;
  if (n_threads <= 1) {
    for (int b = 0; b < n_blocks; ++b) {
      if (early) poll(kBlockWork);
      fn(b, 0);
    }
    return;
  }
  std::atomic<int> next{0};
  std::atomic<bool> stop{false};
  std::exception_ptr error;
  int running = 0;
  std::mutex mutex;  // of error and running
  std::condition_variable ended;
  auto keep_error = [&] {
    const std::lock_guard<std::mutex> lock(mutex);
    if (!error) error = std::current_exception();
    next = n_blocks;
    stop = true;
  };
  auto work = [&](int worker) {
    for (int b = next++; b < n_blocks; b = next++) {
      try {
        if (early) poll(kBlockWork);
        fn(b, worker);
      } catch (...) {
        keep_error();
      }
    }
  };
  auto help = [&](int worker) {
    const Obedient obedient(&stop);
    work(worker);
    const std::lock_guard<std::mutex> lock(mutex);
    if (--running == 0) ended.notify_one();
  };
  std::vector<std::thread> threads;
  threads.reserve(static_cast<size_t>(n_threads) - 1);
  try {
    for (int w = 1; w < n_threads; ++w) {
      {
        const std::lock_guard<std::mutex> lock(mutex);
        ++running;
      }
      threads.emplace_back(help, w);
    }
  } catch (const std::system_error&) {
    // The system cannot start more threads: those that started do all blocks, with the same result.
    const std::lock_guard<std::mutex> lock(mutex);
    --running;
  }
  work(0);
  for (std::unique_lock<std::mutex> lock(mutex); running > 0;) {
    // While the others work, this thread goes on asking whether to end.
    if (ended.wait_for(lock, std::chrono::milliseconds(50)) != std::cv_status::timeout || !early) continue;
    lock.unlock();
    try {
      ask_now();
    } catch (...) {
      keep_error();
    }
    lock.lock();
  }
  for (auto& thread : threads) thread.join();
  if (error) std::rethrow_exception(error);
}

}  // namespace crfkit
