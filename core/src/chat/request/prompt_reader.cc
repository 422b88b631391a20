#include "chat/request/prompt_reader.h"

#include "engine/request.h"

namespace mlc {
namespace {

constexpr size_t kMaxPrompts = 2048;  // of one request, as OpenAI's API takes them

Result<std::vector<int32_t>> EncodeWithin(const ModelBundle& model, std::string_view text,
                                          std::string_view mark, const char* param,
                                          bool add_special_tokens) {
  EncodeOptions options;
  options.add_special_tokens = add_special_tokens;
  options.mark = mark;
  if (model.length_limit.tokens > 0) {
    options.max_tokens = static_cast<size_t>(model.length_limit.tokens);
  }
  Result<std::vector<int32_t>> tokens = model.tokenizer->Encode(text, options);
  if (tokens.ok() || !tokens.status().Is(Reason::kTooManyTokens)) return tokens;
  return PromptTooLong(model.length_limit, "more tokens than that", param);
}

Result<PromptText> Tokenize(const ModelBundle& model, const std::string& text, std::string path) {
  MLC_ASSIGN_OR_RETURN(
      std::vector<int32_t> tokens,
      EncodeWithin(model, text, /*mark=*/"", path.c_str(), /*add_special_tokens=*/true));
  return PromptText{std::move(tokens), std::move(path), &text};
}

Result<PromptText> TakeTokens(const ModelBundle& model, const std::vector<int64_t>& tokens,
                              std::string path) {
  PromptText prompt{{}, std::move(path), nullptr};
  for (int64_t token : tokens) {
    if (token < 0 || token >= model.config.vocab_size) {
      return InvalidArgument("token id " + std::to_string(token) +
                             " is not in the model's vocabulary of " +
                             std::to_string(model.config.vocab_size))
          .WithParam(prompt.path);
    }
    prompt.tokens.push_back(static_cast<int32_t>(token));
  }
  return prompt;
}

Result<PromptText> ReadItem(const ModelBundle& model, const protocol::PromptItem& item,
                            std::string path) {
  if (item.text() != nullptr) return Tokenize(model, *item.text(), std::move(path));
  return TakeTokens(model, *item.tokens(), std::move(path));
}

Result<std::vector<PromptText>> ReadItems(const ModelBundle& model, const std::string& field,
                                          const std::vector<protocol::PromptItem>& items) {
  // A list of token ids is one prompt: the context limits it.
  if (items[0].token() == nullptr && items.size() > kMaxPrompts) {
    return InvalidArgument("'" + field + "' has " + std::to_string(items.size()) +
                           " prompts; a request takes at most " + std::to_string(kMaxPrompts))
        .WithParam(field)
        .WithReason(Reason::kArrayAboveMaxLength);
  }
  std::vector<PromptText> prompts;
  std::vector<int64_t> tokens;
  for (size_t i = 0; i < items.size(); ++i) {
    std::string path = field + "[" + std::to_string(i) + "]";
    if ((items[i].token() != nullptr) != (items[0].token() != nullptr)) {
      return InvalidArgument("'" + field + "' mixes token ids with texts or lists").WithParam(path);
    }
    if (items[i].token() != nullptr) {
      tokens.push_back(*items[i].token());
      continue;
    }
    MLC_ASSIGN_OR_RETURN(PromptText next, ReadItem(model, items[i], std::move(path)));
    prompts.push_back(std::move(next));
  }
  if (tokens.empty()) return prompts;
  MLC_ASSIGN_OR_RETURN(PromptText only, TakeTokens(model, tokens, field));
  prompts.push_back(std::move(only));
  return prompts;
}

}  // namespace

Result<std::vector<int32_t>> EncodePrompt(const ModelBundle& model, const MarkedPrompt& prompt,
                                          const char* param, bool add_special_tokens) {
  return EncodeWithin(model, prompt.text, prompt.mark, param, add_special_tokens);
}

Result<std::vector<int32_t>> EncodePrediction(
    const ModelBundle& model, const protocol::ChatCompletionPrediction& prediction) {
  std::string text;
  if (const std::string* whole = prediction.content.text()) {
    text = *whole;
  } else {
    for (const auto& part : *prediction.content.parts()) text += part.text;
  }
  return EncodeWithin(model, text, /*mark=*/"", "prediction", /*add_special_tokens=*/false);
}

Result<std::vector<PromptText>> ReadPrompts(const ModelBundle& model, const char* field,
                                            const protocol::Prompt& prompt) {
  std::vector<PromptText> prompts;
  if (prompt.text() != nullptr) {
    MLC_ASSIGN_OR_RETURN(PromptText only, Tokenize(model, *prompt.text(), field));
    prompts.push_back(std::move(only));
  } else {
    MLC_ASSIGN_OR_RETURN(prompts, ReadItems(model, field, *prompt.items()));
  }
  for (const PromptText& read : prompts) {
    if (!read.tokens.empty()) continue;
    return InvalidArgument("'" + read.path + "' is empty; give it at least one token")
        .WithParam(read.path);
  }
  return prompts;
}

}  // namespace mlc
