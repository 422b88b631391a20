#include "runtime/device/cuda/launch_graph.h"

#include <tvm/ffi/extra/c_env_api.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/reflection/registry.h>
#include <tvm/runtime/device_api.h>

#include <memory>
#include <type_traits>

#include "platform/shared_library.h"

namespace mlc::cuda {
namespace {

namespace ffi = tvm::ffi;

// The part of CUDA 13's runtime that is used here. So its headers are not needed to build.
constexpr int kNonBlocking = 1, kThreadLocal = 1;

struct Runtime {
  int (*create_stream)(void** stream, unsigned flags);
  int (*destroy_stream)(void* stream);
  int (*begin)(void* stream, int mode);
  int (*end)(void* stream, void** graph);
  int (*instantiate)(void** executable, void* graph, unsigned long long flags);
  int (*destroy_graph)(void* graph);
  int (*destroy_executable)(void* executable);
  int (*launch)(void* executable, void* stream);
  int (*last_error)();
  const char* (*error_text)(int error);
};

Runtime Find() {
  void* library = OpenLibrary("libcudart.so.13", LibraryScope::kGlobal);
  auto find = [library](const char* name, auto* function) {
    void* found = library == nullptr ? nullptr : FindSymbol(library, name);
    if (found == nullptr) TVM_FFI_THROW(RuntimeError) << "CUDA's runtime has no " << name;
    *function = reinterpret_cast<std::decay_t<decltype(*function)>>(found);
  };
  Runtime runtime;
  find("cudaStreamCreateWithFlags", &runtime.create_stream);
  find("cudaStreamDestroy", &runtime.destroy_stream);
  find("cudaStreamBeginCapture", &runtime.begin);
  find("cudaStreamEndCapture", &runtime.end);
  find("cudaGraphInstantiate", &runtime.instantiate);
  find("cudaGraphDestroy", &runtime.destroy_graph);
  find("cudaGraphExecDestroy", &runtime.destroy_executable);
  find("cudaGraphLaunch", &runtime.launch);
  find("cudaGetLastError", &runtime.last_error);
  find("cudaGetErrorString", &runtime.error_text);
  return runtime;
}

const Runtime& Cuda() {
  static const auto* runtime = new Runtime(Find());
  return *runtime;
}

void CheckRuntime(int status, const char* what) {
  if (status == 0) return;
  Cuda().last_error();  // clears the error; otherwise a later call would report it
  TVM_FFI_THROW(RuntimeError) << what << ": " << Cuda().error_text(status);
}

// A stream that receives this thread's launches while the object lives.
class RecordingStream {
 public:
  explicit RecordingStream(int device) : device_(device) {
    CheckRuntime(Cuda().create_stream(&stream_, kNonBlocking), "cudaStreamCreate");
    TVMFFIEnvSetStream(kDLCUDA, device_, stream_, &before_);
  }
  ~RecordingStream() {
    TVMFFIEnvSetStream(kDLCUDA, device_, before_, nullptr);
    Cuda().destroy_stream(stream_);
  }
  RecordingStream(const RecordingStream&) = delete;
  void* get() const { return stream_; }

 private:
  int device_;
  void* stream_ = nullptr;
  TVMFFIStreamHandle before_ = nullptr;
};

struct Destroy {
  int (*act)(void*);
  void operator()(void* handle) const { act(handle); }
};
using Owned = std::unique_ptr<void, Destroy>;

Owned RecordGraph(int device, const ffi::Function& act) {
  DLDevice place{kDLCUDA, device};
  tvm::runtime::DeviceAPI::Get(place)->SetDevice(place);
  RecordingStream stream(device);
  CheckRuntime(Cuda().begin(stream.get(), kThreadLocal), "cudaStreamBeginCapture");
  void* graph = nullptr;
  try {
    act();
  } catch (...) {
    Cuda().end(stream.get(), &graph);
    if (graph != nullptr) Cuda().destroy_graph(graph);
    Cuda().last_error();
    throw;
  }
  CheckRuntime(Cuda().end(stream.get(), &graph), "cudaStreamEndCapture");
  return Owned(graph, {Cuda().destroy_graph});
}

ffi::Function Record(int device, const ffi::Function& act) {
  Owned graph = RecordGraph(device, act);
  void* made = nullptr;
  CheckRuntime(Cuda().instantiate(&made, graph.get(), 0), "cudaGraphInstantiate");
  std::shared_ptr<void> executable(made, Destroy{Cuda().destroy_executable});
  return ffi::Function::FromTyped([device, executable] {
    CheckRuntime(Cuda().launch(executable.get(), TVMFFIEnvGetStream(kDLCUDA, device)),
                 "cudaGraphLaunch");
  });
}

}  // namespace

void RegisterRecord() { ffi::reflection::GlobalDef().def("mlc.cuda.record", Record); }

}  // namespace mlc::cuda
