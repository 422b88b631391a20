// Registers WebGPU with TVM's runtime when this shared library is loaded. For tests it also
// registers
//   mlc.lose.webgpu  (index): the device acts as if its driver had failed
#include "runtime/device/plugin.h"
#include "runtime/device/webgpu/webgpu_module.h"

namespace mlc::webgpu {
namespace {

struct Backend {
  static constexpr const char* kName = "webgpu";
  static constexpr DLDeviceType kType = kDLWebGPU;

  static const DeviceList& Devices() { return webgpu::Devices(); }
  static GpuDevice& DeviceAt(int index) { return webgpu::DeviceAt(index); }
  static AddressMap<Buffer>& Addresses() { return webgpu::Addresses(); }
  static void Choose(GpuDevice&) {}
  static void Wait(GpuDevice& device) { device.Sync(); }
  static const DeviceTraits& Traits(const GpuDevice& device) { return device.facts(); }
  static void Read(const char* from, char* to, size_t bytes);
  static void Write(const char* from, char* to, size_t bytes);
  static void Copy(const char* from, char* to, size_t bytes);
  static tvm::ffi::Module Load(const tvm::ffi::Bytes& bytes);
};

void Backend::Read(const char* from, char* to, size_t bytes) {
  auto place = PlaceOf(from);
  webgpu::Read(*place.buffer, place.offset, to, bytes);
}

void Backend::Write(const char* from, char* to, size_t bytes) {
  auto place = PlaceOf(to);
  webgpu::Write(*place.buffer, place.offset, from, bytes);
}

void Backend::Copy(const char* from, char* to, size_t bytes) {
  auto a = PlaceOf(from), b = PlaceOf(to);
  webgpu::Copy(*a.buffer, a.offset, *b.buffer, b.offset, bytes);
}

tvm::ffi::Module Backend::Load(const tvm::ffi::Bytes& bytes) {
  Result<KernelTable> table = ParseWgslTable(std::string_view(bytes.data(), bytes.size()));
  if (!table.ok()) TVM_FFI_THROW(ValueError) << table.status().message();
  return tvm::ffi::Module(tvm::ffi::make_object<WebGpuModule>(bytes, std::move(table).value()));
}

TVM_FFI_STATIC_INIT_BLOCK() {
  RegisterBackend<Backend>();
  tvm::ffi::reflection::GlobalDef().def(
      "mlc.lose.webgpu", [](int index) { webgpu::DeviceAt(index).session()->Lose(); });
}

}  // namespace
}  // namespace mlc::webgpu
