// What the chat layer needs of a model folder: its config, tokenizer and chat template.
#ifndef MLC_CHAT_MODEL_BUNDLE_H_
#define MLC_CHAT_MODEL_BUNDLE_H_

#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "chat/chat_template.h"
#include "model/model_config.h"
#include "runtime/byte_source.h"
#include "text/tokenizer.h"

namespace mlc {

struct ModelBundle {
  ChatConfig config;
  std::shared_ptr<const Tokenizer> tokenizer;
  std::unique_ptr<const ChatTemplate> chat_template;  // null: the model has none
  std::vector<int32_t> prompt_prefix;                 // tokens before the rendered text
  std::vector<int32_t> stop_token_ids;
  std::vector<std::string> stop_strings;
};

// Reads mlc-chat-config.json, tokenizer.json and the chat template: chat_template.jinja, or
// tokenizer_config.json's `chat_template`, or MLC-LLM's `conv_template` when there is neither.
// Errors name the file and the field.
Result<ModelBundle> LoadModelBundle(const ByteSource& source);

}  // namespace mlc

#endif  // MLC_CHAT_MODEL_BUNDLE_H_
