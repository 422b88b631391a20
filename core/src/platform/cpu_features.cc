#include "platform/cpu_features.h"

#include "base/x86_features.h"
#if defined(__aarch64__) && defined(__linux__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#elif defined(__aarch64__) && defined(__APPLE__)
#include <sys/sysctl.h>
#endif

namespace mlc {
namespace {

#if defined(__x86_64__)
#define MLC_HAS_X86(name) MLC_CPU_SUPPORTS(name)
#else
#define MLC_HAS_X86(name) false
#endif

#if defined(__aarch64__) && defined(__APPLE__)
// Apple's name of a feature: an A11 has none of these, an M1 no I8MM.
bool HasAppleFeature(const char* name) {
  int present = 0;
  size_t size = sizeof(present);
  return sysctlbyname(name, &present, &size, nullptr, 0) == 0 && present != 0;
}
#endif

#if defined(__aarch64__) && defined(__linux__)
#define MLC_HAS_ARM(kind, bit, apple) ((getauxval(kind) & (bit)) != 0)
#elif defined(__aarch64__) && defined(__APPLE__)
#define MLC_HAS_ARM(kind, bit, apple) HasAppleFeature("hw.optional.arm.FEAT_" apple)
#else
#define MLC_HAS_ARM(kind, bit, apple) false
#endif

}  // namespace

const std::vector<CpuFeature>& CpuFeatures() {
  static const std::vector<CpuFeature> features = {
      {"ssse3", MLC_HAS_X86("ssse3")},
      {"sse4.1", MLC_HAS_X86("sse4.1")},
      {"sse4.2", MLC_HAS_X86("sse4.2")},
      {"popcnt", MLC_HAS_X86("popcnt")},
      {"avx", MLC_HAS_X86("avx")},
      {"avx2", MLC_HAS_X86("avx2")},
      {"bmi", MLC_HAS_X86("bmi")},
      {"bmi2", MLC_HAS_X86("bmi2")},
      {"fma", MLC_HAS_X86("fma")},
      {"f16c", MLC_HAS_X86("f16c")},
      {"gfni", MLC_HAS_X86("gfni")},
      {"avxvnni", MLC_HAS_X86("avxvnni")},
      {"avx512f", MLC_HAS_X86("avx512f")},
      {"avx512bw", MLC_HAS_X86("avx512bw")},
      {"avx512cd", MLC_HAS_X86("avx512cd")},
      {"avx512dq", MLC_HAS_X86("avx512dq")},
      {"avx512vl", MLC_HAS_X86("avx512vl")},
      {"avx512ifma", MLC_HAS_X86("avx512ifma")},
      {"avx512vbmi", MLC_HAS_X86("avx512vbmi")},
      {"avx512vbmi2", MLC_HAS_X86("avx512vbmi2")},
      {"avx512vnni", MLC_HAS_X86("avx512vnni")},
      {"avx512bitalg", MLC_HAS_X86("avx512bitalg")},
      {"avx512vpopcntdq", MLC_HAS_X86("avx512vpopcntdq")},
      {"avx512bf16", MLC_HAS_X86("avx512bf16")},
      {"dotprod", MLC_HAS_ARM(AT_HWCAP, HWCAP_ASIMDDP, "DotProd")},
      {"fullfp16", MLC_HAS_ARM(AT_HWCAP, HWCAP_ASIMDHP, "FP16")},
      {"i8mm", MLC_HAS_ARM(AT_HWCAP2, HWCAP2_I8MM, "I8MM")},
      {"bf16", MLC_HAS_ARM(AT_HWCAP2, HWCAP2_BF16, "BF16")},
      {"sve", MLC_HAS_ARM(AT_HWCAP, HWCAP_SVE, "SVE")},
  };
  return features;
}

std::vector<std::string> MissingCpuFeatures(const std::vector<std::string>& required) {
  std::vector<std::string> missing;
  for (const CpuFeature& feature : CpuFeatures()) {
    for (const std::string& name : required) {
      if (name == feature.name && !feature.present) missing.push_back(name);
    }
  }
  return missing;
}

}  // namespace mlc
