// The functions of WebGPU, found at run time in wgpu-native: nothing but this device needs it.
#ifndef MLC_RUNTIME_DEVICE_WEBGPU_WEBGPU_API_H_
#define MLC_RUNTIME_DEVICE_WEBGPU_WEBGPU_API_H_

#include <webgpu.h>
// wgpu.h includes webgpu.h
#include <wgpu.h>

#include <string>
#include <string_view>

namespace mlc::webgpu {

#define MLC_WEBGPU_FUNCTIONS(X)               \
  X(wgpuGetVersion)                           \
  X(wgpuCreateInstance)                       \
  X(wgpuInstanceRelease)                      \
  X(wgpuInstanceProcessEvents)                \
  X(wgpuInstanceEnumerateAdapters)            \
  X(wgpuAdapterRelease)                       \
  X(wgpuAdapterGetInfo)                       \
  X(wgpuAdapterInfoFreeMembers)               \
  X(wgpuAdapterGetLimits)                     \
  X(wgpuAdapterHasFeature)                    \
  X(wgpuAdapterRequestDevice)                 \
  X(wgpuDeviceGetQueue)                       \
  X(wgpuDeviceDestroy)                        \
  X(wgpuDevicePoll)                           \
  X(wgpuDeviceCreateBuffer)                   \
  X(wgpuDeviceCreateShaderModuleTrusted)      \
  X(wgpuDeviceCreateBindGroupLayout)          \
  X(wgpuDeviceCreatePipelineLayout)           \
  X(wgpuDeviceCreateComputePipeline)          \
  X(wgpuDeviceCreateBindGroup)                \
  X(wgpuDeviceCreateCommandEncoder)           \
  X(wgpuBufferDestroy)                        \
  X(wgpuBufferRelease)                        \
  X(wgpuBufferMapAsync)                       \
  X(wgpuBufferGetConstMappedRange)            \
  X(wgpuBufferUnmap)                          \
  X(wgpuShaderModuleRelease)                  \
  X(wgpuPipelineLayoutRelease)                \
  X(wgpuBindGroupRelease)                     \
  X(wgpuCommandEncoderBeginComputePass)       \
  X(wgpuCommandEncoderCopyBufferToBuffer)     \
  X(wgpuCommandEncoderFinish)                 \
  X(wgpuCommandEncoderRelease)                \
  X(wgpuCommandBufferRelease)                 \
  X(wgpuComputePassEncoderSetPipeline)        \
  X(wgpuComputePassEncoderSetBindGroup)       \
  X(wgpuComputePassEncoderDispatchWorkgroups) \
  X(wgpuComputePassEncoderEnd)                \
  X(wgpuComputePassEncoderRelease)            \
  X(wgpuQueueWriteBuffer)                     \
  X(wgpuQueueSubmit)

struct Api {
#define MLC_WEBGPU_DECLARE(name) decltype(&::name) name = nullptr;
  MLC_WEBGPU_FUNCTIONS(MLC_WEBGPU_DECLARE)
#undef MLC_WEBGPU_DECLARE
  std::string problem;  // why there is no WebGPU here; empty: there is
};

// Loads wgpu-native at the first call: what MLC_WGPU_LIBRARY names, or the library of the Python
// package `wgpu` beside this one, or the system's. Its interface changes from one version to the
// next, so that another version than the one this was built for is refused.
const Api& api();

inline std::string_view View(WGPUStringView text) {
  if (text.data == nullptr) return {};
  return text.length == WGPU_STRLEN ? std::string_view(text.data)
                                    : std::string_view(text.data, text.length);
}
inline WGPUStringView View(std::string_view text) { return {text.data(), text.size()}; }

}  // namespace mlc::webgpu

#endif  // MLC_RUNTIME_DEVICE_WEBGPU_WEBGPU_API_H_
