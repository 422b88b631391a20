// What both WebGPU backends do before they launch a kernel.
#pragma once

#include <tvm/ffi/error.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <string>

#include "runtime/device/kernel_table.h"

namespace mlc {

// An argument that is a number, in the 32 bits that WGSL's numbers have.
inline uint32_t WgslWord(DLDataType type, const TVMFFIAny& value) {
  uint32_t word = 0;
  if (type.code == kDLFloat && type.bits == 32) {
    float number = static_cast<float>(value.v_float64);
    std::memcpy(&word, &number, sizeof(word));
    return word;
  }
  if (type.code == kDLFloat || type.bits > 32) {
    TVM_FFI_THROW(RuntimeError) << "a kernel takes a number of " << int{type.bits}
                                << " bits, which this backend does not pass";
  }
  return static_cast<uint32_t>(value.v_int64);
}

// The work-groups of a launch. A dimension has a limit, so kernels compute their x as
// blockIdx.z * gridDim.x + blockIdx.x.
inline std::array<uint32_t, 3> FoldGroups(const LaunchSize& size, size_t most,
                                          const std::string& name) {
  size_t x = size.groups[0], y = size.groups[1], z = size.groups[2];
  if (x > most && z == 1) {
    z = (x + most - 1) / most;
    x = (x + z - 1) / z;
  }
  if (x > most || y > most || z > most) {
    TVM_FFI_THROW(RuntimeError) << name << " wants " << size.groups[0] << " x " << y << " x "
                                << size.groups[2] << " work-groups, and the device offers " << most
                                << " along a side";
  }
  return {static_cast<uint32_t>(x), static_cast<uint32_t>(y), static_cast<uint32_t>(z)};
}

}  // namespace mlc
