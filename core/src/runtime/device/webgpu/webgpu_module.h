// The WebGPU kernels of one model library.
#pragma once

#include <tvm/ffi/extra/module.h>

#include <mutex>
#include <string>

#include "runtime/device/kernel_table.h"
#include "runtime/device/webgpu/webgpu_device.h"

namespace mlc::webgpu {

// Its functions launch kernels on the device of their first pointer. The function
// `mlc_prepare(index)` compiles all kernels for a device, so that the first launch need not.
class WebGpuModule final : public tvm::ffi::ModuleObj {
 public:
  WebGpuModule(tvm::ffi::Bytes bytes, KernelTable table)
      : bytes_(std::move(bytes)), table_(std::move(table)) {}

  const char* kind() const final { return "webgpu"; }
  int GetPropertyMask() const final;
  tvm::ffi::Bytes SaveToBytes() const final { return bytes_; }
  tvm::ffi::String InspectSource(const tvm::ffi::String& format) const final;
  tvm::ffi::Optional<tvm::ffi::Function> GetFunction(const tvm::ffi::String& name) final;

 private:
  void Prepare(int index);
  // A kernel, and its pipeline in the session that used it last.
  struct Kernel {
    const KernelInfo* info;
    const std::string* source;
    std::mutex mutex;
    uint64_t session = 0;  // serial number of that session; 0: none
    const Pipeline* pipeline = nullptr;

    const Pipeline& For(Session* session);
  };
  void Launch(Kernel* kernel, tvm::ffi::PackedArgs arguments);

  tvm::ffi::Bytes bytes_;
  KernelTable table_;
};

}  // namespace mlc::webgpu
