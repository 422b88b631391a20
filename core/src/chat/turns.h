// The turns of all engines where there are no threads.
#ifndef MLC_CHAT_TURNS_H_
#define MLC_CHAT_TURNS_H_

#include "engine/engine_loop.h"

namespace mlc {

// EngineLoop::TakeTurns.
inline int TakeTurns() { return EngineLoop::TakeTurns(); }

}  // namespace mlc

#endif  // MLC_CHAT_TURNS_H_
