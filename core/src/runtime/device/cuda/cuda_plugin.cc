// CUDA uses TVM's own runtime, libtvm_runtime_cuda of the apache-tvm package. When this shared
// library is loaded, it opens that runtime and the libraries that the runtime needs. It also
// registers
//   mlc.devices.cuda                 for runtime/device.cc
//   ffi.Module.load_from_bytes.cuda  replaces TVM's: accepts kernels that are PTX
//   mlc.cuda.has_gemm, mlc.cuda.gemm cuBLAS, if it is there (cublas.h)
//   mlc.cuda.record                  CUDA graphs (launch_graph.h)
#include "runtime/device/cuda/cublas.h"
#include "runtime/device/launch_graph.h"
#include "runtime/device/tvm_backend.h"

namespace mlc::cuda {

namespace ffi = tvm::ffi;

namespace {

constexpr const char* kRuntime = "libcudart.so.13";

// A module's bytes begin with the length of the format's name (8 bytes) and the name. TVM's
// compiler writes the name "cuda". If the code is PTX (compiler/nvrtc.py replaced it), the driver
// accepts it.
ffi::Bytes NamedByContent(const ffi::Bytes& bytes) {
  constexpr std::string_view kSource("\4\0\0\0\0\0\0\0cuda", 12);
  constexpr std::string_view kPtx("\3\0\0\0\0\0\0\0ptx", 11);
  std::string_view all(bytes.data(), bytes.size());
  bool is_named_source = all.substr(0, kSource.size()) == kSource;
  if (!is_named_source || all.find(".target sm_") == std::string_view::npos) return bytes;
  return ffi::Bytes(std::string(kPtx) + std::string(all.substr(kSource.size())));
}

void WrapLoader() {
  constexpr const char* kLoader = "ffi.Module.load_from_bytes.cuda";
  std::optional<ffi::Function> loader = ffi::Function::GetGlobal(kLoader);
  if (!loader) return;
  auto load = [loader = *loader](const ffi::Bytes& bytes) {
    return loader(NamedByContent(bytes)).cast<ffi::Module>();
  };
  ffi::Function::SetGlobal(kLoader, ffi::Function::FromTyped(load), /*override=*/true);
}

struct Backend {
  static constexpr const char* kName = "cuda";
  static constexpr DLDeviceType kType = kDLCUDA;

  static const std::string& Problem() {
    static const std::string* problem = [] {
      // The driver comes first: if it is missing, that is the most useful reason.
      auto* text = new std::string(OpenLibraries(
          {{"libcuda.so.1", "this machine has no NVIDIA driver"},
           {kRuntime, "install CUDA's runtime: pip install \"mlc-llm[cuda]\""},
           {"libtvm_runtime_cuda.so", "this build of apache-tvm has no CUDA runtime"}}));
      if (text->empty()) WrapLoader();
      return text;
    }();
    return *problem;
  }

  static DeviceTraits Traits(const TvmDevice& device) {
    using namespace tvm::runtime;
    DeviceTraits traits;
    std::string gemm = CublasProblem();
    traits.description = device.Text(kDeviceName) + " (compute " + device.Text(kComputeVersion) +
                         "; " + (gemm.empty() ? "cuBLAS" : "no cuBLAS: " + gemm) + ")";
    traits.interface = "CUDA";
    traits.has_f16 = traits.has_own_memory = true;
    traits.memory = traits.largest_buffer = device.Number(kTotalGlobalMemory);
    traits.local_memory = device.Number(kMaxSharedMemoryPerBlock);
    traits.group_size = device.Number(kMaxThreadsPerBlock);
    return traits;
  }
};

void* OpenRuntime() { return OpenLibrary(kRuntime, LibraryScope::kGlobal); }
constexpr GraphVendor kGraphs = {"cuda", kDLCUDA, "cuda", OpenRuntime};

TVM_FFI_STATIC_INIT_BLOCK() {
  RegisterTvmBackend<Backend>();
  RegisterGemm();
  RegisterRecord(&kGraphs);
}

}  // namespace
}  // namespace mlc::cuda
