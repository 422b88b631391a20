// The grammar of an answer with tool calls, thoughts or both around what response_format asks for,
// as xgrammar's structural tag.
#ifndef MLC_CHAT_TOOLS_ANSWER_GRAMMAR_H_
#define MLC_CHAT_TOOLS_ANSWER_GRAMMAR_H_

#include <optional>
#include <vector>

#include "base/json.h"
#include "chat/tools/answer_parser.h"
#include "chat/tools/answer_planner.h"

namespace mlc {

struct AnswerShape {
  bool must_call = false;
  bool parallel_calls = true;   // several in one answer
  std::optional<Json> content;  // a format of structural tags; nothing: any text
};

// {"type": "structural_tag", "format": ...}. Calls of tools are held to their schemas where
// `plan.offered` gives one. `markers` are written as tokens, all other text as text.
Json AnswerTag(const AnswerPlan& plan, const AnswerShape& shape,
               const std::vector<SpecialMarker>& markers);

// The schema that a call's arguments are held to.
Json ArgumentsSchema(const OfferedTool& tool);

}  // namespace mlc

#endif  // MLC_CHAT_TOOLS_ANSWER_GRAMMAR_H_
