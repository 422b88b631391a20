#include "platform/memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include "platform/pages.h"

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
  PageRange pages = WholePages(data, bytes, SystemPage());
  if (pages.bytes == 0 || ::madvise(pages.begin, pages.bytes, kDiscard) != 0) return 0;
  return static_cast<int64_t>(pages.bytes);
}

int64_t TouchMemory(const void* data, int64_t bytes) {
  return TouchPages(data, bytes, SystemPage());
}

void ReadScattered(void* data, int64_t bytes) {
  PageRange pages = WholePages(data, bytes, SystemPage());
  if (pages.bytes == 0) return;
#if defined(__linux__)
  (void)::madvise(pages.begin, pages.bytes, MADV_NOHUGEPAGE);
#endif
  (void)::madvise(pages.begin, pages.bytes, MADV_RANDOM);
}

void UseLargePages(void* data, int64_t bytes) {
#if defined(__linux__)
  PageRange pages = WholePages(data, bytes, SystemPage());
  if (pages.bytes > 0) (void)::madvise(pages.begin, pages.bytes, MADV_HUGEPAGE);
#else
  (void)data, (void)bytes;
#endif
}

void* ReserveAddresses(size_t bytes) {
  void* begin = ::mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                       /*fd=*/-1, /*offset=*/0);
  return begin == MAP_FAILED ? nullptr : begin;
}

void GiveBackAddresses(void* begin, size_t bytes) { ::munmap(begin, bytes); }

}  // namespace mlc
