// Registers OpenCL with TVM's runtime when this shared library is loaded:
//   device_api.opencl                  memory and copies
//   ffi.Module.load_from_bytes.opencl  the kernels of a model library
//   mlc.devices.opencl                 what runtime/device.cc asks: JSON, see DescribeDevices
#include <tvm/ffi/extra/module.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/reflection/registry.h>
#include <tvm/runtime/device_api.h>

#include "base/json.h"
#include "runtime/device/opencl/opencl_module.h"

namespace mlc::opencl {

namespace ffi = tvm::ffi;

namespace {

class OpenClApi final : public tvm::runtime::DeviceAPI {
 public:
  static OpenClApi* Get() {
    static OpenClApi* instance = new OpenClApi();
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
  void StreamSync(DLDevice device, TVMStreamHandle) final { DeviceAt(device.device_id).Finish(); }
  bool SupportsDevicePointerArithmeticsOnHost() final { return true; }

 protected:
  void CopyDataFromTo(const void* from, size_t from_offset, void* to, size_t to_offset,
                      size_t bytes, DLDevice source, DLDevice target, DLDataType,
                      TVMStreamHandle) final;
};

void OpenClApi::GetAttr(DLDevice device, tvm::runtime::DeviceAttrKind kind, ffi::Any* out) {
  using namespace tvm::runtime;
  bool exists =
      device.device_id >= 0 && device.device_id < static_cast<int>(Devices().devices.size());
  if (kind == kExist) {
    *out = static_cast<int>(exists);
    return;
  }
  ClDevice& found = DeviceAt(device.device_id);
  const Limits& limits = found.limits();
  auto number = [](size_t value) { return static_cast<int64_t>(value); };
  switch (kind) {
    case kMaxThreadsPerBlock:
      *out = number(limits.work_group);
      break;
    case kWarpSize:
      *out = 1;
      break;
    case kMaxSharedMemoryPerBlock:
      *out = number(limits.local_memory);
      break;
    case kComputeVersion:
      *out = limits.version;
      break;
    case kDeviceName:
      *out = limits.name;
      break;
    case kMaxClockRate:
      *out = number(limits.clock_mhz);
      break;
    case kMultiProcessorCount:
      *out = number(limits.units);
      break;
    case kTotalGlobalMemory:
      *out = number(limits.memory);
      break;
    case kAvailableGlobalMemory:
      *out = number(found.Available());
      break;
    case kDriverVersion:
      *out = limits.driver;
      break;
    default:
      break;  // not known here: nothing
  }
}

void CopyOnDevice(AddressMap<Buffer>::Place from, AddressMap<Buffer>::Place to, size_t bytes) {
  Session& session = *to.buffer->session;
  if (from.buffer->device != to.buffer->device) {
    TVM_FFI_THROW(RuntimeError) << "a copy from one OpenCL device to another goes through the host";
  }
  session.Check(api().clEnqueueCopyBuffer(session.queue(), from.buffer->memory, to.buffer->memory,
                                          from.offset, to.offset, bytes, 0, nullptr, nullptr),
                "clEnqueueCopyBuffer");
}

void OpenClApi::CopyDataFromTo(const void* from, size_t from_offset, void* to, size_t to_offset,
                               size_t bytes, DLDevice source, DLDevice target, DLDataType,
                               TVMStreamHandle) {
  if (bytes == 0) return;
  const char* read = static_cast<const char*>(from) + from_offset;
  char* write = static_cast<char*>(to) + to_offset;
  bool from_device = source.device_type == kDLOpenCL, to_device = target.device_type == kDLOpenCL;
  if (from_device && to_device) return CopyOnDevice(LivePlaceOf(read), LivePlaceOf(write), bytes);
  auto place = LivePlaceOf(from_device ? read : write);
  Session& session = *place.buffer->session;
  if (from_device) {
    session.Check(api().clEnqueueReadBuffer(session.queue(), place.buffer->memory, CL_TRUE,
                                            place.offset, bytes, write, 0, nullptr, nullptr),
                  "clEnqueueReadBuffer");
  } else {
    session.Check(api().clEnqueueWriteBuffer(session.queue(), place.buffer->memory, CL_TRUE,
                                             place.offset, bytes, read, 0, nullptr, nullptr),
                  "clEnqueueWriteBuffer");
  }
}

Json Describe(const Limits& limits) {
  auto number = [](size_t value) { return static_cast<int64_t>(value); };
  Json json;
  json.Set("description", limits.name + " (" + limits.version + ")")
      .Set("is_processor", limits.is_processor)
      .Set("memory_bytes", number(limits.memory))
      .Set("max_buffer_bytes", number(limits.largest_buffer))
      .Set("local_memory_bytes", number(limits.local_memory))
      .Set("max_group_size", number(limits.work_group))
      .Set("f16", limits.has_f16);
  return json;
}

// {"problem": why there are none, or "", "devices": [...]}
ffi::String DescribeDevices() {
  const DeviceList& list = Devices();
  Json devices = Json::MakeArray();
  for (const auto& device : list.devices) devices.Append(Describe(device->limits()));
  Json json;
  json.Set("problem", list.problem).Set("devices", std::move(devices));
  return json.Dump();
}

ffi::Module LoadModule(const ffi::Bytes& bytes) {
  Result<KernelTable> table = ParseKernelTable(std::string_view(bytes.data(), bytes.size()));
  if (!table.ok()) TVM_FFI_THROW(ValueError) << table.status().message();
  return ffi::Module(ffi::make_object<OpenClModule>(bytes, std::move(table).value()));
}

TVM_FFI_STATIC_INIT_BLOCK() {
  ffi::reflection::GlobalDef()
      .def("device_api.opencl",
           []() -> void* { return static_cast<tvm::runtime::DeviceAPI*>(OpenClApi::Get()); })
      .def("ffi.Module.load_from_bytes.opencl", LoadModule)
      .def("mlc.devices.opencl", DescribeDevices);
}

}  // namespace
}  // namespace mlc::opencl
