#include "chat/chat_engine.h"

#include "base/request_json.h"
#include "chat/kv_routes.h"
#include "chat/lifecycle_routes.h"
#include "chat/load/engine_options.h"
#include "chat/load/memory_plan.h"
#include "chat/load/model_loader.h"
#include "chat/protocol/error_json.h"
#include "chat/request/completion_builder.h"
#include "chat/request/drafting.h"
#include "chat/request/request_builder.h"
#include "chat/request/rerank_builder.h"
#include "chat/request/unknown_member.h"
#include "platform/host.h"
#include "platform/paths.h"
#include "runtime/parallel.h"

namespace mlc {
namespace {

Status NoModel() {
  return Unavailable("no model is loaded; load one first").WithReason(Reason::kModelNotLoaded);
}

int NumThreads(const protocol::EngineConfig& config) {
  return config.num_threads ? static_cast<int>(*config.num_threads) : NumAvailableCores();
}

// The `model_json` of Load and Plan.
struct ModelSpec {
  ModelFiles files;
  std::string name, device;
  std::optional<ModelFiles> draft;
};

Result<ModelSpec> ParseModelSpec(const protocol::EngineConfig& config,
                                 std::string_view model_json) {
  MLC_ASSIGN_OR_RETURN(Json json, Json::Parse(model_json));
  MLC_ASSIGN_OR_RETURN(std::string device, GetStringOr(json, "device", "auto"));
  ModelSpec spec;
  MLC_ASSIGN_OR_RETURN(spec.files, ModelFiles::Parse(json, device));
  MLC_ASSIGN_OR_RETURN(spec.name, GetStringOr(json, "name", LastPartOf(spec.files.folder)));
  MLC_ASSIGN_OR_RETURN(spec.draft, DraftFiles(config, json, device));
  spec.device = spec.files.device_name();
  return spec;
}

template <typename Request>
Result<Request> ParseRequest(const protocol::EngineConfig& config, const Json& json) {
  MLC_ASSIGN_OR_RETURN(Request request, Request::Parse(json));
  if (config.refuse_unknown_fields.value_or(false)) {
    MLC_RETURN_IF_ERROR(CheckNoUnknownMember(json, request.ToJson()));
  }
  return request;
}

Result<Json> Tokenize(const ModelBundle& bundle, const Json& json) {
  MLC_ASSIGN_OR_RETURN(auto request, protocol::TokenizeRequest::Parse(json));
  MLC_ASSIGN_OR_RETURN(std::vector<int32_t> ids,
                       bundle.tokenizer->Encode(request.text, request.add_special_tokens));
  protocol::TokenizeResponse response;
  response.tokens.assign(ids.begin(), ids.end());
  response.count = static_cast<int64_t>(ids.size());
  return response.ToJson();
}

Result<Json> Detokenize(const ModelBundle& bundle, const Json& json) {
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

// Routes that write text or keep what was computed for it, and those that make vectors or scores.
Status CheckHasRoute(std::string_view route, const ModelInfo& model) {
  for (std::string_view name :
       {"chat.completions", "completions", "render", "input_tokens", "kv.save", "kv.load"}) {
    if (route == name) return CheckWritesText(model);
  }
  if (route == "embeddings") return CheckMakesVectors(model);
  if (route == "rerank") return CheckReranks(model);
  return Status();
}

Status CheckTakesBuffers(std::string_view route, const MediaBuffers& buffers) {
  bool takes_them = route == "chat.completions" || route == "input_tokens" || route == "kv.save";
  if (takes_them || buffers.empty()) return Status();
  return InvalidArgument("the route '" + std::string(route) +
                         "' takes no buffers; chat.completions, input_tokens and kv.save do")
      .WithParam("buffers");
}

Result<Json> RenderRoute(const ModelBundle& bundle, const Json& json) {
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

Result<std::unique_ptr<ChatEngine>> ChatEngine::Create(std::string_view config_json) {
  MLC_ASSIGN_OR_RETURN(Json json, Json::Parse(config_json));
  MLC_ASSIGN_OR_RETURN(protocol::EngineConfig config, protocol::EngineConfig::Parse(json));
  return std::unique_ptr<ChatEngine>(new ChatEngine(std::move(config)));
}

ChatEngine::~ChatEngine() {
  {
    std::unique_lock<std::mutex> lock(closing_mutex_);
    closing_ = true;
    load_ended_.wait(lock, [this] { return num_loads_ == 0; });
  }
  (void)Unload();
}

// Counts a load while it runs, however it ends.
class ChatEngine::LoadScope {
 public:
  explicit LoadScope(ChatEngine* engine) : engine_(engine) {
    std::lock_guard<std::mutex> lock(engine_->closing_mutex_);
    ++engine_->num_loads_;
  }
  ~LoadScope() {
    std::lock_guard<std::mutex> lock(engine_->closing_mutex_);
    --engine_->num_loads_;
    // with the lock: as soon as it is free, the engine may be destroyed
    engine_->load_ended_.notify_all();
  }
  bool cancelled() const {
    std::lock_guard<std::mutex> lock(engine_->closing_mutex_);
    return engine_->closing_;
  }

 private:
  ChatEngine* engine_;
};

Status ChatEngine::Load(std::string_view model_json, const ChatProgress& progress) {
  LoadScope scope(this);
  return LoadFiles(model_json, [&](double fraction, const char* what) {
    return !scope.cancelled() && (!progress || progress(fraction, what));
  });
}

Status ChatEngine::LoadFiles(std::string_view model_json, const ChatProgress& progress) {
  MLC_ASSIGN_OR_RETURN(ModelSpec spec, ParseModelSpec(config_, model_json));
  MLC_RETURN_IF_ERROR(Unload());
  MLC_ASSIGN_OR_RETURN(ModelAndBundle target, LoadModelFiles(spec.files, progress, "weights"));
  std::unique_ptr<Model> draft_model;
  if (spec.draft) {
    MLC_ASSIGN_OR_RETURN(ModelAndBundle draft,
                         LoadModelFiles(*spec.draft, progress, "weights of the draft model"));
    MLC_RETURN_IF_ERROR(CheckSameVocabulary(*target.bundle.tokenizer, *draft.bundle.tokenizer));
    draft_model = std::move(draft.model);
  }
  MLC_ASSIGN_OR_RETURN(std::unique_ptr<Loaded> loaded,
                       MakeLoaded(std::move(target.model), std::move(target.bundle),
                                  std::move(spec.name), std::move(draft_model)));
  if (!progress(1.0, "ready")) return Cancelled("loading was cancelled");
  Install(std::move(loaded));
  return Status();
}

Result<std::string> ChatEngine::Plan(std::string_view model_json) const {
  MLC_ASSIGN_OR_RETURN(ModelSpec spec, ParseModelSpec(config_, model_json));
  PlanSubject subject;
  subject.name = spec.name;
  subject.device = spec.device;
  MLC_ASSIGN_OR_RETURN(InspectedModel target, InspectModelFiles(spec.files));
  subject.available_bytes = target.available_bytes;
  InspectedModel draft;
  if (spec.draft) {
    MLC_ASSIGN_OR_RETURN(draft, InspectModelFiles(*spec.draft));
  }
  subject.model = WithDrafting(config_, target.info, spec.draft ? &draft.info : nullptr);
  MLC_ASSIGN_OR_RETURN(protocol::Plan plan, PlanMemory(config_, subject));
  return plan.ToJson().Dump();
}

Status ChatEngine::LoadModel(std::unique_ptr<Model> model, ModelBundle bundle, std::string name,
                             std::unique_ptr<Model> draft) {
  MLC_ASSIGN_OR_RETURN(
      std::unique_ptr<Loaded> loaded,
      MakeLoaded(std::move(model), std::move(bundle), std::move(name), std::move(draft)));
  Install(std::move(loaded));
  return Status();
}

Result<std::unique_ptr<ChatEngine::Loaded>> ChatEngine::MakeLoaded(std::unique_ptr<Model> model,
                                                                   ModelBundle bundle,
                                                                   std::string name,
                                                                   std::unique_ptr<Model> draft) {
  ModelInfo planned = WithDrafting(config_, model->info(), draft ? &draft->info() : nullptr);
  // The weights are in memory already, so they are added to what is available.
  int64_t available = model->AvailableBytes() + planned.weight_bytes;
  MLC_ASSIGN_OR_RETURN(EngineOptions options, ResolveEngineOptions(config_, planned, available));
  int threads = NumThreads(config_);
  options.has_idle_core = threads < NumAvailableCores();
  MLC_ASSIGN_OR_RETURN(
      std::unique_ptr<Drafter> drafter,
      MakeDrafter(config_, model->info(), *bundle.tokenizer, options, std::move(draft)));
  MLC_ASSIGN_OR_RETURN(
      std::unique_ptr<Engine> engine,
      Engine::Create(std::move(model), bundle.tokenizer, options, std::move(drafter)));
  auto loaded = std::make_unique<Loaded>();
  loaded->bundle = std::move(bundle);
  loaded->bundle.max_length = engine->max_length();
  loaded->name = std::move(name);
  loaded->loop =
      std::make_unique<EngineLoop>(std::move(engine), [threads] { SetComputeThreads(threads); });
  return loaded;
}

void ChatEngine::Install(std::unique_ptr<Loaded> loaded) {
  std::lock_guard<std::mutex> one_at_a_time(load_mutex_);
  std::unique_lock<std::shared_mutex> lock(loaded_mutex_);
  loaded_.swap(loaded);
  lock.unlock();  // a model that was loaded meanwhile is destroyed here, without the lock
}

Status ChatEngine::Unload() {
  if (EngineLoop::InCallback()) {  // Unload would wait for this callback
    return InvalidArgument("a model cannot be loaded or unloaded from within a callback");
  }
  std::lock_guard<std::mutex> one_at_a_time(load_mutex_);
  std::unique_ptr<Loaded> gone;
  {
    std::unique_lock<std::shared_mutex> lock(loaded_mutex_);
    gone = std::move(loaded_);
  }
  return Status();
}

Result<Json> ChatEngine::Answer(const ModelBundle& bundle, std::string_view route, const Json& json,
                                const MediaBuffers& buffers) {
  if (route == "tokenize") return Tokenize(bundle, json);
  if (route == "detokenize") return Detokenize(bundle, json);
  if (route == "render") return RenderRoute(bundle, json);
  if (route == "input_tokens") return CountTokens(bundle, json, buffers);
  std::string known;
  for (const char* name : protocol::kRoutes)
    known += (known.empty() ? "" : ", ") + std::string(name);
  return NotFound("unknown route '" + std::string(route) + "'; there are " + known)
      .WithParam("route");
}

Result<RequestId> ChatEngine::Submit(std::string_view route, std::string_view text,
                                     ChatCallback callback, const MediaBuffers& buffers) {
  MLC_ASSIGN_OR_RETURN(Json json, ParseRequestJson(text));
  std::shared_lock<std::shared_mutex> lock(loaded_mutex_);
  if (loaded_ == nullptr) return NoModel();
  MLC_RETURN_IF_ERROR(CheckHasRoute(route, loaded_->loop->info()));
  MLC_RETURN_IF_ERROR(CheckTakesBuffers(route, buffers));
  if (route == "chat.completions") return SubmitChat(json, std::move(callback), buffers);
  if (route == "completions") return SubmitCompletion(json, std::move(callback));
  if (route == "embeddings") return SubmitEmbedding(json, std::move(callback));
  if (route == "rerank") return SubmitRerank(json, std::move(callback));
  if (route == "trace") return SubmitTrace(std::move(callback));
  if (route == "kv.save" || route == "kv.load") {
    return SubmitKV(route, json, std::move(callback), buffers);
  }
  if (LifecycleRoutes::Has(route)) {
    LifecycleRoutes routes{loaded_->loop.get(), NumThreads(config_)};
    MLC_RETURN_IF_ERROR(routes.Submit(route, json, std::move(callback)));
    return next_id_++;
  }
  MLC_ASSIGN_OR_RETURN(Json answer, Answer(loaded_->bundle, route, json, buffers));
  loaded_->loop->Post([callback = std::move(callback), answer = answer.Dump()] {
    callback(ChatEventKind::kResult, answer);
  });
  return next_id_++;
}

Result<RequestId> ChatEngine::SubmitTrace(ChatCallback callback) {
  if (!config_.enable_tracing.value_or(false)) {
    return InvalidArgument("nothing is traced; set enable_tracing in the engine's config")
        .WithParam("enable_tracing");
  }
  loaded_->loop->TakeTrace([callback = std::move(callback)](const std::string& json) {
    callback(ChatEventKind::kResult, json);
  });
  return next_id_++;
}

Result<RequestId> ChatEngine::SubmitKV(std::string_view route, const Json& json,
                                       ChatCallback callback, const MediaBuffers& buffers) {
  KVRoutes routes{config_, loaded_->bundle, loaded_->loop.get()};
  RequestId id = next_id_++;
  MLC_RETURN_IF_ERROR(route == "kv.save" ? routes.Save(id, json, buffers, std::move(callback))
                                         : routes.Load(json, std::move(callback)));
  return id;
}

Result<RequestId> ChatEngine::SubmitChat(const Json& json, ChatCallback callback,
                                         const MediaBuffers& buffers) {
  MLC_ASSIGN_OR_RETURN(auto parsed, ParseRequest<protocol::ChatCompletionRequest>(config_, json));
  MLC_ASSIGN_OR_RETURN(PlannedRequest planned, PlanRequest(loaded_->bundle, parsed, buffers));
  Request& request = planned.request;
  MLC_RETURN_IF_ERROR(loaded_->loop->Check(request));
  request.id = next_id_++;
  AnswerOptions options{
      request.id, loaded_->name, loaded_->bundle.tokenizer, std::move(planned.plan),
      config_.openai_last_chunk.value_or(false) ? LastDelta::kNothing : LastDelta::kEmptyContent};
  if (request.grammar) options.warnings = request.grammar->warnings();
  RequestId id = request.id;
  Run({std::move(request)}, AnswerChat(parsed, std::move(options), std::move(callback)));
  return id;
}

Result<RequestId> ChatEngine::SubmitCompletion(const Json& json, ChatCallback callback) {
  MLC_ASSIGN_OR_RETURN(auto parsed, ParseRequest<protocol::CompletionRequest>(config_, json));
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
  AnswerOptions options{id, loaded_->name, loaded_->bundle.tokenizer};
  // all requests have the same grammar
  const std::optional<Grammar>& grammar = requests[0].grammar;
  if (grammar) options.warnings = grammar->warnings();
  Run(std::move(requests),
      AnswerCompletion(parsed, std::move(echoes), std::move(options), std::move(callback)));
  return id;
}

Result<RequestId> ChatEngine::SubmitEmbedding(const Json& json, ChatCallback callback) {
  MLC_ASSIGN_OR_RETURN(auto parsed, ParseRequest<protocol::EmbeddingRequest>(config_, json));
  Pooling pooling = PoolingOf(config_, loaded_->bundle.config);
  const ModelInfo& info = loaded_->loop->info();
  int size = info.head_size > 0 ? info.head_size : info.hidden_size;
  MLC_ASSIGN_OR_RETURN(auto texts, BuildEmbedding(loaded_->bundle, parsed, pooling, size));
  MLC_ASSIGN_OR_RETURN(std::vector<Request> requests, TakeTexts(std::move(texts)));
  RequestId id = requests.front().id;
  bool normalize = loaded_->bundle.config.embedding_normalize;
  auto answerer =
      AnswerEmbedding(parsed, requests.size(), loaded_->name, normalize, std::move(callback));
  Run(std::move(requests), std::move(answerer));
  return id;
}

Result<RequestId> ChatEngine::SubmitRerank(const Json& json, ChatCallback callback) {
  MLC_ASSIGN_OR_RETURN(auto parsed, ParseRequest<protocol::RerankRequest>(config_, json));
  MLC_ASSIGN_OR_RETURN(auto pairs, BuildRerank(loaded_->bundle, parsed));
  MLC_ASSIGN_OR_RETURN(std::vector<Request> requests, TakeTexts(std::move(pairs)));
  RequestId id = requests.front().id;
  Run(std::move(requests), AnswerRerank(parsed, id, loaded_->name, std::move(callback)));
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

Status ChatEngine::WithLoop(const std::function<void(EngineLoop*)>& act) {
  std::shared_lock<std::shared_mutex> lock(loaded_mutex_);
  if (loaded_ == nullptr) return NoModel();
  act(loaded_->loop.get());
  return Status();
}

std::shared_ptr<RequestGroup> ChatEngine::FindGroup(RequestId id) {
  std::lock_guard<std::mutex> lock(groups_mutex_);
  auto found = groups_.find(id);
  return found == groups_.end() ? nullptr : found->second;
}

Status ChatEngine::PauseRequest(RequestId id, bool paused) {
  std::shared_ptr<RequestGroup> group = FindGroup(id);
  if (group == nullptr) return Status();
  (void)WithLoop([&](EngineLoop* loop) { group->Pause(loop, paused); });
  return Status();
}

Status ChatEngine::Abort(RequestId id) {
  std::shared_ptr<RequestGroup> group = FindGroup(id);
  Status status = Cancelled("the request was cancelled").WithReason(Reason::kRequestCancelled);
  (void)WithLoop([&](EngineLoop* loop) {
    group != nullptr ? group->Abort(loop, status) : loop->Abort(id, status);
  });
  return Status();
}

Status ChatEngine::Reset() {
  Status status = Cancelled("the engine was reset").WithReason(Reason::kRequestCancelled);
  return WithLoop([&](EngineLoop* loop) { loop->Reset(status); });
}

Status ChatEngine::TrimMemory() {
  (void)WithLoop([](EngineLoop* loop) { loop->TrimMemory(); });
  return Status();
}

Status ChatEngine::Pause(bool paused) {
  return WithLoop([paused](EngineLoop* loop) { loop->Pause(paused); });
}

Result<std::string> ChatEngine::MetricsJson() {
  std::string json;
  MLC_RETURN_IF_ERROR(WithLoop([&](EngineLoop* loop) { json = loop->metrics().ToJson().Dump(); }));
  return json;
}

}  // namespace mlc
