// AMD's GPUs by HIP. When this shared library is loaded, it registers the device with TVM's
// runtime, which has none of its own in the apache-tvm package, and
//   mlc.rocm.record                  HIP's graphs (launch_graph.h)
#include "runtime/device/launch_graph.h"
#include "runtime/device/plugin.h"
#include "runtime/device/rocm/hip_module.h"

namespace mlc::rocm {
namespace {

struct Backend {
  static constexpr const char* kName = "rocm";
  static constexpr DLDeviceType kType = kDLROCM;

  static const DeviceList& Devices() { return rocm::Devices(); }
  static HipDevice& DeviceAt(int index) { return rocm::DeviceAt(index); }
  static AddressMap<Buffer>& Addresses() { return rocm::Addresses(); }
  static void Choose(HipDevice& device) { device.Choose(); }
  static void Wait(HipDevice& device) { device.Finish(); }
  static const DeviceTraits& Traits(const HipDevice& device) { return device.limits(); }

  static const HipDevice& Chosen(const void* pointer) {
    Buffer* buffer = Addresses().Find(pointer).buffer;
    if (buffer == nullptr) TVM_FFI_THROW(RuntimeError) << "this is no memory of ROCm's";
    buffer->device->Choose();
    return *buffer->device;
  }
  static void Read(const char* from, char* to, size_t bytes) {
    Chosen(from);
    Check(api().hipMemcpy(to, from, bytes, kToHost), "hipMemcpy to the host");
  }
  static void Write(const char* from, char* to, size_t bytes) {
    Chosen(to);
    Check(api().hipMemcpy(to, from, bytes, kToDevice), "hipMemcpy to the device");
  }
  static void Copy(const char* from, char* to, size_t bytes) {
    Handle stream = Chosen(to).stream();
    Check(api().hipMemcpyAsync(to, from, bytes, kByAddresses, stream), "hipMemcpyAsync");
  }
  static tvm::ffi::Module Load(const tvm::ffi::Bytes& bytes) {
    Result<KernelTable> table = ParseKernelTable(std::string_view(bytes.data(), bytes.size()));
    if (!table.ok()) TVM_FFI_THROW(ValueError) << table.status().message();
    return tvm::ffi::Module(tvm::ffi::make_object<HipModule>(bytes, std::move(table).value()));
  }
};

void* Library() { return api().library; }
constexpr GraphVendor kGraphs = {"rocm", kDLROCM, "hip", Library};

TVM_FFI_STATIC_INIT_BLOCK() {
  RegisterBackend<Backend>();
  RegisterRecord(&kGraphs);
}

}  // namespace
}  // namespace mlc::rocm
