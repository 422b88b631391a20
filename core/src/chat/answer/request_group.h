// The engine's requests of one answer, one a prompt, whose ids follow each other.
//
// A few of them are with the engine at a time: a list of two thousand texts neither fills the queue
// nor makes others wait behind all of it.
#ifndef MLC_CHAT_ANSWER_REQUEST_GROUP_H_
#define MLC_CHAT_ANSWER_REQUEST_GROUP_H_

#include <atomic>
#include <functional>
#include <memory>
#include <vector>

#include "chat/answer/answerer.h"
#include "engine/engine_thread.h"

namespace mlc {

class RequestGroup : public std::enable_shared_from_this<RequestGroup> {
 public:
  // `on_end` is called on the callback thread once the answer has ended.
  RequestGroup(EngineThread* thread, std::vector<Request> requests,
               std::unique_ptr<Answerer> answerer, std::function<void()> on_end);

  // Once. From here on the callback thread alone uses what is not atomic.
  void Start();
  // Ends the answer with `status`, unless it has ended. From any thread; `thread` is the engine's
  // present one: the group's own may be gone by now, and its ids mean nothing to another.
  void Abort(EngineThread* thread, const Status& status);
  // Pauses or resumes all of its requests. From any thread; `thread` likewise.
  void Pause(EngineThread* thread, bool paused);

 private:
  void Submit(size_t prompt);
  void Take(size_t prompt, const RequestEvent& event);

  EngineThread* thread_;
  const RequestId first_id_;
  std::vector<Request> requests_;
  size_t next_;  // of those that are not submitted
  std::unique_ptr<Answerer> answerer_;
  std::function<void()> on_end_;
  std::atomic<bool> aborted_{false}, paused_{false};
};

}  // namespace mlc

#endif  // MLC_CHAT_ANSWER_REQUEST_GROUP_H_
