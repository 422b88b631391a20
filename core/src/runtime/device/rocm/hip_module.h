// The kernels of one model library, in HIP C++.
#pragma once

#include <tvm/ffi/extra/module.h>

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "runtime/device/kernel_table.h"
#include "runtime/device/rocm/hip_device.h"
#include "runtime/device/rocm/hip_program.h"

namespace mlc::rocm {

// Its functions launch kernels on the device of their first pointer. The function
// `mlc_prepare(index)` compiles all kernels for a device, so that the first launch need not.
class HipModule final : public tvm::ffi::ModuleObj {
 public:
  HipModule(tvm::ffi::Bytes bytes, KernelTable table)
      : bytes_(std::move(bytes)), table_(std::move(table)) {}

  const char* kind() const final { return "rocm"; }
  int GetPropertyMask() const final {
    return tvm::ffi::Module::kBinarySerializable | tvm::ffi::Module::kRunnable;
  }
  tvm::ffi::Bytes SaveToBytes() const final { return bytes_; }
  tvm::ffi::String InspectSource(const tvm::ffi::String&) const final { return table_.code; }
  tvm::ffi::Optional<tvm::ffi::Function> GetFunction(const tvm::ffi::String& name) final;

 private:
  // On one device.
  struct Loaded {
    LoadedProgram program;
    std::map<std::string, Handle> kernels;
    ~Loaded();
  };

  const Loaded& LoadedOn(const HipDevice& device);
  void Launch(const KernelInfo& kernel, tvm::ffi::PackedArgs arguments);

  tvm::ffi::Bytes bytes_;
  KernelTable table_;
  std::mutex mutex_;
  std::map<int, std::unique_ptr<Loaded>> loaded_;  // by device index
};

}  // namespace mlc::rocm
