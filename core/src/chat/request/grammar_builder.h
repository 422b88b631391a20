// Makes the grammar that an answer must follow from the fields of a request.
#pragma once

#include <optional>

#include "chat/load/model_bundle.h"
#include "chat/protocol/protocol.gen.h"
#include "chat/tools/answer_parser.h"
#include "grammar/grammar.h"

namespace mlc {

// None when any text is allowed. An error names the field:
// "response_format.json_schema.schema: /properties/a/not cannot be enforced: ...".
Result<std::optional<Grammar>> BuildFormatGrammar(
    const ModelBundle& model, const std::optional<protocol::ResponseFormat>& format);

// The same with the calls and the thoughts of an answer. `plan` may be null.
Result<std::optional<Grammar>> BuildGrammar(const ModelBundle& model,
                                            const protocol::ChatCompletionRequest& request,
                                            const AnswerPlan* plan);

}  // namespace mlc
