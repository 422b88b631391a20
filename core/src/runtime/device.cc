#include "runtime/device.h"

#include <tvm/ffi/tvm_ffi.h>
#include <tvm/runtime/device_api.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <string>

#include "base/json.h"
#include "platform/file.h"
#include "platform/folders.h"
#include "platform/host.h"
#include "platform/shared_library.h"
#include "runtime/library_names.h"
#include "runtime/tvm_convert.h"

namespace mlc {
namespace {

struct DeviceKind {
  const char* name;
  int type;             // DLPack's DLDeviceType
  const char* backend;  // TVM's name of the backend that drives it
};

// In the order of MLC-LLM's `auto`, which ends at the CPU. "vulkan" means the devices of "webgpu"
// that Vulkan drives. They are the first ones in the list of "webgpu", so an index means the same
// device under both names.
constexpr DeviceKind kKinds[] = {{"cuda", kDLCUDA, "cuda"},       {"rocm", kDLROCM, "rocm"},
                                 {"metal", kDLMetal, "metal"},    {"vulkan", kDLWebGPU, "webgpu"},
                                 {"opencl", kDLOpenCL, "opencl"}, {"cpu", kDLCPU, "cpu"},
                                 {"webgpu", kDLWebGPU, "webgpu"}};

const DeviceKind* FindKind(std::string_view name) {
  for (const DeviceKind& kind : kKinds) {
    if (name == kind.name) return &kind;
  }
  return nullptr;
}

bool IsRegistered(const DeviceKind& kind) {
  return kind.type == kDLCPU ||
         tvm::ffi::Function::GetGlobal(std::string("device_api.") + kind.backend).has_value();
}

// The function of our plugin that lists the devices of a kind. TVM's own runtime has none: Python's
// `import tvm` may have registered that before.
std::optional<tvm::ffi::Function> ListOf(const DeviceKind& kind) {
  return tvm::ffi::Function::GetGlobal(std::string("mlc.devices.") + kind.backend);
}

// The folder of the library that contains this function; "" if the loader tells none.
std::string LibraryFolder() {
  std::string path = LibraryOf(reinterpret_cast<void*>(&LibraryFolder));
  size_t slash = path.rfind('/');
  return slash == std::string::npos ? "" : path.substr(0, slash);
}

// The reason why this build has no plugin of a kind.
std::string WhyMissing(const DeviceKind& kind) {
  if (std::string_view(kind.backend) == "metal") {
#if defined(__APPLE__)
    return "this build has no Metal backend: compiling it needs Apple's SDK (docs/packaging.md)";
#else
    return "Metal needs macOS or iOS";
#endif
  }
  return std::string("this build has no ") + kind.backend + " backend";
}

// Opens the plugin of a kind; its constructors register the backend. Returns "", or the reason why
// it cannot be opened.
std::string OpenPlugin(const DeviceKind& kind) {
  if (ListOf(kind)) return "";  // it is linked into the program
  for (const std::string& name :
       BackendNames(LibraryFolder(), CurrentFolders().libraries, kind.backend)) {
    bool is_path = name.find('/') != std::string::npos;
    if (is_path && !FileExists(name)) continue;
    if (OpenLibrary(name.c_str(), LibraryScope::kLocal) != nullptr) return "";
    std::string reason = LibraryError();
    if (is_path) return reason;  // by its name alone: there may be no such library
  }
  return WhyMissing(kind);
}

// Runs once for each kind and process. A plugin is never closed.
std::string MakeSure(const DeviceKind& kind) {
  static std::mutex* mutex = new std::mutex();
  static auto* reasons = new std::map<int, std::string>();
  std::lock_guard<std::mutex> lock(*mutex);
  if (kind.type == kDLCPU) return "";
  auto found = reasons->find(kind.type);
  if (found == reasons->end()) found = reasons->emplace(kind.type, OpenPlugin(kind)).first;
  // Without our plugin, TVM's own runtime may be there.
  return IsRegistered(kind) ? "" : found->second;
}

template <typename T>
T Or(Result<T> result, T fallback) {
  return result.ok() ? std::move(result).value() : std::move(fallback);
}

DeviceProbe ReadProbe(const DeviceKind& kind, size_t index, const Json& json) {
  DeviceProbe probe{std::string(kind.name) + ":" + std::to_string(index), true, ""};
  probe.reason = Or(GetStringOr(json, "problem", ""), std::string());
  probe.found = probe.reason.empty();
  auto number = [&json](const char* name) { return Or(GetIntOr(json, name, 0), int64_t{0}); };
  probe.description = Or(GetStringOr(json, "description", ""), std::string());
  probe.memory_bytes = number("memory_bytes");
  probe.max_buffer_bytes = number("max_buffer_bytes");
  probe.local_memory_bytes = number("local_memory_bytes");
  probe.max_group_size = number("max_group_size");
  probe.f16 = Or(GetBoolOr(json, "f16", false), false);
  probe.is_processor = Or(GetBoolOr(json, "is_processor", false), false);
  probe.has_own_memory = Or(GetBoolOr(json, "has_own_memory", false), false);
  return probe;
}

// The names that ChooseDevice accepts: "auto, cuda, ..., cpu (which is cpu:0), webgpu".
std::string AcceptedNames() {
  std::string names = "auto";
  for (const DeviceKind& kind : kKinds) {
    names += std::string(", ") + kind.name + (kind.type == kDLCPU ? " (which is cpu:0)" : "");
  }
  return names;
}

// Whether a device of the backend is of this kind.
bool Belongs(const DeviceKind& kind, const Json& json) {
  return std::string_view(kind.name) != "vulkan" ||
         Or(GetStringOr(json, "interface", ""), std::string()) == "Vulkan";
}

// The list from the plugin's `mlc.devices.BACKEND`: {"problem": "...", "devices": [...]}.
Result<std::vector<DeviceProbe>> AskPlugin(const DeviceKind& kind, const tvm::ffi::Function& list) {
  std::string text;
  MLC_RETURN_IF_ERROR(CatchTvm(kind.name, [&] { text = list().cast<tvm::ffi::String>(); }));
  MLC_ASSIGN_OR_RETURN(Json json, Json::Parse(text));
  const Json* devices = json.Find("devices");
  std::vector<DeviceProbe> probes;
  if (devices != nullptr && devices->is_array()) {
    for (const Json& device : devices->as_array()) {
      if (!Belongs(kind, device)) continue;
      probes.push_back(ReadProbe(kind, probes.size(), device));
    }
  }
  if (!probes.empty()) return probes;
  return NotFound(Or(GetStringOr(json, "problem", ""), std::string()));
}

// The devices of a kind. If there are none, one entry with found = false.
std::vector<DeviceProbe> Probe(const DeviceKind& kind) {
  DeviceProbe first{std::string(kind.name) + ":0", true, ""};
  first.reason = MakeSure(kind);
  first.found = first.reason.empty();
  if (kind.type == kDLCPU) first.memory_bytes = AvailableMemoryBytes();
  std::optional<tvm::ffi::Function> list = ListOf(kind);
  if (!first.found || !list) return {first};
  Result<std::vector<DeviceProbe>> probes = AskPlugin(kind, *list);
  if (probes.ok()) return *probes;
  first.found = false;
  first.reason = probes.status().message().empty() ? "no device" : probes.status().message();
  return {first};
}

// The probe of a device that exists.
DeviceProbe ProbeOf(Device device) {
  const DeviceKind* kind = FindKind(device.kind());
  if (kind == nullptr) return {};
  for (DeviceProbe& probe : Probe(*kind)) {
    if (probe.name == device.name()) return std::move(probe);
  }
  return {};
}

Result<int> ParseDeviceIndex(std::string_view text) {
  if (text.empty() || text.size() > 3) return InvalidArgument("bad device index");
  int index = 0;
  for (char c : text) {
    if (c < '0' || c > '9') return InvalidArgument("bad device index");
    index = index * 10 + (c - '0');
  }
  return index;
}

// The device that `auto` chooses. The CPU always exists.
ChosenDevice FirstDevice() {
  ChosenDevice choice;
  for (const DeviceKind& kind : kKinds) {
    std::vector<DeviceProbe> probes = Probe(kind);
    for (size_t i = 0; i < probes.size(); ++i) {
      bool is_taken = probes[i].found && !probes[i].is_processor;
      choice.probes.push_back(std::move(probes[i]));
      if (!is_taken) continue;
      choice.device = Device{kind.type, static_cast<int>(i)};
      return choice;
    }
  }
  return choice;
}

}  // namespace

std::string Device::kind() const {
  for (const DeviceKind& kind : kKinds) {
    if (kind.type == type) return kind.backend;
  }
  return "device" + std::to_string(type);
}

std::string Device::name() const { return kind() + ":" + std::to_string(index); }

std::vector<DeviceProbe> ProbeDevices() {
  std::vector<DeviceProbe> probes;
  for (const DeviceKind& kind : kKinds) {
    for (DeviceProbe& probe : Probe(kind)) probes.push_back(std::move(probe));
  }
  return probes;
}

Result<ChosenDevice> ChooseDevice(std::string_view text) {
  if (text == "auto") return FirstDevice();
  size_t colon = text.find(':');
  bool has_index = colon != std::string_view::npos;
  const DeviceKind* kind = FindKind(text.substr(0, colon));
  Result<int> index = ParseDeviceIndex(has_index ? text.substr(colon + 1) : "0");
  if (kind == nullptr || !index.ok() || (kind->type == kDLCPU && *index != 0)) {
    return InvalidArgument("unknown device '" + std::string(text) + "'; use one of " +
                           AcceptedNames() + "; with an index if there are several (cuda:1)")
        .WithParam("device");
  }
  std::vector<DeviceProbe> probes = Probe(*kind);
  std::string name = kind->name + (":" + std::to_string(*index));
  bool is_none = probes.size() == 1 && !probes.front().found;
  std::string reason = is_none ? probes.front().reason : "";
  for (const DeviceProbe& probe : probes) {
    if (probe.name != name) continue;
    if (probe.found) return ChosenDevice{{kind->type, *index}, {probe}};
    reason = probe.reason;
  }
  if (reason.empty()) reason = "this machine has " + std::to_string(probes.size()) + " of them";
  return Unavailable("device '" + std::string(text) + "': " + reason).WithParam("device");
}

Result<Device> ParseDevice(std::string_view text) {
  MLC_ASSIGN_OR_RETURN(ChosenDevice choice, ChooseDevice(text));
  return choice.device;
}

int64_t AvailableMemoryBytes(Device device) {
  int64_t host = AvailableMemoryBytes();
  if (device.type == kDLCPU) return host;
  int64_t bytes = 0;
  Status status = CatchTvm("memory of " + device.name(), [&] {
    DLDevice place{static_cast<DLDeviceType>(device.type), device.index};
    tvm::ffi::Any value;
    tvm::runtime::DeviceAPI::Get(place)->GetAttr(place, tvm::runtime::kAvailableGlobalMemory,
                                                 &value);
    bytes = value.cast<int64_t>();
  });
  if (!status.ok()) return host;
  return ProbeOf(device).is_processor ? std::min(bytes, host) : bytes;
}

bool HasOwnMemory(Device device) { return device.type != kDLCPU && ProbeOf(device).has_own_memory; }

int64_t LargestTensorBytes(Device device) {
  return device.type == kDLCPU ? 0 : ProbeOf(device).max_buffer_bytes;
}

}  // namespace mlc
