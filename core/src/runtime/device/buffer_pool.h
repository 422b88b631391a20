// Freed device memory, kept for the next allocation of about its size.
#ifndef MLC_RUNTIME_DEVICE_BUFFER_POOL_H_
#define MLC_RUNTIME_DEVICE_BUFFER_POOL_H_

#include <cstddef>
#include <vector>

namespace mlc {

// `Buffer` has `size_t capacity`, its bytes; the pool does not own it.
template <typename Buffer>
class BufferPool {
 public:
  void Put(Buffer* buffer) {
    buffers_.push_back(buffer);
    bytes_ += buffer->capacity;
  }

  // The smallest that holds `bytes` and wastes little, or null.
  Buffer* Take(size_t bytes) {
    auto best = buffers_.end();
    size_t most = bytes + bytes / 4 + 4096;
    for (auto it = buffers_.begin(); it != buffers_.end(); ++it) {
      size_t capacity = (*it)->capacity;
      if (capacity < bytes || capacity > most) continue;
      if (best == buffers_.end() || capacity < (*best)->capacity) best = it;
    }
    return best == buffers_.end() ? nullptr : Remove(best);
  }

  // Null when the pool is empty.
  Buffer* TakeOldest() { return buffers_.empty() ? nullptr : Remove(buffers_.begin()); }

  size_t bytes() const { return bytes_; }

 private:
  Buffer* Remove(typename std::vector<Buffer*>::iterator place) {
    Buffer* buffer = *place;
    buffers_.erase(place);
    bytes_ -= buffer->capacity;
    return buffer;
  }

  std::vector<Buffer*> buffers_;  // the oldest first
  size_t bytes_ = 0;
};

}  // namespace mlc

#endif  // MLC_RUNTIME_DEVICE_BUFFER_POOL_H_
