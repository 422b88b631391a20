// Runs an engine on a thread of its own and delivers its events on another
// (engine_loop_threads.cc), or in turns where there are no threads (engine_loop_turns.cc).
//
// Every method may be called from any thread. Only the destructor must not run inside a callback.
// Each submitted request ends with exactly one event that has `finished`.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <vector>

#include "base/queue.h"
#include "engine/engine.h"
#include "engine/kept/kept_prefixes.h"

namespace mlc {

// Called in order, never twice at the same time.
using EventSink = std::function<void(RequestEvent event)>;

class EngineLoop {
 public:
  // `on_start` runs first on the compute thread, to set the size of its worker pool.
  EngineLoop(std::unique_ptr<Engine> engine, std::function<void()> on_start);
  // Ends all unfinished requests with kUnavailable. Returns after the last callback.
  ~EngineLoop();

  const ModelInfo& info() const { return engine_->info(); }
  int max_length() const { return engine_->max_length(); }
  LengthLimit length_limit() const { return engine_->length_limit(); }
  int64_t pool_bytes() const { return engine_->pool_bytes(); }
  Status Check(const Request& request) const { return engine_->Check(request); }
  const std::shared_ptr<AdapterTable>& adapters() const { return engine_->adapters(); }

  // The request's id must be new. A request that cannot be queued also ends with an event. Returns
  // false, without an event, when the destructor has begun (a callback may call Submit then).
  bool Submit(Request request, EventSink sink);
  void Abort(RequestId id, Status status);
  // See Engine::PauseRequest. A request that is submitted later is not paused.
  void PauseRequest(RequestId id, bool paused);
  // Ends all requests with `status`, empties the caches and resets the metrics. Returns when that
  // is done.
  void Reset(Status status);
  // Whether the calling thread is the callback thread of any engine.
  static bool InCallback();
  // Runs `callback` on the callback thread, after the callbacks that were queued before.
  void Post(std::function<void()> callback);
  // Runs `command` on the compute thread, between two steps. Returns false when the destructor has
  // begun.
  using Command = std::function<void(Engine*)>;
  bool Do(Command command);
  // Runs `then` on the compute thread as soon as the prefix cache holds the request's prompt. The
  // missing part of the prompt is computed first; if that fails, `then` gets the error. The id must
  // be new.
  using Continuation = std::function<void(Engine*, const Status&)>;
  void WithPrompt(Request request, Continuation then);
  // Runs `work` on a thread for files, in order. Call it on the compute thread.
  void DoFileWork(std::function<void()> work);
  // Keeps the prefix cache outside the device too (kept/), if the model's can be kept. Call it
  // before the first request.
  void KeepPrefixes(PrefixPlaces places);
  void Pause(bool paused);
  Metrics metrics();
  // Frees the pages that only the prefix cache holds, and returns free memory to the system.
  void TrimMemory();
  // Calls `callback` with the trace's JSON on the callback thread, or with "" when tracing is off.
  void TakeTrace(std::function<void(const std::string& json)> callback);
  // Where there are no threads (a browser): runs the commands, one step and the callbacks of every
  // engine. Returns the milliseconds after which it wants to be called again; -1: not before there
  // is a new command.
  static int TakeTurns();

 private:
  void ComputeLoop(const std::function<void()>& on_start);
  void RunOnce(std::vector<Command> commands, bool stopping, bool paused);
  void ResetEngine(const Status& status);
  int TakeTurn();  // of this engine, as TakeTurns
  void RunCallbacks();
  void WaitForWork(std::unique_lock<std::mutex>* lock);
  void CallbackLoop();
  // Whether so many callbacks wait that no step should begin. The caller holds the mutex.
  bool CallbacksAreBehind();
  // Compiles the grammar of a held request on a compile thread, then releases the request. Stops
  // when the request has ended before that.
  void Compile(RequestId id, Grammar grammar);
  // What a held request still waits for: its grammar, or nothing.
  void GoOn(RequestId id, const std::optional<Grammar>& grammar);
  std::function<void()> CompileTask(RequestId id, Grammar grammar);
  void PublishMetrics();
  void TrimWhenIdle();
  void Deliver(std::vector<RequestEvent> events);
  // Whether the event belongs to a WithPrompt. If so, it is handled here.
  bool Continue(const RequestEvent& event);

  std::unique_ptr<Engine> engine_;  // only the compute thread uses it, except for its const limits
  std::unique_ptr<KeptPrefixes> kept_;  // null: not kept; used by the compute thread only

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Command> commands_;
  Metrics metrics_;  // a copy after the last step
  bool paused_ = false, stopping_ = false;

  // used by the compute thread only
  std::unordered_map<RequestId, std::shared_ptr<EventSink>> sinks_;
  std::unordered_map<RequestId, Continuation> continuations_;  // used by the compute thread only
  // The requests whose grammars are compiled, each with its flag to stop that; used by the compute
  // thread only.
  std::unordered_map<RequestId, std::shared_ptr<std::atomic<bool>>> compiling_;
  bool has_stepped_ = false;  // since the last trim; used by the compute thread only
  Clock::time_point next_trim_{};
  std::atomic<bool> waits_for_callbacks_{false};  // whether the compute thread waits
  BlockingQueue<std::function<void()>> callbacks_, file_work_, compile_work_;
  std::vector<std::thread> compile_threads_;  // started when they are needed
  // file_thread_ is started when it is needed
  std::thread compute_thread_, callback_thread_, file_thread_;
};

}  // namespace mlc
