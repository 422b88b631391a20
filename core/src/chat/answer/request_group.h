// The engine's requests of one answer, one for each prompt. Their ids are consecutive.
//
// Only a few of them are in the engine at a time. So a list of two thousand texts does not fill the
// queue, and other requests need not wait behind all of it.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "chat/answer/answerer.h"
#include "engine/engine_loop.h"

namespace mlc {

class RequestGroup : public std::enable_shared_from_this<RequestGroup> {
 public:
  // `on_end` is called on the callback thread when the answer has ended.
  RequestGroup(EngineLoop* loop, std::vector<Request> requests, std::unique_ptr<Answerer> answerer,
               std::function<void()> on_end);

  // Call it once. After that, only the callback thread uses the members, but for these: atomic
  // ones, and what a mutex guards.
  void Start();
  // Ends the answer with `status`, unless it has ended. Any thread may call it. `loop` is the
  // loop of the current engine: the group's own engine may be unloaded, and its ids mean nothing
  // to another engine.
  void Abort(EngineLoop* loop, const Status& status);
  // Pauses or resumes all of its requests. Any thread may call it; `loop` as above.
  void Pause(EngineLoop* loop, bool paused);

 private:
  void Submit(size_t prompt);
  void Take(size_t prompt, const RequestEvent& event);

  EngineLoop* loop_;
  const RequestId first_id_;
  std::vector<Request> requests_;
  size_t next_;  // index of the first request that is not submitted yet
  std::unique_ptr<Answerer> answerer_;
  std::function<void()> on_end_;
  std::atomic<bool> aborted_{false};
  std::mutex pausing_;  // of `paused_`, and of what is told to the engine about it
  bool paused_ = false;
};

}  // namespace mlc
