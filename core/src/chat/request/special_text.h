// Texts of special tokens in a caller's texts: "<|im_start|>" in a user's message is twelve
// letters, not the token that begins a message.
//
// Before the chat template is rendered, a mark is put into such texts. The mark is a letter that
// occurs nowhere in the request. The template may trim, join, split or repeat the text; the mark
// stays in it. The tokenizer finds no special token that contains the mark, and removes the mark.
// Text that the template itself writes has no mark. A request without such texts does not change.
//
// Consequences: A template that looks for a special token in a message does not find it. Tokens
// that the tokenizer file does not mark as special (often <think>, <tool_call>) remain tokens. So
// do the markers of thoughts and calls in an assistant's message, because the model wrote them and
// the template looks for them. `chat_template_kwargs` count as the template's own text, except
// `documents`.
#pragma once

#include <string>

#include "chat/load/model_bundle.h"
#include "chat/protocol/protocol.gen.h"

namespace mlc {

// Puts the mark into the texts of `request` that need it, and returns the mark; "" when no text
// needs it. Errors: kInvalidArgument for a request that contains every possible mark.
Result<std::string> MarkSpecialTexts(const ModelBundle& model,
                                     protocol::ChatCompletionRequest* request);

}  // namespace mlc
