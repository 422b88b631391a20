// The part of Engine that keeps the lists of requests: how they are added, paused and ended.
#include <algorithm>
#include <iterator>

#include "engine/engine.h"
#include "engine/prompt_ids.h"

namespace mlc {
namespace {

template <typename Predicate>
void EraseIf(SequenceList* list, Predicate predicate) {
  list->erase(std::remove_if(list->begin(), list->end(), predicate), list->end());
}

}  // namespace

std::shared_ptr<Sequence> Engine::NewSequence(std::shared_ptr<RequestState> request, int choice) {
  return std::make_shared<Sequence>(next_sequence_++, choice, std::move(request), tokenizer_.get());
}

Status Engine::Add(Request request, bool hold) {
  MLC_RETURN_IF_ERROR(Check(request));
  if (request.grammar && !hold) MLC_RETURN_IF_ERROR(request.grammar->Prepare());
  if (num_queued_ >= max_queued_requests_) {
    return ResourceExhausted("the queue is full: " + std::to_string(max_queued_requests_) +
                             " requests are waiting; try again later")
        .WithReason(Reason::kQueueFull);
  }
  MLC_ASSIGN_OR_RETURN(std::vector<int32_t> ids, PromptIds(request.prompt, &names_));
  MLC_RETURN_IF_ERROR(CheckRoomToPin(request, ids));
  RequestId id = request.id;
  auto state = std::make_shared<RequestState>(std::move(request), std::move(ids));
  state->num_unfinished = state->request.n;
  requests_.emplace(id, state);
  if (auto deadline = state->request.deadline()) deadlines_.emplace(*deadline, id);
  ++num_queued_;
  state->held = hold;
  if (!hold) Enqueue(NewSequence(state, 0));
  return Status();
}

bool Engine::Holds(RequestId id) const {
  auto found = requests_.find(id);
  return found != requests_.end() && found->second->held;
}

void Engine::Release(RequestId id) {
  auto found = requests_.find(id);
  if (found == requests_.end() || !std::exchange(found->second->held, false)) return;
  const std::optional<Grammar>& grammar = found->second->request.grammar;
  Status status = grammar ? grammar->Prepare() : Status();
  if (!status.ok()) return Abort(id, status);
  Enqueue(NewSequence(found->second, 0));
}

void Engine::Enqueue(std::shared_ptr<Sequence> sequence) {
  bool is_paused = sequence->request->paused;
  InsertByRank(std::move(sequence), is_paused ? &paused_ : &waiting_);
}

void Engine::PauseRequest(RequestId id, bool paused) {
  auto found = requests_.find(id);
  if (found == requests_.end() || std::exchange(found->second->paused, paused) == paused) return;
  auto is_of_request = [&](const auto& sequence) { return sequence->request == found->second; };
  SequenceList moved;
  for (SequenceList* list : {&running_, &waiting_, &paused_}) {
    std::copy_if(list->begin(), list->end(), std::back_inserter(moved), is_of_request);
  }
  for (const auto& sequence : running_) {
    if (is_of_request(sequence)) GiveBack(sequence.get());
  }
  for (SequenceList* list : {&running_, &waiting_, &paused_}) EraseIf(list, is_of_request);
  for (std::shared_ptr<Sequence>& sequence : moved) Enqueue(std::move(sequence));
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
  EraseIf(&paused_, is_of_request);
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
                                          .WithReason(Reason::kDeadlineExceeded));
  }
}

void Engine::GiveBack(Sequence* sequence) {
  Retire(*sequence, /*ends=*/false);
  sequence->ForgetComputed();
  sequence->preempted_at = Clock::now();
}

}  // namespace mlc
