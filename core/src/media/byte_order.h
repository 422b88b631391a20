// Whole numbers in the bytes of a file. The caller has checked that they are inside.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace mlc {

inline uint32_t ByteAt(std::string_view bytes, size_t at) {
  return static_cast<unsigned char>(bytes[at]);
}

struct LittleEndian {
  static uint32_t U16(std::string_view b, size_t at) {
    return ByteAt(b, at) | ByteAt(b, at + 1) << 8;
  }
  static uint32_t U32(std::string_view b, size_t at) { return U16(b, at) | U16(b, at + 2) << 16; }
};

struct BigEndian {
  static uint32_t U16(std::string_view b, size_t at) {
    return ByteAt(b, at) << 8 | ByteAt(b, at + 1);
  }
  static uint32_t U32(std::string_view b, size_t at) { return U16(b, at) << 16 | U16(b, at + 2); }
};

}  // namespace mlc
