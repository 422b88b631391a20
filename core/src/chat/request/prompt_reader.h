// The texts of a completion or of an embedding request, as tokens.
#ifndef MLC_CHAT_REQUEST_PROMPT_READER_H_
#define MLC_CHAT_REQUEST_PROMPT_READER_H_

#include <string>
#include <vector>

#include "chat/load/model_bundle.h"
#include "chat/protocol/protocol.gen.h"

namespace mlc {

// A text whose marks (special_text.h) are no part of it.
struct MarkedPrompt {
  std::string text, mark;
};

// Its tokens; kInvalidArgument with reason "context_length_exceeded" when there are more than the
// model takes, which the text's length may tell at once. `param`: what the request calls it.
Result<std::vector<int32_t>> EncodePrompt(const ModelBundle& model, const MarkedPrompt& prompt,
                                          const char* param, bool add_special_tokens = false);

struct PromptText {
  std::vector<int32_t> tokens;  // at least one
  std::string path;             // in the request: "prompt", "prompt[2]"
  const std::string* text;      // as it was given, the caller's; null when it was token ids
};

// A list of token ids is one prompt; a list of texts or of lists is several. `field`: what the
// request calls it. Errors name the path of the prompt that is wrong.
Result<std::vector<PromptText>> ReadPrompts(const ModelBundle& model, const char* field,
                                            const protocol::Prompt& prompt);

}  // namespace mlc

#endif  // MLC_CHAT_REQUEST_PROMPT_READER_H_
