// Runs an engine on a thread of its own and delivers its events on another.
//
// Every method may be called from any thread, except that the destructor must not run inside a
// callback. Each submitted request ends with exactly one event that has `finished`.
#ifndef MLC_ENGINE_ENGINE_THREAD_H_
#define MLC_ENGINE_ENGINE_THREAD_H_

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

namespace mlc {

// Called in order, never two at a time.
using EventSink = std::function<void(RequestEvent event)>;

class EngineThread {
 public:
  // `on_start` runs first on the compute thread (to size its worker pool).
  EngineThread(std::unique_ptr<Engine> engine, std::function<void()> on_start);
  // Ends what is unfinished with kUnavailable and returns after the last callback.
  ~EngineThread();

  const ModelInfo& info() const { return engine_->info(); }
  int max_length() const { return engine_->max_length(); }
  int num_pages() const { return engine_->num_pages(); }
  Status Check(const Request& request) const { return engine_->Check(request); }

  // The request's id must be new. A request that cannot be queued ends with an event, too. False,
  // and no event, once the destructor has begun: for submits out of a callback.
  bool Submit(Request request, EventSink sink);
  void Abort(RequestId id, Status status);
  // Engine::PauseRequest. A request that is submitted behind it is not paused.
  void PauseRequest(RequestId id, bool paused);
  // Ends all requests with `status`, empties the caches and counts from zero, before it returns.
  void Reset(Status status);
  // Whether the calling thread is the callback thread of any engine.
  static bool InCallback();
  // Runs `callback` on the callback thread, after what was queued before.
  void Post(std::function<void()> callback);
  // Runs `command` on the compute thread, between two steps. False once the destructor has begun.
  using Command = std::function<void(Engine*)>;
  bool Do(Command command);
  // Runs `then` on the compute thread once the prefix cache holds the request's prompt, which is
  // computed where it does not; or with the reason why that failed. The id must be new.
  using Continuation = std::function<void(Engine*, const Status&)>;
  void WithPrompt(Request request, Continuation then);
  // Runs `work` on a thread for files, in order. To be called on the compute thread.
  void DoFileWork(std::function<void()> work);
  void Pause(bool paused);
  Metrics metrics();
  // Frees what the prefix cache holds and no sequence uses, and gives the system back what is free.
  void TrimMemory();
  // Calls `callback` with the trace's JSON on the callback thread; with "" when tracing is off.
  void TakeTrace(std::function<void(const std::string& json)> callback);

 private:
  void ComputeLoop(const std::function<void()>& on_start);
  void WaitForWork(std::unique_lock<std::mutex>* lock);
  void CallbackLoop();
  // Whether so many callbacks wait that no step is to be begun. With the mutex.
  bool CallbacksAreBehind();
  // Has the grammar of a held request compiled, and the request released.
  void Compile(RequestId id, Grammar grammar);
  void PublishMetrics();
  void TrimWhenIdle();
  void Deliver(std::vector<RequestEvent> events);
  // Whether the event is that of a WithPrompt.
  bool Continue(const RequestEvent& event);

  std::unique_ptr<Engine> engine_;  // the compute thread's alone, but for its const limits

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Command> commands_;
  Metrics metrics_;  // a copy as of the last step
  bool paused_ = false, stopping_ = false;

  std::unordered_map<RequestId, std::shared_ptr<EventSink>> sinks_;  // the compute thread's
  std::unordered_map<RequestId, Continuation> continuations_;        // so are these
  bool has_stepped_ = false;                                         // since the last trim, too
  Clock::time_point next_trim_{};
  std::atomic<bool> waits_for_callbacks_{false};  // the compute thread
  BlockingQueue<std::function<void()>> callbacks_, file_work_, compile_work_;
  std::atomic<bool> closing_{false};                            // nothing more is to be compiled
  std::vector<std::thread> compile_threads_;                    // once they are needed
  std::thread compute_thread_, callback_thread_, file_thread_;  // the last once it is needed
};

}  // namespace mlc

#endif  // MLC_ENGINE_ENGINE_THREAD_H_
