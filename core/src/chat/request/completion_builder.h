// From a parsed completion request (a text to be continued, no chat template) to what the engine
// runs.
#ifndef MLC_CHAT_REQUEST_COMPLETION_BUILDER_H_
#define MLC_CHAT_REQUEST_COMPLETION_BUILDER_H_

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

// One engine request for each prompt, in their order; ids are left to the caller. Refuses what is
// not supported: `suffix`, `best_of` over `n`.
Result<std::vector<PromptRequest>> BuildCompletion(const ModelBundle& model,
                                                   const protocol::CompletionRequest& request);

}  // namespace mlc

#endif  // MLC_CHAT_REQUEST_COMPLETION_BUILDER_H_
