// Registers OpenCL with TVM's runtime when this shared library is loaded.
#include "runtime/device/opencl/opencl_module.h"
#include "runtime/device/plugin.h"

namespace mlc::opencl {
namespace {

struct Backend {
  static constexpr const char* kName = "opencl";
  static constexpr DLDeviceType kType = kDLOpenCL;

  static const DeviceList& Devices() { return opencl::Devices(); }
  static ClDevice& DeviceAt(int index) { return opencl::DeviceAt(index); }
  static AddressMap<Buffer>& Addresses() { return opencl::Addresses(); }
  static void Choose(ClDevice&) {}
  static void Wait(ClDevice& device) { device.Finish(); }
  static const DeviceTraits& Traits(const ClDevice& device) { return device.limits(); }
  static void Read(const char* from, char* to, size_t bytes);
  static void Write(const char* from, char* to, size_t bytes);
  static void Copy(const char* from, char* to, size_t bytes);
  static tvm::ffi::Module Load(const tvm::ffi::Bytes& bytes);
};

void Backend::Read(const char* from, char* to, size_t bytes) {
  auto place = LivePlaceOf(from);
  Session& session = *place.buffer->session;
  session.Check(api().clEnqueueReadBuffer(session.queue(), place.buffer->memory, CL_TRUE,
                                          place.offset, bytes, to, 0, nullptr, nullptr),
                "clEnqueueReadBuffer");
}

void Backend::Write(const char* from, char* to, size_t bytes) {
  auto place = LivePlaceOf(to);
  Session& session = *place.buffer->session;
  session.Check(api().clEnqueueWriteBuffer(session.queue(), place.buffer->memory, CL_TRUE,
                                           place.offset, bytes, from, 0, nullptr, nullptr),
                "clEnqueueWriteBuffer");
}

void Backend::Copy(const char* from, char* to, size_t bytes) {
  auto a = LivePlaceOf(from), b = LivePlaceOf(to);
  if (a.buffer->device != b.buffer->device) {
    TVM_FFI_THROW(RuntimeError) << "a copy from one OpenCL device to another goes through the host";
  }
  Session& session = *b.buffer->session;
  session.Check(api().clEnqueueCopyBuffer(session.queue(), a.buffer->memory, b.buffer->memory,
                                          a.offset, b.offset, bytes, 0, nullptr, nullptr),
                "clEnqueueCopyBuffer");
}

tvm::ffi::Module Backend::Load(const tvm::ffi::Bytes& bytes) {
  Result<KernelTable> table = ParseKernelTable(std::string_view(bytes.data(), bytes.size()));
  if (!table.ok()) TVM_FFI_THROW(ValueError) << table.status().message();
  return tvm::ffi::Module(tvm::ffi::make_object<OpenClModule>(bytes, std::move(table).value()));
}

TVM_FFI_STATIC_INIT_BLOCK() { RegisterBackend<Backend>(); }

}  // namespace
}  // namespace mlc::opencl
