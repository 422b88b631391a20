// Compiles a model library's kernels for a device.
#pragma once

#include <string>

#include "runtime/device/rocm/hip_device.h"

namespace mlc::rocm {

// A module of HIP on the device, which is this thread's. The code is kept for the next start
// (runtime/device/kept_code.h). Throws with the compiler's log.
Handle LoadProgram(const HipDevice& device, const std::string& source);

}  // namespace mlc::rocm
