// MLC-LLM's own conversation template (`conv_template` of mlc-chat-config.json), for model folders
// without a Jinja template. It is translated to a Jinja template, so that there is one renderer.
//
//   MLC_ASSIGN_OR_RETURN(ConvTemplate conv, ParseConvTemplate(config_member));
//   MLC_ASSIGN_OR_RETURN(ChatTemplate chat, ChatTemplate::Parse(conv.jinja_source, "", ""));
//   prompt ids = conv.system_prefix_token_ids + tokenizer(chat.Render(messages, ...))
//
// The rules are those of MLC-LLM (protocol/conversation_protocol.py and its serving layer). A
// system message of the conversation replaces the template's own. Every other message is: role,
// role separator, content in the role's template, and the separator of its side. A prompt for the
// assistant ends in the assistant's role and the separator for an empty message. If there are
// tools, the text "{function_string}" in the system message or in a user message becomes their
// JSON.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/status.h"

namespace mlc {

struct ConvTemplate {
  std::string jinja_source;
  std::vector<int32_t> system_prefix_token_ids;  // before the prompt's own tokens
  std::vector<std::string> stop_strings;
  std::vector<int32_t> stop_token_ids;
};

// Errors name the field in `param`.
Result<ConvTemplate> ParseConvTemplate(const Json& conv_template);

}  // namespace mlc
