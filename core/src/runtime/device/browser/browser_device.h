// The GPU of the page, and its memory. The page holds the device (page_gpu.h); when it is lost, the
// page may open another one, and old buffers stay lost.
#pragma once

#include <memory>

#include "platform/address_map.h"
#include "runtime/device/buffer_pool.h"
#include "runtime/device/device_list.h"

namespace mlc::browser {

class GpuDevice;

// A buffer of the page. Its first address stands for it (AddressMap).
struct Buffer {
  GpuDevice* device = nullptr;
  void* address = nullptr;
  uint32_t handle = 0;
  size_t capacity = 0;  // a multiple of 4
};

struct Facts : DeviceTraits {
  size_t offset_alignment = 256;  // of a kernel's binding
  size_t most_groups = 65535;     // along a side
};

// Functions throw TVM errors, which runtime/tvm_convert.h turns into a Status: MemoryError,
// DeviceLostError, RuntimeError.
class GpuDevice {
 public:
  explicit GpuDevice(Facts facts) : facts_(std::move(facts)) {}
  const Facts& facts() const { return facts_; }
  Buffer* Allocate(size_t bytes);
  void Free(Buffer* buffer);
  size_t Available() const;

 private:
  void Destroy(Buffer* buffer);
  Buffer* TakePooled(size_t bytes);  // null: there is none

  Facts facts_;
  BufferPool<Buffer> pool_;
  size_t taken_ = 0;  // with the buffers in the pool
};

// Throws DeviceLostError if the page's device is lost, RuntimeError if it reported an error.
void CheckDevice();

// Any number of bytes at any offset, as in webgpu/webgpu_device.h.
void Write(const Buffer& to, size_t offset, const char* data, size_t bytes);
void Read(const Buffer& from, size_t offset, char* out, size_t bytes);
void Copy(const Buffer& from, size_t from_offset, const Buffer& to, size_t to_offset, size_t bytes);

AddressMap<Buffer>& Addresses();
// Throws if the pointer is not memory of the device, DeviceLostError if that device was lost.
AddressMap<Buffer>::Place PlaceOf(const void* pointer);

// No device, with the reason, or one. Asked at each call: the page may open a device later.
const DeviceListOf<GpuDevice>& Devices();

}  // namespace mlc::browser
