// The grammar of an answer with tool calls, thoughts or both, and with the content that
// response_format asks for. It is written as xgrammar's structural tag.
#pragma once

#include <optional>
#include <vector>

#include "base/json.h"
#include "chat/tools/answer_parser.h"
#include "chat/tools/answer_planner.h"

namespace mlc {

// The rules for an answer besides those of its plan.
struct AnswerConstraints {
  bool must_call = false;
  bool parallel_calls = true;   // several calls in one answer
  std::optional<Json> content;  // a format of structural tags; empty: any text
};

// Returns {"type": "structural_tag", "format": ...}. A call must follow its schema if
// `plan.offered` has one. `markers` are written as tokens, all other text as text.
Json AnswerTag(const AnswerPlan& plan, const AnswerConstraints& constraints,
               const std::vector<SpecialMarker>& markers);

// The schema for the arguments of a call.
Json ArgumentsSchema(const OfferedTool& tool);

}  // namespace mlc
