// Streams that write and read Base64 over another stream. They use tvm-ffi's coder.
#pragma once

#include <tvm/ffi/extra/base64.h>
#include <tvm/support/io.h>

#include <string>

#include "bytes_io.h"

namespace tvm {
namespace support {

class Base64OutStream : public Stream {
 public:
  explicit Base64OutStream(Stream* out) : out_(out) {}
  using Stream::Read;
  using Stream::Write;

  size_t Read(void*, size_t) override { return 0; }
  size_t Write(const void* data, size_t size) override {
    bytes_.append(static_cast<const char*>(data), size);
    return size;
  }
  // Call once, after the last write.
  void Finish() {
    ffi::String text = ffi::Base64Encode(ffi::Bytes(bytes_));
    out_->Write(text.data(), text.size());
  }

 private:
  Stream* out_;
  std::string bytes_;
};

class Base64InStream : public Stream {
 public:
  explicit Base64InStream(Stream* in) : in_(in) {}
  using Stream::Read;
  using Stream::Write;

  // Call once, before the first read.
  void InitPosition() {
    std::string text;
    char block[4096];
    while (size_t size = in_->Read(block, sizeof(block))) text.append(block, size);
    bytes_ = ffi::Base64Decode(ffi::String(text));
    decoded_ = BytesInStream(bytes_);
  }
  size_t Read(void* data, size_t size) override { return decoded_.Read(data, size); }
  size_t Write(const void*, size_t) override { return 0; }

 private:
  Stream* in_;
  ffi::Bytes bytes_;
  BytesInStream decoded_{bytes_};
};

}  // namespace support
}  // namespace tvm
