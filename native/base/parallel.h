// Threads for batches. Work is cut into blocks by the caller; block b always does the same work, so results
// that are combined in block order do not depend on timing.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

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

// Calls fn(block, worker) for block = 0..n_blocks-1 on up to n_threads threads; blocks are handed out in
// order. The first exception thrown by a block is rethrown here after all threads have stopped.
template <class Fn>
void parallel_for(int n_blocks, int n_threads, Fn&& fn) {
  if (n_threads > n_blocks) n_threads = n_blocks;
  if (n_threads <= 1) {
    for (int b = 0; b < n_blocks; ++b) fn(b, 0);
    return;
  }
  std::atomic<int> next{0};
  std::exception_ptr error;
  std::mutex error_mutex;
  auto work = [&](int worker) {
    for (int b = next++; b < n_blocks; b = next++) {
      try {
        fn(b, worker);
      } catch (...) {
        std::lock_guard<std::mutex> lock(error_mutex);
        if (!error) error = std::current_exception();
        next = n_blocks;
      }
    }
  };
  std::vector<std::thread> threads;
  threads.reserve(static_cast<size_t>(n_threads) - 1);
  try {
    for (int w = 1; w < n_threads; ++w) threads.emplace_back(work, w);
  } catch (const std::system_error&) {
    // The system cannot start more threads: those that started do all blocks, with the same result.
  }
  work(0);
  for (auto& thread : threads) thread.join();
  if (error) std::rethrow_exception(error);
}

}  // namespace crfkit
