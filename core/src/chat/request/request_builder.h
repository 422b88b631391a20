// From a parsed chat completion request to what the engine runs.
#ifndef MLC_CHAT_REQUEST_REQUEST_BUILDER_H_
#define MLC_CHAT_REQUEST_REQUEST_BUILDER_H_

#include <memory>
#include <string>
#include <vector>

#include "chat/load/model_bundle.h"
#include "chat/protocol/protocol.gen.h"
#include "chat/request/media.h"
#include "chat/request/prompt_reader.h"
#include "chat/tools/answer_parser.h"
#include "engine/request.h"

namespace mlc {

// A parameter that the protocol knows and this engine does not: "'PARAM' WHY".
Status UnsupportedParameter(const char* param, const std::string& why);

// The prompt's text, by the model's chat template, with the answer's opening appended. Errors:
// kInvalidArgument, with the template's own message when it refuses the conversation.
Result<std::string> RenderPrompt(const ModelBundle& model,
                                 const protocol::ChatCompletionRequest& request);

// The same with marks in it where the caller's texts would be taken for special tokens
// (special_text.h).
Result<MarkedPrompt> RenderMarkedPrompt(const ModelBundle& model,
                                        protocol::ChatCompletionRequest request);

// A request, and what is to be found in its answer.
struct PlannedRequest {
  Request request;
  std::shared_ptr<const AnswerPlan> plan;  // null: the answer's text is its content
};

// Refuses what is not supported, renders, tokenizes, and fills what the request leaves open with
// the model's defaults. Without a seed a random one is taken. The id is left to the caller.
// `buffers`: bytes beside the JSON.
Result<PlannedRequest> PlanRequest(const ModelBundle& model,
                                   const protocol::ChatCompletionRequest& request,
                                   const MediaBuffers& buffers = {});
Result<Request> BuildRequest(const ModelBundle& model,
                             const protocol::ChatCompletionRequest& request,
                             const MediaBuffers& buffers = {});

// The same once the prompt is made: sampling, limits, stops, grammar. `request` has no part in
// the prompt. `plan`: of an answer with calls or thoughts.
Result<Request> BuildGeneration(const ModelBundle& model,
                                const protocol::ChatCompletionRequest& request, Prompt prompt,
                                const AnswerPlan* plan = nullptr);

}  // namespace mlc

#endif  // MLC_CHAT_REQUEST_REQUEST_BUILDER_H_
