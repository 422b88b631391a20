// The devices over WebGPU, and the memory of each.
#ifndef MLC_RUNTIME_DEVICE_WEBGPU_WEBGPU_DEVICE_H_
#define MLC_RUNTIME_DEVICE_WEBGPU_WEBGPU_DEVICE_H_

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "platform/address_map.h"
#include "runtime/device/buffer_pool.h"
#include "runtime/device/webgpu/webgpu_adapter.h"
#include "runtime/device/webgpu/webgpu_session.h"

namespace mlc::webgpu {

class GpuDevice;

// A piece of device memory. Its first address is its name on the host (AddressMap).
struct Buffer {
  GpuDevice* device = nullptr;
  std::shared_ptr<Session> session;  // a device that was lost and opened again has another
  void* address = nullptr;
  WGPUBuffer memory = nullptr;
  size_t capacity = 0;  // a multiple of 4

  // What a kernel gets for a pointer `offset` bytes into the buffer.
  Binding At(size_t offset) const;
};

// One adapter, opened when it is first used, and again after it was lost: what was in its memory is
// gone then, and buffers of before answer with DeviceLostError. Thread-safe.
class GpuDevice {
 public:
  GpuDevice(int index, Facts facts) : index_(index), facts_(std::move(facts)) {}

  int index() const { return index_; }
  const Facts& facts() const { return facts_; }
  std::shared_ptr<Session> session();
  // Waits for what was asked for.
  void Sync();

  // At least `bytes`. Freed buffers of about that size are taken first. Throws MemoryError when the
  // device has no room.
  Buffer* Allocate(size_t bytes);
  // Keeps the buffer for the next of its size, within bounds. Never throws.
  void Free(Buffer* buffer);
  // What can be allocated still; WebGPU does not tell what other programs took.
  size_t Available();

 private:
  std::shared_ptr<Session> SessionLocked();
  WGPUBuffer TryCreate(Session& session, size_t bytes);
  void Destroy(Buffer* buffer);

  int index_;
  Facts facts_;
  std::mutex mutex_;
  std::shared_ptr<Session> session_;
  BufferPool<Buffer> pool_;
  size_t taken_ = 0;  // bytes of session_'s buffers, those in the pool included
};

// Copies of any size between any bytes; WebGPU's own are of words.
void Write(const Buffer& to, size_t offset, const char* data, size_t bytes);
void Read(const Buffer& from, size_t offset, char* out, size_t bytes);
void Copy(const Buffer& from, size_t from_offset, const Buffer& to, size_t to_offset, size_t bytes);

// Which buffer an address belongs to, on any device.
AddressMap<Buffer>& Addresses();
// Throws when the pointer is no memory of WebGPU's.
AddressMap<Buffer>::Place PlaceOf(const void* pointer);

using DeviceList = DeviceListOf<GpuDevice>;  // in the order of Adapters
// Found once a process.
const DeviceList& Devices();
// Throws when there is no device of that index.
GpuDevice& DeviceAt(int index);

}  // namespace mlc::webgpu

#endif  // MLC_RUNTIME_DEVICE_WEBGPU_WEBGPU_DEVICE_H_
