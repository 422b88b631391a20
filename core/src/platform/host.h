// The machine that the process runs on: its cores and its memory.
#ifndef MLC_PLATFORM_HOST_H_
#define MLC_PLATFORM_HOST_H_

#include <cstdint>

namespace mlc {

// Processor cores that this process may use; hardware threads of one core count once.
int NumAvailableCores();

// Gives the calling thread, and those that it makes later, less of a share: 1 to 19, as `nice` has
// it. Nothing happens where threads have no such number of their own.
void LowerThreadPriority(int nice);

// A number of the process; another one in a forked child.
int64_t ProcessNumber();

// Host memory that can be taken without swapping.
int64_t AvailableMemoryBytes();

// Gives the system back what was freed: glibc keeps it, in pieces that the next step does not fit.
// Takes about a millisecond. Does nothing with other C libraries.
void ReleaseFreeMemory();

}  // namespace mlc

#endif  // MLC_PLATFORM_HOST_H_
