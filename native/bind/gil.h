// Letting go of Python's lock while the core computes, also in threads that outlive the interpreter.
#pragma once

#include <nanobind/nanobind.h>

#include <chrono>
#include <thread>
#ifdef __GLIBC__
#include <cxxabi.h>
#endif

namespace crfkit {

// Waits for Python's lock. While the interpreter shuts down, CPython before 3.14 ends threads that wait for
// it by pthread_exit. In glibc that unwinds the stack, and the first noexcept function aborts the process.
// Here such a thread sleeps until the process ends, as it does with CPython 3.14.
template <class Wait>
void wait_for_lock(Wait wait) {
#ifdef __GLIBC__
  try {
    wait();
  } catch (const abi::__forced_unwind&) {
    for (;;) std::this_thread::sleep_for(std::chrono::hours(1));
  }
#else
  wait();
#endif
}

// Other Python threads run while an object of this class exists.
class Unlocked {
 public:
  Unlocked() = default;
  ~Unlocked() {
    wait_for_lock([this] { PyEval_RestoreThread(state_); });
  }
  Unlocked(const Unlocked&) = delete;
  Unlocked& operator=(const Unlocked&) = delete;

 private:
  PyThreadState* state_ = PyEval_SaveThread();
};

// This thread may call Python while an object of this class exists.
class Locked {
 public:
  Locked() {
    wait_for_lock([this] { state_ = PyGILState_Ensure(); });
  }
  ~Locked() { PyGILState_Release(state_); }
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;

 private:
  PyGILState_STATE state_{};
};

}  // namespace crfkit
