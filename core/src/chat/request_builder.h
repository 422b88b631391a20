// From a parsed chat completion request to what the engine runs.
#ifndef MLC_CHAT_REQUEST_BUILDER_H_
#define MLC_CHAT_REQUEST_BUILDER_H_

#include <memory>
#include <string>
#include <vector>

#include "chat/model_bundle.h"
#include "chat/protocol.gen.h"
#include "chat/tools/answer_parser.h"
#include "engine/request.h"

namespace mlc {

// A parameter that the protocol knows and this engine does not: "'PARAM' WHY".
Status UnsupportedParameter(const char* param, const std::string& why);

// The prompt's text, by the model's chat template, with the answer's opening appended. Errors:
// kInvalidArgument, with the template's own message when it refuses the conversation.
Result<std::string> RenderPrompt(const ModelBundle& model,
                                 const protocol::ChatCompletionRequest& request);

// A request, and what is to be found in its answer.
struct PlannedRequest {
  Request request;
  std::shared_ptr<const AnswerPlan> plan;  // null: the answer's text is its content
};

// Refuses what is not supported, renders, tokenizes, and fills what the request leaves open with
// the model's defaults. Without a seed a random one is taken. The id is left to the caller.
Result<PlannedRequest> PlanRequest(const ModelBundle& model,
                                   const protocol::ChatCompletionRequest& request);
Result<Request> BuildRequest(const ModelBundle& model,
                             const protocol::ChatCompletionRequest& request);

// The same once the prompt is tokens: sampling, limits, stops, grammar. `request` has no part in
// the prompt. `plan`: of an answer with calls or thoughts.
Result<Request> BuildGeneration(const ModelBundle& model,
                                const protocol::ChatCompletionRequest& request,
                                std::vector<int32_t> prompt_tokens,
                                const AnswerPlan* plan = nullptr);

}  // namespace mlc

#endif  // MLC_CHAT_REQUEST_BUILDER_H_
