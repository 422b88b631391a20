// Makes the grammar that an answer must follow from the fields of a request.
#ifndef MLC_CHAT_REQUEST_GRAMMAR_BUILDER_H_
#define MLC_CHAT_REQUEST_GRAMMAR_BUILDER_H_

#include <optional>

#include "chat/load/model_bundle.h"
#include "chat/protocol/protocol.gen.h"
#include "chat/tools/answer_parser.h"
#include "grammar/grammar.h"

namespace mlc {

// None when any text is allowed. `plan`: the plan of an answer with calls or thoughts, or null. An
// error names the field: "response_format.json_schema.schema: /properties/a/not cannot be enforced:
// ...".
Result<std::optional<Grammar>> BuildGrammar(const ModelBundle& model,
                                            const protocol::ChatCompletionRequest& request,
                                            const AnswerPlan* plan = nullptr);

}  // namespace mlc

#endif  // MLC_CHAT_REQUEST_GRAMMAR_BUILDER_H_
