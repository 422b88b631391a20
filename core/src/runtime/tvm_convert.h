// Conversions between our types and TVM's. Included inside runtime/ only.
#pragma once

#include <tvm/ffi/tvm_ffi.h>

#include <new>
#include <string>
#include <utility>

#include "runtime/tensor.h"

namespace mlc {

struct Tensor::Impl {
  tvm::ffi::Tensor tensor;
  Shape shape;
  DType dtype;
};

DLDataType ToDL(DType dtype);

// The tensor in `result`. An error for a dtype that the core does not know.
Result<Tensor> FromTvm(tvm::ffi::Tensor tensor);

// Copy between the host and the memory of a device, and wait for the copy.
Status CopyToHost(Device device, const void* from, void* to, int64_t bytes);
Status CopyToDevice(Device device, const void* from, void* to, int64_t bytes);

// The end of the message when a device was lost.
inline constexpr char kLostAdvice[] = "; unload the model and load it again";

// Runs `call` and turns every TVM exception into a Status whose message begins with `what`.
template <typename Call>
Status CatchTvm(const std::string& what, Call&& call) {
  try {
    std::forward<Call>(call)();
    return Status();
  } catch (const tvm::ffi::Error& error) {
    // Our device backends throw these when an allocation fails, or for a missing feature.
    // TVM's CUDA runtime has it only in the message
    bool is_memory =
        error.kind() == "MemoryError" || error.message().find("out of memory") != std::string::npos;
    if (is_memory) return ResourceExhausted(what + ": " + error.message());
    if (error.kind() == "NotImplementedError") return Unsupported(what + ": " + error.message());
    if (error.kind() == "DeviceLostError") {
      return Unavailable(error.message() + kLostAdvice).WithReason(Reason::kDeviceLost);
    }
    return Internal(what + ": " + error.message());
  } catch (const std::bad_alloc&) {
    return ResourceExhausted(what + ": out of memory");
  } catch (const std::exception& error) {
    return Internal(what + ": " + error.what());
  }
}

}  // namespace mlc
