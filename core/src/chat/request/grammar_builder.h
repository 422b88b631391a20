// The grammar that an answer must follow, from what a request asks for.
#ifndef MLC_CHAT_REQUEST_GRAMMAR_BUILDER_H_
#define MLC_CHAT_REQUEST_GRAMMAR_BUILDER_H_

#include <optional>

#include "chat/load/model_bundle.h"
#include "chat/protocol/protocol.gen.h"
#include "chat/tools/answer_parser.h"
#include "grammar/grammar.h"

namespace mlc {

// None when any text will do. `plan`: of an answer with calls or thoughts, if it is one. An error
// names the field, as in "response_format.json_schema.schema: /properties/a/not cannot be enforced:
// ...".
Result<std::optional<Grammar>> BuildGrammar(const ModelBundle& model,
                                            const protocol::ChatCompletionRequest& request,
                                            const AnswerPlan* plan = nullptr);

}  // namespace mlc

#endif  // MLC_CHAT_REQUEST_GRAMMAR_BUILDER_H_
