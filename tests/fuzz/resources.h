// What one input of a fuzzer may take, whatever it is.
//
//   fuzz::Resources used;                         // at the beginning
//   MLC_FUZZ_CHECK(used.peak_bytes() < kMost);    // at the end
//
// Only fuzzers measure it: sanitizers call the hooks. In other builds both numbers are 0.
#pragma once

#include <cstdint>

#ifdef MLC_FUZZ
#include <sanitizer/allocator_interface.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#endif

namespace mlc::fuzz {

#ifdef MLC_FUZZ

class Resources {
 public:
  Resources() {
    static const bool is_installed [[maybe_unused]] =
        __sanitizer_install_malloc_and_free_hooks(&Allocated, &Freed) != 0;
    peak_ = live_.load();
  }
  // The most bytes that the heap held at once, over those at the beginning.
  int64_t peak_bytes() const { return peak_ - live_at_begin_; }
  // Of the CPU, of this thread.
  double seconds() const { return Clock() - begin_; }

 private:
  static void Allocated(const volatile void*, size_t size) {
    int64_t now = live_ += static_cast<int64_t>(size);
    if (now > peak_) peak_ = now;
  }
  static void Freed(const volatile void* at) {
    if (at != nullptr) live_ -= static_cast<int64_t>(__sanitizer_get_allocated_size((void*)at));
  }
  static double Clock() {
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
  }

  static inline std::atomic<int64_t> live_{0}, peak_{0};
  const int64_t live_at_begin_ = live_;
  const double begin_ = Clock();
};

#else

class Resources {
 public:
  static int64_t peak_bytes() { return 0; }
  static double seconds() { return 0; }
};

#endif

}  // namespace mlc::fuzz
