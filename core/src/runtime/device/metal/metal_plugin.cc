// Metal uses TVM's own runtime, libtvm_runtime_metal of the apache-tvm package for macOS. When this
// shared library is loaded, it opens that runtime. It also registers mlc.devices.metal.
#include <unistd.h>

#include "runtime/device/tvm_backend.h"

namespace mlc::metal {
namespace {

#if defined(__APPLE__)
constexpr NeededLibrary kRuntime = {"libtvm_runtime_metal.dylib",
                                    "this build of apache-tvm has no Metal runtime"};
#else
constexpr NeededLibrary kRuntime = {"libtvm_runtime_metal.so", "Metal needs macOS or iOS"};
#endif

// TVM tells little more than the name of an Apple device. The following values hold for all GPUs
// that Metal 3 supports: they share the machine's memory, and a work-group has 32 KB of its own.
constexpr size_t kGroupMemory = 32 << 10, kGroupSize = 1024;

size_t MachineMemory() {
  return static_cast<size_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

size_t Or(size_t told, size_t otherwise) { return told == 0 ? otherwise : told; }

struct Backend {
  static constexpr const char* kName = "metal";
  static constexpr DLDeviceType kType = kDLMetal;

  static const std::string& Problem() {
    // A runtime that is linked into the app (phones) needs no library.
    static const std::string* problem = new std::string(
        tvm::ffi::Function::GetGlobal("device_api.metal") ? "" : OpenLibraries({kRuntime}));
    return *problem;
  }

  static DeviceTraits Traits(const TvmDevice& device) {
    using namespace tvm::runtime;
    DeviceTraits traits;
    std::string name = device.Text(kDeviceName);
    traits.description = name.empty() ? "Metal device" : name;
    traits.interface = "Metal";
    traits.has_f16 = true;
    traits.memory = traits.largest_buffer = Or(device.Number(kTotalGlobalMemory), MachineMemory());
    traits.local_memory = Or(device.Number(kMaxSharedMemoryPerBlock), kGroupMemory);
    traits.group_size = Or(device.Number(kMaxThreadsPerBlock), kGroupSize);
    return traits;
  }
};

TVM_FFI_STATIC_INIT_BLOCK() { RegisterTvmBackend<Backend>(); }

}  // namespace
}  // namespace mlc::metal
