// The number of this process: a forked child has another one. Windows forks none.
#ifndef MLC_BINDINGS_PYTHON_PROCESS_ID_H_
#define MLC_BINDINGS_PYTHON_PROCESS_ID_H_

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

#endif  // MLC_BINDINGS_PYTHON_PROCESS_ID_H_
