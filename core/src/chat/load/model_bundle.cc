#include "chat/load/model_bundle.h"

#include <algorithm>

#include "base/json.h"
#include "chat/request/conv_template.h"
#include "chat/request/fill_in.h"
#include "chat/tools/answer_planner.h"

namespace mlc {
namespace {

Status NameFile(const Status& status, const std::string& path) {
  StatusCode code =
      status.code() == StatusCode::kInvalidArgument ? StatusCode::kCorrupt : status.code();
  return Status(code, path + ": " + status.message()).WithParam(status.param());
}

Result<Json> ReadJson(const ByteSource& source, const char* name) {
  MLC_ASSIGN_OR_RETURN(Bytes bytes, source.Open(name));
  Result<Json> json = Json::Parse(bytes.text());
  if (!json.ok()) return NameFile(json.status(), source.Describe(name));
  return json;
}

// "chat_template": a string, or a list of {"name", "template"}; of a list the one named "default".
std::string TemplateIn(const Json& tokenizer_config) {
  const Json* chat_template = tokenizer_config.Find("chat_template");
  if (chat_template == nullptr) return "";
  if (chat_template->is_string()) return chat_template->as_string();
  if (!chat_template->is_array()) return "";
  for (const Json& entry : chat_template->as_array()) {
    const Json* name = entry.Find("name");
    const Json* text = entry.Find("template");
    bool is_default = name != nullptr && name->is_string() && name->as_string() == "default";
    if (is_default && text != nullptr && text->is_string()) return text->as_string();
  }
  return "";
}

struct TemplateSource {
  std::string text;  // "" if there is none
  std::string file;  // for messages
};

Result<TemplateSource> FindTemplate(const ByteSource& source, const Json& tokenizer_config) {
  constexpr char kFile[] = "chat_template.jinja";
  if (source.Has(kFile)) {
    MLC_ASSIGN_OR_RETURN(Bytes bytes, source.Open(kFile));
    return TemplateSource{std::string(bytes.text()), kFile};
  }
  return TemplateSource{TemplateIn(tokenizer_config), "tokenizer_config.json"};
}

Result<TemplateSource> UseConvTemplate(ModelBundle* bundle) {
  if (!bundle->config.conv_template.is_object()) return TemplateSource();
  MLC_ASSIGN_OR_RETURN(ConvTemplate conv, ParseConvTemplate(bundle->config.conv_template));
  bundle->prompt_prefix = std::move(conv.system_prefix_token_ids);
  bundle->stop_strings = std::move(conv.stop_strings);
  for (int32_t id : conv.stop_token_ids) bundle->stop_token_ids.push_back(id);
  return TemplateSource{std::move(conv.jinja_source), "mlc-chat-config.json, conv_template"};
}

Status LoadTemplate(const ByteSource& source, const Json& tokenizer_config, ModelBundle* bundle) {
  MLC_ASSIGN_OR_RETURN(TemplateSource found, FindTemplate(source, tokenizer_config));
  if (found.text.empty()) {
    Result<TemplateSource> conv = UseConvTemplate(bundle);
    if (!conv.ok()) return NameFile(conv.status(), source.Describe("mlc-chat-config.json"));
    found = std::move(conv).value();
  }
  if (found.text.empty()) return Status();
  Result<ChatTemplate> parsed =
      ChatTemplate::Parse(found.text, SpecialToken(tokenizer_config, "bos_token"),
                          SpecialToken(tokenizer_config, "eos_token"));
  if (!parsed.ok()) return NameFile(parsed.status(), source.Describe(found.file));
  bundle->chat_template = std::make_unique<const ChatTemplate>(std::move(parsed).value());
  return Status();
}

}  // namespace

std::string SpecialToken(const Json& tokenizer_config, std::string_view key) {
  const Json* token = tokenizer_config.Find(key);
  if (token != nullptr && token->is_object()) token = token->Find("content");
  return token != nullptr && token->is_string() ? token->as_string() : "";
}

GrammarCompiler& LazyGrammarCompiler::Get(const Tokenizer& tokenizer, int vocab_size,
                                          const std::vector<int32_t>& stop_token_ids,
                                          const std::vector<int32_t>& marker_ids) {
  std::call_once(once_, [&] {
    compiler_ =
        std::make_unique<GrammarCompiler>(tokenizer, vocab_size, stop_token_ids, marker_ids);
  });
  return *compiler_;
}

Result<ChatConfig> LoadChatConfig(const ByteSource& source) {
  constexpr char kConfig[] = "mlc-chat-config.json";
  MLC_ASSIGN_OR_RETURN(Bytes config, source.Open(kConfig));
  return ParseChatConfig(config.text(), source.Describe(kConfig));
}

Result<ModelBundle> LoadModelBundle(const ByteSource& source) {
  constexpr char kTokenizer[] = "tokenizer.json", kConfig[] = "mlc-chat-config.json";
  ModelBundle bundle;
  MLC_ASSIGN_OR_RETURN(bundle.config, LoadChatConfig(source));
  MLC_ASSIGN_OR_RETURN(Json config, ReadJson(source, kConfig));
  Result<protocol::SamplingFields> defaults = protocol::SamplingFields::Parse(config);
  if (!defaults.ok()) return NameFile(defaults.status(), source.Describe(kConfig));
  bundle.sampling_defaults = std::move(defaults).value();
  MLC_ASSIGN_OR_RETURN(Bytes tokenizer_json, source.Open(kTokenizer));
  Result<std::unique_ptr<Tokenizer>> tokenizer = Tokenizer::FromJson(tokenizer_json.text());
  if (!tokenizer.ok()) return NameFile(tokenizer.status(), source.Describe(kTokenizer));
  bundle.tokenizer = std::move(tokenizer).value();
  bundle.stop_token_ids = bundle.config.eos_token_ids;
  Status formats = CheckFormats(bundle.config);
  if (!formats.ok()) return NameFile(formats, source.Describe(kConfig));
  Json tokenizer_config = Json::MakeObject();
  if (source.Has("tokenizer_config.json")) {
    MLC_ASSIGN_OR_RETURN(tokenizer_config, ReadJson(source, "tokenizer_config.json"));
  }
  bundle.fill_markers = FindFillMarkers(*bundle.tokenizer, tokenizer_config);
  MLC_RETURN_IF_ERROR(LoadTemplate(source, tokenizer_config, &bundle));
  return bundle;
}

}  // namespace mlc
