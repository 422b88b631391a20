#include "engine/engine.h"

#include <algorithm>
#include <climits>
#include <cstddef>
#include <numeric>

#include "engine/branches.h"
#include "engine/scoring.h"
#include "runtime/tensor.h"

namespace mlc {
namespace {

// The last position in a sliding window. Rotary tables are exact up to it.
constexpr int kEndless = 1 << 24;

KVCacheOptions CacheOptions(const EngineOptions& options, const ModelInfo& model) {
  KVCacheOptions out;
  if (model.sliding_window_size > 0) {
    out.window = model.sliding_window_size;
    out.sink = model.attention_sink_size;
  }
  // a row of an encoder depends on the whole text, so texts share nothing
  out.keep_prefixes = options.prefix_cache && !model.is_encoder;
  out.max_cached_sequences = options.max_cached_sequences;
  if (model.has_windowed_pages()) {
    out.num_windowed_pages = NumPages(options, model)[1];
    out.layer_window = model.layer_window;
    out.sink = model.attention_sink_size;
  }
  out.num_states = NumStates(options, model);
  out.state_interval = std::max(1, model.prefill_chunk_size);
  return out;
}

// The longest sequence, in tokens.
int MaxLength(const EngineOptions& options, const ModelInfo& model) {
  int num_pages = NumPages(options, model)[0];
  // If a window fits into the pool, it can slide without end.
  int window_pages =
      KVCache(0, model.page_size, CacheOptions(options, model)).PagesToHold(kEndless).of[0];
  bool slides = model.sliding_window_size > 0 && window_pages <= num_pages;
  int longest =
      slides ? kEndless : std::min(model.context_window_size, num_pages * model.page_size);
  return options.context_window_size > 0 ? std::min(longest, options.context_window_size) : longest;
}

// If the kernels use every core, filling masks ahead takes time from them, on one thread. The
// commit fills masks on all threads.
double MasksAheadFrom(const EngineOptions& options, const ModelInfo& model) {
  constexpr double kNever = 1e9;
  bool has_idle_core = !model.takes_cores || options.has_idle_core;
  bool is_asked_for = options.masks_ahead_from_s <= 0;
  return has_idle_core || is_asked_for ? options.masks_ahead_from_s : kNever;
}

}  // namespace

int NumStates(const EngineOptions& options, const ModelInfo& model) {
  constexpr int kLeastKept = 4;
  if (model.state_bytes == 0) return 0;
  int sequences = std::clamp(options.max_sequences, 1, model.max_batch_size);
  if (options.num_states > 0) return std::max(options.num_states, 2 * sequences);
  return 2 * sequences + (options.prefix_cache ? std::max(kLeastKept, sequences) : 1);
}

std::vector<int> NumPages(const EngineOptions& options, const ModelInfo& model) {
  auto pages_of = [&](int tokens) { return (tokens + model.page_size - 1) / model.page_size; };
  int all = pages_of(options.max_total_tokens);
  if (!model.has_windowed_pages()) return {all};
  int sequences = std::clamp(options.max_sequences, 1, model.max_batch_size);
  int windows = options.prefix_cache ? 2 * sequences : sequences;
  int rows = pages_of(std::clamp(options.prefill_chunk_size, 1, model.prefill_chunk_size));
  int64_t each = pages_of(model.attention_sink_size) + pages_of(model.layer_window) + 1;
  return {all, static_cast<int>(std::min<int64_t>(all, windows * each + rows))};
}

int64_t PoolBytes(const EngineOptions& options, const ModelInfo& model) {
  std::vector<int> num_pages = NumPages(options, model);
  std::vector<int64_t> bytes = model.PageBytes();
  return std::inner_product(bytes.begin(), bytes.end(), num_pages.begin(), int64_t{0});
}

Result<std::unique_ptr<Engine>> Engine::Create(std::unique_ptr<Model> model,
                                               std::shared_ptr<const Tokenizer> tokenizer,
                                               const EngineOptions& options,
                                               std::unique_ptr<Drafter> drafter) {
  const ModelInfo& info = model->info();
  int max_length = MaxLength(options, info);
  if (max_length < 2) {
    return InvalidArgument("the context window must hold at least two tokens")
        .WithParam("context_window_size");
  }
  MLC_RETURN_IF_ERROR(model->AllocatePages(NumPages(options, info)));
  MLC_RETURN_IF_ERROR(model->AllocateStates(NumStates(options, info)));
  if (info.adapters != nullptr) {
    MLC_RETURN_IF_ERROR(model->AllocateAdapters(options.adapter_groups));
  }
  std::unique_ptr<Engine> engine(
      new Engine(std::move(model), std::move(tokenizer), options, max_length));
  const Tokenizer* jumps = options.jump_forward ? engine->tokenizer_.get() : nullptr;
  engine->speculator_ =
      std::make_unique<Speculator>(std::move(drafter), options.draft_shape, options.lookup, jumps);
  return engine;
}

Engine::Engine(std::unique_ptr<Model> model, std::shared_ptr<const Tokenizer> tokenizer,
               const EngineOptions& options, int max_length)
    : model_(std::move(model)),
      tokenizer_(std::move(tokenizer)),
      max_length_(max_length),
      max_queued_requests_(options.max_queued_requests),
      longer_by_(options.longer_by),
      pool_bytes_(PoolBytes(options, info())),
      logit_rows_{info().vocab_size, std::min(info().vocab_size, tokenizer_->vocab_size())},
      device_choice_(model_->sampler(), logit_rows_),
      cache_(NumPages(options, info())[0], info().page_size, CacheOptions(options, info())),
      adapters_(std::make_shared<AdapterTable>(options.adapter_groups, options.max_adapters)),
      row_cache_(std::make_shared<RowCache>(options.row_cache_bytes)),
      mask_filler_(MasksAheadFrom(options, info())) {
  limits_.max_sequences = std::clamp(options.max_sequences, 1, info().max_batch_size);
  limits_.max_rows = std::clamp(options.prefill_chunk_size, 1, info().prefill_chunk_size);
  limits_.max_sequences = std::min(limits_.max_sequences, limits_.max_rows);
  limits_.full_rows = limits_.max_rows;
  limits_.prefill_mode = options.prefill_mode;
  limits_.whole_texts = info().is_encoder;
  if (info().is_encoder) max_length_ = std::min(max_length_, limits_.max_rows);
  full_limits_ = limits_;
  constexpr size_t kTraceEvents = 1 << 16;  // some megabytes
  if (options.enable_tracing) trace_ = std::make_unique<Trace>(kTraceEvents);
}

Metrics Engine::metrics() const {
  Metrics metrics = metrics_;
  metrics.num_pages = cache_.num_pages(0);
  metrics.num_free_pages = cache_.available_pages().of[0];
  metrics.num_running = static_cast<int>(running_.size());
  metrics.num_waiting = static_cast<int>(waiting_.size() + paused_.size());
  metrics.num_queued = num_queued_;
  metrics.row_cache_bytes = row_cache_->num_bytes();
  metrics.num_row_cache_hits = row_cache_->num_hits();
  metrics.speculation = speculator_->metrics();
  return metrics;
}

void Engine::ResetMetrics() {
  metrics_ = Metrics();
  row_cache_->ResetHits();
  speculator_->ResetMetrics();
}

void Engine::ClearPrefixCache() {
  cache_.ClearPrefixes();
  row_cache_->Clear();
  if (on_clear_) on_clear_();
  speculator_->Clear();
}

void Engine::Retire(const Sequence& sequence, bool ends) {
  cache_.Retire(sequence.id, sequence.tokens(), sequence.num_computed);
  if (on_retire_) on_retire_(sequence, ends);
}

void Engine::PreemptLast() {
  std::shared_ptr<Sequence> last = std::move(running_.back());
  running_.pop_back();
  GiveBack(last.get());
  InsertByRank(std::move(last), &waiting_);
  ++metrics_.num_preemptions;
}

void Engine::AdmitFirst() {
  std::shared_ptr<Sequence> first = std::move(waiting_.front());
  waiting_.pop_front();
  RequestState& request = *first->request;
  first->num_computed =
      cache_.AddWithPrefix(first->id, request.request.adapter, first->reusable_tokens());
  if (!request.cached_tokens) request.cached_tokens = first->num_computed;
  first->turn_begin = first->num_tokens();
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
  int scored_left = MaxScoredRows(info().vocab_size);
  // items are almost in the order of running_, so the search starts at the last match
  size_t at = 0;
  for (const WorkItem& item : plan.items) {
    while (running_[at]->id != item.sequence) at = (at + 1) % running_.size();
    // The prefix cache may hold more or fewer tokens of a new sequence than the plan saw.
    int uncomputed = running_[at]->num_uncomputed();
    int num_rows = running_[at]->NumStepRows(std::min(item.num_rows, uncomputed));
    if (num_rows == 0) continue;  // what the cache held is gone, and a picture's rows are not there
    if (running_[at]->NumScoredRows(num_rows) > scored_left) num_rows = std::max(1, scored_left);
    bool wants_logits = num_rows == uncomputed && !running_[at]->is_pooled();
    items.push_back({running_[at], num_rows, wants_logits});
    items.back().num_scored = running_[at]->NumScoredRows(num_rows);
    scored_left -= items.back().num_scored;
  }
  return items;
}

void Engine::Step() {
  EndOverdue();
  if (!has_work()) return;
  bool encodes = EncodeRows();
  // without a prefix cache the next turn would compute everything again
  if (cache_.options().keep_prefixes) EndTurns(Clock::now(), &running_, &waiting_);
  SchedulerLimits limits = limits_;
  if (!limits.whole_texts) limits.prompt_rows = pace_.Next();
  // nobody waits for such a step of a device, so it holds nobody up
  if (!info().takes_cores) limits.prompt_rows.alone = INT_MAX;
  Plan plan = PlanStep(running_, waiting_, cache_, limits, prefill_streak_);
  prefill_streak_ = plan.holds_up_decodes ? prefill_streak_ + 1 : 0;
  std::vector<StepItem> items = ApplyPlan(plan);
  if (items.empty()) {
    FinishCopies();
    // After a preemption the next plan sees the free pages, and a sequence that was admitted may
    // have no rows until the tower has made them. Otherwise nothing can run: the pool is too small
    // for the waiting requests, and waiting longer would hang.
    if (encodes || !plan.preempt.empty() || plan.num_admitted > 0 || !has_work()) return;
    const auto& stuck = running_.empty() ? waiting_.front() : running_.front();
    Abort(stuck->request->request.id,
          ResourceExhausted("the KV cache is too small for this request; raise "
                            "max_total_seq_length or shorten it")
              .WithReason(Reason::kKvCacheExhausted));
    return;
  }
  int64_t bytes_read = BytesReadFromDevices();
  Status status = Run(&items);
  metrics_.device_read_bytes += BytesReadFromDevices() - bytes_read;
  if (status.ok()) return;
  // The step failed, so no other request may find what it left in these pages.
  for (const StepItem& item : items) {
    RemoveBranches(item.sequence->id, item.drafts, &cache_);
    End(item.sequence->request->request.id, status, /*keep_prefix=*/false);
  }
  EndUnread(status);
  FinishCopies();
}

void Engine::EndUnread(const Status& status) {
  if (has_unread_steps_) EndRunning(status);
}

void Engine::EndRunning(const Status& status) {
  has_unread_steps_ = false;
  while (!running_.empty()) End(running_.front()->request->request.id, status, false);
  ClearPrefixCache();
}

void Engine::FinishCopies() {
  Status status = CopyPending(&cache_, model_.get());
  if (!status.ok()) EndRunning(status);
}

Status Engine::Run(std::vector<StepItem>* step_items) {
  Clock::time_point begin = Clock::now();
  // recurrent states do not branch
  int max_sequences = cache_.has_states() ? 0 : info().max_batch_size;
  speculator_->AddDrafts({limits_.max_rows, max_sequences, max_length_}, cache_, step_items);
  if (info().takes_cores) GatherSharers(cache_, step_items);
  Clock::time_point drafted = Clock::now();
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
  bool is_done = info().takes_cores || !batch.logit_rows.empty() || !batch.hidden_rows.empty();
  has_unread_steps_ = !is_done;
  ScorePrompts(logit_rows_, items, logits, &scratch_);
  int decode_rows = 0, prefill_rows = 0;
  std::vector<RowStates> states;  // for the drafter
  ptrdiff_t hidden_row = 0, size = info().hidden_size, chosen = size * info().num_chosen_layers;
  const Drafter* drafter = speculator_->drafter();
  bool of_layers = drafter && drafter->reads_chosen_layers();
  // A drafter reads what the last row reads, which is one token more than the next row.
  int read_again = drafter && drafter->reads_pages() ? 1 : 0;
  for (const StepItem& item : items) {
    RequestState& request = *item.sequence->request;
    states.push_back(of_layers ? RowStates{outputs.layer_states + chosen * hidden_row, chosen}
                               : RowStates{outputs.hidden_states + size * hidden_row, size});
    if (item.wants_states) {
      hidden_row += item.num_rows + item.drafts.size();
    } else if (item.sequence->is_pooled()) {
      const float* rows = outputs.hidden_states + size * hidden_row;
      hidden_row += item.sequence->Pool(rows, item.num_rows, info().hidden_size);
    }
    if (!request.first_row) request.first_row = begin;
    bool is_decode = item.sequence->num_generated() > 0 && item.sequence->decodes();
    item.sequence->num_computed += item.num_rows;
    if (request.request.reports_progress && !request.first_token) EmitProgress(*item.sequence);
    cache_.Publish(item.sequence->id, item.sequence->tokens(), item.sequence->num_computed);
    int num_computed = item.sequence->num_computed;
    bool is_read = num_computed == item.sequence->num_prompt_tokens();
    if (request.request.pin_prompt && is_read) cache_.Pin(item.sequence->id, num_computed);
    cache_.Slide(item.sequence->id, num_computed - read_again);
    (is_decode ? decode_rows : prefill_rows) += item.num_rows;
  }
  std::vector<SequenceCommit> commits = AssignLogits(items, std::move(logits));
  CommitSequences(logit_rows_, max_length_, &commits, &scratch_);
  for (const SequenceCommit& commit : commits) decode_rows += commit.num_accepted;
  double seconds = SecondsBetween(begin, Clock::now());
  metrics_.AddStep(prefill_rows, decode_rows, seconds);
  pace_.Add(prefill_rows, decode_rows, SecondsBetween(drafted, Clock::now()), is_done);
  bool has_drafts = batch.num_rows() > static_cast<int>(items.size());
  if (prefill_rows == 0 && !has_drafts) metrics_.AddDecode(batch.num_rows(), seconds);
  if (trace_ != nullptr) trace_->Stepped(items, begin, Clock::now());
  speculator_->Observe(items, states, commits, SecondsBetween(drafted, Clock::now()));
  MLC_RETURN_IF_ERROR(RunHead(items));
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
    if (prompt_done) request.first_token = Clock::now();
    if (!item.sequence->generates()) {
      item.sequence->FinishEmpty();
      commits.push_back({item.sequence, {}, nullptr});
      continue;
    }
    const float* last_row = logits[i].logits;
    if (last_row != nullptr)
      last_row += static_cast<ptrdiff_t>(item.num_scored) * info().vocab_size;
    commits.push_back({item.sequence, item.drafts, last_row});
    commits.back().chosen = std::move(logits[i].chosen);
    if (!prompt_done) continue;
    for (auto& choice : ForkChoices(item.sequence)) {
      commits.push_back({std::move(choice), {}, last_row});
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
    sequence.num_computed = cache_.Length(sequence.id);  // fewer when the states are further back
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
      InsertByRank(std::move(sequence), &waiting_);  // it computes the prompt when its turn comes
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
  running_.erase(std::remove_if(running_.begin(), running_.end(),
                                [](const auto& sequence) { return sequence->finished(); }),
                 running_.end());
}

}  // namespace mlc
