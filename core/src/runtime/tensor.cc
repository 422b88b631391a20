#include "runtime/tensor.h"

#include <cstdlib>

#include "runtime/tvm_convert.h"

namespace mlc {
namespace {

constexpr size_t kAlignment = 64;  // what TVM's generated code assumes of its arguments

struct DTypeEntry {
  const char* name;
  DLDataType dl;
};

// In the order of enum DType.
constexpr DTypeEntry kDTypes[] = {{"float32", {kDLFloat, 32, 1}},   {"float16", {kDLFloat, 16, 1}},
                                  {"bfloat16", {kDLBfloat, 16, 1}}, {"int32", {kDLInt, 32, 1}},
                                  {"int64", {kDLInt, 64, 1}},       {"uint32", {kDLUInt, 32, 1}},
                                  {"int8", {kDLInt, 8, 1}},         {"uint8", {kDLUInt, 8, 1}}};

DLDataType ToDL(DType dtype) { return kDTypes[static_cast<int>(dtype)].dl; }

struct HostAllocator {
  void AllocData(DLTensor* tensor) {
    size_t bytes = tvm::ffi::GetDataSize(*tensor);
    size_t rounded = (bytes + kAlignment - 1) / kAlignment * kAlignment;
    tensor->data = std::aligned_alloc(kAlignment, rounded == 0 ? kAlignment : rounded);
    if (tensor->data == nullptr) throw std::bad_alloc();
  }
  void FreeData(DLTensor* tensor) { std::free(tensor->data); }
};

struct BorrowedMemory {
  void* data;
  std::shared_ptr<void> owner;
  void AllocData(DLTensor* tensor) { tensor->data = data; }
  void FreeData(DLTensor*) { owner.reset(); }
};

tvm::ffi::ShapeView View(const Shape& shape) { return {shape.data(), shape.size()}; }

}  // namespace

std::optional<DType> ParseDType(std::string_view name) {
  for (size_t i = 0; i < std::size(kDTypes); ++i) {
    if (name == kDTypes[i].name) return static_cast<DType>(i);
  }
  return std::nullopt;
}

const char* DTypeName(DType dtype) { return kDTypes[static_cast<int>(dtype)].name; }

int64_t DTypeBytes(DType dtype) { return ToDL(dtype).bits / 8; }

std::optional<int64_t> TensorBytes(const Shape& shape, DType dtype) {
  int64_t bytes = DTypeBytes(dtype);
  for (int64_t extent : shape) {
    if (extent < 0 || __builtin_mul_overflow(bytes, extent, &bytes)) return std::nullopt;
  }
  return bytes;
}

std::string ShapeText(const Shape& shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i) {
    text += (i == 0 ? "" : ", ") + std::to_string(shape[i]);
  }
  return text + "]";
}

Result<Tensor> FromTvm(tvm::ffi::Tensor tensor) {
  DLDataType dl = tensor.dtype();
  for (size_t i = 0; i < std::size(kDTypes); ++i) {
    if (dl.code != kDTypes[i].dl.code || dl.bits != kDTypes[i].dl.bits || dl.lanes != 1) continue;
    Shape shape(tensor.shape().begin(), tensor.shape().end());
    return Tensor(std::make_shared<Tensor::Impl>(
        Tensor::Impl{std::move(tensor), std::move(shape), static_cast<DType>(i)}));
  }
  return Internal("a compiled function returned a tensor of an unknown dtype");
}

Result<Tensor> Tensor::Empty(const Shape& shape, DType dtype, Device device) {
  if (device.type != kDLCPU) return Unsupported("no backend for " + device.name());
  std::optional<int64_t> bytes = TensorBytes(shape, dtype);
  if (!bytes) return InvalidArgument("bad tensor shape " + ShapeText(shape));
  Tensor out;
  Status status = CatchTvm("allocating " + std::to_string(*bytes) + " bytes", [&] {
    out = Tensor(
        std::make_shared<Impl>(Impl{tvm::ffi::Tensor::FromNDAlloc(HostAllocator(), mlc::View(shape),
                                                                  ToDL(dtype), DLDevice{kDLCPU, 0}),
                                    shape, dtype}));
  });
  if (!status.ok()) return status;
  return out;
}

Tensor Tensor::View(void* data, const Shape& shape, DType dtype, std::shared_ptr<void> owner) {
  MLC_ICHECK(reinterpret_cast<uintptr_t>(data) % kAlignment == 0);
  return Tensor(std::make_shared<Impl>(
      Impl{tvm::ffi::Tensor::FromNDAlloc(BorrowedMemory{data, std::move(owner)}, mlc::View(shape),
                                         ToDL(dtype), DLDevice{kDLCPU, 0}),
           shape, dtype}));
}

const Shape& Tensor::shape() const { return impl_->shape; }
DType Tensor::dtype() const { return impl_->dtype; }
int64_t Tensor::bytes() const { return *TensorBytes(impl_->shape, impl_->dtype); }
void* Tensor::data() const { return impl_->tensor.data_ptr(); }

}  // namespace mlc
