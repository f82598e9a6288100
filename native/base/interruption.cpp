#include "base/interruption.h"

#include <chrono>

namespace crfkit {

namespace {

using Clock = std::chrono::steady_clock;

constexpr long long kWork = 100'000;              // nanoseconds between two looks at the flag or the clock
constexpr std::chrono::milliseconds kPeriod{50};  // between two questions

std::atomic<void (*)()> ask{nullptr};
thread_local const std::atomic<bool>* stop_flag = nullptr;
thread_local long long work_done = 0;
thread_local Clock::time_point asked_at{};

}  // namespace

void set_ask(void (*function)()) { ask.store(function, std::memory_order_release); }

void ask_now() {
  if (stop_flag) {
    if (stop_flag->load(std::memory_order_relaxed)) throw Stopped();
    return;
  }
  asked_at = Clock::now();
  if (auto* function = ask.load(std::memory_order_acquire)) function();
}

void poll(long long nanoseconds) {
  if ((work_done += nanoseconds) < kWork) return;
  work_done = 0;
  if (stop_flag || Clock::now() - asked_at >= kPeriod) ask_now();
}

Obedient::Obedient(const std::atomic<bool>* stop) : before_(stop_flag) { stop_flag = stop; }
Obedient::~Obedient() { stop_flag = before_; }

}  // namespace crfkit
