// Streams over bytes in memory.
#pragma once

#include <tvm/ffi/string.h>
#include <tvm/support/io.h>

#include <algorithm>
#include <cstring>
#include <string>

namespace tvm {
namespace support {

// Reads `bytes`, which must outlive the stream.
class BytesInStream : public Stream {
 public:
  explicit BytesInStream(const std::string& bytes) : data_(bytes.data()), size_(bytes.size()) {}
  explicit BytesInStream(const ffi::Bytes& bytes) : data_(bytes.data()), size_(bytes.size()) {}
  using Stream::Read;
  using Stream::Write;

  size_t Read(void* data, size_t size) override {
    size = std::min(size, size_ - at_);
    if (size > 0) std::memcpy(data, data_ + at_, size);
    at_ += size;
    return size;
  }
  size_t Write(const void*, size_t) override { return 0; }

 private:
  const char* data_;
  size_t size_, at_ = 0;
};

// Appends to `*bytes`.
class BytesOutStream : public Stream {
 public:
  explicit BytesOutStream(std::string* bytes) : bytes_(bytes) {}
  using Stream::Read;
  using Stream::Write;

  size_t Read(void*, size_t) override { return 0; }
  size_t Write(const void* data, size_t size) override {
    bytes_->append(static_cast<const char*>(data), size);
    return size;
  }

 private:
  std::string* bytes_;
};

}  // namespace support
}  // namespace tvm
