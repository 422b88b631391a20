// The engine: it takes requests, computes one step at a time, and gives events. It is
// single-threaded; engine_loop drives it.
//
// A step plans (scheduler), runs (batch, model) and commits (sample, accept, roll back, free). When
// a step fails, the requests in it end. When no token can be chosen for one row, only the request
// of that row ends. The engine stays usable.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/commit.h"
#include "engine/device_choice.h"
#include "engine/kept/block_store.h"
#include "engine/lifecycle.h"
#include "engine/mask_filler.h"
#include "engine/metrics.h"
#include "engine/prompt_ids.h"
#include "engine/request.h"
#include "engine/row_cache.h"
#include "engine/scheduler.h"
#include "engine/speculation/speculator.h"
#include "engine/step.h"
#include "engine/step_pace.h"
#include "engine/trace.h"
#include "model/model.h"

namespace mlc {

struct KVFile;
struct KVState;

struct EngineOptions {
  int max_sequences = 4;          // running at the same time
  int max_total_tokens = 8192;    // in the KV cache, all sequences together
  int prefill_chunk_size = 2048;  // rows of one step
  // of one sequence; 0: the model's own limit, or no limit if its window slides
  int context_window_size = 0;
  std::string longer_by;  // what would allow longer sequences (LengthLimit)
  int max_queued_requests = 1024;
  DraftShape draft_shape;         // limits for the drafts of one sequence in one step
  Lookup lookup = Lookup::kNone;  // drafts from earlier text, beside a drafter
  bool jump_forward = true;       // compute text ahead when the grammar forces it
  PrefillMode prefill_mode = PrefillMode::kHybrid;
  bool prefix_cache = true;
  int max_cached_sequences = -1;  // kept in the prefix cache after use; -1: as many as fit
  int num_states = 0;             // slots of a model with recurrent layers; 0: NumStates decides
  bool enable_tracing = false;
  // A step's masks are filled while the model runs (mask_filler.h) if they take longer than this
  // and a core is free; 0: always.
  double masks_ahead_from_s = 50e-6;
  bool has_idle_core = false;                   // the kernels on the CPU leave a core free
  int64_t row_cache_bytes = int64_t{64} << 20;  // of rows that a tower made
  int adapter_groups = 0;                       // of the pool of adapters (model.h)
  int max_adapters = INT32_MAX;                 // that are loaded at the same time
  PrefixPlaces prefix_places;                   // of the loop: EngineLoop::KeepPrefixes
};

// The number of recurrent-state slots that the engine allocates for a model with recurrent layers:
// two for each sequence (a step reads one and writes the other), and some that are kept for later
// requests with the same beginning.
int NumStates(const EngineOptions& options, const ModelInfo& model);

// The number of pages of each group (kv/page_groups.h) that the engine allocates. For layers with a
// window these are the windows of all sequences, as many kept ones for later requests with the same
// beginning, and the rows of a step; but no more than for layers that read all positions.
std::vector<int> NumPages(const EngineOptions& options, const ModelInfo& model);
// Their bytes.
int64_t PoolBytes(const EngineOptions& options, const ModelInfo& model);

class Engine {
 public:
  // Allocates the page pool. With a `drafter`, decoding is speculative.
  static Result<std::unique_ptr<Engine>> Create(std::unique_ptr<Model> model,
                                                std::shared_ptr<const Tokenizer> tokenizer,
                                                const EngineOptions& options,
                                                std::unique_ptr<Drafter> drafter = nullptr);

  const ModelInfo& info() const { return model_->info(); }
  // The limit for prompt and answer together, in tokens.
  int max_length() const { return max_length_; }
  LengthLimit length_limit() const { return {max_length_, longer_by_}; }

  // Whether the request can run at all: its prompt must fit the context. Thread-safe.
  Status Check(const Request& request) const;
  // Adds the request to the queue. Returns kResourceExhausted when the queue is full. A grammar
  // that is not prepared is prepared in this call. With `hold` the request waits for Release, and
  // nothing is prepared.
  Status Add(Request request, bool hold = false);
  bool Holds(RequestId id) const;
  // Lets a held request run if its grammar is ready. If the grammar has an error, the request ends
  // with it. Ids that are not held are ignored.
  void Release(RequestId id);
  // Ends a request with `status`. Unknown ids are ignored.
  void Abort(RequestId id, const Status& status);
  void AbortAll(const Status& status);
  // A paused request gives its pages to the prefix cache, where other requests may take them. When
  // it is resumed, it continues as after a preemption, with the same tokens. A timeout or an abort
  // still ends it. Unknown ids are ignored.
  void PauseRequest(RequestId id, bool paused);

  bool has_work() const { return !running_.empty() || !waiting_.empty(); }
  // Computes one step. Call while has_work().
  void Step();
  // Ends the requests whose timeout is over. Step calls it first.
  void EndOverdue();
  // The time at which the next timeout is over.
  std::optional<Clock::time_point> next_deadline() const;
  // The events since the last call, in order.
  std::vector<RequestEvent> TakeEvents() { return std::exchange(events_, {}); }

  Metrics metrics() const;
  void ResetMetrics();
  // Frees what the prefix cache holds and no sequence uses, what a draft model keeps, and the rows
  // of pictures. Pinned prompts stay.
  void ClearPrefixCache();
  void UnpinPrompts() { cache_.UnpinAll(); }
  // Gives memory back (lifecycle.h). At the level kAll running requests give their pages up; they
  // continue as after a preemption, with the same tokens.
  TrimmedMemory TrimMemory(TrimLevel level);
  // Brings the weights into memory. With `step` it also runs a step of one row, whose result nobody
  // reads. Returns the bytes of the weights.
  Result<int64_t> Prewarm(bool step);
  // Sets the limits for a device that is hot, or cool again. Returns them, with the number of
  // threads that the caller should use out of `num_threads`. Running requests beyond the limits
  // wait, and continue with the same tokens.
  ThermalLimits SetThermalState(ThermalState state, int num_threads);
  // Of a prompt: how many tokens the prefix cache holds, a copy of what it holds
  // (kResourceExhausted when that is nothing), and such a copy back into it: how many tokens then
  // can be found. In kv_state.cc.
  int NumHeld(uint64_t adapter, const Prompt& prompt);
  Result<std::shared_ptr<KVState>> CopyState(uint64_t adapter, const Prompt& prompt);
  Result<int> AdoptState(const KVFile& file);
  // For prefixes that are kept outside the device (kept/), in kept_blocks.cc. `ids`: those of a
  // prompt, and perhaps of its answer.
  bool keeps_prefixes() const { return cache_.options().keep_prefixes; }
  Result<std::vector<int32_t>> PromptIdsOf(const Prompt& prompt) {
    return PromptIds(prompt, &names_);
  }
  int NumHeldIds(uint64_t adapter, const std::vector<int32_t>& ids) const;
  // A copy of KVCache::BlockPages, or of the state behind the last token. Null if the prefix cache
  // does not hold them, or there is no memory.
  Result<std::unique_ptr<char[]>> CopyBlock(uint64_t adapter, const std::vector<int32_t>& ids,
                                            int begin, int end, KeptPart part) const;
  // Puts such a copy into the prefix cache, behind what it holds of the tokens before. False if it
  // does not hold them or there are too few pages or slots.
  bool AdoptBlock(uint64_t adapter, const std::vector<int32_t>& ids, int begin, int end,
                  KeptPart part, const char* body);
  // How many ends of prefixes the prefix cache has room for, with their windows and states, and how
  // many tokens, so that half of it is left.
  int num_kept_ends() const { return limits_.max_sequences; }
  int num_kept_tokens() const { return cache_.num_pages(0) / 2 * cache_.page_size(); }
  void CountKept(int restored_tokens, int written_blocks);
  // Called when a sequence has given its pages to the prefix cache. `ends`: it does not go on.
  using RetireHook = std::function<void(const Sequence& sequence, bool ends)>;
  void OnRetire(RetireHook hook) { on_retire_ = std::move(hook); }
  // Called when the prefix cache is cleared.
  void OnClear(std::function<void()> hook) { on_clear_ = std::move(hook); }
  // The adapters that requests may choose; it stays the same, and any thread may use it.
  const std::shared_ptr<AdapterTable>& adapters() const { return adapters_; }
  // The rows of pictures that it made; it stays the same.
  const std::shared_ptr<RowCache>& row_cache() const { return row_cache_; }
  Status WriteAdapter(const LoadedAdapter& adapter, const AdapterWeights& weights) {
    return model_->WriteAdapter(adapter.groups, weights);
  }
  const Trace* trace() const { return trace_.get(); }  // nullptr unless it is enabled
  int num_free_pages() const { return cache_.num_free_pages(); }
  int num_pages() const { return cache_.num_pages(); }
  int64_t pool_bytes() const { return pool_bytes_; }
  int num_queued() const { return num_queued_; }  // requests that were never admitted

 private:
  Engine(std::unique_ptr<Model> model, std::shared_ptr<const Tokenizer> tokenizer,
         const EngineOptions& options, int max_length);

  Result<std::unique_ptr<char[]>> CopyStateAt(uint64_t adapter, std::vector<int32_t> ids,
                                              int end) const;
  Status CheckSpan(const Prompt::Span& span) const;
  Status CheckCanPin(const Request& request) const;
  // Whether the pages of a prompt that is to be pinned are to be had.
  Status CheckRoomToPin(const Request& request, const std::vector<int32_t>& ids) const;
  std::vector<StepItem> ApplyPlan(const Plan& plan);
  void AdmitFirst();
  void PreemptLast();
  // Adds a sequence without pages to the list where it belongs.
  void Enqueue(std::shared_ptr<Sequence> sequence);
  // Gives a sequence's pages back. The prefix cache keeps what it computed.
  void Retire(const Sequence& sequence, bool ends = true);
  // Does the same for a sequence that continues later.
  void GiveBack(Sequence* sequence);
  void End(RequestId id, const Status& status, bool keep_prefix);
  Status Run(std::vector<StepItem>* items);
  // Ends all running requests, and forgets the prefixes: their pages may hold anything.
  void EndRunning(const Status& status);
  // The same after a failure, if it may be that of an earlier step: see has_unread_steps_.
  void EndUnread(const Status& status);
  // Makes the copies that a step without rows leaves: what comes before the next step may evict,
  // overwrite or give back the pages.
  void FinishCopies();
  // Runs one turn of the tower for the first running sequence whose next rows await values, unless
  // answers are to run on first. False if no sequence waits. In engine_pictures.cc.
  bool EncodeRows();
  void Encode(const RequestState& request, LateRows* rows);
  // Assigns the rows of the logits to sequences. New choices of a request use the row of its first
  // choice.
  std::vector<SequenceCommit> AssignLogits(const std::vector<StepItem>& items,
                                           std::vector<ItemLogits> logits);
  // Removes refused drafts from the cache and sends accepted tokens. A choice that failed ends its
  // request.
  void Settle(const std::vector<SequenceCommit>& commits);
  // The other choices of a request begin at the end of the first one's prompt.
  std::vector<std::shared_ptr<Sequence>> ForkChoices(const std::shared_ptr<Sequence>& first);
  void RemoveFinished();
  void EmitDeltas(const std::vector<SequenceCommit>& commits);
  // Reports how much of its prompt a sequence has read.
  void EmitProgress(const Sequence& sequence);
  // Replaces the vectors of finished texts by what the model's head makes of them.
  Status RunHead(const std::vector<StepItem>& items);
  void EmitEmbeddings(const std::vector<StepItem>& items);
  void EmitFinished(RequestState* request, const Status& status);
  std::shared_ptr<Sequence> NewSequence(std::shared_ptr<RequestState> request, int choice);

  std::unique_ptr<Model> model_;
  std::shared_ptr<const Tokenizer> tokenizer_;
  SchedulerLimits limits_, full_limits_;  // now, and when the device is cool
  Clock::time_point tower_rests_until_{};
  int max_length_, max_queued_requests_;
  std::string longer_by_;
  int64_t pool_bytes_;
  int num_queued_ = 0;
  int prefill_streak_ = 0;  // consecutive plans that delayed decodes
  // Whether steps returned nothing since outputs were last read. A device may not say before that
  // it failed one of them, so a failure then is that of all running requests and of the prefixes.
  bool has_unread_steps_ = false;
  StepPace pace_;
  LogitRows logit_rows_;
  DeviceChoice device_choice_;
  KVCache cache_;
  std::shared_ptr<AdapterTable> adapters_;
  std::shared_ptr<RowCache> row_cache_;
  ContentNames names_;  // of embedding rows in prompts
  SequenceList running_, waiting_;
  SequenceList paused_;  // sequences of paused requests; they are in no other list
  std::unordered_map<RequestId, std::shared_ptr<RequestState>> requests_;
  std::set<std::pair<Clock::time_point, RequestId>> deadlines_;  // of the requests with a timeout
  std::vector<RequestEvent> events_;
  std::vector<SamplerScratch> scratch_;  // one for each worker
  SequenceId next_sequence_ = 1;
  Metrics metrics_;
  MaskFiller mask_filler_;
  std::unique_ptr<Trace> trace_;
  std::unique_ptr<Speculator> speculator_;
  RetireHook on_retire_;
  std::function<void()> on_clear_;
};

}  // namespace mlc
