// Who asks whether a computation shall end, and how the threads that work for it learn the answer.
//
// The core does not know who may interrupt it: whoever embeds it gives a function that throws (`set_ask`). It
// is called in the thread that entered the core, about every twentieth of a second. The threads that this
// thread has started watch a flag instead (`Obedient`). Nothing is shared between computations: those of
// other threads go on.
#pragma once

#include <atomic>
#include <exception>

#include "base/poll.h"

namespace crfkit {

// Ends a thread that works for another one; `parallel_for` swallows it.
struct Stopped : std::exception {
  const char* what() const noexcept override { return "the computation was stopped"; }
};

void set_ask(void (*ask)());

// Asks now. For a thread that only waits for others.
void ask_now();

// While it lives, this thread's `poll` watches the flag and asks nobody.
class Obedient {
 public:
  explicit Obedient(const std::atomic<bool>* stop);
  ~Obedient();
  Obedient(const Obedient&) = delete;
  Obedient& operator=(const Obedient&) = delete;

 private:
  const std::atomic<bool>* before_;
};

}  // namespace crfkit
