// Puts tools and their calls into the prompt: through the model's own chat template if it knows
// tools, otherwise as text of ours.
#pragma once

#include <string>

#include "base/json.h"
#include "chat/load/model_bundle.h"
#include "chat/protocol/protocol.gen.h"

namespace mlc {

// The input of a chat template.
struct TemplateInput {
  Json messages = Json::MakeArray();
  Json tools;                // null: there are none, or the template does not accept any
  std::string instructions;  // our own text about tools for the system message; "" if there is none
};

// Checks that each tool message answers an earlier call (an error names the message), and sets its
// `name`. Calls and results that the template would not show become text.
Result<TemplateInput> PrepareMessages(const ModelBundle& model,
                                      const protocol::ChatCompletionRequest& request);

// The messages with `text` added to the first message of the role. If there is none, it is added.
Json WithInstructions(const Json& messages, const std::string& text, const char* role);

}  // namespace mlc
