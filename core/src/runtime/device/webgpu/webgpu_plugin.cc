// Registers WebGPU with TVM's runtime when this shared library is loaded:
//   device_api.webgpu                  memory and copies
//   ffi.Module.load_from_bytes.webgpu  the kernels of a model library
//   mlc.devices.webgpu                 what runtime/device.cc asks: JSON, see DescribeDevices
//   mlc.lose.webgpu                    (index) for tests: as if the driver had failed
#include <tvm/ffi/extra/module.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/reflection/registry.h>
#include <tvm/runtime/device_api.h>

#include "base/json.h"
#include "runtime/device/webgpu/webgpu_module.h"

namespace mlc::webgpu {

namespace ffi = tvm::ffi;

namespace {

class WebGpuApi final : public tvm::runtime::DeviceAPI {
 public:
  static WebGpuApi* Get() {
    static WebGpuApi* instance = new WebGpuApi();
    return instance;
  }

  void SetDevice(DLDevice) final {}
  void GetAttr(DLDevice device, tvm::runtime::DeviceAttrKind kind, ffi::Any* out) final;

  using DeviceAPI::AllocDataSpace;
  void* AllocDataSpace(DLDevice device, size_t bytes, size_t, DLDataType) final {
    return DeviceAt(device.device_id).Allocate(bytes)->address;
  }
  void FreeDataSpace(DLDevice, void* pointer) final {  // called by destructors: must not throw
    Buffer* buffer = Addresses().Find(pointer).buffer;
    if (buffer != nullptr) buffer->device->Free(buffer);
  }
  void StreamSync(DLDevice device, TVMStreamHandle) final { DeviceAt(device.device_id).Sync(); }
  bool SupportsDevicePointerArithmeticsOnHost() final { return true; }

 protected:
  void CopyDataFromTo(const void* from, size_t from_offset, void* to, size_t to_offset,
                      size_t bytes, DLDevice source, DLDevice target, DLDataType,
                      TVMStreamHandle) final;
};

void WebGpuApi::GetAttr(DLDevice device, tvm::runtime::DeviceAttrKind kind, ffi::Any* out) {
  using namespace tvm::runtime;
  bool exists =
      device.device_id >= 0 && device.device_id < static_cast<int>(Devices().devices.size());
  if (kind == kExist) {
    *out = static_cast<int>(exists);
    return;
  }
  GpuDevice& found = DeviceAt(device.device_id);
  const Facts& facts = found.facts();
  auto number = [](size_t value) { return static_cast<int64_t>(value); };
  switch (kind) {
    case kMaxThreadsPerBlock:
      *out = number(facts.limits.maxComputeInvocationsPerWorkgroup);
      break;
    case kWarpSize:
      *out = 1;
      break;
    case kMaxSharedMemoryPerBlock:
      *out = number(facts.limits.maxComputeWorkgroupStorageSize);
      break;
    case kDeviceName:
      *out = facts.name;
      break;
    case kTotalGlobalMemory:
      *out = number(facts.memory);
      break;
    case kAvailableGlobalMemory:
      *out = number(found.Available());
      break;
    case kDriverVersion:
      *out = facts.driver;
      break;
    default:
      break;  // not known here: nothing
  }
}

void WebGpuApi::CopyDataFromTo(const void* from, size_t from_offset, void* to, size_t to_offset,
                               size_t bytes, DLDevice source, DLDevice target, DLDataType,
                               TVMStreamHandle) {
  if (bytes == 0) return;
  const char* read = static_cast<const char*>(from) + from_offset;
  char* write = static_cast<char*>(to) + to_offset;
  bool from_device = source.device_type == kDLWebGPU, to_device = target.device_type == kDLWebGPU;
  if (from_device && to_device) {
    auto a = PlaceOf(read), b = PlaceOf(write);
    Copy(*a.buffer, a.offset, *b.buffer, b.offset, bytes);
  } else if (from_device) {
    auto place = PlaceOf(read);
    Read(*place.buffer, place.offset, write, bytes);
  } else {
    auto place = PlaceOf(write);
    Write(*place.buffer, place.offset, read, bytes);
  }
}

Json Describe(const Facts& facts) {
  auto number = [](size_t value) { return static_cast<int64_t>(value); };
  Json json;
  json.Set("description", facts.name + " (" + facts.interface + ", " + facts.driver + ")")
      .Set("interface", facts.interface)
      .Set("is_processor", facts.is_processor)
      .Set("memory_bytes", number(facts.memory))
      .Set("max_buffer_bytes", number(facts.largest_buffer()))
      .Set("local_memory_bytes", number(facts.limits.maxComputeWorkgroupStorageSize))
      .Set("max_group_size", number(facts.limits.maxComputeInvocationsPerWorkgroup))
      .Set("f16", facts.has_f16);
  return json;
}

// {"problem": why there are none, or "", "devices": [...]}
ffi::String DescribeDevices() {
  const DeviceList& list = Devices();
  Json devices = Json::MakeArray();
  for (const auto& device : list.devices) devices.Append(Describe(device->facts()));
  Json json;
  json.Set("problem", list.problem).Set("devices", std::move(devices));
  return json.Dump();
}

ffi::Module LoadModule(const ffi::Bytes& bytes) {
  Result<KernelTable> table = ParseWgslTable(std::string_view(bytes.data(), bytes.size()));
  if (!table.ok()) TVM_FFI_THROW(ValueError) << table.status().message();
  return ffi::Module(ffi::make_object<WebGpuModule>(bytes, std::move(table).value()));
}

TVM_FFI_STATIC_INIT_BLOCK() {
  ffi::reflection::GlobalDef()
      .def("device_api.webgpu",
           []() -> void* { return static_cast<tvm::runtime::DeviceAPI*>(WebGpuApi::Get()); })
      .def("ffi.Module.load_from_bytes.webgpu", LoadModule)
      .def("mlc.devices.webgpu", DescribeDevices)
      .def("mlc.lose.webgpu", [](int index) { DeviceAt(index).session()->Lose(); });
}

}  // namespace
}  // namespace mlc::webgpu
