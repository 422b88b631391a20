// The number of this process: a forked child has another one. Windows forks none.
#pragma once

#if defined(_WIN32)
#include <process.h>
#else
#include <unistd.h>
#endif

namespace mlc {

#if defined(_WIN32)
inline int ProcessId() { return _getpid(); }
#else
inline int ProcessId() { return getpid(); }
#endif

}  // namespace mlc
