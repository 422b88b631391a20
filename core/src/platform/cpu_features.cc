#include "platform/cpu_features.h"

#include <iterator>

#include "base/x86_features.h"
#if defined(__aarch64__) && defined(__linux__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#elif defined(__aarch64__) && defined(__APPLE__)
#include <sys/sysctl.h>
#endif

namespace mlc {
namespace {

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
  static const std::vector<CpuFeature> features = [] {
    std::vector<CpuFeature> all;
    for (const char* name : X86FeatureNames()) all.push_back({name, HasX86Feature(name)});
    const CpuFeature arm[] = {
        {"dotprod", MLC_HAS_ARM(AT_HWCAP, HWCAP_ASIMDDP, "DotProd")},
        {"fullfp16", MLC_HAS_ARM(AT_HWCAP, HWCAP_ASIMDHP, "FP16")},
        {"i8mm", MLC_HAS_ARM(AT_HWCAP2, HWCAP2_I8MM, "I8MM")},
        {"bf16", MLC_HAS_ARM(AT_HWCAP2, HWCAP2_BF16, "BF16")},
        {"sve", MLC_HAS_ARM(AT_HWCAP, HWCAP_SVE, "SVE")},
    };
    all.insert(all.end(), std::begin(arm), std::end(arm));
    return all;
  }();
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
