// The turns of all engines where there are no threads.
#pragma once

#include "engine/engine_loop.h"

namespace mlc {

// EngineLoop::TakeTurns.
inline int TakeTurns() { return EngineLoop::TakeTurns(); }

}  // namespace mlc
