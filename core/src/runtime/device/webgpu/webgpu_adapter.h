// The WebGPU adapters of this machine: GPUs, and CPUs that a driver presents as a GPU.
#pragma once

#include <string>
#include <vector>

#include "runtime/device/device_list.h"
#include "runtime/device/webgpu/webgpu_api.h"

namespace mlc::webgpu {

// `name` is "llvmpipe (...)", `driver` "Mesa ...". The largest tensor is the largest binding.
struct Facts : DeviceTraits {
  WGPULimits limits = WGPU_LIMITS_INIT;
};

// An instance and its adapters. This struct owns them.
struct Adapters {
  Adapters();
  ~Adapters();
  Adapters(const Adapters&) = delete;
  Adapters& operator=(const Adapters&) = delete;

  WGPUInstance instance = nullptr;
  // Vulkan's first, then the others; in each, GPUs with own memory first
  std::vector<WGPUAdapter> found;
  std::string problem;  // the reason if there are none
};

Facts FactsOf(WGPUAdapter adapter);

}  // namespace mlc::webgpu
