// Compiled OpenCL programs, which are kept on disk between runs.
#pragma once

#include <string>

#include "runtime/device/opencl/opencl_device.h"

namespace mlc::opencl {

// The program of `source`, built for `device` in `session`. A binary that an earlier process built
// is taken from MLC_LLM_HOME/opencl (or the user's cache folder) if source, device and driver are
// the same. MLC_JIT_POLICY controls that cache: ON, OFF, REDO (only writes) or READONLY. A damaged
// file is ignored. Throws with the compiler's log when the source does not build.
cl_program BuildProgram(const ClDevice& device, Session& session, const std::string& source);

}  // namespace mlc::opencl
