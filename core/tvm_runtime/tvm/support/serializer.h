// How TVM writes values into a stream: numbers as their little-endian bytes; strings and lists
// after their length, a 64-bit number. (The format of a saved Relax executable. We found it from
// its bytes and from the calls in the runtime's sources.)
#pragma once

#include <dlpack/dlpack.h>
#include <tvm/ffi/container/array.h>
#include <tvm/ffi/endian.h>
#include <tvm/ffi/string.h>
#include <tvm/support/io.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

static_assert(TVM_FFI_IO_NO_ENDIAN_SWAP, "written for little-endian machines");

namespace tvm {
namespace support {

template <typename T>
constexpr bool kIsPlain = std::is_arithmetic_v<T> || std::is_enum_v<T> ||
                          std::is_same_v<T, DLDataType> || std::is_same_v<T, DLDevice>;

// Numbers, enumerations and DLPack's small structures: their bytes. TVM specializes it further.
template <typename T, typename = void>
struct Serializer {
  static_assert(kIsPlain<T>, "no way to write this type");
  static constexpr bool enabled = true;
  static void Write(Stream* stream, const T& value) { stream->Write(&value, sizeof(T)); }
  static bool Read(Stream* stream, T* value) { return stream->Read(value, sizeof(T)) == sizeof(T); }
};

inline void WriteSize(Stream* stream, size_t size) {
  Serializer<uint64_t>::Write(stream, static_cast<uint64_t>(size));
}

// Appends `count` items that `read` makes. The list grows item by item, so that a damaged length
// cannot allocate much memory.
template <typename Container, typename ReadItem>
bool ReadItems(Stream* stream, Container* out, ReadItem&& read) {
  uint64_t count;
  if (!Serializer<uint64_t>::Read(stream, &count)) return false;
  for (uint64_t i = 0; i < count; ++i) {
    if (!read(out)) return false;
  }
  return true;
}

template <>
struct Serializer<std::string> {
  static constexpr bool enabled = true;
  static void Write(Stream* stream, const std::string& text) {
    WriteSize(stream, text.size());
    stream->Write(text.data(), text.size());
  }
  static bool Read(Stream* stream, std::string* text) {
    constexpr uint64_t kBlock = 1 << 16;
    uint64_t left;
    if (!Serializer<uint64_t>::Read(stream, &left)) return false;
    text->clear();
    while (left > 0) {
      size_t block = static_cast<size_t>(std::min(left, kBlock)), begin = text->size();
      text->resize(begin + block);
      if (stream->Read(text->data() + begin, block) != block) return false;
      left -= block;
    }
    return true;
  }
};

template <>
struct Serializer<ffi::String> {
  static constexpr bool enabled = true;
  static void Write(Stream* stream, const ffi::String& text) {
    Serializer<std::string>::Write(stream, std::string(text));
  }
  static bool Read(Stream* stream, ffi::String* text) {
    std::string read;
    if (!Serializer<std::string>::Read(stream, &read)) return false;
    *text = ffi::String(std::move(read));
    return true;
  }
};

template <typename T>
struct Serializer<std::vector<T>> {
  static constexpr bool enabled = true;
  static void Write(Stream* stream, const std::vector<T>& items) {
    WriteSize(stream, items.size());
    for (const T& item : items) Serializer<T>::Write(stream, item);
  }
  static bool Read(Stream* stream, std::vector<T>* items) {
    items->clear();
    return ReadItems(stream, items, [stream](std::vector<T>* out) {
      out->emplace_back();
      return Serializer<T>::Read(stream, &out->back());
    });
  }
};

template <typename T>
struct Serializer<ffi::Array<T>> {
  static constexpr bool enabled = true;
  static void Write(Stream* stream, const ffi::Array<T>& items) {
    WriteSize(stream, items.size());
    for (const T& item : items) Serializer<T>::Write(stream, item);
  }
  static bool Read(Stream* stream, ffi::Array<T>* items) {
    items->clear();
    return ReadItems(stream, items, [stream](ffi::Array<T>* out) {
      T item;
      if (!Serializer<T>::Read(stream, &item)) return false;
      out->push_back(item);
      return true;
    });
  }
};

template <typename T>
void Stream::Write(const T& value) {
  Serializer<T>::Write(this, value);
}

template <typename T>
bool Stream::Read(T* value) {
  return Serializer<T>::Read(this, value);
}

template <typename T>
void Stream::WriteArray(const T* data, size_t count) {
  for (size_t i = 0; i < count; ++i) Serializer<T>::Write(this, data[i]);
}

template <typename T>
bool Stream::ReadArray(T* data, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    if (!Serializer<T>::Read(this, &data[i])) return false;
  }
  return true;
}

}  // namespace support
}  // namespace tvm
