// Ranges of memory in pages of the system: what memory.h's functions share on all systems.
#pragma once

#include <cstddef>
#include <cstdint>

namespace mlc {

struct PageRange {
  void* begin;
  size_t bytes;  // 0: there is none
};

// The pages of `page` bytes that lie wholly in the range.
inline PageRange WholePages(void* data, int64_t bytes, uintptr_t page) {
  if (data == nullptr || bytes <= 0) return {nullptr, 0};
  uintptr_t begin = reinterpret_cast<uintptr_t>(data);
  uintptr_t end = (begin + static_cast<uintptr_t>(bytes)) / page * page;
  begin = (begin + page - 1) / page * page;
  return {reinterpret_cast<void*>(begin), begin < end ? end - begin : 0};
}

// Reads one byte of each page. Returns the number of bytes.
inline int64_t TouchPages(const void* data, int64_t bytes, uintptr_t page) {
  if (data == nullptr || bytes <= 0) return 0;
  const volatile char* at = static_cast<const char*>(data);
  for (int64_t offset = 0; offset < bytes; offset += static_cast<int64_t>(page)) (void)at[offset];
  (void)at[bytes - 1];
  return bytes;
}

}  // namespace mlc
