// A tensor on a device: the core's form of the tensors that TVM functions use.
#pragma once

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

// The bytes of a tensor. Nothing if a dimension is negative or the product overflows.
std::optional<int64_t> TensorBytes(const Shape& shape, DType dtype);
std::string ShapeText(const Shape& shape);  // "[2, 3]"

// A shared handle: copies refer to the same memory. A default-constructed one is empty.
class Tensor {
 public:
  Tensor() = default;

  // Allocates memory for the tensor; on the CPU it is aligned to 64 bytes. It is not initialized.
  // Errors: kResourceExhausted.
  static Result<Tensor> Empty(const Shape& shape, DType dtype, Device device);
  // A view of host memory. `owner` keeps the memory alive. `data` must be aligned to 64 bytes.
  static Tensor View(void* data, const Shape& shape, DType dtype, std::shared_ptr<void> owner);

  bool defined() const { return impl_ != nullptr; }
  const Shape& shape() const;
  DType dtype() const;
  int64_t bytes() const;
  bool on_host() const;
  void* data() const;  // host memory; only for tensors on the CPU

  // Copies `bytes` to or from the tensor, beginning at byte `offset`, on any device. Waits for the
  // copy. Errors: kInvalidArgument beyond the end of the tensor; errors of the device.
  Status Write(int64_t offset, const void* data, int64_t bytes);
  Status Read(int64_t offset, void* data, int64_t bytes) const;
  // The tensor itself if it is on the host already.
  Result<Tensor> OnHost() const;

  struct Impl;  // contains the TVM tensor; defined only inside runtime/
  explicit Tensor(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
  const Impl* impl() const { return impl_.get(); }

 private:
  std::shared_ptr<Impl> impl_;
};

// How many bytes this thread has copied from devices to the host.
int64_t BytesReadFromDevices();

}  // namespace mlc
