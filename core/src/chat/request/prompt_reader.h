// Reads the texts of a completion or embedding request as tokens.
#pragma once

#include <string>
#include <vector>

#include "chat/load/model_bundle.h"
#include "chat/protocol/protocol.gen.h"

namespace mlc {

// A text with marks (special_text.h). The tokenizer removes the marks.
struct MarkedPrompt {
  std::string text, mark;
};

// Returns the tokens of the prompt. kInvalidArgument with the reason "context_length_exceeded" when
// there are more than the model takes; for a very long text its length is enough to know. `param`:
// the name of the field in the request.
Result<std::vector<int32_t>> EncodePrompt(const ModelBundle& model, const MarkedPrompt& prompt,
                                          const char* param, bool add_special_tokens = false);

// Returns the tokens of a predicted answer. Errors as those of EncodePrompt.
Result<std::vector<int32_t>> EncodePrediction(const ModelBundle& model,
                                              const protocol::ChatCompletionPrediction& prediction);

struct PromptText {
  std::vector<int32_t> tokens;  // at least one
  std::string path;             // in the request: "prompt", "prompt[2]"
  const std::string* text;      // the caller's text, not owned; null for token ids
};

// A list of token ids is one prompt; a list of texts or of lists is several prompts. `field`: the
// name of the field in the request. Errors name the path of the wrong prompt.
Result<std::vector<PromptText>> ReadPrompts(const ModelBundle& model, const char* field,
                                            const protocol::Prompt& prompt);

}  // namespace mlc
