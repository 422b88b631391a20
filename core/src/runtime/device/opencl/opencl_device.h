// The OpenCL devices of this machine, and the memory of each device.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "platform/address_map.h"
#include "runtime/device/buffer_pool.h"
#include "runtime/device/device_list.h"
#include "runtime/device/opencl/opencl_session.h"

namespace mlc::opencl {

class ClDevice;

// A buffer in device memory. Its first address on the host stands for it (AddressMap).
struct Buffer {
  ClDevice* device = nullptr;
  std::shared_ptr<Session> session;
  void* address = nullptr;
  cl_mem memory = nullptr;
  size_t capacity = 0;
  std::map<size_t, cl_mem> tails;  // sub-buffers by their offset, for pointers into the buffer

  // The kernel argument for a pointer `offset` bytes into the buffer.
  cl_mem At(size_t offset);
};

// `memory` is the driver's number, or MLC_GPU_MEMORY_MB if that is smaller.
struct Limits : DeviceTraits {
  std::string vendor, version;
  size_t alignment = 1;  // alignment of a sub-buffer
};

// One device, its current session, and the memory in that session. Thread-safe.
class ClDevice {
 public:
  ClDevice(cl_device_id id, int index, Limits limits)
      : id_(id), index_(index), limits_(std::move(limits)) {}

  int index() const { return index_; }
  cl_device_id id() const { return id_; }
  const Limits& limits() const { return limits_; }
  // A session that works, as far as is known. It is opened at the first use, and again after a
  // loss. Throws when the driver refuses.
  std::shared_ptr<Session> session();
  // Waits for everything that was enqueued.
  void Finish();

  // Allocates at least `bytes`. A freed buffer of about that size is used first. Throws MemoryError
  // when the device has no room.
  Buffer* Allocate(size_t bytes);
  // Keeps the buffer in the pool for the next allocation of its size, within limits. Never throws.
  void Free(Buffer* buffer);
  // How much can still be allocated. OpenCL does not tell how much other programs use.
  size_t Available();

 private:
  cl_mem TryCreate(size_t bytes, cl_int* code);
  void Destroy(Buffer* buffer);
  const std::shared_ptr<Session>& LiveSession();

  cl_device_id id_;
  int index_;
  Limits limits_;
  std::mutex mutex_;
  std::shared_ptr<Session> session_;
  // Belongs to session_. taken_ is the bytes of all buffers, with the pool's.
  BufferPool<Buffer> pool_;
  size_t taken_ = 0;
};

// Finds the buffer of an address, on any device.
AddressMap<Buffer>& Addresses();
// Throws if the pointer is not OpenCL memory, or if its session was lost.
AddressMap<Buffer>::Place LivePlaceOf(const void* pointer);

using DeviceList = DeviceListOf<ClDevice>;  // first GPUs, then accelerators, then CPUs
// The devices are found once for each process.
const DeviceList& Devices();
// Throws if there is no device with that index.
ClDevice& DeviceAt(int index);

}  // namespace mlc::opencl
