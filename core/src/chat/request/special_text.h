// The texts of special tokens in what a caller says: "<|im_start|>" in a user's message is twelve
// letters, not the token that begins a message.
//
// A letter that occurs nowhere in the request, the mark, is put into such texts before the chat
// template is rendered. It travels with them however the template trims, joins, cuts or repeats
// what it is given; the tokenizer finds no special token across it, and takes it out. What the
// template itself writes has none. A request without such texts is rendered as it came.
//
// What follows from it: a template that looks for a special token in a message does not find it.
// Tokens that the file does not call special (often <think>, <tool_call>) stay tokens, and so do
// those of the model's own formats of thoughts and calls in an assistant's message, where the model
// wrote them and the template looks for them. `chat_template_kwargs` are the template's own, except
// for its `documents`.
#ifndef MLC_CHAT_REQUEST_SPECIAL_TEXT_H_
#define MLC_CHAT_REQUEST_SPECIAL_TEXT_H_

#include <string>

#include "chat/load/model_bundle.h"
#include "chat/protocol/protocol.gen.h"

namespace mlc {

// Puts the mark into the texts of `request` where they need it, and returns it; "" when none does.
// Errors: kInvalidArgument for a request that has every letter that could be the mark.
Result<std::string> MarkSpecialTexts(const ModelBundle& model,
                                     protocol::ChatCompletionRequest* request);

}  // namespace mlc

#endif  // MLC_CHAT_REQUEST_SPECIAL_TEXT_H_
