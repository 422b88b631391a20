// The OpenCL kernels of one model library.
#pragma once

#include <tvm/ffi/extra/module.h>

#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "runtime/device/kernel_table.h"
#include "runtime/device/opencl/opencl_device.h"

namespace mlc::opencl {

// Its functions launch kernels on the device of their first pointer. The function
// `mlc_prepare(index)` builds all kernels for a device, so that the first launch need not.
class OpenClModule final : public tvm::ffi::ModuleObj {
 public:
  OpenClModule(tvm::ffi::Bytes bytes, KernelTable table)
      : bytes_(std::move(bytes)), table_(std::move(table)) {}
  ~OpenClModule();

  const char* kind() const final { return "opencl"; }
  int GetPropertyMask() const final;
  tvm::ffi::Bytes SaveToBytes() const final { return bytes_; }
  tvm::ffi::String InspectSource(const tvm::ffi::String&) const final { return table_.code; }
  tvm::ffi::Optional<tvm::ffi::Function> GetFunction(const tvm::ffi::String& name) final;

 private:
  // The program and its kernels in a session of one device.
  struct Built {
    std::shared_ptr<Session> session;
    cl_program program = nullptr;
    std::map<std::string, cl_kernel> kernels;
  };

  Built& BuiltFor(const ClDevice& device, const std::shared_ptr<Session>& session);
  static void Release(Built* built);
  void FindPlaces(const KernelInfo& kernel, const TVMFFIAny* values);
  void Launch(const KernelInfo& kernel, tvm::ffi::PackedArgs arguments);

  tvm::ffi::Bytes bytes_;
  KernelTable table_;
  std::mutex mutex_;            // a cl_kernel holds its arguments, so one launch at a time
  std::map<int, Built> built_;  // by device index
  std::vector<AddressMap<Buffer>::Place> places_;  // the places of a launch's arguments
};

}  // namespace mlc::opencl
