// How much memory of a device this process may use.
#pragma once

#include <cstdint>
#include <cstdlib>

namespace mlc {

// The limit that the user sets, in bytes (MLC_GPU_MEMORY_MB). Other programs may need the rest.
inline size_t MemoryBound() {
  const char* text = std::getenv("MLC_GPU_MEMORY_MB");
  size_t megabytes = text == nullptr ? 0 : std::strtoull(text, nullptr, 10);
  return megabytes == 0 || megabytes > SIZE_MAX >> 20 ? SIZE_MAX : megabytes << 20;
}

}  // namespace mlc
