#include "engine/engine.h"

#include <algorithm>

#include "engine/branches.h"
#include "runtime/tensor.h"

namespace mlc {
namespace {

// Positions that a sliding window may reach: what rotary tables are made for, and days of talk.
constexpr int kEndless = 1 << 24;

template <typename Predicate>
void EraseIf(SequenceList* list, Predicate predicate) {
  list->erase(std::remove_if(list->begin(), list->end(), predicate), list->end());
}

KVCacheOptions CacheOptions(const EngineOptions& options, const ModelInfo& model) {
  KVCacheOptions out;
  if (model.sliding_window_size > 0) {
    out.window = model.sliding_window_size;
    out.sink = model.attention_sink_size;
  }
  out.keep_prefixes = options.prefix_cache;
  out.max_cached_sequences = options.max_cached_sequences;
  return out;
}

// The longest sequence, in tokens.
int MaxLength(const EngineOptions& options, const ModelInfo& model, int num_pages) {
  // A pool in which a window fits lets it slide on and on.
  int window_pages =
      KVCache(0, model.page_size, CacheOptions(options, model)).PagesToHold(kEndless);
  bool slides = model.sliding_window_size > 0 && window_pages <= num_pages;
  int longest =
      slides ? kEndless : std::min(model.context_window_size, num_pages * model.page_size);
  return options.context_window_size > 0 ? std::min(longest, options.context_window_size) : longest;
}

// Where the kernels use every core, filling ahead only takes time from them, on one thread; the
// commit has them all.
double MasksAheadFrom(const EngineOptions& options, const ModelInfo& model) {
  constexpr double kNever = 1e9;
  bool has_idle_core = model.device.kind() != "cpu" || options.has_idle_core;
  bool is_asked_for = options.masks_ahead_from_s <= 0;
  return has_idle_core || is_asked_for ? options.masks_ahead_from_s : kNever;
}

}  // namespace

Result<std::unique_ptr<Engine>> Engine::Create(std::unique_ptr<Model> model,
                                               std::shared_ptr<const Tokenizer> tokenizer,
                                               const EngineOptions& options,
                                               std::unique_ptr<Drafter> drafter) {
  const ModelInfo& info = model->info();
  int num_pages = (options.max_total_tokens + info.page_size - 1) / info.page_size;
  int max_length = MaxLength(options, info, num_pages);
  if (max_length < 2) {
    return InvalidArgument("the context window must hold at least two tokens")
        .WithParam("context_window_size");
  }
  MLC_RETURN_IF_ERROR(model->AllocatePages(num_pages));
  std::unique_ptr<Engine> engine(
      new Engine(std::move(model), std::move(tokenizer), options, num_pages, max_length));
  if (drafter != nullptr || options.jump_forward) {
    const Tokenizer* jumps = options.jump_forward ? engine->tokenizer_.get() : nullptr;
    engine->speculator_ =
        std::make_unique<Speculator>(std::move(drafter), options.draft_shape, jumps);
  }
  return engine;
}

Engine::Engine(std::unique_ptr<Model> model, std::shared_ptr<const Tokenizer> tokenizer,
               const EngineOptions& options, int num_pages, int max_length)
    : model_(std::move(model)),
      tokenizer_(std::move(tokenizer)),
      max_length_(max_length),
      max_queued_requests_(options.max_queued_requests),
      logit_rows_{info().vocab_size, std::min(info().vocab_size, tokenizer_->vocab_size())},
      device_choice_(model_->sampler(), logit_rows_),
      cache_(num_pages, info().page_size, CacheOptions(options, info())),
      mask_filler_(MasksAheadFrom(options, info())) {
  limits_.max_sequences = std::clamp(options.max_sequences, 1, info().max_batch_size);
  limits_.max_rows = std::clamp(options.prefill_chunk_size, 1, info().prefill_chunk_size);
  limits_.max_sequences = std::min(limits_.max_sequences, limits_.max_rows);
  limits_.prefill_mode = options.prefill_mode;
  constexpr size_t kTraceEvents = 1 << 16;  // some megabytes
  if (options.enable_tracing) trace_ = std::make_unique<Trace>(kTraceEvents);
}

Status Engine::Check(const Request& request) const {
  int prompt = static_cast<int>(request.prompt_tokens.size());
  int answer = request.pooling ? 0 : 1;  // tokens at least
  if (request.pooling && info().hidden_size == 0) {
    return Unsupported(
               "the model library gives no hidden states, which embeddings are made of; "
               "compile the model again (mlc_llm compile)")
        .WithParam("model_lib");
  }
  const char* param = request.pooling ? "input" : "messages";
  if (prompt == 0) return InvalidArgument("the prompt is empty").WithParam(param);
  if (request.n < 1) return InvalidArgument("'n' must be at least 1").WithParam("n");
  if (prompt + answer > max_length_) {
    return InvalidArgument("This model's maximum context length is " + std::to_string(max_length_) +
                           " tokens. However, your " + param + " resulted in " +
                           std::to_string(prompt) + " tokens. Please reduce the length of the " +
                           param + ".")
        .WithParam(param)
        .WithReason("context_length_exceeded");
  }
  for (int32_t token : request.prompt_tokens) {
    if (token < 0 || token >= info().vocab_size) {
      return InvalidArgument("token id " + std::to_string(token) +
                             " is not in the model's vocabulary of " +
                             std::to_string(info().vocab_size));
    }
  }
  return Status();
}

std::shared_ptr<Sequence> Engine::NewSequence(std::shared_ptr<RequestState> request, int choice) {
  return std::make_shared<Sequence>(next_sequence_++, choice, std::move(request), tokenizer_.get());
}

Status Engine::Add(Request request, bool may_wait) {
  MLC_RETURN_IF_ERROR(Check(request));
  bool is_held = request.grammar && !request.grammar->ready() && may_wait;
  if (request.grammar && !is_held) MLC_RETURN_IF_ERROR(request.grammar->Prepare());
  if (num_queued_ >= max_queued_requests_) {
    return ResourceExhausted("the queue is full: " + std::to_string(max_queued_requests_) +
                             " requests are waiting; try again later")
        .WithReason("queue_full");
  }
  RequestId id = request.id;
  auto state = std::make_shared<RequestState>(std::move(request));
  state->num_unfinished = state->request.n;
  requests_.emplace(id, state);
  if (auto deadline = state->request.deadline()) deadlines_.emplace(*deadline, id);
  ++num_queued_;
  state->held = is_held;
  if (!is_held) InsertByRank(NewSequence(state, 0), &waiting_);
  return Status();
}

void Engine::Release(RequestId id) {
  auto found = requests_.find(id);
  if (found == requests_.end() || !std::exchange(found->second->held, false)) return;
  Status status = found->second->request.grammar->Prepare();
  if (!status.ok()) return Abort(id, status);
  InsertByRank(NewSequence(found->second, 0), &waiting_);
}

void Engine::Abort(RequestId id, const Status& status) { End(id, status, /*keep_prefix=*/true); }

void Engine::End(RequestId id, const Status& status, bool keep_prefix) {
  auto found = requests_.find(id);
  if (found == requests_.end()) return;
  std::shared_ptr<RequestState> request = found->second;
  auto is_of_request = [&](const std::shared_ptr<Sequence>& s) { return s->request == request; };
  for (const auto& sequence : running_) {
    if (!is_of_request(sequence)) continue;
    if (keep_prefix) Retire(*sequence);
    if (!keep_prefix) cache_.Remove(sequence->id);
  }
  EraseIf(&running_, is_of_request);
  EraseIf(&waiting_, is_of_request);
  EmitFinished(request.get(), status);
}

void Engine::AbortAll(const Status& status) {
  while (!requests_.empty()) Abort(requests_.begin()->first, status);
}

std::optional<Clock::time_point> Engine::next_deadline() const {
  if (deadlines_.empty()) return std::nullopt;
  return deadlines_.begin()->first;
}

void Engine::EndOverdue() {
  if (deadlines_.empty()) return;
  Clock::time_point now = Clock::now();
  while (!deadlines_.empty() && deadlines_.begin()->first <= now) {
    Abort(deadlines_.begin()->second, DeadlineExceeded("the answer was not complete within the "
                                                       "request's timeout_ms")
                                          .WithParam("timeout_ms")
                                          .WithReason("deadline_exceeded"));
  }
}

Metrics Engine::metrics() const {
  Metrics metrics = metrics_;
  metrics.num_pages = cache_.num_pages();
  metrics.num_free_pages = cache_.num_available_pages();
  metrics.num_running = static_cast<int>(running_.size());
  metrics.num_waiting = static_cast<int>(waiting_.size());
  metrics.num_queued = num_queued_;
  if (speculator_ != nullptr) metrics.speculation = speculator_->metrics();
  return metrics;
}

void Engine::ResetMetrics() {
  metrics_ = Metrics();
  if (speculator_ != nullptr) speculator_->ResetMetrics();
}

void Engine::ClearPrefixCache() {
  cache_.ClearPrefixes();
  if (speculator_ != nullptr) speculator_->Clear();
}

void Engine::Retire(const Sequence& sequence) {
  cache_.Retire(sequence.id, sequence.tokens(), sequence.num_computed);
}

void Engine::PreemptLast() {
  std::shared_ptr<Sequence> last = std::move(running_.back());
  running_.pop_back();
  Retire(*last);
  last->ForgetComputed();
  last->preempted_at = Clock::now();
  InsertByRank(std::move(last), &waiting_);
  ++metrics_.num_preemptions;
}

void Engine::AdmitFirst() {
  std::shared_ptr<Sequence> first = std::move(waiting_.front());
  waiting_.pop_front();
  RequestState& request = *first->request;
  first->num_computed =
      cache_.AddWithPrefix(first->id, request.request.adapter, first->sparable_tokens());
  if (!request.cached_tokens) request.cached_tokens = first->num_computed;
  num_queued_ -= !std::exchange(request.started, true);
  if (trace_ != nullptr) trace_->Admitted(*first);
  InsertByRank(std::move(first), &running_);
}

std::vector<StepItem> Engine::ApplyPlan(const Plan& plan) {
  for (SequenceId id : plan.preempt) {
    MLC_ICHECK(running_.back()->id == id);
    PreemptLast();
  }
  for (int i = 0; i < plan.num_admitted; ++i) AdmitFirst();
  std::vector<StepItem> items;
  items.reserve(plan.items.size());
  size_t at = 0;  // items come nearly in the order of the running sequences: look from the last one
  for (const WorkItem& item : plan.items) {
    while (running_[at]->id != item.sequence) at = (at + 1) % running_.size();
    // What was admitted may have found more, or less, in the prefix cache than the plan saw.
    int uncomputed = running_[at]->num_tokens() - running_[at]->num_computed;
    int num_rows = std::min(item.num_rows, uncomputed);
    bool wants_logits = num_rows == uncomputed && !running_[at]->is_pooled();
    items.push_back({running_[at], num_rows, wants_logits});
  }
  return items;
}

void Engine::Step() {
  EndOverdue();
  if (!has_work()) return;
  Plan plan = PlanStep(running_, waiting_, cache_, limits_, prefill_streak_);
  prefill_streak_ = plan.holds_up_decodes ? prefill_streak_ + 1 : 0;
  std::vector<StepItem> items = ApplyPlan(plan);
  if (items.empty()) {
    // After a preemption the next plan sees the pages that came free. Otherwise nothing can run:
    // the pool is too small for what waits, and waiting longer would hang.
    if (!plan.preempt.empty()) return;
    const auto& stuck = running_.empty() ? waiting_.front() : running_.front();
    Abort(stuck->request->request.id,
          ResourceExhausted("the KV cache is too small for this request; raise "
                            "max_total_seq_length or shorten it")
              .WithReason("kv_cache_exhausted"));
    return;
  }
  int64_t bytes_read = BytesReadFromDevices();
  Status status = Run(&items);
  metrics_.device_read_bytes += BytesReadFromDevices() - bytes_read;
  if (status.ok()) return;
  // What the step left in their pages is not to be found by others.
  for (const StepItem& item : items) {
    RemoveBranches(item.sequence->id, item.drafts, &cache_);
    End(item.sequence->request->request.id, status, /*keep_prefix=*/false);
  }
}

Status Engine::Run(std::vector<StepItem>* step_items) {
  Clock::time_point begin = Clock::now(), drafted = begin;
  if (speculator_ != nullptr) {
    speculator_->AddDrafts({limits_.max_rows, info().max_batch_size, max_length_}, cache_,
                           step_items);
    drafted = Clock::now();
  }
  const std::vector<StepItem>& items = *step_items;
  MLC_ASSIGN_OR_RETURN(Batch batch, BuildBatch(items, &cache_));
  batch.keeps_logits = device_choice_.IsFor(items);
  Result<Outputs> computed = [&] {
    MasksAhead ahead(&mask_filler_, items);
    return RunBatch(batch, &cache_, model_.get());
  }();
  MLC_ASSIGN_OR_RETURN(Outputs outputs, std::move(computed));
  MLC_ASSIGN_OR_RETURN(std::vector<ItemLogits> logits,
                       device_choice_.Assign(items, outputs.logits));
  int decode_rows = 0, prefill_rows = 0;
  const float* hidden_states = outputs.hidden_states;
  for (const StepItem& item : items) {
    RequestState& request = *item.sequence->request;
    if (item.sequence->is_pooled()) {
      hidden_states = item.sequence->Pool(hidden_states, item.num_rows, info().hidden_size);
    }
    if (!request.first_row) request.first_row = begin;
    item.sequence->num_computed += item.num_rows;
    cache_.Publish(item.sequence->id, item.sequence->tokens(), item.sequence->num_computed);
    cache_.Slide(item.sequence->id, item.sequence->num_computed);
    bool is_decode = item.sequence->num_generated() > 0 && item.num_rows == 1;
    (is_decode ? decode_rows : prefill_rows) += item.num_rows;
  }
  std::vector<SequenceCommit> commits = AssignLogits(items, std::move(logits));
  CommitSequences(logit_rows_, max_length_, &commits, &scratch_);
  for (const SequenceCommit& commit : commits) decode_rows += commit.num_accepted;
  double seconds = SecondsBetween(begin, Clock::now());
  metrics_.AddStep(prefill_rows, decode_rows, seconds);
  bool has_drafts = batch.num_rows() > static_cast<int>(items.size());
  if (prefill_rows == 0 && !has_drafts) metrics_.AddDecode(batch.num_rows(), seconds);
  if (trace_ != nullptr) trace_->Stepped(items, begin, Clock::now());
  if (speculator_ != nullptr) {
    speculator_->Observe(items, commits, SecondsBetween(drafted, Clock::now()));
  }
  EmitEmbeddings(items);
  Settle(commits);
  return Status();
}

std::vector<SequenceCommit> Engine::AssignLogits(const std::vector<StepItem>& items,
                                                 std::vector<ItemLogits> logits) {
  std::vector<SequenceCommit> commits;
  for (size_t i = 0; i < items.size(); ++i) {
    const StepItem& item = items[i];
    if (!item.wants_logits) continue;
    RequestState& request = *item.sequence->request;
    bool prompt_done = !request.first_token && item.sequence->choice == 0;
    commits.push_back({item.sequence, item.drafts, logits[i].logits});
    commits.back().chosen = std::move(logits[i].chosen);
    if (prompt_done) {
      request.first_token = Clock::now();
      for (auto& choice : ForkChoices(item.sequence)) {
        commits.push_back({std::move(choice), {}, logits[i].logits});
      }
    }
  }
  return commits;
}

void Engine::Settle(const std::vector<SequenceCommit>& commits) {
  for (const SequenceCommit& commit : commits) {
    Sequence& sequence = *commit.sequence;
    KeepBranch(sequence.id, commit.drafts, commit.last_accepted, &cache_);
    sequence.num_computed += commit.num_accepted;
    cache_.Pop(sequence.id, cache_.Length(sequence.id) - sequence.num_computed);
    sequence.Publish();
  }
  for (const SequenceCommit& commit : commits) {
    if (!commit.status.ok()) Abort(commit.sequence->request->request.id, commit.status);
  }
  EmitDeltas(commits);
  RemoveFinished();
}

std::vector<std::shared_ptr<Sequence>> Engine::ForkChoices(const std::shared_ptr<Sequence>& first) {
  std::vector<std::shared_ptr<Sequence>> choices;
  for (int choice = 1; choice < first->request->request.n; ++choice) {
    std::shared_ptr<Sequence> sequence = NewSequence(first->request, choice);
    if (static_cast<int>(running_.size()) >= limits_.max_sequences) {
      InsertByRank(std::move(sequence), &waiting_);  // computes the prompt in its turn
      continue;
    }
    cache_.Fork(first->id, sequence->id, first->num_computed);
    sequence->num_computed = first->num_computed;
    InsertByRank(sequence, &running_);
    choices.push_back(std::move(sequence));
  }
  return choices;
}

void Engine::RemoveFinished() {
  for (const auto& sequence : running_) {
    if (sequence->finished()) Retire(*sequence);
  }
  EraseIf(&running_, [](const auto& sequence) { return sequence->finished(); });
}

}  // namespace mlc
