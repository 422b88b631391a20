// Tools and their calls in the prompt: through the model's own chat template where it knows them,
// in words of ours where it does not.
#ifndef MLC_CHAT_TOOLS_TOOL_PROMPT_H_
#define MLC_CHAT_TOOLS_TOOL_PROMPT_H_

#include <string>

#include "base/json.h"
#include "chat/load/model_bundle.h"
#include "chat/protocol/protocol.gen.h"

namespace mlc {

// What a chat template is given.
struct TemplateInput {
  Json messages = Json::MakeArray();
  Json tools;                // null: none, or the template takes none
  std::string instructions;  // of ours, on tools, for the system message; "" when there are none
};

// Checks that each tool message answers a call before it (the error names the message), and fills
// in its `name`. Calls and results that the template would not show become text.
Result<TemplateInput> PrepareMessages(const ModelBundle& model,
                                      const protocol::ChatCompletionRequest& request);

// The messages with `text` added to the first one of the role, which is made if there is none.
Json WithInstructions(const Json& messages, const std::string& text, const char* role);

}  // namespace mlc

#endif  // MLC_CHAT_TOOLS_TOOL_PROMPT_H_
