#include "chat/request/fill_in.h"

#include "chat/request/request_builder.h"

namespace mlc {
namespace {

// The tokens of known families (their model cards, and llama.cpp's list of names).
const FillMarkers kKnown[] = {
    {"<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>"},     // Qwen 2.5 and 3, CodeGemma
    {"<fim_prefix>", "<fim_suffix>", "<fim_middle>"},           // StarCoder, Granite
    {"<fim-prefix>", "<fim-suffix>", "<fim-middle>"},           // SantaCoder
    {"<|code_prefix|>", "<|code_suffix|>", "<|code_middle|>"},  // GLM 4
    {"<｜fim▁begin｜>", "<｜fim▁hole｜>", "<｜fim▁end｜>"},     // DeepSeek
    {"<PRE>", "<SUF>", "<MID>"},                                // Code Llama, where it marks them
    {"[PREFIX]", "[SUFFIX]", ""},                               // Codestral: the end comes first
};

bool IsToken(const Tokenizer& tokenizer, const std::string& text) {
  Result<std::vector<int32_t>> ids = tokenizer.Encode(text);
  return ids.ok() && ids->size() == 1;
}

bool Has(const Tokenizer& tokenizer, const FillMarkers& markers) {
  return IsToken(tokenizer, markers.prefix) && IsToken(tokenizer, markers.suffix) &&
         (markers.middle.empty() || IsToken(tokenizer, markers.middle));
}

std::string Around(const FillMarkers& markers, const std::string& text, const std::string& suffix) {
  if (markers.middle.empty()) return markers.suffix + suffix + markers.prefix + text;
  return markers.prefix + text + markers.suffix + suffix + markers.middle;
}

}  // namespace

std::optional<FillMarkers> FindFillMarkers(const Tokenizer& tokenizer,
                                           const Json& tokenizer_config) {
  FillMarkers named = {SpecialToken(tokenizer_config, "fim_pre_token"),
                       SpecialToken(tokenizer_config, "fim_suf_token"),
                       SpecialToken(tokenizer_config, "fim_mid_token")};
  if (!named.prefix.empty() && Has(tokenizer, named)) return named;
  for (const FillMarkers& known : kKnown) {
    if (Has(tokenizer, known)) return known;
  }
  return std::nullopt;
}

Result<protocol::Prompt> FillPrompt(const ModelBundle& model, protocol::Prompt prompt,
                                    const std::string& suffix) {
  if (!model.fill_markers) {
    return UnsupportedParameter("suffix",
                                "is not supported by this model: its tokenizer has no tokens for "
                                "filling in the middle, such as <|fim_prefix|>");
  }
  if (auto* text = std::get_if<std::string>(&prompt.value)) {
    *text = Around(*model.fill_markers, *text, suffix);
    return prompt;
  }
  for (protocol::PromptItem& item : std::get<1>(prompt.value)) {
    auto* text = std::get_if<std::string>(&item.value);
    if (text == nullptr) {
      return InvalidArgument("'suffix' needs a 'prompt' that is text, not token ids")
          .WithParam("suffix");
    }
    *text = Around(*model.fill_markers, *text, suffix);
  }
  return prompt;
}

}  // namespace mlc
