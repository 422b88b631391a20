// The OpenCL devices of this machine, and the memory of each.
#ifndef MLC_RUNTIME_DEVICE_OPENCL_OPENCL_DEVICE_H_
#define MLC_RUNTIME_DEVICE_OPENCL_OPENCL_DEVICE_H_

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

// A piece of device memory. Its first address is its name on the host (AddressMap).
struct Buffer {
  ClDevice* device = nullptr;
  std::shared_ptr<Session> session;
  void* address = nullptr;
  cl_mem memory = nullptr;
  size_t capacity = 0;
  std::map<size_t, cl_mem> tails;  // sub-buffers from an offset on, for pointers into the buffer

  // What a kernel gets for a pointer `offset` bytes into the buffer.
  cl_mem At(size_t offset);
};

// `memory` is what the driver says, or MLC_GPU_MEMORY_MB where that is less.
struct Limits : DeviceTraits {
  std::string vendor, version;
  size_t alignment = 1;  // of a sub-buffer
};

// One device, its session at hand and the memory in that. Thread-safe.
class ClDevice {
 public:
  ClDevice(cl_device_id id, int index, Limits limits)
      : id_(id), index_(index), limits_(std::move(limits)) {}

  int index() const { return index_; }
  cl_device_id id() const { return id_; }
  const Limits& limits() const { return limits_; }
  // One that works as far as is known: opened at the first use, and again after a loss. Throws when
  // the driver refuses.
  std::shared_ptr<Session> session();
  // Waits for what was enqueued.
  void Finish();

  // At least `bytes`. Freed buffers of about that size are taken first. Throws MemoryError when the
  // device has no room.
  Buffer* Allocate(size_t bytes);
  // Keeps the buffer for the next of its size, within bounds. Never throws.
  void Free(Buffer* buffer);
  // What can be allocated still; OpenCL does not tell what other programs took.
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
  // Of session_; bytes of all buffers, the pool's included.
  BufferPool<Buffer> pool_;
  size_t taken_ = 0;
};

// Which buffer an address belongs to, on any device.
AddressMap<Buffer>& Addresses();
// Throws when the pointer is no OpenCL memory, or memory of a session that was lost.
AddressMap<Buffer>::Place LivePlaceOf(const void* pointer);

using DeviceList = DeviceListOf<ClDevice>;  // GPUs, then accelerators, then processors
// Found once a process.
const DeviceList& Devices();
// Throws when there is no device of that index.
ClDevice& DeviceAt(int index);

}  // namespace mlc::opencl

#endif  // MLC_RUNTIME_DEVICE_OPENCL_OPENCL_DEVICE_H_
