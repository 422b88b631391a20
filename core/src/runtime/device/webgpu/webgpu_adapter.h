// The WebGPU adapters of this machine: its GPUs, and processors that a driver passes off as one.
#ifndef MLC_RUNTIME_DEVICE_WEBGPU_WEBGPU_ADAPTER_H_
#define MLC_RUNTIME_DEVICE_WEBGPU_WEBGPU_ADAPTER_H_

#include <string>
#include <vector>

#include "runtime/device/webgpu/webgpu_api.h"

namespace mlc::webgpu {

// Facts that do not change.
struct Facts {
  std::string name, interface, driver;  // "llvmpipe (...)", "Vulkan", "Mesa ..."
  bool is_processor = false;            // the CPU, driven as a GPU
  bool has_f16 = false;
  size_t memory = 0;  // what this process may take of it
  WGPULimits limits = WGPU_LIMITS_INIT;

  // Of one tensor: a kernel takes each as one binding.
  size_t largest_buffer() const;
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
