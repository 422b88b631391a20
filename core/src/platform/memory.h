// The system's side of memory: pages that are given back, and pages that are read ahead.
#ifndef MLC_PLATFORM_MEMORY_H_
#define MLC_PLATFORM_MEMORY_H_

#include <cstdint>

namespace mlc {

// Gives the whole system pages inside [data, data + bytes) back to the system. Their content is
// lost; the addresses stay valid, and the system gives new pages when they are written again. Only
// for memory that was allocated, not for mapped files. Returns the number of bytes given back: 0
// when there is no whole page, or when the system cannot.
int64_t DiscardMemory(void* data, int64_t bytes);

// Reads one byte of every system page, so that all are in memory. Returns the number of bytes.
int64_t TouchMemory(const void* data, int64_t bytes);

}  // namespace mlc

#endif  // MLC_PLATFORM_MEMORY_H_
