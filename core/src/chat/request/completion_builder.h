// Makes engine requests from a parsed completion request: a text to continue, no chat template.
#pragma once

#include <string>
#include <vector>

#include "chat/load/model_bundle.h"
#include "chat/protocol/protocol.gen.h"
#include "engine/request.h"

namespace mlc {

struct PromptRequest {
  Request request;
  std::string echo;  // the prompt's text, when the answer begins with it
};

// Returns one engine request for each prompt, in their order. The caller sets the ids. Refuses
// unsupported fields: `suffix`, `best_of` over `n`.
Result<std::vector<PromptRequest>> BuildCompletion(const ModelBundle& model,
                                                   const protocol::CompletionRequest& request);

}  // namespace mlc
