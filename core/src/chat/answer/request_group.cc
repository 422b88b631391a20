#include "chat/answer/request_group.h"

#include <algorithm>

namespace mlc {
namespace {

constexpr size_t kInFlight = 128;

RequestEvent Failed(Status status) {
  RequestEvent event;
  event.finished = true;
  event.status = std::move(status);
  return event;
}

}  // namespace

RequestGroup::RequestGroup(EngineLoop* loop, std::vector<Request> requests,
                           std::unique_ptr<Answerer> answerer, std::function<void()> on_end)
    : loop_(loop),
      first_id_(requests.front().id),
      requests_(std::move(requests)),
      next_(std::min(kInFlight, requests_.size())),
      answerer_(std::move(answerer)),
      on_end_(std::move(on_end)) {}

void RequestGroup::Start() {
  for (size_t prompt = 0, count = next_; prompt < count; ++prompt) Submit(prompt);
}

void RequestGroup::Submit(size_t prompt) {
  bool taken = false;
  {
    // Pause and Abort handle the requests that are in the engine already. This one may come later,
    // so it is checked here.
    std::lock_guard<std::mutex> lock(pausing_);
    taken = loop_->Submit(std::move(requests_[prompt]),
                          [self = shared_from_this(), prompt](const RequestEvent& event) {
                            self->Take(prompt, event);
                          });
    if (paused_) loop_->PauseRequest(first_id_ + prompt, true);
    if (aborted_) loop_->Abort(first_id_ + prompt, Cancelled("the request was cancelled"));
  }
  if (!taken)
    Take(prompt, Failed(Unavailable("the model was unloaded").WithReason(Reason::kModelUnloaded)));
}

void RequestGroup::Take(size_t prompt, const RequestEvent& event) {
  if (answerer_->ended()) return;
  answerer_->Take(prompt, event);
  bool more = event.finished && next_ < requests_.size();
  // the abort came when no request was in the engine
  if (!answerer_->ended() && more && aborted_) {
    answerer_->Take(prompt, Failed(Cancelled("the request was cancelled")));
  }
  if (answerer_->ended()) {
    // the answer has failed: ends its other requests
    if (!event.status.ok()) Abort(loop_, event.status);
    return on_end_();
  }
  if (more) Submit(next_++);
}

void RequestGroup::Pause(EngineLoop* loop, bool paused) {
  std::lock_guard<std::mutex> lock(pausing_);
  paused_ = paused;
  for (size_t i = 0; i < requests_.size(); ++i) loop->PauseRequest(first_id_ + i, paused);
}

void RequestGroup::Abort(EngineLoop* loop, const Status& status) {
  aborted_ = true;
  for (size_t i = 0; i < requests_.size(); ++i) loop->Abort(first_id_ + i, status);
}

}  // namespace mlc
