// platform/host.h and platform/memory.h inside a WebAssembly module.
#include "platform/host.h"

#include <malloc.h>
#include <unistd.h>

#include "platform/memory.h"

namespace mlc {

int NumAvailableCores() { return 1; }

void LowerThreadPriority(int) {}

int64_t ProcessNumber() { return 1; }

bool ProcessIsEnding() { return false; }

void KeepThisLibraryOpen() {}

// What the module may still grow by, and what it has freed.
int64_t AvailableMemoryBytes() {
  constexpr int64_t kLargest = int64_t{4}
                               << 30;  // of 32-bit addresses; MAXIMUM_MEMORY when linking
  int64_t used = static_cast<int64_t>(reinterpret_cast<uintptr_t>(sbrk(0)));
  return kLargest - used + static_cast<int64_t>(static_cast<size_t>(mallinfo().fordblks));
}

void ReleaseFreeMemory() {}

int64_t DiscardMemory(void*, int64_t) { return 0; }

void ReadScattered(void*, int64_t) {}

void UseLargePages(void*, int64_t) {}

// All of it is in memory.
int64_t TouchMemory(const void* data, int64_t bytes) {
  return data == nullptr || bytes <= 0 ? 0 : bytes;
}

}  // namespace mlc
