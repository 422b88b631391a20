#include "runtime/device/abort_guard.h"

namespace mlc {

// On Windows an abort of Rust ends the process by an instruction that no handler sees.
void RunIsolated(void (*call)(void*), void* data, std::atomic<bool>*) { call(data); }
void EndIsolated() {}

}  // namespace mlc
