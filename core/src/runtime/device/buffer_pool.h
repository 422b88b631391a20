// Keeps freed device memory for the next allocation of about the same size.
#pragma once

#include <cstddef>
#include <vector>

namespace mlc {

// `Buffer` has `size_t capacity`, in bytes. The pool does not own it.
template <typename Buffer>
class BufferPool {
 public:
  void Put(Buffer* buffer) {
    buffers_.push_back(buffer);
    bytes_ += buffer->capacity;
  }

  // Takes the smallest buffer that holds `bytes` and does not waste much. Null if there is none.
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

  std::vector<Buffer*> buffers_;  // the oldest one first
  size_t bytes_ = 0;
};

}  // namespace mlc
