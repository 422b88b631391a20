// From what the user asked for (EngineConfig, with MLC-LLM's modes) to what the engine allocates.
#ifndef MLC_CHAT_LOAD_ENGINE_OPTIONS_H_
#define MLC_CHAT_LOAD_ENGINE_OPTIONS_H_

#include <cstdint>

#include "chat/protocol/protocol.gen.h"
#include "engine/engine.h"

namespace mlc {

// `available_bytes`: what the device has free, the model not yet loaded; the engine takes a share
// of it for weights, temporaries and KV cache. Errors: kUnsupported for a setting that this engine
// does not have yet, kResourceExhausted when not even two pages fit.
Result<EngineOptions> ResolveEngineOptions(const protocol::EngineConfig& config,
                                           const ModelInfo& model, int64_t available_bytes);

// The temporaries of the largest step.
int64_t TemporaryBytes(const EngineOptions& options, const ModelInfo& model);

}  // namespace mlc

#endif  // MLC_CHAT_LOAD_ENGINE_OPTIONS_H_
