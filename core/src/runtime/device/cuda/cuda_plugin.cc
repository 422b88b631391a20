// CUDA is TVM's own runtime, libtvm_runtime_cuda of the apache-tvm package, which this shared
// library opens with what it needs when it is loaded itself. It registers beside it
//   mlc.devices.cuda                 what runtime/device.cc asks: JSON, see DescribeDevices
//   ffi.Module.load_from_bytes.cuda  in the place of TVM's: kernels that are PTX
#include <dlfcn.h>

#include <optional>
#include <string>

#include "runtime/device/plugin.h"

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

// A module's bytes begin with the length of the format's name in 8 bytes, and the name. TVM names
// what its compiler writes "cuda"; where that is PTX by now (compiler/nvrtc.py) the driver takes
// it.
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

const std::string& Problem() {
  static const std::string* problem = [] {
    auto* text = new std::string(OpenNeeded());
    if (text->empty()) WrapLoader();
    return text;
  }();
  return *problem;
}

tvm::runtime::DeviceAPI* Api() {
  std::optional<ffi::Function> get = ffi::Function::GetGlobal("device_api.cuda");
  if (!get) return nullptr;
  return static_cast<tvm::runtime::DeviceAPI*>((*get)().cast<void*>());
}

DeviceTraits TraitsOf(tvm::runtime::DeviceAPI* api, DLDevice device) {
  using namespace tvm::runtime;
  auto ask = [&](DeviceAttrKind kind) {
    ffi::Any value;
    api->GetAttr(device, kind, &value);
    return value;
  };
  auto number = [&](DeviceAttrKind kind) {
    return static_cast<size_t>(ask(kind).try_cast<int64_t>().value_or(0));
  };
  auto text = [&](DeviceAttrKind kind) {
    return std::string(ask(kind).try_cast<ffi::String>().value_or(""));
  };
  DeviceTraits traits;
  traits.description = text(kDeviceName) + " (compute " + text(kComputeVersion) + ")";
  traits.interface = "CUDA";
  traits.has_f16 = true;
  traits.memory = traits.largest_buffer = number(kTotalGlobalMemory);
  traits.local_memory = number(kMaxSharedMemoryPerBlock);
  traits.group_size = number(kMaxThreadsPerBlock);
  return traits;
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
    devices.Append(Describe(TraitsOf(api, device)));
  }
  if (problem.empty() && devices.as_array().empty()) problem = "the driver has no device";
  Json json;
  json.Set("problem", problem).Set("devices", std::move(devices));
  return json.Dump();
}

TVM_FFI_STATIC_INIT_BLOCK() {
  ffi::reflection::GlobalDef().def("mlc.devices.cuda", DescribeDevices);
}

}  // namespace
}  // namespace mlc::cuda
