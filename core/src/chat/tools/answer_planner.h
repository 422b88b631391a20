// What a request asks of tools and thoughts, and what is to be found in its answer.
#ifndef MLC_CHAT_TOOLS_ANSWER_PLANNER_H_
#define MLC_CHAT_TOOLS_ANSWER_PLANNER_H_

#include <string>
#include <vector>

#include "chat/load/model_bundle.h"
#include "chat/protocol/protocol.gen.h"
#include "chat/tools/answer_parser.h"
#include "engine/thinking.h"

namespace mlc {

// The formats of a model: those that its config names, else what its chat template tells.
const ToolFormat& ToolFormatOf(const ModelBundle& model);
const ReasoningFormat* ReasoningFormatOf(const ModelBundle& model);  // nullptr: it does not think
// kNotFound, naming the field, when the config names a format that there is not.
Status CheckFormats(const ChatConfig& config);

// Whether the model is told of tools at all: there are some, and tool_choice is not "none".
bool WantsTools(const protocol::ChatCompletionRequest& request);
// Whether it must call one.
bool MustCall(const protocol::ChatCompletionRequest& request);
// The rules for `tools` and `tool_choice`. An error names the field.
Status CheckTools(const protocol::ChatCompletionRequest& request);

// `prompt`: the rendered text, which may have opened the model's thoughts.
AnswerPlan PlanAnswer(const ModelBundle& model, const protocol::ChatCompletionRequest& request,
                      const std::string& prompt);

// For the engine: where thoughts are, and their limit in tokens (-1: none).
Result<Thinking> PlanThinking(const ModelBundle& model, const AnswerPlan& plan, int max_tokens);

// A special token that is part of a format's markers.
struct SpecialMarker {
  std::string text;
  int32_t id;
};
// Those of the model's formats, without stop tokens. Their text is part of the answer's text.
std::vector<SpecialMarker> FindSpecialMarkers(const ModelBundle& model);

}  // namespace mlc

#endif  // MLC_CHAT_TOOLS_ANSWER_PLANNER_H_
