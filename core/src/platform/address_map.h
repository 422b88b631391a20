// Device memory as host addresses.
//
// TVM passes device memory as pointers and adds offsets to them. The memory of some backends has no
// addresses. Then the backend reserves a range of addresses for each buffer. Nobody can read or
// write that range, but pointer arithmetic is legal, and each pointer gives its buffer and offset.
// Where the driver's memory has addresses, the map keeps those.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <utility>

#include "platform/memory.h"

namespace mlc {

// `Buffer` is what a range stands for. The map stores pointers to buffers and does not own them.
// Thread-safe.
template <typename Buffer>
class AddressMap {
 public:
  struct Place {
    Buffer* buffer = nullptr;  // null: the pointer is not in this map
    size_t offset = 0;
  };

  // The first address of a range for `bytes`. Null when the process has no addresses left.
  void* Reserve(Buffer* buffer, size_t bytes) {
    constexpr size_t kPage = 4096;
    // a pointer just behind the end still belongs to the range
    size_t length = (bytes / kPage + 1) * kPage;
    void* begin = Take(length);
    if (begin != nullptr) Add(begin, buffer, length);
    return begin;
  }
  void Release(void* begin) {
    if (size_t length = Remove(begin)) GiveBack(begin, length);
  }

  // For a range of the driver's.
  void Add(void* begin, Buffer* buffer, size_t bytes) {
    std::lock_guard<std::mutex> lock(mutex_);
    ranges_[reinterpret_cast<uintptr_t>(begin)] = {buffer, bytes};
  }
  // Returns its bytes; 0: there is no such range.
  size_t Remove(void* begin) {
    std::lock_guard<std::mutex> lock(mutex_);
    auto found = ranges_.find(reinterpret_cast<uintptr_t>(begin));
    if (found == ranges_.end()) return 0;
    size_t bytes = found->second.length;
    ranges_.erase(found);
    return bytes;
  }

  Place Find(const void* pointer) const {
    uintptr_t address = reinterpret_cast<uintptr_t>(pointer);
    std::lock_guard<std::mutex> lock(mutex_);
    auto after = ranges_.upper_bound(address);
    if (after == ranges_.begin()) return {};
    const auto& [begin, range] = *std::prev(after);
    if (address - begin >= range.length) return {};
    return {range.buffer, address - begin};
  }

 private:
  struct Range {
    Buffer* buffer;
    size_t length;
  };
#if defined(__EMSCRIPTEN__)
  // In a wasm module any numbers will do: nobody reads at them, and the memory of the module may
  // have the same ones. The first free range from the bottom is taken.
  void* Take(size_t length) {
    std::lock_guard<std::mutex> lock(mutex_);
    uintptr_t at = 4096;
    for (const auto& [begin, range] : ranges_) {
      if (begin - at >= length) break;
      at = begin + range.length;
    }
    return UINTPTR_MAX - at < length ? nullptr : reinterpret_cast<void*>(at);
  }
  static void GiveBack(void*, size_t) {}
#else
  static void* Take(size_t length) { return ReserveAddresses(length); }
  static void GiveBack(void* begin, size_t length) { GiveBackAddresses(begin, length); }
#endif
  mutable std::mutex mutex_;
  std::map<uintptr_t, Range> ranges_;
};

}  // namespace mlc
