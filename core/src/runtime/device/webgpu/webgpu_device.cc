#include "runtime/device/webgpu/webgpu_device.h"

#include <tvm/ffi/error.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "runtime/device/signal_handlers.h"

namespace mlc::webgpu {
namespace {

constexpr size_t kWord = 4;  // copies and buffers have multiples of this size
constexpr size_t kSmallestBuffer = 16;
constexpr size_t kLargestPool = size_t{256} << 20;

size_t RoundDown(size_t value) { return value / kWord * kWord; }
size_t RoundUp(size_t value) { return RoundDown(value + kWord - 1); }

DeviceList FindDevices() {
  KeptSignalHandlers kept;
  Adapters adapters;
  DeviceList list;
  list.problem = adapters.problem;
  for (WGPUAdapter adapter : adapters.found) {
    int index = static_cast<int>(list.devices.size());
    list.devices.push_back(std::make_unique<GpuDevice>(index, FactsOf(adapter)));
  }
  return list;
}

}  // namespace

Binding Buffer::At(size_t offset) const {
  size_t alignment = device->facts().limits.minStorageBufferOffsetAlignment;
  if (offset % alignment != 0 || offset >= capacity) {
    TVM_FFI_THROW(RuntimeError) << "a kernel cannot take memory from byte " << offset
                                << " of a buffer on: WebGPU wants multiples of " << alignment;
  }
  return {memory, offset, capacity - offset};
}

std::shared_ptr<Session> GpuDevice::session() {
  std::lock_guard<std::mutex> lock(mutex_);
  return SessionLocked();
}

std::shared_ptr<Session> GpuDevice::SessionLocked() {
  if (session_ != nullptr && !session_->lost()) return session_;
  while (Buffer* old = pool_.TakeOldest()) Destroy(old);
  taken_ = 0;  // the buffers of a lost session no longer count
  session_ = std::make_shared<Session>(index_, facts_);
  return session_;
}

void GpuDevice::Sync() {
  std::shared_ptr<Session> session;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    session = session_;
  }
  // A caller that reads results of a lost session gets the error then.
  if (session != nullptr && !session->lost()) session->Sync();
}

Buffer* GpuDevice::Allocate(size_t bytes) {
  if (bytes > facts_.largest_buffer) {
    TVM_FFI_THROW(MemoryError) << facts_.name << " (webgpu:" << index_ << ") has no room for "
                               << bytes << " bytes in one piece: " << facts_.largest_buffer
                               << " at most";
  }
  bytes = RoundUp(std::max(bytes, kSmallestBuffer));
  std::lock_guard<std::mutex> lock(mutex_);
  std::shared_ptr<Session> session = SessionLocked();
  if (Buffer* pooled = pool_.Take(bytes)) return pooled;
  WGPUBuffer memory = TryCreate(*session, bytes);
  if (memory == nullptr) {
    while (Buffer* old = pool_.TakeOldest()) Destroy(old);
    session->Sync();  // running kernels may still use the released buffer
    memory = TryCreate(*session, bytes);
  }
  auto buffer = std::make_unique<Buffer>();
  if (memory != nullptr) buffer->address = Addresses().Reserve(buffer.get(), bytes);
  if (buffer->address == nullptr) {
    if (memory != nullptr) session->Release(memory);
    TVM_FFI_THROW(MemoryError) << facts_.name << " (webgpu:" << index_ << ") has no room for "
                               << bytes << " bytes: " << taken_ << " of its " << facts_.memory
                               << " are in use here";
  }
  buffer->device = this;
  buffer->session = std::move(session);
  buffer->memory = memory;
  buffer->capacity = bytes;
  taken_ += bytes;
  return buffer.release();
}

// Some drivers allocate more than there is, and fail in the middle of a step. So the sum is limited
// here.
WGPUBuffer GpuDevice::TryCreate(Session& session, size_t bytes) {
  if (bytes > facts_.memory || taken_ > facts_.memory - bytes) return nullptr;
  return session.TryCreate(bytes);
}

void GpuDevice::Free(Buffer* buffer) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (buffer->session != session_ || session_->lost()) return Destroy(buffer);
  pool_.Put(buffer);
  size_t bound = std::min(kLargestPool, facts_.memory / 16);
  while (pool_.bytes() > bound) Destroy(pool_.TakeOldest());
}

void GpuDevice::Destroy(Buffer* buffer) {
  buffer->session->Release(buffer->memory);
  Addresses().Release(buffer->address);
  if (buffer->session == session_) taken_ -= buffer->capacity;
  delete buffer;
}

size_t GpuDevice::Available() {
  std::lock_guard<std::mutex> lock(mutex_);
  size_t used = taken_ - pool_.bytes();
  return used > facts_.memory ? 0 : facts_.memory - used;
}

// A word that is written only in part is read first.
void Write(const Buffer& to, size_t offset, const char* data, size_t bytes) {
  Session& session = *to.session;
  auto patch = [&](size_t begin, const char* from, size_t count) {
    char word[kWord];
    session.Read(to.memory, RoundDown(begin), word, kWord);
    std::memcpy(word + begin % kWord, from, count);
    session.Write(to.memory, RoundDown(begin), word, kWord);
  };
  size_t head = std::min(RoundUp(offset) - offset, bytes);
  if (head > 0) patch(offset, data, head);
  size_t tail = (bytes - head) % kWord, middle = bytes - head - tail;
  if (middle > 0) session.Write(to.memory, offset + head, data + head, middle);
  if (tail > 0) patch(offset + head + middle, data + head + middle, tail);
}

void Read(const Buffer& from, size_t offset, char* out, size_t bytes) {
  Session& session = *from.session;
  if (offset % kWord == 0 && bytes % kWord == 0) {
    return session.Read(from.memory, offset, out, bytes);
  }
  size_t begin = RoundDown(offset), end = RoundUp(offset + bytes);
  std::string words(end - begin, '\0');
  session.Read(from.memory, begin, words.data(), words.size());
  std::memcpy(out, words.data() + (offset - begin), bytes);
}

void Copy(const Buffer& from, size_t from_offset, const Buffer& to, size_t to_offset,
          size_t bytes) {
  bool words = from_offset % kWord == 0 && to_offset % kWord == 0 && bytes % kWord == 0;
  // WebGPU copies between two buffers, but not within one.
  if (words && from.session == to.session && from.memory != to.memory) {
    return from.session->Copy(from.memory, from_offset, to.memory, to_offset, bytes);
  }
  std::string data(bytes, '\0');
  Read(from, from_offset, data.data(), bytes);
  Write(to, to_offset, data.data(), bytes);
}

AddressMap<Buffer>& Addresses() {
  static auto* addresses = new AddressMap<Buffer>();
  return *addresses;
}

AddressMap<Buffer>::Place PlaceOf(const void* pointer) {
  AddressMap<Buffer>::Place place = Addresses().Find(pointer);
  if (place.buffer == nullptr) TVM_FFI_THROW(RuntimeError) << "this is no memory of WebGPU's";
  return place;
}

const DeviceList& Devices() {
  static const DeviceList* list = new DeviceList(FindDevices());
  return *list;
}

GpuDevice& DeviceAt(int index) { return Devices().At("webgpu", index); }

}  // namespace mlc::webgpu
