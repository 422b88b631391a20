// Makes engine requests from a parsed embedding request.
#pragma once

#include <string>
#include <vector>

#include "chat/load/model_bundle.h"
#include "chat/protocol/protocol.gen.h"
#include "engine/request.h"

namespace mlc {

struct TextRequest {
  Request request;
  std::string path;  // the path of its text: "input[2]"
};

// How vectors are made: from the engine's config, else from the model's config, else the mean.
Pooling PoolingOf(const protocol::EngineConfig& config, const ChatConfig& model);

// Returns one engine request for each text, in their order. The caller sets the ids. `dimensions`
// must not be larger than `size`, the width of the model's vectors.
Result<std::vector<TextRequest>> BuildEmbedding(const ModelBundle& model,
                                                const protocol::EmbeddingRequest& request,
                                                Pooling pooling, int size);

}  // namespace mlc
