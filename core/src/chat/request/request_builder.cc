#include "chat/request/request_builder.h"

#include "chat/request/generation_fields.h"
#include "chat/request/grammar_builder.h"
#include "chat/request/prompt_reader.h"
#include "chat/request/special_text.h"
#include "chat/tools/answer_planner.h"
#include "chat/tools/tool_prompt.h"
#include "text/added_tokens.h"

namespace mlc {
namespace {

using protocol::ChatCompletionRequest;

// Checks rules between fields, which a schema of single fields cannot express.
Status CheckConsistent(const ChatCompletionRequest& request) {
  if (request.top_logprobs.value_or(0) > 0 && !request.logprobs) {
    return InvalidArgument("'top_logprobs' needs 'logprobs' to be true").WithParam("top_logprobs");
  }
  for (size_t m = 0; m < request.messages.size(); ++m) {
    const protocol::ChatCompletionMessage& message = request.messages[m];
    bool has_calls = message.tool_calls && !message.tool_calls->empty();
    if (message.role == protocol::ChatCompletionRole::kAssistant && !message.content &&
        !has_calls) {
      return InvalidArgument("an assistant message needs 'content' or 'tool_calls'")
          .WithParam("messages[" + std::to_string(m) + "].content");
    }
  }
  return CheckTools(request);
}

// A field of the protocol that this engine does not support yet is an error, not ignored.
Status CheckSupported(const ChatCompletionRequest& request) {
  if (request.modalities &&
      (request.modalities->size() != 1 || request.modalities->front() != "text")) {
    return UnsupportedParameter("modalities", "other than ['text'] are not supported");
  }
  if (request.audio) return UnsupportedParameter("audio", "is not supported; the output is text");
  if (request.web_search_options)
    return UnsupportedParameter("web_search_options", "are not supported");
  if (request.functions) return UnsupportedParameter("functions", "were replaced by 'tools'");
  if (request.function_call)
    return UnsupportedParameter("function_call", "was replaced by 'tool_choice'");
  if (request.debug_config && request.debug_config->special_request) {
    return UnsupportedParameter("debug_config.special_request",
                                "is not supported; ask the engine for metrics");
  }
  return Status();
}

// The variables by which templates turn a model's thoughts on and off.
constexpr const char* kThinkingSwitches[] = {"enable_thinking", "thinking"};

Json TemplateContext(const ModelBundle& model, const ChatCompletionRequest& request) {
  Json context = request.chat_template_kwargs.value_or(Json::MakeObject());
  if (!request.reasoning_effort) return context;
  auto set = [&](const char* name, Json value) {
    if (context.Find(name) == nullptr) context.Set(name, std::move(value));
  };
  set("reasoning_effort", wire::ToWord(*request.reasoning_effort));
  for (const char* name : kThinkingSwitches) {
    bool thinks = *request.reasoning_effort != protocol::ReasoningEffort::kNone;
    if (model.chat_template->Uses(name)) set(name, thinks);
  }
  return context;
}

// The limit of thoughts in tokens; -1: no limit. If the template has no switch, a limit of 0 turns
// thoughts off.
int ReasoningBudget(const ModelBundle& model, const ChatCompletionRequest& request) {
  if (request.reasoning_budget) return static_cast<int>(*request.reasoning_budget);
  if (request.reasoning_effort != protocol::ReasoningEffort::kNone) return -1;
  for (const char* name : {"enable_thinking", "thinking", "reasoning_effort"}) {
    if (model.chat_template->Uses(name)) return -1;
  }
  return 0;
}

Result<std::string> RenderTexts(const ModelBundle& model, const ChatCompletionRequest& request) {
  MLC_ASSIGN_OR_RETURN(TemplateInput input, PrepareMessages(model, request));
  ShowMedia(model, &input.messages);
  auto render = [&](const Json& messages) {
    return model.chat_template->Render(messages, input.tools, /*add_generation_prompt=*/true,
                                       TemplateContext(model, request));
  };
  if (input.instructions.empty()) return render(input.messages);
  Result<std::string> prompt =
      render(WithInstructions(input.messages, input.instructions, "system"));
  if (!prompt.status().Is(Reason::kTemplateError)) return prompt;
  return render(WithInstructions(input.messages, input.instructions, "user"));
}

}  // namespace

Status UnsupportedParameter(const char* param, const std::string& why) {
  return Unsupported("'" + std::string(param) + "' " + why)
      .WithParam(param)
      .WithReason(Reason::kUnsupportedParameter);
}

Result<std::string> RenderPrompt(const ModelBundle& model, const ChatCompletionRequest& request) {
  MLC_ASSIGN_OR_RETURN(MarkedPrompt prompt, RenderMarkedPrompt(model, request));
  return WithoutMark(std::move(prompt.text), prompt.mark);
}

Result<MarkedPrompt> RenderMarkedPrompt(const ModelBundle& model, ChatCompletionRequest request) {
  if (model.chat_template == nullptr) {
    return Unsupported(
               "the model has no chat template: neither its tokenizer files nor its "
               "mlc-chat-config.json hold one")
        .WithReason(Reason::kNoChatTemplate);
  }
  MarkedPrompt out;
  MLC_ASSIGN_OR_RETURN(out.mark, MarkSpecialTexts(model, &request));
  MLC_ASSIGN_OR_RETURN(out.text, RenderTexts(model, request));
  return out;
}

Result<Request> BuildRequest(const ModelBundle& model, const ChatCompletionRequest& request,
                             const MediaBuffers& buffers) {
  MLC_ASSIGN_OR_RETURN(PlannedRequest planned, PlanRequest(model, request, buffers));
  return std::move(planned.request);
}

Result<int64_t> CountPrompt(const ModelBundle& model, const ChatCompletionRequest& request,
                            const MediaBuffers& buffers) {
  MLC_RETURN_IF_ERROR(CheckConsistent(request));
  MLC_ASSIGN_OR_RETURN(Media media, ReadMedia(model, request, buffers, MediaUse::kCount));
  MLC_ASSIGN_OR_RETURN(MarkedPrompt prompt, RenderMarkedPrompt(model, request));
  MLC_ASSIGN_OR_RETURN(prompt.text, ExpandMedia(model, prompt, media));
  EncodeOptions options;
  options.mark = prompt.mark;
  MLC_ASSIGN_OR_RETURN(std::vector<int32_t> ids, model.tokenizer->Encode(prompt.text, options));
  MLC_ASSIGN_OR_RETURN(Prompt rows, PlaceMedia(model, std::move(ids), media));
  return static_cast<int64_t>(model.prompt_prefix.size()) + rows.size();
}

Result<PlannedRequest> PlanRequest(const ModelBundle& model, const ChatCompletionRequest& request,
                                   const MediaBuffers& buffers) {
  MLC_RETURN_IF_ERROR(CheckConsistent(request));
  MLC_RETURN_IF_ERROR(CheckSupported(request));
  MLC_ASSIGN_OR_RETURN(Media media, ReadMedia(model, request, buffers, MediaUse::kAnswer));
  MLC_ASSIGN_OR_RETURN(MarkedPrompt prompt, RenderMarkedPrompt(model, request));
  std::string text = WithoutMark(prompt.text, prompt.mark);
  MLC_ASSIGN_OR_RETURN(prompt.text, ExpandMedia(model, prompt, media));
  MLC_ASSIGN_OR_RETURN(std::vector<int32_t> ids, EncodePrompt(model, prompt, "messages"));
  auto plan = std::make_shared<AnswerPlan>(PlanAnswer(model, request, text));
  std::vector<int32_t> tokens = model.prompt_prefix;
  tokens.insert(tokens.end(), ids.begin(), ids.end());
  MLC_ASSIGN_OR_RETURN(Prompt rows, PlaceMedia(model, std::move(tokens), media));
  PlannedRequest out;
  MLC_ASSIGN_OR_RETURN(std::optional<Grammar> grammar, BuildGrammar(model, request, plan.get()));
  MLC_ASSIGN_OR_RETURN(out.request, BuildGeneration(model, GenerationFields::Of(request),
                                                    std::move(rows), std::move(grammar)));
  if (request.prediction) {
    MLC_ASSIGN_OR_RETURN(out.request.prediction, EncodePrediction(model, *request.prediction));
  }
  out.request.reports_progress = request.stream && request.return_progress.value_or(false);
  if (plan->reasoning != nullptr) {
    MLC_ASSIGN_OR_RETURN(out.request.thinking,
                         PlanThinking(model, *plan, ReasoningBudget(model, request)));
  }
  if (plan->IsPlain()) return out;
  for (const SpecialMarker& marker : FindSpecialMarkers(model)) {
    out.request.shown_tokens.push_back(marker.id);
  }
  out.plan = std::move(plan);
  return out;
}

}  // namespace mlc
