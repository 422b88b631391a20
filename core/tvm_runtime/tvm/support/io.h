// The byte stream that TVM's runtime sources read and write; the PyPI package leaves it out. How a
// value is written is in serializer.h.
#pragma once

#include <cstddef>

namespace tvm {
namespace support {

class Stream {
 public:
  virtual ~Stream() = default;
  // Returns the number of bytes that were read or written, at most `size`.
  virtual size_t Read(void* data, size_t size) = 0;
  virtual size_t Write(const void* data, size_t size) = 0;

  template <typename T>
  void Write(const T& value);
  template <typename T>
  bool Read(T* value);
  // Only the elements, without their number.
  template <typename T>
  void WriteArray(const T* data, size_t count);
  template <typename T>
  bool ReadArray(T* data, size_t count);
};

}  // namespace support
}  // namespace tvm

#include <tvm/support/serializer.h>
