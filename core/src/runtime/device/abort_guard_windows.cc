#include "runtime/device/abort_guard.h"

namespace mlc {

// On Windows an abort of Rust ends the process by an instruction that no handler sees.
bool SurvivesAbort(void (*call)(void*), void* data) {
  call(data);
  return true;
}

}  // namespace mlc
