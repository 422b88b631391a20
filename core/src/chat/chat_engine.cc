#include "chat/chat_engine.h"

#include <algorithm>

#include "chat/load/engine_options.h"
#include "chat/load/memory_plan.h"
#include "chat/load/model_loader.h"
#include "chat/request/drafting.h"
#include "platform/host.h"
#include "platform/paths.h"
#include "runtime/parallel.h"

namespace mlc {
namespace {

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
  spec.files.draft_kind = DraftKind(config);
  spec.device = spec.files.device_name();
  return spec;
}

// `config`, with the mode of the model's own part where it names none, if texts keep most of their
// room beside that part. Where they do not, the shape of the drafts is left out with the part.
// Errors: it names a part that the model does not have, or gives drafts a shape and none drafts.
Result<protocol::EngineConfig> WithPartThatFits(const protocol::EngineConfig& config,
                                                const InspectedModel& model) {
  std::string named = DraftKind(config).value_or("");
  if (!named.empty() && !model.draft) return NoDraftPart(named);
  // ModelDrafter refuses a window.
  if (!model.draft || config.speculative_mode || model.draft->sliding_window_size > 0) {
    MLC_RETURN_IF_ERROR(CheckDraftShape(config));
    return config;
  }
  protocol::EngineConfig drafting = WithOwnDraft(config, &*model.draft);
  ModelInfo both = WithDrafting(drafting, model.info, &*model.draft, Lookup::kOwnText);
  auto with = ResolveEngineOptions(drafting, both, model.available_bytes);
  auto without = ResolveEngineOptions(config, model.info, model.available_bytes);
  bool fits =
      with.ok() && without.ok() && with->max_total_tokens >= without->max_total_tokens / 8 * 7;
  if (fits) return drafting;
  protocol::EngineConfig shapeless = config;
  shapeless.spec_draft_length.reset();
  shapeless.spec_tree_width.reset();
  return shapeless;
}

}  // namespace

Status ChatEngine::NoModel() {
  return Unavailable("no model is loaded; load one first").WithReason(Reason::kModelNotLoaded);
}

int ChatEngine::NumComputeThreads() const {
  return config_.num_threads ? static_cast<int>(*config_.num_threads) : NumAvailableCores();
}

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
  Install(nullptr);  // not Unload, which is refused in a callback of another engine
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
  protocol::EngineConfig config = config_;
  if (spec.files.draft_kind != "") {  // the model's own, or a named one
    MLC_ASSIGN_OR_RETURN(InspectedModel inspected, InspectModelFiles(spec.files));
    MLC_ASSIGN_OR_RETURN(config, WithPartThatFits(config_, inspected));
    spec.files.draft_kind = DraftKind(config).value_or("");
  }
  MLC_ASSIGN_OR_RETURN(ModelAndBundle target, LoadModelFiles(spec.files, progress, "weights"));
  std::unique_ptr<Model> draft_model = std::move(target.draft);
  if (spec.draft) {
    MLC_ASSIGN_OR_RETURN(ModelAndBundle draft,
                         LoadModelFiles(*spec.draft, progress, "weights of the draft model"));
    MLC_RETURN_IF_ERROR(CheckSameVocabulary(*target.bundle.tokenizer, *draft.bundle.tokenizer));
    draft_model = std::move(draft.model);
  }
  MLC_ASSIGN_OR_RETURN(std::unique_ptr<Loaded> loaded,
                       MakeLoaded(config, std::move(target.model), std::move(target.bundle),
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
  subject.takes_pictures = target.takes_pictures;
  MLC_ASSIGN_OR_RETURN(protocol::EngineConfig config, WithPartThatFits(config_, target));
  std::optional<ModelInfo> drafting;
  if (config.speculative_mode) drafting = std::move(target.draft);
  if (spec.draft) {
    MLC_ASSIGN_OR_RETURN(InspectedModel draft, InspectModelFiles(*spec.draft));
    drafting = draft.info;
  }
  subject.model = WithDrafting(config, target.info, drafting ? &*drafting : nullptr,
                               LookupFor(config_, drafting.has_value()));
  MLC_ASSIGN_OR_RETURN(protocol::Plan plan, PlanMemory(config, subject));
  return plan.ToJson().Dump();
}

Status ChatEngine::LoadModel(std::unique_ptr<Model> model, ModelBundle bundle, std::string name,
                             std::unique_ptr<Model> draft) {
  protocol::EngineConfig config = WithOwnDraft(config_, draft ? &draft->info() : nullptr);
  MLC_ASSIGN_OR_RETURN(
      std::unique_ptr<Loaded> loaded,
      MakeLoaded(config, std::move(model), std::move(bundle), std::move(name), std::move(draft)));
  Install(std::move(loaded));
  return Status();
}

Result<std::unique_ptr<ChatEngine::Loaded>> ChatEngine::MakeLoaded(
    const protocol::EngineConfig& config, std::unique_ptr<Model> model, ModelBundle bundle,
    std::string name, std::unique_ptr<Model> draft) {
  Lookup lookup = LookupFor(config_, draft != nullptr);
  ModelInfo planned = WithDrafting(config, model->info(), draft ? &draft->info() : nullptr, lookup);
  // The weights are in memory already, so they are added to what is available.
  int64_t available = model->AvailableBytes() + planned.weight_bytes;
  MLC_ASSIGN_OR_RETURN(EngineOptions options, ResolveEngineOptions(config, planned, available));
  int threads =
      std::max(NumComputeThreads(), model->info().takes_cores ? model->info().num_shards : 1);
  options.has_idle_core = threads < NumAvailableCores();
  options.lookup = lookup;
  MLC_ASSIGN_OR_RETURN(
      std::unique_ptr<Drafter> drafter,
      MakeDrafter(config, model->info(), *bundle.tokenizer, options, std::move(draft)));
  MLC_ASSIGN_OR_RETURN(
      std::unique_ptr<Engine> engine,
      Engine::Create(std::move(model), bundle.tokenizer, options, std::move(drafter)));
  auto loaded = std::make_unique<Loaded>();
  loaded->bundle = std::move(bundle);
  loaded->bundle.length_limit = engine->length_limit();
  loaded->bundle.logit_processors = logit_processors_;
  loaded->bundle.adapters = engine->adapters();
  loaded->bundle.row_cache = engine->row_cache();
  loaded->name = std::move(name);
  loaded->num_threads = threads;
  loaded->loop =
      std::make_unique<EngineLoop>(std::move(engine), [threads] { SetComputeThreads(threads); });
  if (options.prefix_places.any()) loaded->loop->KeepPrefixes(options.prefix_places);
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

Status ChatEngine::SetLogitProcessor(const std::string& name, LogitProcessor processor) {
  logit_processors_->Set(name, std::move(processor));
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
