// From what the user asked for (EngineConfig, with MLC-LLM's modes) to what the engine allocates.
#ifndef MLC_CHAT_ENGINE_OPTIONS_H_
#define MLC_CHAT_ENGINE_OPTIONS_H_

#include <cstdint>

#include "chat/protocol.gen.h"
#include "engine/engine.h"

namespace mlc {

// `memory_bytes`: what the KV cache may take. Errors: kUnsupported for a setting that this engine
// does not have yet, kResourceExhausted when not even two pages fit.
Result<EngineOptions> ResolveEngineOptions(const protocol::EngineConfig& config,
                                           const ModelInfo& model, int64_t memory_bytes);

}  // namespace mlc

#endif  // MLC_CHAT_ENGINE_OPTIONS_H_
