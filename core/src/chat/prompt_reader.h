// The texts of a completion or of an embedding request, as tokens.
#ifndef MLC_CHAT_PROMPT_READER_H_
#define MLC_CHAT_PROMPT_READER_H_

#include <string>
#include <vector>

#include "chat/model_bundle.h"
#include "chat/protocol.gen.h"

namespace mlc {

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

#endif  // MLC_CHAT_PROMPT_READER_H_
