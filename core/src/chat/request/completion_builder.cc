#include "chat/request/completion_builder.h"

#include "chat/request/fill_in.h"
#include "chat/request/generation_fields.h"
#include "chat/request/grammar_builder.h"
#include "chat/request/prompt_reader.h"
#include "chat/request/request_builder.h"

namespace mlc {
namespace {

using protocol::CompletionRequest;

bool HasGap(const CompletionRequest& request) { return request.suffix && !request.suffix->empty(); }

Status CheckSupported(const CompletionRequest& request) {
  if (HasGap(request) && request.echo) {
    return InvalidArgument("'echo' and 'suffix' do not go together").WithParam("echo");
  }
  if (request.best_of.value_or(request.n) != request.n) {
    return UnsupportedParameter("best_of",
                                "other than 'n' is not supported; ask for n answers and choose");
  }
  return Status();
}

std::string EchoOf(const ModelBundle& model, const PromptText& prompt) {
  if (prompt.text != nullptr) return *prompt.text;
  return model.tokenizer->Decode(prompt.tokens, /*skip_special_tokens=*/true);
}

}  // namespace

Result<std::vector<PromptRequest>> BuildCompletion(const ModelBundle& model,
                                                   const CompletionRequest& request) {
  MLC_RETURN_IF_ERROR(CheckSupported(request));
  protocol::Prompt given = request.prompt;
  if (HasGap(request)) {
    MLC_ASSIGN_OR_RETURN(given, FillPrompt(model, std::move(given), *request.suffix));
  }
  MLC_ASSIGN_OR_RETURN(std::vector<PromptText> prompts, ReadPrompts(model, "prompt", given));
  GenerationFields fields = GenerationFields::Of(request);
  MLC_ASSIGN_OR_RETURN(std::optional<Grammar> grammar,
                       BuildFormatGrammar(model, request.response_format));
  std::vector<PromptRequest> out;
  for (PromptText& prompt : prompts) {
    PromptRequest next;
    if (request.echo) next.echo = EchoOf(model, prompt);
    MLC_ASSIGN_OR_RETURN(next.request,
                         BuildGeneration(model, fields, std::move(prompt.tokens), grammar));
    next.request.prompt_logprobs = request.echo && request.logprobs;
    next.request.reports_progress = request.stream && request.return_progress.value_or(false);
    out.push_back(std::move(next));
  }
  return out;
}

}  // namespace mlc
