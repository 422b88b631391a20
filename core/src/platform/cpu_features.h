// What a processor must have for compiled code to run on it.
#ifndef MLC_PLATFORM_CPU_FEATURES_H_
#define MLC_PLATFORM_CPU_FEATURES_H_

#include <string>
#include <vector>

namespace mlc {

struct CpuFeature {
  const char* name;  // LLVM's
  bool present;      // and usable: the system saves its registers
};

// Every feature that compiled kernels may use, of all architectures.
const std::vector<CpuFeature>& CpuFeatures();

// Those of `required` that are known and that this processor lacks.
std::vector<std::string> MissingCpuFeatures(const std::vector<std::string>& required);

}  // namespace mlc

#endif  // MLC_PLATFORM_CPU_FEATURES_H_
