// The functions of WebGPU, found at run time in wgpu-native. Only this device needs the library.
#pragma once

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
  std::string problem;  // the reason why there is no WebGPU; empty: there is
};

// Loads wgpu-native at the first call: the library that MLC_WGPU_LIBRARY names, or the library of
// the Python package `wgpu` next to this one, or the system's. Its interface changes between
// versions, so only the version for which this was built is accepted.
const Api& api();

inline std::string_view View(WGPUStringView text) {
  if (text.data == nullptr) return {};
  return text.length == WGPU_STRLEN ? std::string_view(text.data)
                                    : std::string_view(text.data, text.length);
}
inline WGPUStringView View(std::string_view text) { return {text.data(), text.size()}; }

}  // namespace mlc::webgpu
