// Makes an engine request from a parsed chat completion request.
#pragma once

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

// The error for a parameter that the protocol has but this engine does not support: "'PARAM' WHY".
Status UnsupportedParameter(const char* param, const std::string& why);

// The prompt's text, rendered by the model's chat template, with the beginning of the answer.
// Errors: kInvalidArgument, with the template's own message if the template refuses the
// conversation.
Result<std::string> RenderPrompt(const ModelBundle& model,
                                 const protocol::ChatCompletionRequest& request);

// The same text with marks in the caller's texts that look like special tokens (special_text.h).
Result<MarkedPrompt> RenderMarkedPrompt(const ModelBundle& model,
                                        protocol::ChatCompletionRequest request);

// A request, and the plan for parsing its answer.
struct PlannedRequest {
  Request request;
  std::shared_ptr<const AnswerPlan> plan;  // null: the answer's text is its content
};

// Refuses unsupported fields, renders and tokenizes the prompt, and uses the model's defaults for
// absent fields. Without a seed it takes a random one. The caller sets the id. `buffers`: the bytes
// that the caller gave with the JSON.
Result<PlannedRequest> PlanRequest(const ModelBundle& model,
                                   const protocol::ChatCompletionRequest& request,
                                   const MediaBuffers& buffers = {});
Result<Request> BuildRequest(const ModelBundle& model,
                             const protocol::ChatCompletionRequest& request,
                             const MediaBuffers& buffers = {});

// The length of the prompt of `request` in tokens, also if it is longer than the model's context.
Result<int64_t> CountPrompt(const ModelBundle& model,
                            const protocol::ChatCompletionRequest& request,
                            const MediaBuffers& buffers = {});

}  // namespace mlc
