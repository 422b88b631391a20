#include "platform/host.h"

#include <unistd.h>
#if defined(__linux__)
#include <sched.h>
#include <sys/resource.h>
#endif
#if defined(__GLIBC__)
#include <malloc.h>
#endif

#include <algorithm>
#include <fstream>
#include <set>
#include <string>
#include <thread>

namespace mlc {
namespace {

#if defined(__linux__)
// A text that is the same for all hardware threads of one core, if the kernel tells it.
std::string CoreOf(int cpu) {
  std::string name = std::to_string(cpu);
  std::ifstream file("/sys/devices/system/cpu/cpu" + name + "/topology/thread_siblings_list");
  std::string siblings;
  return std::getline(file, siblings) ? siblings : name;
}
#endif

}  // namespace

int NumAvailableCores() {
#if defined(__linux__)
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) == 0) {
    std::set<std::string> cores;
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
      if (CPU_ISSET(cpu, &set)) cores.insert(CoreOf(cpu));
    }
    return std::max(1, static_cast<int>(cores.size()));
  }
#endif
  return std::max(1u, std::thread::hardware_concurrency());
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
