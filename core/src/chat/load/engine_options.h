// Turns the user's settings (EngineConfig, with MLC-LLM's modes) into what the engine allocates.
#pragma once

#include <cstdint>

#include "chat/protocol/protocol.gen.h"
#include "engine/engine.h"

namespace mlc {

// `available_bytes`: the free memory of the device before the model is loaded. The engine takes a
// part of it for weights, temporaries and KV cache. Errors: kUnsupported for a setting that this
// engine does not have; kResourceExhausted if not even two pages fit.
Result<EngineOptions> ResolveEngineOptions(const protocol::EngineConfig& config,
                                           const ModelInfo& model, int64_t available_bytes);

// The bytes of the pool of adapters.
int64_t AdapterBytes(const EngineOptions& options, const ModelInfo& model);

// The bytes of the temporaries in the largest step.
int64_t TemporaryBytes(const EngineOptions& options, const ModelInfo& model);

}  // namespace mlc
