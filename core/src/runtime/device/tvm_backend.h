// A device backend that TVM's own runtime drives: CUDA, Metal. The plugin opens that runtime and
// lists the devices.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "platform/shared_library.h"
#include "runtime/device/plugin.h"

namespace mlc {

struct NeededLibrary {
  const char* file;
  const char* otherwise;  // the problem if it cannot be opened
};

// Opens all of them, in order, for the rest of the process. Returns "", or the reason why one
// cannot be opened.
[[maybe_unused]] static std::string OpenLibraries(const std::vector<NeededLibrary>& needed) {
  for (const NeededLibrary& library : needed) {
    if (OpenLibrary(library.file, LibraryScope::kGlobal) != nullptr) continue;
    std::string reason = LibraryError();
    return std::string(library.otherwise) + " (" + reason.substr(0, reason.find('\n')) + ")";
  }
  return "";
}

// The properties that TVM's runtime tells about a device. An unknown number is 0, an unknown text
// "".
class TvmDevice {
 public:
  TvmDevice(tvm::runtime::DeviceAPI* api, DLDevice device) : api_(api), device_(device) {}

  size_t Number(tvm::runtime::DeviceAttrKind kind) const {
    return static_cast<size_t>(Ask(kind).try_cast<int64_t>().value_or(0));
  }
  std::string Text(tvm::runtime::DeviceAttrKind kind) const {
    return std::string(Ask(kind).try_cast<tvm::ffi::String>().value_or(""));
  }
  bool exists() const { return Number(tvm::runtime::kExist) != 0; }

 private:
  tvm::ffi::Any Ask(tvm::runtime::DeviceAttrKind kind) const {
    tvm::ffi::Any value;
    api_->GetAttr(device_, kind, &value);
    return value;
  }

  tvm::runtime::DeviceAPI* api_;
  DLDevice device_;
};

// A backend is a struct of static members:
//   kName, kType         "metal", kDLMetal
//   Problem()            opens TVM's runtime once: "", or the reason why it cannot be used
//   Traits(device)       DeviceTraits of a TvmDevice that exists
//
// {"problem": the reason if there are no devices, or "", "devices": [...]}
template <typename Backend>
tvm::ffi::String DescribeTvmDevices() {
  constexpr int kMostDevices = 16;
  std::string problem = Backend::Problem();
  Json devices = Json::MakeArray();
  std::optional<tvm::ffi::Function> get =
      tvm::ffi::Function::GetGlobal(std::string("device_api.") + Backend::kName);
  if (problem.empty() && !get) problem = "TVM's runtime has no such devices";
  if (problem.empty()) {
    auto* api = static_cast<tvm::runtime::DeviceAPI*>((*get)().cast<void*>());
    for (int index = 0; index < kMostDevices; ++index) {
      TvmDevice device(api, DLDevice{Backend::kType, index});
      if (!device.exists()) break;
      devices.Append(Describe(Backend::Traits(device)));
    }
    if (devices.as_array().empty()) problem = "the driver has no device";
  }
  Json json;
  json.Set("problem", problem).Set("devices", std::move(devices));
  return json.Dump();
}

// Registers mlc.devices.NAME, which runtime/device.cc calls.
template <typename Backend>
void RegisterTvmBackend() {
  tvm::ffi::reflection::GlobalDef().def((std::string("mlc.devices.") + Backend::kName).c_str(),
                                        DescribeTvmDevices<Backend>);
}

}  // namespace mlc
