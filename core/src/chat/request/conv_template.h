// MLC-LLM's own conversation template (`conv_template` of mlc-chat-config.json), for model folders
// that carry no Jinja template. It is translated to one, so that there is one way to render.
//
//   MLC_ASSIGN_OR_RETURN(ConvTemplate conv, ParseConvTemplate(config_member));
//   MLC_ASSIGN_OR_RETURN(ChatTemplate chat, ChatTemplate::Parse(conv.jinja_source, "", ""));
//   prompt ids = conv.system_prefix_token_ids + tokenizer(chat.Render(messages, ...))
//
// The semantics are those of MLC-LLM (protocol/conversation_protocol.py and its serving layer): a
// system message of the conversation replaces the template's own; every other message is role, role
// separator, content in the role's template, and the separator of its side; a prompt for the
// assistant ends in the assistant's role and the separator for an empty message. Where tools are
// given, the text "{function_string}" in the system or a user message becomes their JSON.
#ifndef MLC_CHAT_REQUEST_CONV_TEMPLATE_H_
#define MLC_CHAT_REQUEST_CONV_TEMPLATE_H_

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

#endif  // MLC_CHAT_REQUEST_CONV_TEMPLATE_H_
