// What the chat layer needs of a model folder: its config, tokenizer and chat template.
#ifndef MLC_CHAT_LOAD_MODEL_BUNDLE_H_
#define MLC_CHAT_LOAD_MODEL_BUNDLE_H_

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/status.h"
#include "chat/protocol/protocol.gen.h"
#include "chat/request/chat_template.h"
#include "grammar/grammar.h"
#include "model/model_config.h"
#include "model/tower.h"
#include "runtime/byte_source.h"
#include "text/tokenizer.h"

namespace mlc {

// The model's grammar compiler (the first call's arguments count), made when it is first needed:
// describing a vocabulary takes time.
class LazyGrammarCompiler {
 public:
  GrammarCompiler& Get(const Tokenizer& tokenizer, int vocab_size,
                       const std::vector<int32_t>& stop_token_ids,
                       const std::vector<int32_t>& marker_ids);

 private:
  std::once_flag once_;
  std::unique_ptr<GrammarCompiler> compiler_;
};

struct ModelBundle {
  ChatConfig config;
  protocol::SamplingFields sampling_defaults;  // the model's own, where a request is silent
  std::shared_ptr<const Tokenizer> tokenizer;
  std::unique_ptr<const ChatTemplate> chat_template;  // null: the model has none
  std::shared_ptr<const Tower> tower;                 // null: the model reads text alone
  std::vector<int32_t> prompt_prefix;                 // tokens before the rendered text
  std::vector<int32_t> stop_token_ids;
  std::vector<std::string> stop_strings;
  int max_length = 0;  // of prompt and answer together, in tokens; 0: not known yet
  std::unique_ptr<LazyGrammarCompiler> grammar_compiler = std::make_unique<LazyGrammarCompiler>();
};

// Reads mlc-chat-config.json alone.
Result<ChatConfig> LoadChatConfig(const ByteSource& source);

// Reads mlc-chat-config.json, tokenizer.json and the chat template: chat_template.jinja, or
// tokenizer_config.json's `chat_template`, or MLC-LLM's `conv_template` when there is neither.
// Errors name the file and the field.
Result<ModelBundle> LoadModelBundle(const ByteSource& source);

}  // namespace mlc

#endif  // MLC_CHAT_LOAD_MODEL_BUNDLE_H_
