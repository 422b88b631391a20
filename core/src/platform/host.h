// The machine on which the process runs: its cores and its memory.
#pragma once

#include <cstdint>
#include <ctime>
#include <string>

namespace mlc {

// Whether the process can start threads. A browser's wasm module cannot.
#if defined(__EMSCRIPTEN__)
inline constexpr bool kHasThreads = false;
#else
inline constexpr bool kHasThreads = true;
#endif

// The number of CPU cores that this process may use. The hardware threads of one core count once.
int NumAvailableCores();

// Lowers the priority of the calling thread, and of threads that it creates later: 1 to 19, as in
// `nice`. On Windows it is the calling thread's alone. Does nothing on systems where a thread has
// no priority of its own.
void LowerThreadPriority(int nice);

// The process id. A forked child has another one.
int64_t ProcessNumber();

// Whether the process is ending and this is its last thread. On Windows the other threads are gone
// before the destructors of a DLL run, so nothing may wait for them. False on other systems.
bool ProcessIsEnding();

// Keeps the library that this code is in open until the process ends, though its host closes it: a
// detached thread returns through it. Does nothing on systems where the threads are joined.
void KeepThisLibraryOpen();

// The host memory that can be allocated without swapping.
int64_t AvailableMemoryBytes();

// Returns freed memory to the system. Otherwise glibc keeps it in pieces that do not fit the next
// step. It takes about a millisecond. Does nothing with other C libraries.
void ReleaseFreeMemory();

// An environment variable, in UTF-8; "" when it is not set.
std::string EnvironmentText(const char* name);

std::tm LocalTime(std::time_t time);

}  // namespace mlc
