// How much of a device's memory this process may take.
#ifndef MLC_RUNTIME_DEVICE_MEMORY_BOUND_H_
#define MLC_RUNTIME_DEVICE_MEMORY_BOUND_H_

#include <cstdint>
#include <cstdlib>

namespace mlc {

// What the user leaves us of a device, in bytes (MLC_GPU_MEMORY_MB); others may need the rest.
inline size_t MemoryBound() {
  const char* text = std::getenv("MLC_GPU_MEMORY_MB");
  size_t megabytes = text == nullptr ? 0 : std::strtoull(text, nullptr, 10);
  return megabytes == 0 || megabytes > SIZE_MAX >> 20 ? SIZE_MAX : megabytes << 20;
}

}  // namespace mlc

#endif  // MLC_RUNTIME_DEVICE_MEMORY_BOUND_H_
