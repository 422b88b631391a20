// CUDA is TVM's own runtime, libtvm_runtime_cuda of the apache-tvm package, which this shared
// library opens with what it needs when it is loaded itself. It registers beside it
//   mlc.devices.cuda           what runtime/device.cc asks: JSON, see DescribeDevices
//   tvm_callback_cuda_compile  a library's kernels, which are PTX where TVM expects CUDA C++
#include <dlfcn.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/reflection/registry.h>
#include <tvm/runtime/device_api.h>

#include <optional>
#include <string>

#include "base/json.h"

namespace mlc::cuda {

namespace ffi = tvm::ffi;

namespace {

constexpr int kMostDevices = 16;

struct Needed {
  const char* file;
  const char* how;  // what to do when it cannot be opened
};

// In this order: the driver first, whose absence says most.
constexpr Needed kNeeded[] = {
    {"libcuda.so.1", "this machine has no NVIDIA driver"},
    {"libcudart.so.13", "install CUDA's runtime: pip install \"mlc-llm[cuda]\""},
    {"libtvm_runtime_cuda.so", "this build of apache-tvm has no CUDA runtime"},
};

// Empty, or why CUDA cannot be used. What is opened stays open.
std::string OpenNeeded() {
  for (const Needed& needed : kNeeded) {
    if (dlopen(needed.file, RTLD_NOW | RTLD_GLOBAL) != nullptr) continue;
    const char* error = dlerror();
    return std::string(needed.how) + " (" + (error == nullptr ? needed.file : error) + ")";
  }
  return "";
}

const std::string& Problem() {
  static const std::string* problem = new std::string(OpenNeeded());
  return *problem;
}

tvm::runtime::DeviceAPI* Api() {
  std::optional<ffi::Function> get = ffi::Function::GetGlobal("device_api.cuda");
  if (!get) return nullptr;
  return static_cast<tvm::runtime::DeviceAPI*>((*get)().cast<void*>());
}

Json Describe(tvm::runtime::DeviceAPI* api, DLDevice device) {
  using namespace tvm::runtime;
  auto ask = [&](DeviceAttrKind kind) {
    ffi::Any value;
    api->GetAttr(device, kind, &value);
    return value;
  };
  auto number = [&](DeviceAttrKind kind) { return ask(kind).try_cast<int64_t>().value_or(0); };
  auto text = [&](DeviceAttrKind kind) {
    return std::string(ask(kind).try_cast<ffi::String>().value_or(""));
  };
  Json json;
  json.Set("description", text(kDeviceName) + " (compute " + text(kComputeVersion) + ")")
      .Set("memory_bytes", number(kTotalGlobalMemory))
      .Set("max_buffer_bytes", number(kTotalGlobalMemory))
      .Set("local_memory_bytes", number(kMaxSharedMemoryPerBlock))
      .Set("max_group_size", number(kMaxThreadsPerBlock))
      .Set("f16", true);
  return json;
}

bool Exists(tvm::runtime::DeviceAPI* api, DLDevice device) {
  ffi::Any value;
  api->GetAttr(device, tvm::runtime::kExist, &value);
  return value.try_cast<int64_t>().value_or(0) != 0;
}

// {"problem": why there are none, or "", "devices": [...]}
ffi::String DescribeDevices() {
  std::string problem = Problem();
  Json devices = Json::MakeArray();
  tvm::runtime::DeviceAPI* api = problem.empty() ? Api() : nullptr;
  for (int index = 0; api != nullptr && index < kMostDevices; ++index) {
    DLDevice device{kDLCUDA, index};
    if (!Exists(api, device)) break;
    devices.Append(Describe(api, device));
  }
  if (problem.empty() && devices.as_array().empty()) problem = "the driver has no device";
  Json json;
  json.Set("problem", problem).Set("devices", std::move(devices));
  return json.Dump();
}

// PTX is what the driver takes. CUDA C++ goes to whoever was asked before, TVM's Python if it is in
// this process.
ffi::Any Compile(const std::optional<ffi::Function>& before, ffi::PackedArgs args) {
  ffi::String code = args[0].cast<ffi::String>();
  std::string_view text(code.data(), code.size());
  if (text.find(".target sm_") != std::string_view::npos)
    return ffi::Bytes(code.data(), text.size());
  if (!before) {
    TVM_FFI_THROW(ValueError) << "the model library holds CUDA C++, not PTX; compile the model "
                                 "again: mlc_llm compile --device cuda";
  }
  ffi::Any result;
  before->CallPacked(args, &result);
  return result;
}

void Register() {
  constexpr const char* kCompile = "tvm_callback_cuda_compile";
  ffi::reflection::GlobalDef().def("mlc.devices.cuda", DescribeDevices);
  std::optional<ffi::Function> before = ffi::Function::GetGlobal(kCompile);
  auto compile = [before](ffi::PackedArgs args, ffi::Any* result) {
    *result = Compile(before, args);
  };
  ffi::Function::SetGlobal(kCompile, ffi::Function::FromPacked(compile), /*override=*/true);
}

TVM_FFI_STATIC_INIT_BLOCK() { Register(); }

}  // namespace
}  // namespace mlc::cuda
