// What a request wants with tools and thoughts, and what the parser must find in its answer.
#pragma once

#include <string>
#include <vector>

#include "chat/load/model_bundle.h"
#include "chat/protocol/protocol.gen.h"
#include "chat/tools/answer_parser.h"
#include "engine/thinking.h"

namespace mlc {

// The formats of a model: those that its config names; otherwise those that its chat template
// shows.
const ToolFormat& ToolFormatOf(const ModelBundle& model);
// nullptr: the model has no thoughts
const ReasoningFormat* ReasoningFormatOf(const ModelBundle& model);
// kNotFound, with the field, if the config names a format that does not exist.
Status CheckFormats(const ChatConfig& config);

// Whether the model sees the tools: there are some, and tool_choice is not "none".
bool WantsTools(const protocol::ChatCompletionRequest& request);
// Whether the model must call a tool.
bool MustCall(const protocol::ChatCompletionRequest& request);
// Checks `tools` and `tool_choice`. An error names the field.
Status CheckTools(const protocol::ChatCompletionRequest& request);

// `prompt`: the rendered text; it may have opened the model's thoughts.
AnswerPlan PlanAnswer(const ModelBundle& model, const protocol::ChatCompletionRequest& request,
                      const std::string& prompt);

// For the engine: the markers of thoughts, and the limit in tokens (-1: none).
Result<Thinking> PlanThinking(const ModelBundle& model, const AnswerPlan& plan, int max_tokens);

// A special token that is part of a format's markers.
struct SpecialMarker {
  std::string text;
  int32_t id;
};
// The special tokens in the markers of the model's formats, without stop tokens. Their text is part
// of the answer's text.
std::vector<SpecialMarker> FindSpecialMarkers(const ModelBundle& model);

}  // namespace mlc
