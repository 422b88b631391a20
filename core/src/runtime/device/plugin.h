// The interface that TVM's runtime and runtime/device.cc need from a device backend, written once
// over the backend's own devices.
#pragma once

#include <tvm/ffi/extra/module.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/reflection/registry.h>
#include <tvm/runtime/device_api.h>

#include <string>
#include <utility>

#include "base/json.h"
#include "runtime/device/device_list.h"

namespace mlc {

inline Json Describe(const DeviceTraits& traits) {
  auto number = [](size_t value) { return static_cast<int64_t>(value); };
  Json json;
  json.Set("description", traits.description)
      .Set("interface", traits.interface)
      .Set("is_processor", traits.is_processor)
      .Set("has_own_memory", traits.has_own_memory)
      .Set("memory_bytes", number(traits.memory))
      .Set("max_buffer_bytes", number(traits.largest_buffer))
      .Set("local_memory_bytes", number(traits.local_memory))
      .Set("max_group_size", number(traits.group_size))
      .Set("f16", traits.has_f16)
      .Set("problem", traits.problem);
  return json;
}

// A backend is a struct of static members:
//   kName, kType             "opencl", kDLOpenCL
//   Devices()                `devices` (pointers with Allocate, Free and Available) or `problem`
//   DeviceAt(index)          one device; throws if there is none
//   Traits(device)           DeviceTraits
//   Addresses()              an AddressMap: finds the buffer of an address
//   Choose(device)           makes it the device of this thread's next calls, if the driver has one
//   Wait(device)             waits for all commands
//   Read, Write, Copy        (from, to, bytes) between addresses
//   Load(bytes)              a ffi::Module: the kernels of a model library
template <typename Backend>
class PluginApi final : public tvm::runtime::DeviceAPI {
 public:
  static PluginApi* Get() {
    static PluginApi* instance = new PluginApi();
    return instance;
  }

  void SetDevice(DLDevice device) final { Backend::Choose(Backend::DeviceAt(device.device_id)); }

  void GetAttr(DLDevice device, tvm::runtime::DeviceAttrKind kind, tvm::ffi::Any* out) final {
    using namespace tvm::runtime;
    if (kind == kExist) {
      int count = static_cast<int>(Backend::Devices().devices.size());
      *out = static_cast<int>(device.device_id >= 0 && device.device_id < count);
      return;
    }
    auto& found = Backend::DeviceAt(device.device_id);
    const DeviceTraits& traits = Backend::Traits(found);
    auto number = [](size_t value) { return static_cast<int64_t>(value); };
    // Attributes that are not known here keep no value.
    if (kind == kWarpSize) *out = 1;
    if (kind == kMaxThreadsPerBlock) *out = number(traits.group_size);
    if (kind == kMaxSharedMemoryPerBlock) *out = number(traits.local_memory);
    if (kind == kDeviceName) *out = traits.name;
    if (kind == kDriverVersion) *out = traits.driver;
    if (kind == kTotalGlobalMemory) *out = number(traits.memory);
    if (kind == kAvailableGlobalMemory) *out = number(found.Available());
  }

  using DeviceAPI::AllocDataSpace;
  void* AllocDataSpace(DLDevice device, size_t bytes, size_t, DLDataType) final {
    return Backend::DeviceAt(device.device_id).Allocate(bytes)->address;
  }
  void FreeDataSpace(DLDevice, void* pointer) final {  // destructors call it: it must not throw
    auto* buffer = Backend::Addresses().Find(pointer).buffer;
    if (buffer != nullptr) buffer->device->Free(buffer);
  }
  void StreamSync(DLDevice device, TVMStreamHandle) final {
    Backend::Wait(Backend::DeviceAt(device.device_id));
  }
  bool SupportsDevicePointerArithmeticsOnHost() final { return true; }

 protected:
  void CopyDataFromTo(const void* from, size_t from_offset, void* to, size_t to_offset,
                      size_t bytes, DLDevice source, DLDevice target, DLDataType,
                      TVMStreamHandle) final {
    if (bytes == 0) return;
    const char* read = static_cast<const char*>(from) + from_offset;
    char* write = static_cast<char*>(to) + to_offset;
    if (source.device_type != Backend::kType) return Backend::Write(read, write, bytes);
    if (target.device_type != Backend::kType) return Backend::Read(read, write, bytes);
    Backend::Copy(read, write, bytes);
  }
};

// {"problem": the reason if there are no devices, or "", "devices": [...]}. A device that cannot be
// used has a "problem" too, and the others keep their numbers.
template <typename Backend>
tvm::ffi::String DescribeDevices() {
  const auto& list = Backend::Devices();
  Json devices = Json::MakeArray();
  for (const auto& device : list.devices) devices.Append(Describe(Backend::Traits(*device)));
  Json json;
  json.Set("problem", list.problem).Set("devices", std::move(devices));
  return json.Dump();
}

// Registers with TVM's runtime
//   device_api.NAME                  memory and copies
//   ffi.Module.load_from_bytes.NAME  the kernels of a model library
//   mlc.devices.NAME                 for runtime/device.cc
template <typename Backend>
void RegisterBackend() {
  std::string name = Backend::kName;
  auto api = []() -> void* {
    return static_cast<tvm::runtime::DeviceAPI*>(PluginApi<Backend>::Get());
  };
  tvm::ffi::reflection::GlobalDef()
      .def(("device_api." + name).c_str(), api)
      .def(("ffi.Module.load_from_bytes." + name).c_str(), Backend::Load)
      .def(("mlc.devices." + name).c_str(), DescribeDevices<Backend>);
}

}  // namespace mlc
