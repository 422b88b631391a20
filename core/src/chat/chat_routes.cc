// The routes of a loaded model: which models serve them, and how.
#include <algorithm>
#include <iterator>

#include "base/request_json.h"
#include "chat/adapter_routes.h"
#include "chat/chat_engine.h"
#include "chat/kv_routes.h"
#include "chat/lifecycle_routes.h"
#include "chat/request/completion_builder.h"
#include "chat/request/request_builder.h"
#include "chat/request/rerank_builder.h"
#include "chat/request/unknown_member.h"

namespace mlc {
namespace {

template <typename Request>
Result<Request> ParseRequest(const protocol::EngineConfig& config, const Json& json) {
  MLC_ASSIGN_OR_RETURN(Request request, Request::Parse(json));
  if (config.refuse_unknown_fields.value_or(false)) {
    MLC_RETURN_IF_ERROR(CheckNoUnknownMember(json, request.ToJson()));
  }
  return request;
}

Result<Json> Tokenize(const ModelBundle& bundle, const Json& json, const MediaBuffers&) {
  MLC_ASSIGN_OR_RETURN(auto request, protocol::TokenizeRequest::Parse(json));
  MLC_ASSIGN_OR_RETURN(std::vector<int32_t> ids,
                       bundle.tokenizer->Encode(request.text, request.add_special_tokens));
  protocol::TokenizeResponse response;
  response.tokens.assign(ids.begin(), ids.end());
  response.count = static_cast<int64_t>(ids.size());
  return response.ToJson();
}

Result<Json> Detokenize(const ModelBundle& bundle, const Json& json, const MediaBuffers&) {
  MLC_ASSIGN_OR_RETURN(auto request, protocol::DetokenizeRequest::Parse(json));
  std::vector<int32_t> ids;
  for (size_t i = 0; i < request.tokens.size(); ++i) {
    if (request.tokens[i] >= bundle.tokenizer->vocab_size()) {
      return InvalidArgument("'tokens' holds something that is no token id")
          .WithParam("tokens[" + std::to_string(i) + "]");
    }
    ids.push_back(static_cast<int32_t>(request.tokens[i]));
  }
  protocol::DetokenizeResponse response;
  response.text = bundle.tokenizer->Decode(ids, request.skip_special_tokens);
  return response.ToJson();
}

Result<Json> Render(const ModelBundle& bundle, const Json& json, const MediaBuffers&) {
  MLC_ASSIGN_OR_RETURN(auto request, protocol::ChatCompletionRequest::Parse(json));
  protocol::RenderResponse response;
  MLC_ASSIGN_OR_RETURN(response.prompt, RenderPrompt(bundle, request));
  return response.ToJson();
}

Result<Json> CountTokens(const ModelBundle& bundle, const Json& json, const MediaBuffers& buffers) {
  MLC_ASSIGN_OR_RETURN(auto request, protocol::ChatCompletionRequest::Parse(json));
  protocol::InputTokensResponse response;
  MLC_ASSIGN_OR_RETURN(response.input_tokens, CountPrompt(bundle, request, buffers));
  return response.ToJson();
}

}  // namespace

// `check`: whether the model can serve it; none: every model can.
struct ChatEngine::Route {
  std::string_view name;
  Result<RequestId> (ChatEngine::*submit)(Ask ask);
  Status (*check)(const ModelInfo& model) = nullptr;
  bool takes_buffers = false;
};

// In the order of protocol::kRoutes.
const ChatEngine::Route ChatEngine::kRoutes[] = {
    {"chat.completions", &ChatEngine::SubmitChat, CheckWritesText, /*takes_buffers=*/true},
    {"completions", &ChatEngine::SubmitCompletion, CheckWritesText},
    {"embeddings", &ChatEngine::SubmitEmbedding, CheckMakesVectors},
    {"rerank", &ChatEngine::SubmitRerank, CheckReranks},
    {"tokenize", &ChatEngine::SubmitNow<Tokenize>},
    {"detokenize", &ChatEngine::SubmitNow<Detokenize>},
    {"render", &ChatEngine::SubmitNow<Render>, CheckWritesText},
    {"input_tokens", &ChatEngine::SubmitNow<CountTokens>, CheckWritesText, /*takes_buffers=*/true},
    {"kv.save", &ChatEngine::SubmitKVSave, CheckWritesText, /*takes_buffers=*/true},
    {"kv.load", &ChatEngine::SubmitKVLoad, CheckWritesText},
    {"kv.held", &ChatEngine::SubmitKVHeld, CheckWritesText, /*takes_buffers=*/true},
    {"memory.trim", &ChatEngine::SubmitLifecycle<&LifecycleRoutes::Trim>},
    {"prewarm", &ChatEngine::SubmitLifecycle<&LifecycleRoutes::Prewarm>},
    {"thermal.set", &ChatEngine::SubmitLifecycle<&LifecycleRoutes::SetThermalState>},
    {"adapters.load", &ChatEngine::SubmitAdapters<&AdapterRoutes::Load>},
    {"adapters.unload", &ChatEngine::SubmitAdapters<&AdapterRoutes::Unload>},
    {"adapters.list", &ChatEngine::SubmitAdapters<&AdapterRoutes::List>},
    {"trace", &ChatEngine::SubmitTrace},
};

std::string ChatEngine::RouteNames(bool that_take_buffers) {
  std::string names;
  for (const Route& route : kRoutes) {
    if (that_take_buffers && !route.takes_buffers) continue;
    names += (names.empty() ? "" : ", ") + std::string(route.name);
  }
  return names;
}

Result<RequestId> ChatEngine::Submit(std::string_view name, std::string_view text,
                                     ChatCallback callback, const MediaBuffers& buffers) {
  MLC_ASSIGN_OR_RETURN(Json json, ParseRequestJson(text));
  std::shared_lock<std::shared_mutex> lock(loaded_mutex_);
  if (loaded_ == nullptr) return NoModel();
  auto route = std::find_if(std::begin(kRoutes), std::end(kRoutes),
                            [name](const Route& each) { return each.name == name; });
  if (route == std::end(kRoutes)) {
    return NotFound("unknown route '" + std::string(name) + "'; there are " + RouteNames())
        .WithParam("route");
  }
  if (route->check) {
    MLC_RETURN_IF_ERROR(route->check(loaded_->loop->info()));
  }
  if (!buffers.empty() && !route->takes_buffers) {
    return InvalidArgument("the route '" + std::string(name) +
                           "' takes no buffers; these do: " + RouteNames(true))
        .WithParam("buffers");
  }
  return (this->*route->submit)({json, std::move(callback), buffers});
}

template <Result<Json> (*answer)(const ModelBundle&, const Json&, const MediaBuffers&)>
Result<RequestId> ChatEngine::SubmitNow(Ask ask) {
  MLC_ASSIGN_OR_RETURN(Json found, answer(loaded_->bundle, ask.json, ask.buffers));
  loaded_->loop->Post([callback = std::move(ask.callback), found = found.Dump()] {
    callback(ChatEventKind::kResult, found);
  });
  return next_id_++;
}

template <Status (LifecycleRoutes::*submit)(const Json&, ChatCallback) const>
Result<RequestId> ChatEngine::SubmitLifecycle(Ask ask) {
  LifecycleRoutes routes{loaded_->loop.get(), loaded_->num_threads};
  MLC_RETURN_IF_ERROR((routes.*submit)(ask.json, std::move(ask.callback)));
  return next_id_++;
}

template <Status (AdapterRoutes::*submit)(const Json&, ChatCallback) const>
Result<RequestId> ChatEngine::SubmitAdapters(Ask ask) {
  AdapterRoutes routes{loaded_->loop.get()};
  MLC_RETURN_IF_ERROR((routes.*submit)(ask.json, std::move(ask.callback)));
  return next_id_++;
}

Result<RequestId> ChatEngine::SubmitTrace(Ask ask) {
  if (!config_.enable_tracing.value_or(false)) {
    return InvalidArgument("nothing is traced; set enable_tracing in the engine's config")
        .WithParam("enable_tracing");
  }
  loaded_->loop->TakeTrace([callback = std::move(ask.callback)](const std::string& json) {
    callback(ChatEventKind::kResult, json);
  });
  return next_id_++;
}

Result<RequestId> ChatEngine::SubmitKVSave(Ask ask) {
  KVRoutes routes{config_, loaded_->bundle, loaded_->loop.get()};
  RequestId id = next_id_++;
  MLC_RETURN_IF_ERROR(routes.Save(id, ask.json, ask.buffers, std::move(ask.callback)));
  return id;
}

Result<RequestId> ChatEngine::SubmitKVLoad(Ask ask) {
  KVRoutes routes{config_, loaded_->bundle, loaded_->loop.get()};
  MLC_RETURN_IF_ERROR(routes.Load(ask.json, std::move(ask.callback)));
  return next_id_++;
}

Result<RequestId> ChatEngine::SubmitKVHeld(Ask ask) {
  KVRoutes routes{config_, loaded_->bundle, loaded_->loop.get()};
  MLC_RETURN_IF_ERROR(routes.Held(ask.json, ask.buffers, std::move(ask.callback)));
  return next_id_++;
}

Result<RequestId> ChatEngine::SubmitChat(Ask ask) {
  MLC_ASSIGN_OR_RETURN(auto parsed,
                       ParseRequest<protocol::ChatCompletionRequest>(config_, ask.json));
  MLC_ASSIGN_OR_RETURN(PlannedRequest planned, PlanRequest(loaded_->bundle, parsed, ask.buffers));
  Request& request = planned.request;
  MLC_RETURN_IF_ERROR(loaded_->loop->Check(request));
  request.id = next_id_++;
  AnswerOptions options{
      loaded_->name, loaded_->bundle.tokenizer, std::move(planned.plan),
      config_.openai_last_chunk.value_or(false) ? LastDelta::kNothing : LastDelta::kEmptyContent};
  if (request.grammar) options.warnings = request.grammar->warnings();
  RequestId id = request.id;
  Run({std::move(request)}, AnswerChat(parsed, std::move(options), std::move(ask.callback)));
  return id;
}

Result<RequestId> ChatEngine::SubmitCompletion(Ask ask) {
  MLC_ASSIGN_OR_RETURN(auto parsed, ParseRequest<protocol::CompletionRequest>(config_, ask.json));
  MLC_ASSIGN_OR_RETURN(auto prompts, BuildCompletion(loaded_->bundle, parsed));
  RequestId id = next_id_.fetch_add(prompts.size());
  std::vector<Request> requests;
  std::vector<std::string> echoes;
  for (PromptRequest& prompt : prompts) {
    Status fits = loaded_->loop->Check(prompt.request);
    if (!fits.ok()) return std::move(fits).WithParam("prompt");
    prompt.request.id = id + requests.size();
    requests.push_back(std::move(prompt.request));
    echoes.push_back(std::move(prompt.echo));
  }
  AnswerOptions options{loaded_->name, loaded_->bundle.tokenizer};
  // all requests have the same grammar
  const std::optional<Grammar>& grammar = requests[0].grammar;
  if (grammar) options.warnings = grammar->warnings();
  Run(std::move(requests),
      AnswerCompletion(parsed, std::move(echoes), std::move(options), std::move(ask.callback)));
  return id;
}

Result<RequestId> ChatEngine::SubmitEmbedding(Ask ask) {
  MLC_ASSIGN_OR_RETURN(auto parsed, ParseRequest<protocol::EmbeddingRequest>(config_, ask.json));
  Pooling pooling = PoolingOf(config_, loaded_->bundle.config);
  const ModelInfo& info = loaded_->loop->info();
  int size = info.head_size > 0 ? info.head_size : info.hidden_size;
  MLC_ASSIGN_OR_RETURN(auto texts, BuildEmbedding(loaded_->bundle, parsed, pooling, size));
  MLC_ASSIGN_OR_RETURN(std::vector<Request> requests, TakeTexts(std::move(texts)));
  RequestId id = requests.front().id;
  bool normalize = loaded_->bundle.config.embedding_normalize;
  auto answerer =
      AnswerEmbedding(parsed, requests.size(), loaded_->name, normalize, std::move(ask.callback));
  Run(std::move(requests), std::move(answerer));
  return id;
}

Result<RequestId> ChatEngine::SubmitRerank(Ask ask) {
  MLC_ASSIGN_OR_RETURN(auto parsed, ParseRequest<protocol::RerankRequest>(config_, ask.json));
  MLC_ASSIGN_OR_RETURN(auto pairs, BuildRerank(loaded_->bundle, parsed));
  MLC_ASSIGN_OR_RETURN(std::vector<Request> requests, TakeTexts(std::move(pairs)));
  RequestId id = requests.front().id;
  Run(std::move(requests), AnswerRerank(parsed, loaded_->name, std::move(ask.callback)));
  return id;
}

Result<std::vector<Request>> ChatEngine::TakeTexts(std::vector<TextRequest> texts) {
  RequestId id = next_id_.fetch_add(texts.size());
  std::vector<Request> requests;
  for (TextRequest& text : texts) {
    Status fits = loaded_->loop->Check(text.request);
    bool is_text = fits.param() == "input";
    if (!fits.ok()) return is_text ? std::move(fits).WithParam(text.path) : fits;
    text.request.id = id + requests.size();
    requests.push_back(std::move(text.request));
  }
  return requests;
}

void ChatEngine::Run(std::vector<Request> requests, std::unique_ptr<Answerer> answerer) {
  RequestId first = requests.front().id;
  auto group = std::make_shared<RequestGroup>(loaded_->loop.get(), std::move(requests),
                                              std::move(answerer), [this, first] {
                                                std::lock_guard<std::mutex> lock(groups_mutex_);
                                                groups_.erase(first);
                                              });
  {
    std::lock_guard<std::mutex> lock(groups_mutex_);
    groups_[first] = group;
  }
  group->Start();
}

}  // namespace mlc
