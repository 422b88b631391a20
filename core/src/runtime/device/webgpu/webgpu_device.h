// The devices behind WebGPU, and the memory of each device.
#pragma once

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

// A buffer in device memory. Its first address on the host stands for it (AddressMap).
struct Buffer {
  GpuDevice* device = nullptr;
  std::shared_ptr<Session> session;  // a device that was lost and opened again has another session
  void* address = nullptr;
  WGPUBuffer memory = nullptr;
  size_t capacity = 0;  // a multiple of 4

  // The kernel argument for a pointer `offset` bytes into the buffer.
  Binding At(size_t offset) const;
};

// One adapter. It is opened at the first use, and again after it was lost. The content of its
// memory is lost then, and each use of an old buffer throws DeviceLostError. Thread-safe.
class GpuDevice {
 public:
  GpuDevice(int index, Facts facts) : index_(index), facts_(std::move(facts)) {}

  int index() const { return index_; }
  const Facts& facts() const { return facts_; }
  std::shared_ptr<Session> session();
  // Waits for all commands.
  void Sync();

  // Allocates at least `bytes`. A freed buffer of about that size is used first. Throws MemoryError
  // when the device has no room.
  Buffer* Allocate(size_t bytes);
  // Keeps the buffer in the pool for the next allocation of its size, within limits. Never throws.
  void Free(Buffer* buffer);
  // How much can still be allocated. WebGPU does not tell how much other programs use.
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
  size_t taken_ = 0;  // bytes of session_'s buffers, with those in the pool
};

// These copy any number of bytes at any offset. WebGPU's own copies are of words.
void Write(const Buffer& to, size_t offset, const char* data, size_t bytes);
void Read(const Buffer& from, size_t offset, char* out, size_t bytes);
void Copy(const Buffer& from, size_t from_offset, const Buffer& to, size_t to_offset, size_t bytes);

// Finds the buffer of an address, on any device.
AddressMap<Buffer>& Addresses();
// Throws if the pointer is not WebGPU memory.
AddressMap<Buffer>::Place PlaceOf(const void* pointer);

using DeviceList = DeviceListOf<GpuDevice>;  // in the order of Adapters
// The devices are found once for each process.
const DeviceList& Devices();
// Throws if there is no device with that index.
GpuDevice& DeviceAt(int index);

}  // namespace mlc::webgpu
