// Runs an engine on a thread of its own and delivers its events on another.
//
// Every method may be called from any thread, except that the destructor must not run inside a
// callback. Each submitted request ends with exactly one event that has `finished`.
#ifndef MLC_ENGINE_ENGINE_THREAD_H_
#define MLC_ENGINE_ENGINE_THREAD_H_

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
  Status Check(const Request& request) const { return engine_->Check(request); }

  // The request's id must be new. A request that cannot be queued ends with an event, too.
  void Submit(Request request, EventSink sink);
  void Abort(RequestId id, Status status);
  void AbortAll(Status status);
  // Whether the calling thread is the callback thread of any engine.
  static bool InCallback();
  // Runs `callback` on the callback thread, after what was queued before.
  void Post(std::function<void()> callback);
  void Pause(bool paused);
  Metrics metrics();
  void ResetMetrics();
  void ClearPrefixCache();
  // Calls `callback` with the trace's JSON on the callback thread; with "" when tracing is off.
  void TakeTrace(std::function<void(const std::string& json)> callback);

 private:
  using Command = std::function<void(Engine*)>;
  void Do(Command command);
  void ComputeLoop(const std::function<void()>& on_start);
  void WaitForWork(std::unique_lock<std::mutex>* lock);
  void CallbackLoop();
  void PublishMetrics();
  void Deliver(std::vector<RequestEvent> events);

  std::unique_ptr<Engine> engine_;  // the compute thread's alone, but for its const limits

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Command> commands_;
  Metrics metrics_;  // a copy as of the last step
  bool paused_ = false, stopping_ = false;

  std::unordered_map<RequestId, std::shared_ptr<EventSink>> sinks_;  // the compute thread's
  BlockingQueue<std::function<void()>> callbacks_;
  std::thread compute_thread_, callback_thread_;
};

}  // namespace mlc

#endif  // MLC_ENGINE_ENGINE_THREAD_H_
