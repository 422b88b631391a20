// The WebGPU adapters of this machine: its GPUs, and processors that a driver passes off as one.
#ifndef MLC_RUNTIME_DEVICE_WEBGPU_WEBGPU_ADAPTER_H_
#define MLC_RUNTIME_DEVICE_WEBGPU_WEBGPU_ADAPTER_H_

#include <string>
#include <vector>

#include "runtime/device/device_list.h"
#include "runtime/device/webgpu/webgpu_api.h"

namespace mlc::webgpu {

// `name` is "llvmpipe (...)", `driver` "Mesa ..."; a tensor is as large as one binding.
struct Facts : DeviceTraits {
  WGPULimits limits = WGPU_LIMITS_INIT;
};

// An instance and its adapters, which this owns.
struct Adapters {
  Adapters();
  ~Adapters();
  Adapters(const Adapters&) = delete;
  Adapters& operator=(const Adapters&) = delete;

  WGPUInstance instance = nullptr;
  std::vector<WGPUAdapter> found;  // those over Vulkan, then the others; GPUs of one's own first
  std::string problem;             // why there are none
};

Facts FactsOf(WGPUAdapter adapter);

}  // namespace mlc::webgpu

#endif  // MLC_RUNTIME_DEVICE_WEBGPU_WEBGPU_ADAPTER_H_
