#include "runtime/device/launch_graph.h"

#include <tvm/ffi/extra/c_env_api.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/reflection/registry.h>
#include <tvm/runtime/device_api.h>

#include <memory>
#include <mutex>
#include <string>
#include <type_traits>

#include "platform/shared_library.h"

namespace mlc {
namespace {

namespace ffi = tvm::ffi;

// The part of the vendor's interface that is used here. So its headers are not needed to build.
constexpr int kNonBlocking = 1, kThreadLocal = 1;

struct Runtime {
  const GraphVendor* vendor = nullptr;
  int (*create_stream)(void** stream, unsigned flags) = nullptr;
  int (*destroy_stream)(void* stream) = nullptr;
  int (*begin)(void* stream, int mode) = nullptr;
  int (*end)(void* stream, void** graph) = nullptr;
  int (*instantiate)(void** executable, void* graph, unsigned long long flags) = nullptr;
  int (*destroy_graph)(void* graph) = nullptr;
  int (*destroy_executable)(void* executable) = nullptr;
  int (*launch)(void* executable, void* stream) = nullptr;
  int (*last_error)() = nullptr;
  const char* (*error_text)(int error) = nullptr;

  void Check(int status, const char* what) const {
    if (status == 0) return;
    last_error();  // clears the error; otherwise a later call would report it
    TVM_FFI_THROW(RuntimeError) << vendor->prefix << what << ": " << error_text(status);
  }
};

Runtime Find(const GraphVendor* vendor) {
  void* library = vendor->library();
  auto find = [&](const char* name, auto* function) {
    std::string whole = std::string(vendor->prefix) + name;
    void* found = library == nullptr ? nullptr : FindSymbol(library, whole.c_str());
    if (found == nullptr) TVM_FFI_THROW(RuntimeError) << "the driver has no " << whole;
    *function = reinterpret_cast<std::decay_t<decltype(*function)>>(found);
  };
  Runtime runtime;
  runtime.vendor = vendor;
  find("StreamCreateWithFlags", &runtime.create_stream);
  find("StreamDestroy", &runtime.destroy_stream);
  find("StreamBeginCapture", &runtime.begin);
  find("StreamEndCapture", &runtime.end);
  find("GraphInstantiateWithFlags", &runtime.instantiate);
  find("GraphDestroy", &runtime.destroy_graph);
  find("GraphExecDestroy", &runtime.destroy_executable);
  find("GraphLaunch", &runtime.launch);
  find("GetLastError", &runtime.last_error);
  find("GetErrorString", &runtime.error_text);
  return runtime;
}

// Makes it the device of the calling thread.
void Choose(const Runtime& runtime, int device) {
  DLDevice place{runtime.vendor->type, device};
  tvm::runtime::DeviceAPI::Get(place)->SetDevice(place);
}

// A stream that receives this thread's launches while the object lives.
class RecordingStream {
 public:
  RecordingStream(const Runtime& runtime, int device) : runtime_(runtime), device_(device) {
    runtime_.Check(runtime_.create_stream(&stream_, kNonBlocking), "StreamCreateWithFlags");
    TVMFFIEnvSetStream(runtime_.vendor->type, device_, stream_, &before_);
  }
  ~RecordingStream() {
    TVMFFIEnvSetStream(runtime_.vendor->type, device_, before_, nullptr);
    runtime_.destroy_stream(stream_);
  }
  RecordingStream(const RecordingStream&) = delete;
  void* get() const { return stream_; }

 private:
  const Runtime& runtime_;
  int device_;
  void* stream_ = nullptr;
  TVMFFIStreamHandle before_ = nullptr;
};

struct Destroy {
  int (*act)(void*);
  void operator()(void* handle) const { act(handle); }
};
using Owned = std::unique_ptr<void, Destroy>;

Owned RecordGraph(const Runtime& runtime, int device, const ffi::Function& act) {
  Choose(runtime, device);
  RecordingStream stream(runtime, device);
  runtime.Check(runtime.begin(stream.get(), kThreadLocal), "StreamBeginCapture");
  void* graph = nullptr;
  try {
    act();
  } catch (...) {
    runtime.end(stream.get(), &graph);
    if (graph != nullptr) runtime.destroy_graph(graph);
    runtime.last_error();
    throw;
  }
  runtime.Check(runtime.end(stream.get(), &graph), "StreamEndCapture");
  return Owned(graph, {runtime.destroy_graph});
}

ffi::Function Record(const Runtime& runtime, int device, const ffi::Function& act) {
  Owned graph = RecordGraph(runtime, device, act);
  void* made = nullptr;
  runtime.Check(runtime.instantiate(&made, graph.get(), 0), "GraphInstantiateWithFlags");
  std::shared_ptr<void> executable(made, Destroy{runtime.destroy_executable});
  return ffi::Function::FromTyped([&runtime, device, executable] {
    Choose(runtime, device);
    void* stream = TVMFFIEnvGetStream(runtime.vendor->type, device);
    runtime.Check(runtime.launch(executable.get(), stream), "GraphLaunch");
  });
}

}  // namespace

void RegisterRecord(const GraphVendor* vendor) {
  struct Found {
    std::once_flag once;
    Runtime runtime;
  };
  auto* found = new Found();  // kept: what was recorded uses it
  auto record = [vendor, found](int device, const ffi::Function& act) {
    std::call_once(found->once, [&] { found->runtime = Find(vendor); });
    return Record(found->runtime, device, act);
  };
  ffi::reflection::GlobalDef().def(("mlc." + std::string(vendor->device) + ".record").c_str(),
                                   record);
}

}  // namespace mlc
