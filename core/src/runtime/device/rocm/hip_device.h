// AMD's GPUs on this machine, and the memory of each.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>

#include "platform/address_map.h"
#include "runtime/device/buffer_pool.h"
#include "runtime/device/device_list.h"
#include "runtime/device/rocm/hip_api.h"

namespace mlc::rocm {

class HipDevice;

struct Buffer {
  HipDevice* device = nullptr;
  void* address = nullptr;  // the driver's
  size_t capacity = 0;
};

struct Limits : DeviceTraits {
  std::string architecture;  // "gfx1100"
};

// One device. Its commands run in one order, that of HIP's default stream: so a freed buffer can be
// given to the next owner while kernels that use it still wait. Thread-safe.
class HipDevice {
 public:
  HipDevice(int index, Limits limits) : index_(index), limits_(std::move(limits)) {}

  int index() const { return index_; }
  const Limits& limits() const { return limits_; }
  // Makes it the device of this thread's next calls.
  void Choose() const;
  // The stream of this thread's launches: null is the default one.
  Handle stream() const;
  // Waits for everything that was enqueued.
  void Finish() const;

  // Allocates at least `bytes`. A freed buffer of about that size is used first. Throws MemoryError
  // when the device has no room.
  Buffer* Allocate(size_t bytes);
  // Keeps the buffer in the pool for the next allocation of its size, within limits. Never throws.
  void Free(Buffer* buffer);
  // How much can still be allocated.
  size_t Available();

 private:
  void* TryAllocate(size_t bytes) const;
  void Destroy(Buffer* buffer);

  int index_;
  Limits limits_;
  std::mutex mutex_;
  BufferPool<Buffer> pool_;
  size_t taken_ = 0;  // bytes of all buffers, with the pool's
};

// Finds the buffer of an address, on any device.
AddressMap<Buffer>& Addresses();

using DeviceList = DeviceListOf<HipDevice>;
// The devices are found once for each process.
const DeviceList& Devices();
// Throws if there is no device with that index.
HipDevice& DeviceAt(int index);

}  // namespace mlc::rocm
