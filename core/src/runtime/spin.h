// Waiting for another thread that is done in some microseconds.
#pragma once

#include <chrono>
#include <thread>

#if defined(__x86_64__) || defined(_M_X64)
#include <immintrin.h>
#endif

namespace mlc {

// After this time a thread yields: the thread that it waits for may need this core.
constexpr std::chrono::microseconds kYieldAfter{50};

inline void SpinPause() {
#if defined(__x86_64__) || defined(_M_X64)
  _mm_pause();
#elif defined(__aarch64__)
  asm volatile("isb");  // `yield` does nothing on most cores
#endif
}

// Spins until `done()` is true or `limit` is over. Returns whether it is done.
template <typename Done>
bool Spin(std::chrono::steady_clock::duration limit, Done&& done) {
  auto begin = std::chrono::steady_clock::now();
  do {
    for (int i = 0; i < 32; ++i) {
      if (done()) return true;
      SpinPause();
    }
  } while (std::chrono::steady_clock::now() - begin < limit);
  return done();
}

// Waits until `done()` is true.
template <typename Done>
void SpinOrYield(Done&& done) {
  if (Spin(kYieldAfter, done)) return;
  while (!done()) std::this_thread::yield();
}

}  // namespace mlc
