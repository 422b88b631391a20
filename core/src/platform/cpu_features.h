// The features that a CPU needs to run compiled code.
#pragma once

#include <string>
#include <vector>

namespace mlc {

struct CpuFeature {
  const char* name;  // LLVM's name
  bool present;      // the CPU has it, and the system saves its registers
};

// All features that compiled kernels may use, for every architecture.
const std::vector<CpuFeature>& CpuFeatures();

// The features in `required` that are known and that this CPU does not have.
std::vector<std::string> MissingCpuFeatures(const std::vector<std::string>& required);

}  // namespace mlc
