// The engine: requests in, events out, one step at a time. Single-threaded; engine_thread drives
// it.
//
// A step plans (scheduler), runs (batch, model) and commits (sample, accept, roll back, free). A
// failed step ends the requests in it, a row that no token can be chosen from ends its own; the
// engine stays usable.
#ifndef MLC_ENGINE_ENGINE_H_
#define MLC_ENGINE_ENGINE_H_

#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/commit.h"
#include "engine/device_choice.h"
#include "engine/mask_filler.h"
#include "engine/metrics.h"
#include "engine/prompt_ids.h"
#include "engine/request.h"
#include "engine/scheduler.h"
#include "engine/speculation/speculator.h"
#include "engine/step.h"
#include "engine/trace.h"
#include "model/model.h"

namespace mlc {

struct KVFile;
struct KVState;

struct EngineOptions {
  int max_sequences = 4;          // running at once
  int max_total_tokens = 8192;    // in the KV cache, all sequences together
  int prefill_chunk_size = 2048;  // rows of a step
  int context_window_size = 0;    // of one sequence; 0: the model's, or endless where it slides
  int max_queued_requests = 1024;
  DraftShape draft_shape;    // of the drafts of a sequence in a step, where there is a drafter
  bool jump_forward = true;  // text that a grammar forces is computed ahead
  PrefillMode prefill_mode = PrefillMode::kHybrid;
  bool prefix_cache = true;
  int max_cached_sequences = -1;  // in the prefix cache and not in use; -1: as many as fit
  int num_states = 0;             // slots of a model with recurrent layers; 0: NumStates'
  bool enable_tracing = false;
  // A step's masks are filled beside the model when they take that long (mask_filler.h), and a core
  // is free for it; 0: always.
  double masks_ahead_from_s = 50e-6;
  bool has_idle_core = false;  // which kernels on the CPU leave to others
};

// How many slots of recurrent state the engine takes for a model that has such: two for each
// sequence (a step reads one and writes another), and some that wait for others to begin with.
int NumStates(const EngineOptions& options, const ModelInfo& model);

class Engine {
 public:
  // Allocates the page pool. With a `drafter` decoding is speculative.
  static Result<std::unique_ptr<Engine>> Create(std::unique_ptr<Model> model,
                                                std::shared_ptr<const Tokenizer> tokenizer,
                                                const EngineOptions& options,
                                                std::unique_ptr<Drafter> drafter = nullptr);

  const ModelInfo& info() const { return model_->info(); }
  // The longest prompt and answer together, in tokens.
  int max_length() const { return max_length_; }

  // Whether the request could ever run: its prompt must fit the context. Thread-safe.
  Status Check(const Request& request) const;
  // Queues it. kResourceExhausted when the queue is full. A grammar that is not prepared is, here
  // and now, unless it `may_wait`: then the request is held until Release.
  Status Add(Request request, bool may_wait = false);
  // Lets a request run whose grammar is ready, or ends it with the grammar's error. Ids that are
  // not held are ignored.
  void Release(RequestId id);
  // Ends a request with `status`; unknown ids are ignored.
  void Abort(RequestId id, const Status& status);
  void AbortAll(const Status& status);
  // A paused request gives its pages to the prefix cache, from where others may take them, and goes
  // on when it is resumed as after a preemption: with the same tokens. Time and aborts still end
  // it. Unknown ids are ignored.
  void PauseRequest(RequestId id, bool paused);

  bool has_work() const { return !running_.empty() || !waiting_.empty(); }
  // Computes one step. Call while has_work().
  void Step();
  // Ends the requests whose time is over. A step does it first.
  void EndOverdue();
  // When the next request's time is over.
  std::optional<Clock::time_point> next_deadline() const;
  // What happened since the last call, in order.
  std::vector<RequestEvent> TakeEvents() { return std::exchange(events_, {}); }

  Metrics metrics() const;
  void ResetMetrics();
  // Frees what the prefix cache holds and no sequence uses, and what a draft model keeps. Pinned
  // prompts stay.
  void ClearPrefixCache();
  void UnpinPrompts() { cache_.UnpinAll(); }
  // Of a prompt: how many tokens the prefix cache holds, a copy of what it holds
  // (kResourceExhausted when that is nothing), and such a copy back into it: how many tokens then
  // can be found. In kv_state.cc.
  int NumHeld(uint64_t adapter, const Prompt& prompt);
  Result<std::shared_ptr<KVState>> CopyState(uint64_t adapter, const Prompt& prompt);
  Result<int> AdoptState(const KVFile& file);
  const Trace* trace() const { return trace_.get(); }  // nullptr unless it is enabled
  int num_free_pages() const { return cache_.num_free_pages(); }
  int num_pages() const { return cache_.num_pages(); }
  int num_queued() const { return num_queued_; }  // requests that were never admitted

 private:
  Engine(std::unique_ptr<Model> model, std::shared_ptr<const Tokenizer> tokenizer,
         const EngineOptions& options, int num_pages, int max_length);

  Status CheckSpan(const Prompt::Span& span) const;
  Status CheckCanPin(const Request& request) const;
  // Whether the pages of a prompt that is to be pinned are to be had.
  Status CheckRoomToPin(const Request& request, const std::vector<int32_t>& ids) const;
  std::vector<StepItem> ApplyPlan(const Plan& plan);
  void AdmitFirst();
  void PreemptLast();
  // Puts a sequence that has no pages where it belongs.
  void Enqueue(std::shared_ptr<Sequence> sequence);
  // Gives a sequence's pages back; what it computed can be found by others.
  void Retire(const Sequence& sequence);
  // The same for one that is to go on later.
  void GiveBack(Sequence* sequence);
  void End(RequestId id, const Status& status, bool keep_prefix);
  Status Run(std::vector<StepItem>* items);
  // Which sequences take which rows of the logits: choices that begin now take the first one's.
  std::vector<SequenceCommit> AssignLogits(const std::vector<StepItem>& items,
                                           std::vector<ItemLogits> logits);
  // Takes back what was not accepted and sends what was; a choice that failed ends its request.
  void Settle(const std::vector<SequenceCommit>& commits);
  // The other choices of a request begin where the prompt of the first one ends.
  std::vector<std::shared_ptr<Sequence>> ForkChoices(const std::shared_ptr<Sequence>& first);
  void RemoveFinished();
  void EmitDeltas(const std::vector<SequenceCommit>& commits);
  void EmitEmbeddings(const std::vector<StepItem>& items);
  void EmitFinished(RequestState* request, const Status& status);
  std::shared_ptr<Sequence> NewSequence(std::shared_ptr<RequestState> request, int choice);

  std::unique_ptr<Model> model_;
  std::shared_ptr<const Tokenizer> tokenizer_;
  SchedulerLimits limits_;
  int max_length_, max_queued_requests_;
  int num_queued_ = 0;
  int prefill_streak_ = 0;  // plans in a row that held up decodes
  LogitRows logit_rows_;
  DeviceChoice device_choice_;
  KVCache cache_;
  ContentNames names_;  // of what prompts hold beside tokens
  SequenceList running_, waiting_;
  SequenceList paused_;  // of requests that are paused; none of them is in the other lists
  std::unordered_map<RequestId, std::shared_ptr<RequestState>> requests_;
  std::set<std::pair<Clock::time_point, RequestId>> deadlines_;  // of those that have one
  std::vector<RequestEvent> events_;
  std::vector<SamplerScratch> scratch_;  // of each worker
  SequenceId next_sequence_ = 1;
  Metrics metrics_;
  MaskFiller mask_filler_;
  std::unique_ptr<Trace> trace_;
  std::unique_ptr<Speculator> speculator_;  // null: one token a sequence and step
};

}  // namespace mlc

#endif  // MLC_ENGINE_ENGINE_H_
