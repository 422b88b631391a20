#include "platform/memory.h"

#include <sys/mman.h>
#include <unistd.h>

namespace mlc {
namespace {

uintptr_t SystemPage() {
  static const uintptr_t bytes = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

// Linux frees the pages at once; Apple's systems when they need them.
#if defined(__APPLE__)
constexpr int kDiscard = MADV_FREE;
#else
constexpr int kDiscard = MADV_DONTNEED;
#endif

}  // namespace

int64_t DiscardMemory(void* data, int64_t bytes) {
  if (data == nullptr || bytes <= 0) return 0;
  uintptr_t page = SystemPage(), begin = reinterpret_cast<uintptr_t>(data);
  uintptr_t end = (begin + static_cast<uintptr_t>(bytes)) / page * page;
  begin = (begin + page - 1) / page * page;
  if (begin >= end) return 0;
  bool given = ::madvise(reinterpret_cast<void*>(begin), end - begin, kDiscard) == 0;
  return given ? static_cast<int64_t>(end - begin) : 0;
}

int64_t TouchMemory(const void* data, int64_t bytes) {
  if (data == nullptr || bytes <= 0) return 0;
  const volatile char* at = static_cast<const char*>(data);
  int64_t page = static_cast<int64_t>(SystemPage());
  for (int64_t offset = 0; offset < bytes; offset += page) (void)at[offset];
  (void)at[bytes - 1];
  return bytes;
}

void* ReserveAddresses(size_t bytes) {
  void* begin = ::mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                       /*fd=*/-1, /*offset=*/0);
  return begin == MAP_FAILED ? nullptr : begin;
}

void GiveBackAddresses(void* begin, size_t bytes) { ::munmap(begin, bytes); }

}  // namespace mlc
