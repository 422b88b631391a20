// A tensor on a device: the core's view of what TVM functions take and give.
#ifndef MLC_RUNTIME_TENSOR_H_
#define MLC_RUNTIME_TENSOR_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "runtime/device.h"

namespace mlc {

enum class DType { kFloat32, kFloat16, kBFloat16, kInt32, kInt64, kUInt32, kInt8, kUInt8 };

std::optional<DType> ParseDType(std::string_view name);  // "float32", "uint32", ...
const char* DTypeName(DType dtype);
int64_t DTypeBytes(DType dtype);

using Shape = std::vector<int64_t>;

// Bytes of a tensor, or nothing when a dimension is negative or the product overflows.
std::optional<int64_t> TensorBytes(const Shape& shape, DType dtype);
std::string ShapeText(const Shape& shape);  // "[2, 3]"

// A shared handle; copies refer to the same memory. The default one is empty.
class Tensor {
 public:
  Tensor() = default;

  // Memory of the tensor's own, on the CPU aligned to 64 bytes, not initialized. Errors:
  // kResourceExhausted.
  static Result<Tensor> Empty(const Shape& shape, DType dtype, Device device);
  // A view of host memory that `owner` keeps alive. Requires 64-byte alignment of `data`.
  static Tensor View(void* data, const Shape& shape, DType dtype, std::shared_ptr<void> owner);

  bool defined() const { return impl_ != nullptr; }
  const Shape& shape() const;
  DType dtype() const;
  int64_t bytes() const;
  bool on_host() const;
  void* data() const;  // host memory; only for tensors on the CPU

  // Copies `bytes` to or from byte `offset` of the tensor on, wherever it lies; waits for the copy.
  // Errors: kInvalidArgument beyond the tensor's end; what the device says.
  Status Write(int64_t offset, const void* data, int64_t bytes);
  Status Read(int64_t offset, void* data, int64_t bytes) const;
  // The tensor itself when it lies there already.
  Result<Tensor> OnHost() const;

  struct Impl;  // holds the TVM tensor; known to runtime/ alone
  explicit Tensor(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
  const Impl* impl() const { return impl_.get(); }

 private:
  std::shared_ptr<Impl> impl_;
};

// How many bytes this thread has copied from devices to the host.
int64_t BytesReadFromDevices();

}  // namespace mlc

#endif  // MLC_RUNTIME_TENSOR_H_
