#include "base/x86_features.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include <cstdint>

namespace mlc {

namespace {

// What the system must save, as bits of the register XCR0.
constexpr uint32_t kNone = 0, kYmm = 0x06, kZmm = 0xe6;

enum Register { kEax, kEbx, kEcx, kEdx };

// Where CPUID tells of a feature (Intel's manual, volume 2, CPUID).
struct Feature {
  const char* name;
  uint32_t leaf, part;
  Register place;
  int bit;
  uint32_t state;
};

constexpr Feature kFeatures[] = {
    {"ssse3", 1, 0, kEcx, 9, kNone},
    {"sse4.1", 1, 0, kEcx, 19, kNone},
    {"sse4.2", 1, 0, kEcx, 20, kNone},
    {"popcnt", 1, 0, kEcx, 23, kNone},
    {"avx", 1, 0, kEcx, 28, kYmm},
    {"avx2", 7, 0, kEbx, 5, kYmm},
    {"bmi", 7, 0, kEbx, 3, kNone},
    {"bmi2", 7, 0, kEbx, 8, kNone},
    {"fma", 1, 0, kEcx, 12, kYmm},
    {"f16c", 1, 0, kEcx, 29, kYmm},
    {"gfni", 7, 0, kEcx, 8, kNone},
    {"avxvnni", 7, 1, kEax, 4, kYmm},
    {"avx512f", 7, 0, kEbx, 16, kZmm},
    {"avx512bw", 7, 0, kEbx, 30, kZmm},
    {"avx512cd", 7, 0, kEbx, 28, kZmm},
    {"avx512dq", 7, 0, kEbx, 17, kZmm},
    {"avx512vl", 7, 0, kEbx, 31, kZmm},
    {"avx512ifma", 7, 0, kEbx, 21, kZmm},
    {"avx512vbmi", 7, 0, kEcx, 1, kZmm},
    {"avx512vbmi2", 7, 0, kEcx, 6, kZmm},
    {"avx512vnni", 7, 0, kEcx, 11, kZmm},
    {"avx512bitalg", 7, 0, kEcx, 12, kZmm},
    {"avx512vpopcntdq", 7, 0, kEcx, 14, kZmm},
    {"avx512bf16", 7, 1, kEax, 5, kZmm},
};

#if defined(__x86_64__)
// The parts of the registers that the system saves when it changes threads. 0: it saves no AVX.
uint32_t SavedState() {
  uint32_t eax, ebx, ecx, edx;
  constexpr uint32_t kSystemSaves = 1u << 27;
  if (!__get_cpuid(1, &eax, &ebx, &ecx, &edx) || (ecx & kSystemSaves) == 0) return 0;
  uint32_t low, high;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return low;
}

bool IsPresent(const Feature& feature) {
  static const uint32_t saved = SavedState();
  uint32_t words[4];
  if (!__get_cpuid_count(feature.leaf, feature.part, &words[kEax], &words[kEbx], &words[kEcx],
                         &words[kEdx])) {
    return false;
  }
  return (words[feature.place] >> feature.bit & 1) != 0 && (saved & feature.state) == feature.state;
}

#else

bool IsPresent(const Feature&) { return false; }

#endif

}  // namespace

bool HasX86Feature(std::string_view name) {
  for (const Feature& feature : kFeatures) {
    if (name == feature.name) return IsPresent(feature);
  }
  return false;
}

const std::vector<const char*>& X86FeatureNames() {
  static const std::vector<const char*> names = [] {
    std::vector<const char*> all;
    for (const Feature& feature : kFeatures) all.push_back(feature.name);
    return all;
  }();
  return names;
}

}  // namespace mlc
