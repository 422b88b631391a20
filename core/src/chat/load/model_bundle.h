// The parts of a model folder that the chat layer needs: config, tokenizer and chat template.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "chat/protocol/protocol.gen.h"
#include "chat/request/chat_template.h"
#include "chat/request/dry_breakers.h"
#include "chat/request/logit_processors.h"
#include "engine/adapters.h"
#include "engine/request.h"
#include "engine/row_cache.h"
#include "grammar/grammar.h"
#include "model/model_config.h"
#include "model/tower.h"
#include "runtime/byte_source.h"
#include "text/tokenizer.h"

namespace mlc {

// The model's grammar compiler (the arguments of the first call count). It is made when it is first
// needed, because describing a vocabulary takes time.
class LazyGrammarCompiler {
 public:
  GrammarCompiler& Get(const Tokenizer& tokenizer, int vocab_size,
                       const std::vector<int32_t>& stop_token_ids,
                       const std::vector<int32_t>& marker_ids);

 private:
  std::once_flag once_;
  std::unique_ptr<GrammarCompiler> compiler_;
};

// The texts of the tokens around the parts of a prompt with a gap (chat/request/fill_in.h). Without
// `middle` the part behind the gap comes first.
struct FillMarkers {
  std::string prefix, suffix, middle;
};

struct ModelBundle {
  ChatConfig config;
  protocol::SamplingFields sampling_defaults;  // the model's own, where a request is silent
  std::shared_ptr<const Tokenizer> tokenizer;
  std::unique_ptr<const ChatTemplate> chat_template;  // null: the model has no template
  std::shared_ptr<const Tower> tower;                 // null: the model reads only text
  std::vector<int32_t> prompt_prefix;                 // tokens before the rendered text
  std::optional<FillMarkers> fill_markers;            // null: the model fills no gaps
  std::vector<int32_t> stop_token_ids;
  std::vector<std::string> stop_strings;
  // of the engine that has the model
  std::shared_ptr<const LogitProcessors> logit_processors = std::make_shared<LogitProcessors>();
  std::shared_ptr<AdapterTable> adapters = std::make_shared<AdapterTable>(0);
  std::shared_ptr<RowCache> row_cache = std::make_shared<RowCache>(0);
  std::shared_ptr<DryBreakers> dry_breakers = std::make_shared<DryBreakers>();
  LengthLimit length_limit;
  std::unique_ptr<LazyGrammarCompiler> grammar_compiler = std::make_unique<LazyGrammarCompiler>();
};

// The text of a special token in tokenizer_config.json: "bos_token": "<s>" or {"content": "<s>"};
// "" if there is none.
std::string SpecialToken(const Json& tokenizer_config, std::string_view key);

// Reads only mlc-chat-config.json.
Result<ChatConfig> LoadChatConfig(const ByteSource& source);

// Reads mlc-chat-config.json, tokenizer.json and the chat template. The template is
// chat_template.jinja, or `chat_template` in tokenizer_config.json, or else MLC-LLM's
// `conv_template`. Errors name the file and the field.
Result<ModelBundle> LoadModelBundle(const ByteSource& source);

}  // namespace mlc
