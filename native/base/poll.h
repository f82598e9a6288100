// Lets a long computation end early (Ctrl-C). Kernel headers include this file: no standard library here.
#pragma once

namespace crfkit {

// Every long loop calls this, with about the nanoseconds of work since its last call. It returns at once,
// unless the work adds up to a tenth of a millisecond. It throws if the computation shall end: whatever the
// function given to `set_ask` throws, or, in a thread that works for another one, `Stopped`.
void poll(long long nanoseconds);

// For loops over positions: polls at every 1,024th.
static inline void poll_at(long long t) {
  if ((t & 1023) == 1023) poll(100'000);
}

}  // namespace crfkit
