#include "runtime/device/browser/browser_device.h"

#include <tvm/ffi/error.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "base/json.h"
#include "runtime/device/browser/page_gpu.h"

namespace mlc::browser {
namespace {

constexpr size_t kWord = 4;  // copies and buffers have multiples of this size
constexpr size_t kSmallestBuffer = 16;
constexpr size_t kLargestPool = size_t{64} << 20;

size_t RoundDown(size_t value) { return value / kWord * kWord; }
size_t RoundUp(size_t value) { return RoundDown(value + kWord - 1); }

// The text of a function of the page that writes one.
std::string Text(uint32_t (*write)(char*, uint32_t)) {
  char buffer[2048];
  uint32_t length = write(buffer, sizeof(buffer));
  return std::string(buffer, std::min<size_t>(length, sizeof(buffer)));
}

bool IsTrue(const Json& json, const char* name) {
  Result<bool> value = GetBoolOr(json, name, false);
  return value.ok() && *value;
}

void FillFacts(const Json& json, Facts* facts) {
  auto number = [&json](const char* name, size_t fallback) {
    Result<int64_t> value = GetIntOr(json, name, static_cast<int64_t>(fallback));
    return value.ok() && *value >= 0 ? static_cast<size_t>(*value) : fallback;
  };
  Result<std::string> name = GetStringOr(json, "description", "");
  facts->name = name.ok() && !name->empty() ? *name : "a browser's GPU";
  facts->description = facts->name;
  facts->interface = "browser";
  facts->has_f16 = IsTrue(json, "f16");
  facts->memory = number("memory_bytes", size_t{1} << 30);
  facts->largest_buffer = number("max_buffer_bytes", size_t{128} << 20);
  facts->local_memory = number("local_memory_bytes", 16384);
  facts->group_size = number("max_group_size", 256);
  facts->offset_alignment = number("offset_alignment", 256);
  facts->most_groups = number("max_groups", 65535);
}

[[noreturn]] void ThrowLost(const std::string& reason) {
  TVM_FFI_THROW(DeviceLostError) << "the device webgpu:0 was lost (" << reason
                                 << "); load the model again";
}

}  // namespace

void CheckDevice() {
  if (std::string reason = Text(GpuLost); !reason.empty()) ThrowLost(reason);
  if (std::string reason = Text(GpuError); !reason.empty()) {
    bool is_memory = reason.find("memory") != std::string::npos;
    if (is_memory) TVM_FFI_THROW(MemoryError) << "webgpu:0: " << reason;
    TVM_FFI_THROW(RuntimeError) << "webgpu:0: " << reason;
  }
}

Buffer* GpuDevice::Allocate(size_t bytes) {
  if (bytes > facts_.largest_buffer) {
    TVM_FFI_THROW(MemoryError) << facts_.name << " (webgpu:0) has no room for " << bytes
                               << " bytes in one piece: " << facts_.largest_buffer << " at most";
  }
  CheckDevice();
  bytes = RoundUp(std::max(bytes, kSmallestBuffer));
  if (Buffer* pooled = TakePooled(bytes)) return pooled;
  auto buffer = std::make_unique<Buffer>();
  if (taken_ + bytes <= facts_.memory) buffer->handle = GpuCreate(static_cast<double>(bytes));
  if (buffer->handle != 0) buffer->address = Addresses().Reserve(buffer.get(), bytes);
  if (buffer->address == nullptr) {
    if (buffer->handle != 0) GpuDestroy(buffer->handle);
    TVM_FFI_THROW(MemoryError) << facts_.name << " (webgpu:0) has no room for " << bytes
                               << " bytes: " << taken_ << " of its " << facts_.memory
                               << " are in use here";
  }
  buffer->device = this;
  buffer->capacity = bytes;
  taken_ += bytes;
  return buffer.release();
}

// After the page opened another device, the pool still has buffers of the lost one.
Buffer* GpuDevice::TakePooled(size_t bytes) {
  while (Buffer* pooled = pool_.Take(bytes)) {
    if (GpuHas(pooled->handle) != 0) return pooled;
    Destroy(pooled);
  }
  return nullptr;
}

void GpuDevice::Free(Buffer* buffer) {
  if (GpuHas(buffer->handle) == 0) return Destroy(buffer);
  pool_.Put(buffer);
  size_t bound = std::min(kLargestPool, facts_.memory / 16);
  while (pool_.bytes() > bound) Destroy(pool_.TakeOldest());
}

void GpuDevice::Destroy(Buffer* buffer) {
  GpuDestroy(buffer->handle);
  Addresses().Release(buffer->address);
  taken_ -= buffer->capacity;
  delete buffer;
}

size_t GpuDevice::Available() const {
  size_t used = taken_ - pool_.bytes();
  return used > facts_.memory ? 0 : facts_.memory - used;
}

namespace {

void ReadWords(uint32_t handle, size_t offset, char* out, size_t bytes) {
  CheckDevice();
  if (GpuRead(handle, static_cast<double>(offset), out, bytes) == 0) return;
  CheckDevice();
  ThrowLost("its memory is gone");
}

void WriteWords(uint32_t handle, size_t offset, const char* data, size_t bytes) {
  GpuWrite(handle, static_cast<double>(offset), data, bytes);
}

}  // namespace

// A word that is written only in part is read first.
void Write(const Buffer& to, size_t offset, const char* data, size_t bytes) {
  auto patch = [&](size_t begin, const char* from, size_t count) {
    char word[kWord];
    ReadWords(to.handle, RoundDown(begin), word, kWord);
    std::memcpy(word + begin % kWord, from, count);
    WriteWords(to.handle, RoundDown(begin), word, kWord);
  };
  size_t head = std::min(RoundUp(offset) - offset, bytes);
  if (head > 0) patch(offset, data, head);
  size_t tail = (bytes - head) % kWord, middle = bytes - head - tail;
  if (middle > 0) WriteWords(to.handle, offset + head, data + head, middle);
  if (tail > 0) patch(offset + head + middle, data + head + middle, tail);
}

void Read(const Buffer& from, size_t offset, char* out, size_t bytes) {
  if (offset % kWord == 0 && bytes % kWord == 0) {
    return ReadWords(from.handle, offset, out, bytes);
  }
  size_t begin = RoundDown(offset), end = RoundUp(offset + bytes);
  std::string words(end - begin, '\0');
  ReadWords(from.handle, begin, words.data(), words.size());
  std::memcpy(out, words.data() + (offset - begin), bytes);
}

void Copy(const Buffer& from, size_t from_offset, const Buffer& to, size_t to_offset,
          size_t bytes) {
  bool words = from_offset % kWord == 0 && to_offset % kWord == 0 && bytes % kWord == 0;
  // WebGPU copies between two buffers, but not within one.
  if (words && from.handle != to.handle) {
    return GpuCopy(from.handle, static_cast<double>(from_offset), to.handle,
                   static_cast<double>(to_offset), static_cast<double>(bytes));
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
  if (GpuHas(place.buffer->handle) == 0) {
    std::string reason = Text(GpuLost);
    ThrowLost(reason.empty() ? "its memory is gone" : reason);
  }
  return place;
}

const DeviceListOf<GpuDevice>& Devices() {
  static auto* list = new DeviceListOf<GpuDevice>();
  if (!list->devices.empty()) return *list;
  Result<Json> json = Json::Parse(Text(GpuFacts));
  list->problem = "the page gave no GPU: this browser has no WebGPU adapter, or none was opened";
  if (!json.ok() || !IsTrue(*json, "found")) return *list;
  Facts facts;
  FillFacts(*json, &facts);
  list->devices.push_back(std::make_unique<GpuDevice>(std::move(facts)));
  list->problem.clear();
  return *list;
}

}  // namespace mlc::browser
