#include "runtime/device.h"

#include <tvm/ffi/tvm_ffi.h>

#if defined(__linux__)
#include <sched.h>
#endif
#include <unistd.h>
#if defined(__GLIBC__)
#include <malloc.h>
#endif

#include <algorithm>
#include <fstream>
#include <set>
#include <string>
#include <thread>

namespace mlc {
namespace {

struct Kind {
  const char* name;
  int type;  // DLPack's DLDeviceType
};

// MLC-LLM's order for `auto`.
constexpr Kind kKinds[] = {{"cuda", kDLCUDA},     {"rocm", kDLROCM},     {"metal", kDLMetal},
                           {"vulkan", kDLVulkan}, {"opencl", kDLOpenCL}, {"cpu", kDLCPU}};

bool HasBackend(const Kind& kind) {
  return kind.type == kDLCPU ||
         tvm::ffi::Function::GetGlobal(std::string("device_api.") + kind.name).has_value();
}

DeviceProbe Probe(const Kind& kind) {
  DeviceProbe probe{std::string(kind.name) + ":0", HasBackend(kind), ""};
  if (!probe.found) probe.reason = std::string("this build has no ") + kind.name + " backend";
  return probe;
}

Result<int> ParseIndex(std::string_view text) {
  if (text.empty() || text.size() > 3) return InvalidArgument("bad device index");
  int index = 0;
  for (char c : text) {
    if (c < '0' || c > '9') return InvalidArgument("bad device index");
    index = index * 10 + (c - '0');
  }
  return index;
}

#if defined(__linux__)
// The same text for the hardware threads of one core, as far as the kernel tells.
std::string CoreOf(int cpu) {
  std::string name = std::to_string(cpu);
  std::ifstream file("/sys/devices/system/cpu/cpu" + name + "/topology/thread_siblings_list");
  std::string siblings;
  return std::getline(file, siblings) ? siblings : name;
}
#endif

}  // namespace

std::string Device::name() const {
  for (const Kind& kind : kKinds) {
    if (kind.type == type) return std::string(kind.name) + ":" + std::to_string(index);
  }
  return "device" + std::to_string(type) + ":" + std::to_string(index);
}

std::vector<DeviceProbe> ProbeDevices() {
  std::vector<DeviceProbe> probes;
  for (const Kind& kind : kKinds) probes.push_back(Probe(kind));
  return probes;
}

Result<Device> ParseDevice(std::string_view text) {
  if (text == "auto") {
    for (const Kind& kind : kKinds) {
      if (HasBackend(kind)) return Device{kind.type, 0};
    }
  }
  size_t colon = text.find(':');
  std::string_view name = text.substr(0, colon);
  for (const Kind& kind : kKinds) {
    if (name != kind.name) continue;
    if (!HasBackend(kind)) {
      return NotFound("device '" + std::string(text) + "': " + Probe(kind).reason)
          .WithParam("device");
    }
    if (colon == std::string_view::npos) return Device{kind.type, 0};
    Result<int> index = ParseIndex(text.substr(colon + 1));
    if (index.ok() && (kind.type != kDLCPU || *index == 0)) return Device{kind.type, *index};
    break;
  }
  return InvalidArgument("unknown device '" + std::string(text) +
                         "'; use auto, cpu, cuda, rocm, metal, vulkan or opencl, with an index if "
                         "there are several (cuda:1)")
      .WithParam("device");
}

int NumAvailableCores() {
#if defined(__linux__)
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) == 0) {
    std::set<std::string> cores;
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
      if (CPU_ISSET(cpu, &set)) cores.insert(CoreOf(cpu));
    }
    return std::max(1, static_cast<int>(cores.size()));
  }
#endif
  return std::max(1u, std::thread::hardware_concurrency());
}

int64_t AvailableMemoryBytes() {
#if defined(__linux__)
  // The kernel's estimate, which counts what it would give up of its caches.
  std::ifstream meminfo("/proc/meminfo");
  std::string key, unit;
  for (int64_t kilobytes; meminfo >> key >> kilobytes; std::getline(meminfo, unit)) {
    if (key == "MemAvailable:") return kilobytes * 1024;
  }
#endif
  return static_cast<int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE) / 2;
}

void ReleaseFreeMemory() {
#if defined(__GLIBC__)
  malloc_trim(0);
#endif
}

}  // namespace mlc
