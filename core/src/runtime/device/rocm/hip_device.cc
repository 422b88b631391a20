#include "runtime/device/rocm/hip_device.h"

#include <tvm/ffi/error.h>
#include <tvm/ffi/extra/c_env_api.h>

#include <algorithm>
#include <memory>

#include "runtime/device/memory_bound.h"
#include "runtime/device/signal_handlers.h"

namespace mlc::rocm {
namespace {

constexpr size_t kSmallestBuffer = 16;
constexpr size_t kLargestPool = size_t{256} << 20;

Limits LimitsOf(int index) {
  auto properties = std::make_unique<DeviceProperties>();
  Check(api().hipGetDevicePropertiesR0600(properties.get(), index), "hipGetDeviceProperties");
  int version = 0;
  Check(api().hipRuntimeGetVersion(&version), "hipRuntimeGetVersion");
  Limits limits;
  limits.name = properties->name;
  limits.architecture = properties->architecture;
  limits.driver = std::to_string(version);
  limits.description = limits.name + " (" + limits.architecture + ")";
  limits.interface = "ROCm";
  limits.has_f16 = true;
  limits.has_own_memory = properties->is_integrated == 0;
  limits.memory = limits.largest_buffer = std::min(properties->memory, MemoryBound());
  limits.local_memory = properties->group_memory;
  limits.group_size = static_cast<size_t>(properties->group_size);
  return limits;
}

// Of a GPU that the driver does not describe, the reason: the others keep their numbers.
Limits LimitsOrProblem(int index) {
  try {
    return LimitsOf(index);
  } catch (const tvm::ffi::Error& error) {
    Limits unknown;
    unknown.problem = error.message();
    return unknown;
  }
}

DeviceList FindDevices() {
  KeptSignalHandlers kept;
  DeviceList list;
  list.problem = api().problem;
  if (!list.problem.empty()) return list;
  int count = 0, code = api().hipGetDeviceCount(&count);
  if (code != kSuccess || count == 0) {
    list.problem = std::string("ROCm finds no AMD GPU that this user may use (") +
                   api().hipGetErrorString(code) + ")";
    return list;
  }
  list.problem = compiler().problem;
  if (!list.problem.empty()) return list;
  for (int index = 0; index < count; ++index) {
    list.devices.push_back(std::make_unique<HipDevice>(index, LimitsOrProblem(index)));
  }
  return list;
}

}  // namespace

void HipDevice::Choose() const { Check(api().hipSetDevice(index_), "hipSetDevice"); }

Handle HipDevice::stream() const { return TVMFFIEnvGetStream(kDLROCM, index_); }

void HipDevice::Finish() const {
  Choose();
  Check(api().hipDeviceSynchronize(), "hipDeviceSynchronize");
}

// The sum is limited here too, for MLC_GPU_MEMORY_MB.
void* HipDevice::TryAllocate(size_t bytes) const {
  if (bytes > limits_.memory || taken_ > limits_.memory - bytes) return nullptr;
  void* address = nullptr;
  int code = api().hipMalloc(&address, bytes);
  if (code == kOutOfMemory) {
    (void)api().hipGetLastError();  // else another user of HIP takes it for its own
    return nullptr;
  }
  Check(code, "hipMalloc");
  return address;
}

Buffer* HipDevice::Allocate(size_t bytes) {
  bytes = std::max(bytes, kSmallestBuffer);
  std::lock_guard<std::mutex> lock(mutex_);
  if (Buffer* pooled = pool_.Take(bytes)) return pooled;
  Choose();
  void* address = TryAllocate(bytes);
  if (address == nullptr) {
    while (Buffer* old = pool_.TakeOldest()) Destroy(old);
    address = TryAllocate(bytes);
  }
  if (address == nullptr) {
    TVM_FFI_THROW(MemoryError) << limits_.name << " (rocm:" << index_ << ") has no room for "
                               << bytes << " bytes: " << taken_ << " of its " << limits_.memory
                               << " are in use here";
  }
  auto buffer = std::make_unique<Buffer>(Buffer{this, address, bytes});
  Addresses().Add(address, buffer.get(), bytes);
  taken_ += bytes;
  return buffer.release();
}

void HipDevice::Free(Buffer* buffer) {
  std::lock_guard<std::mutex> lock(mutex_);
  pool_.Put(buffer);
  size_t bound = std::min(kLargestPool, limits_.memory / 16);
  while (pool_.bytes() > bound) Destroy(pool_.TakeOldest());
}

// hipFree waits for the kernels that use the memory.
void HipDevice::Destroy(Buffer* buffer) {
  Addresses().Remove(buffer->address);
  (void)api().hipSetDevice(index_);
  (void)api().hipFree(buffer->address);
  taken_ -= buffer->capacity;
  delete buffer;
}

size_t HipDevice::Available() {
  std::lock_guard<std::mutex> lock(mutex_);
  Choose();
  size_t free = 0, total = 0;
  Check(api().hipMemGetInfo(&free, &total), "hipMemGetInfo");
  size_t used = std::min(taken_, limits_.memory);
  return std::min(free, limits_.memory - used) + pool_.bytes();
}

AddressMap<Buffer>& Addresses() {
  static auto* addresses = new AddressMap<Buffer>();
  return *addresses;
}

const DeviceList& Devices() {
  static const DeviceList* list = new DeviceList(FindDevices());
  return *list;
}

HipDevice& DeviceAt(int index) { return Devices().At("rocm", index); }

}  // namespace mlc::rocm
