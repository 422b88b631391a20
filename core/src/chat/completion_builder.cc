#include "chat/completion_builder.h"

#include "chat/request_builder.h"

namespace mlc {
namespace {

using protocol::CompletionRequest;

Status CheckSupported(const CompletionRequest& request) {
  if (request.suffix && !request.suffix->empty()) {
    return UnsupportedParameter(
        "suffix", "is not supported: the model continues a text, it does not fill one in");
  }
  if (request.best_of.value_or(request.n) != request.n) {
    return UnsupportedParameter("best_of",
                                "other than 'n' is not supported; ask for n answers and choose");
  }
  if (request.echo && request.logprobs) {
    return UnsupportedParameter("echo", "together with 'logprobs' is not supported");
  }
  if (request.max_tokens == 0) {
    return InvalidArgument("'max_tokens' must be at least 1").WithParam("max_tokens");
  }
  return Status();
}

// What both kinds of request say in the same words.
protocol::ChatCompletionRequest AsChat(const CompletionRequest& request) {
  protocol::ChatCompletionRequest chat;
  chat.n = request.n;
  chat.max_tokens = request.max_tokens;
  chat.temperature = request.temperature;
  chat.top_p = request.top_p;
  chat.frequency_penalty = request.frequency_penalty;
  chat.presence_penalty = request.presence_penalty;
  chat.logit_bias = request.logit_bias;
  chat.logprobs = request.logprobs.has_value();
  chat.top_logprobs = request.logprobs;
  chat.seed = request.seed;
  chat.stop = request.stop;
  chat.response_format = request.response_format;
  chat.debug_config = request.debug_config;
  return chat;
}

struct PromptText {
  std::vector<int32_t> ids;
  std::string text;
  std::string path;  // in the request
};

Result<PromptText> Tokenize(const ModelBundle& model, const std::string& text, std::string path) {
  MLC_ASSIGN_OR_RETURN(std::vector<int32_t> ids,
                       model.tokenizer->Encode(text, /*add_special_tokens=*/true));
  return PromptText{std::move(ids), text, std::move(path)};
}

Result<PromptText> TakeIds(const ModelBundle& model, const std::vector<int64_t>& tokens,
                           std::string path) {
  PromptText prompt{{}, "", std::move(path)};
  for (int64_t token : tokens) {
    if (token < 0 || token >= model.config.vocab_size) {
      return InvalidArgument("token id " + std::to_string(token) +
                             " is not in the model's vocabulary of " +
                             std::to_string(model.config.vocab_size))
          .WithParam(prompt.path);
    }
    prompt.ids.push_back(static_cast<int32_t>(token));
  }
  prompt.text = model.tokenizer->Decode(prompt.ids, /*skip_special_tokens=*/true);
  return prompt;
}

// A list of token ids is one prompt; a list of texts or of lists is several.
Result<std::vector<PromptText>> ReadPrompts(const ModelBundle& model,
                                            const protocol::Prompt& prompt) {
  std::vector<PromptText> prompts;
  if (prompt.text() != nullptr) {
    MLC_ASSIGN_OR_RETURN(PromptText only, Tokenize(model, *prompt.text(), "prompt"));
    prompts.push_back(std::move(only));
    return prompts;
  }
  std::vector<int64_t> tokens;
  const std::vector<protocol::PromptItem>& items = *prompt.items();
  for (size_t i = 0; i < items.size(); ++i) {
    std::string path = "prompt[" + std::to_string(i) + "]";
    if ((items[i].token() != nullptr) != (items[0].token() != nullptr)) {
      return InvalidArgument("'prompt' mixes token ids with texts or lists").WithParam(path);
    }
    if (items[i].token() != nullptr) {
      tokens.push_back(*items[i].token());
      continue;
    }
    MLC_ASSIGN_OR_RETURN(PromptText next, items[i].text() != nullptr
                                              ? Tokenize(model, *items[i].text(), path)
                                              : TakeIds(model, *items[i].tokens(), path));
    prompts.push_back(std::move(next));
  }
  if (tokens.empty()) return prompts;
  MLC_ASSIGN_OR_RETURN(PromptText only, TakeIds(model, tokens, "prompt"));
  prompts.push_back(std::move(only));
  return prompts;
}

}  // namespace

Result<std::vector<PromptRequest>> BuildCompletion(const ModelBundle& model,
                                                   const CompletionRequest& request) {
  MLC_RETURN_IF_ERROR(CheckSupported(request));
  MLC_ASSIGN_OR_RETURN(std::vector<PromptText> prompts, ReadPrompts(model, request.prompt));
  protocol::ChatCompletionRequest chat = AsChat(request);
  std::vector<PromptRequest> out;
  for (PromptText& prompt : prompts) {
    if (prompt.ids.empty()) {
      return InvalidArgument("the prompt is empty; give it at least one token")
          .WithParam(prompt.path);
    }
    PromptRequest next;
    if (request.echo) next.echo = std::move(prompt.text);
    MLC_ASSIGN_OR_RETURN(next.request, BuildGeneration(model, chat, std::move(prompt.ids)));
    out.push_back(std::move(next));
  }
  return out;
}

}  // namespace mlc
