// A fuzz target: a function over bytes that must neither crash, hang nor break a promise, whatever
// they are.
//
//   MLC_FUZZ_TARGET(stop_matcher) { ... use `data` (std::string_view) ... }
//
// In a build with libFuzzer (MLC_FUZZ) it is the entry point of the fuzzer fuzz_<name>. In every
// other build it enters a table, out of which replay.cc runs it on tests/fuzz/corpus/<name>.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <string_view>

namespace mlc::fuzz {

using Target = void (*)(std::string_view data);

inline std::map<std::string, Target>& Targets() {
  static std::map<std::string, Target> targets;
  return targets;
}

// What stands before the first zero byte, and what after it.
struct Halves {
  std::string_view first, second;
};

inline Halves SplitAtZero(std::string_view data) {
  size_t zero = data.find('\0');
  if (zero == std::string_view::npos) return {data, {}};
  return {data.substr(0, zero), data.substr(zero + 1)};
}

}  // namespace mlc::fuzz

// A promise of the code under test.
#define MLC_FUZZ_CHECK(condition)                                                         \
  do {                                                                                    \
    if (!(condition)) {                                                                   \
      std::fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #condition); \
      std::abort();                                                                       \
    }                                                                                     \
  } while (0)

#ifdef MLC_FUZZ
#define MLC_FUZZ_ENTRY_(name)                                                 \
  extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {   \
    Fuzz_##name(std::string_view(reinterpret_cast<const char*>(data), size)); \
    return 0;                                                                 \
  }
#else
#define MLC_FUZZ_ENTRY_(name) \
  static const bool entered_##name = ::mlc::fuzz::Targets().emplace(#name, &Fuzz_##name).second;
#endif

#define MLC_FUZZ_TARGET(name)                \
  static void Fuzz_##name(std::string_view); \
  MLC_FUZZ_ENTRY_(name)                      \
  static void Fuzz_##name(std::string_view data)
