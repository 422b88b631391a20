#include "runtime/tensor.h"

#include <tvm/runtime/device_api.h>

#include <cstring>
#include <new>

#include "runtime/tvm_convert.h"

namespace mlc {
namespace {

constexpr size_t kTensorAlignment = 64;  // the alignment that TVM's generated code assumes

struct DTypeEntry {
  const char* name;
  DLDataType dl;
};

// In the order of enum DType.
constexpr DTypeEntry kDTypes[] = {{"float32", {kDLFloat, 32, 1}},   {"float16", {kDLFloat, 16, 1}},
                                  {"bfloat16", {kDLBfloat, 16, 1}}, {"int32", {kDLInt, 32, 1}},
                                  {"int64", {kDLInt, 64, 1}},       {"uint32", {kDLUInt, 32, 1}},
                                  {"int8", {kDLInt, 8, 1}},         {"uint8", {kDLUInt, 8, 1}}};

struct HostAllocator {
  void AllocData(DLTensor* tensor) {
    tensor->data = ::operator new(tvm::ffi::GetDataSize(*tensor), kAlignment);
  }
  void FreeData(DLTensor* tensor) { ::operator delete(tensor->data, kAlignment); }
  static constexpr std::align_val_t kAlignment{kTensorAlignment};
};

struct BorrowedMemory {
  void* data;
  std::shared_ptr<void> owner;
  void AllocData(DLTensor* tensor) { tensor->data = data; }
  void FreeData(DLTensor*) { owner.reset(); }
};

struct DeviceAllocator {
  void AllocData(DLTensor* tensor) {
    tensor->data = tvm::runtime::DeviceAPI::Get(tensor->device)
                       ->AllocDataSpace(tensor->device, tvm::ffi::GetDataSize(*tensor),
                                        kTensorAlignment, tensor->dtype);
  }
  void FreeData(DLTensor* tensor) {
    tvm::runtime::DeviceAPI::Get(tensor->device)->FreeDataSpace(tensor->device, tensor->data);
  }
};

// A row of bytes, in the form that TVM's copies need.
struct ByteRow {
  ByteRow(void* data, DLDevice device, int64_t offset, int64_t bytes) : size(bytes) {
    tensor = {data, device, 1, {kDLUInt, 8, 1}, &size, &stride, static_cast<uint64_t>(offset)};
  }
  int64_t size, stride = 1;
  DLTensor tensor;
};

// Copies between the host and a device, and waits for the copy.
Status Copy(ByteRow from, ByteRow to, DLDevice device) {
  return CatchTvm("copying " + std::to_string(from.size) + " bytes", [&] {
    from.tensor.shape = &from.size, from.tensor.strides = &from.stride;
    to.tensor.shape = &to.size, to.tensor.strides = &to.stride;
    auto* api = tvm::runtime::DeviceAPI::Get(device);
    api->CopyDataFromTo(&from.tensor, &to.tensor, nullptr);
    api->StreamSync(device, nullptr);
  });
}

constexpr DLDevice kHost{kDLCPU, 0};

thread_local int64_t bytes_read_from_devices = 0;

Status CheckRange(const Tensor& tensor, int64_t offset, int64_t bytes) {
  if (offset >= 0 && bytes >= 0 && bytes <= tensor.bytes() - offset) return Status();
  return InvalidArgument("a copy leaves its tensor");
}

tvm::ffi::ShapeView View(const Shape& shape) { return {shape.data(), shape.size()}; }

}  // namespace

DLDataType ToDL(DType dtype) { return kDTypes[static_cast<int>(dtype)].dl; }

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
  DLDevice place{static_cast<DLDeviceType>(device.type), device.index};
  if (device.type != kDLCPU && tvm::runtime::DeviceAPI::Get(place, true) == nullptr) {
    return Unsupported("no backend for " + device.name());
  }
  std::optional<int64_t> bytes = TensorBytes(shape, dtype);
  if (!bytes) return InvalidArgument("bad tensor shape " + ShapeText(shape));
  Tensor out;
  Status status = CatchTvm("allocating " + std::to_string(*bytes) + " bytes", [&] {
    auto allocate = [&](auto allocator) {
      return tvm::ffi::Tensor::FromNDAlloc(allocator, mlc::View(shape), ToDL(dtype), place);
    };
    out = Tensor(std::make_shared<Impl>(
        Impl{device.type == kDLCPU ? allocate(HostAllocator()) : allocate(DeviceAllocator()), shape,
             dtype}));
  });
  if (!status.ok()) return status;
  return out;
}

Tensor Tensor::View(void* data, const Shape& shape, DType dtype, std::shared_ptr<void> owner) {
  MLC_ICHECK(reinterpret_cast<uintptr_t>(data) % kTensorAlignment == 0);
  return Tensor(std::make_shared<Impl>(
      Impl{tvm::ffi::Tensor::FromNDAlloc(BorrowedMemory{data, std::move(owner)}, mlc::View(shape),
                                         ToDL(dtype), DLDevice{kDLCPU, 0}),
           shape, dtype}));
}

const Shape& Tensor::shape() const { return impl_->shape; }
DType Tensor::dtype() const { return impl_->dtype; }
int64_t Tensor::bytes() const { return *TensorBytes(impl_->shape, impl_->dtype); }
bool Tensor::on_host() const { return impl_->tensor.device().device_type == kDLCPU; }

void* Tensor::data() const {
  MLC_ICHECK(on_host());
  return impl_->tensor.data_ptr();
}

Status Tensor::Write(int64_t offset, const void* data, int64_t bytes) {
  MLC_RETURN_IF_ERROR(CheckRange(*this, offset, bytes));
  if (bytes == 0) return Status();
  if (on_host()) {
    std::memcpy(static_cast<char*>(this->data()) + offset, data, static_cast<size_t>(bytes));
    return Status();
  }
  DLDevice device = impl_->tensor.device();
  return Copy({const_cast<void*>(data), kHost, 0, bytes},
              {impl_->tensor.data_ptr(), device, offset, bytes}, device);
}

Status Tensor::Read(int64_t offset, void* data, int64_t bytes) const {
  MLC_RETURN_IF_ERROR(CheckRange(*this, offset, bytes));
  if (bytes == 0) return Status();
  if (on_host()) {
    std::memcpy(data, static_cast<const char*>(this->data()) + offset, static_cast<size_t>(bytes));
    return Status();
  }
  bytes_read_from_devices += bytes;
  DLDevice device = impl_->tensor.device();
  return Copy({impl_->tensor.data_ptr(), device, offset, bytes}, {data, kHost, 0, bytes}, device);
}

Status CopyToHost(Device device, const void* from, void* to, int64_t bytes) {
  DLDevice place{static_cast<DLDeviceType>(device.type), device.index};
  return Copy({const_cast<void*>(from), place, 0, bytes}, {to, kHost, 0, bytes}, place);
}

Status CopyToDevice(Device device, const void* from, void* to, int64_t bytes) {
  DLDevice place{static_cast<DLDeviceType>(device.type), device.index};
  return Copy({const_cast<void*>(from), kHost, 0, bytes}, {to, place, 0, bytes}, place);
}

int64_t BytesReadFromDevices() { return bytes_read_from_devices; }

Result<Tensor> Tensor::OnHost() const {
  if (on_host()) return *this;
  MLC_ASSIGN_OR_RETURN(Tensor copy, Empty(shape(), dtype(), Device{}));
  MLC_RETURN_IF_ERROR(Read(0, copy.data(), bytes()));
  return copy;
}

}  // namespace mlc
