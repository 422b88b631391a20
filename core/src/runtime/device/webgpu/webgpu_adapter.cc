#include "runtime/device/webgpu/webgpu_adapter.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "runtime/device/memory_bound.h"

namespace mlc::webgpu {
namespace {

const char* InterfaceName(WGPUBackendType type) {
  switch (type) {
    case WGPUBackendType_Vulkan:
      return "Vulkan";
    case WGPUBackendType_Metal:
      return "Metal";
    case WGPUBackendType_D3D12:
      return "Direct3D 12";
    default:
      return "another interface";
  }
}

size_t HostMemory() {
  return static_cast<size_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

// The sort order: GPUs with their own memory first, CPUs last.
int Rank(WGPUAdapterType type) {
  switch (type) {
    case WGPUAdapterType_DiscreteGPU:
      return 0;
    case WGPUAdapterType_IntegratedGPU:
      return 1;
    case WGPUAdapterType_CPU:
      return 3;
    default:
      return 2;
  }
}

std::pair<bool, int> OrderOf(WGPUAdapter adapter) {
  WGPUAdapterInfo info = WGPU_ADAPTER_INFO_INIT;
  api().wgpuAdapterGetInfo(adapter, &info);
  std::pair<bool, int> order(info.backendType != WGPUBackendType_Vulkan, Rank(info.adapterType));
  api().wgpuAdapterInfoFreeMembers(info);
  return order;
}

WGPUInstance MakeInstance(WGPUInstanceBackend backends) {
  WGPUInstanceExtras extras = {};
  extras.chain.sType = static_cast<WGPUSType>(WGPUSType_InstanceExtras);
  extras.backends = backends;
  WGPUInstanceDescriptor descriptor = WGPU_INSTANCE_DESCRIPTOR_INIT;
  descriptor.nextInChain = &extras.chain;
  return api().wgpuCreateInstance(&descriptor);
}

}  // namespace

Adapters::Adapters() : problem(api().problem) {
  if (!problem.empty()) return;
  // OpenGL is left out, because its compute shaders lack features that kernels need.
  constexpr WGPUInstanceBackend kBackends =
      WGPUInstanceBackend_Vulkan | WGPUInstanceBackend_Metal | WGPUInstanceBackend_DX12;
  instance = MakeInstance(kBackends);
  WGPUInstanceEnumerateAdapterOptions options = {nullptr, kBackends};
  found.resize(api().wgpuInstanceEnumerateAdapters(instance, &options, nullptr));
  found.resize(api().wgpuInstanceEnumerateAdapters(instance, &options, found.data()));
  std::stable_sort(found.begin(), found.end(),
                   [](WGPUAdapter a, WGPUAdapter b) { return OrderOf(a) < OrderOf(b); });
  if (found.empty()) problem = "there is no Vulkan driver";
}

Adapters::~Adapters() {
  for (WGPUAdapter adapter : found) api().wgpuAdapterRelease(adapter);
  if (instance != nullptr) api().wgpuInstanceRelease(instance);
}

Facts FactsOf(WGPUAdapter adapter) {
  Facts facts;
  WGPUAdapterInfo info = WGPU_ADAPTER_INFO_INIT;
  api().wgpuAdapterGetInfo(adapter, &info);
  facts.name = View(info.device);
  facts.interface = InterfaceName(info.backendType);
  facts.driver = View(info.description);
  facts.is_processor = info.adapterType == WGPUAdapterType_CPU;
  facts.has_own_memory = info.adapterType == WGPUAdapterType_DiscreteGPU;
  api().wgpuAdapterInfoFreeMembers(info);
  facts.has_f16 = api().wgpuAdapterHasFeature(adapter, WGPUFeatureName_ShaderF16) != 0;
  api().wgpuAdapterGetLimits(adapter, &facts.limits);
  const WGPULimits& limits = facts.limits;
  facts.limits.nextInChain = nullptr;
  facts.largest_buffer =
      static_cast<size_t>(std::min(limits.maxBufferSize, limits.maxStorageBufferBindingSize));
  facts.local_memory = limits.maxComputeWorkgroupStorageSize;
  facts.group_size = limits.maxComputeInvocationsPerWorkgroup;
  facts.description = facts.name + " (" + facts.interface + ", " + facts.driver + ")";
  facts.memory = std::min(HostMemory(), MemoryBound());
  return facts;
}

}  // namespace mlc::webgpu
