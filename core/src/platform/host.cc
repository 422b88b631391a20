#include "platform/host.h"

#include <unistd.h>
#if defined(__linux__)
#include <sys/resource.h>
#endif
#if defined(__GLIBC__)
#include <malloc.h>
#endif

#include <algorithm>
#include <fstream>
#include <string>
#include <thread>

#include "platform/cores.h"

namespace mlc {

int NumAvailableCores() {
  int known = static_cast<int>(AllowedCores().size());
  return known > 0 ? known : std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

void LowerThreadPriority([[maybe_unused]] int nice) {
#if defined(__linux__)
  // on Linux it applies to one thread
  if (nice > 0) (void)setpriority(PRIO_PROCESS, 0, std::min(nice, 19));
#endif
}

int64_t ProcessNumber() { return getpid(); }

bool ProcessIsEnding() { return false; }

void KeepThisLibraryOpen() {}

int64_t AvailableMemoryBytes() {
#if defined(__linux__)
  // The kernel's estimate, which includes caches that it can free.
  std::ifstream meminfo("/proc/meminfo");
  std::string key, unit;
  for (int64_t kilobytes; meminfo >> key >> kilobytes; std::getline(meminfo, unit)) {
    if (key == "MemAvailable:") return kilobytes * 1024;
  }
#endif
  return static_cast<int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE) / 2;
}

void ReleaseFreeMemory() {
#if defined(__GLIBC__)
  malloc_trim(0);
#endif
}

}  // namespace mlc
