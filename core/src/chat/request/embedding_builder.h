// From a parsed embedding request to what the engine runs.
#ifndef MLC_CHAT_REQUEST_EMBEDDING_BUILDER_H_
#define MLC_CHAT_REQUEST_EMBEDDING_BUILDER_H_

#include <string>
#include <vector>

#include "chat/load/model_bundle.h"
#include "chat/protocol/protocol.gen.h"
#include "engine/request.h"

namespace mlc {

struct TextRequest {
  Request request;
  std::string path;  // of its text: "input[2]"
};

// How vectors are made: as the engine's config says, else the model's, else the mean.
Pooling PoolingOf(const protocol::EngineConfig& config, const ChatConfig& model);

// One engine request for each text, in their order; ids are left to the caller. `hidden_size`: of
// the model, which `dimensions` must not exceed.
Result<std::vector<TextRequest>> BuildEmbedding(const ModelBundle& model,
                                                const protocol::EmbeddingRequest& request,
                                                Pooling pooling, int hidden_size);

}  // namespace mlc

#endif  // MLC_CHAT_REQUEST_EMBEDDING_BUILDER_H_
