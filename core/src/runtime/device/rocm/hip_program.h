// Compiles a model library's kernels for a device.
#pragma once

#include <string>

#include "runtime/device/rocm/hip_device.h"

namespace mlc::rocm {

// A module of HIP, which reads `code` while it is loaded.
struct LoadedProgram {
  Handle module = nullptr;
  std::string code;
};

// Fills `program`, which must stay where it is, on the device, which is this thread's. The code is
// kept for the next start (runtime/device/kept_code.h). Throws with the compiler's log.
void LoadProgram(const HipDevice& device, const std::string& source, LoadedProgram* program);

}  // namespace mlc::rocm
