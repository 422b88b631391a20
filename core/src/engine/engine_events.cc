// The part of Engine that makes events.
#include <algorithm>
#include <cmath>

#include "engine/engine.h"

namespace mlc {
namespace {

Usage MakeUsage(const RequestState& request) {
  Clock::time_point now = Clock::now();
  Usage usage;
  usage.prompt_tokens = request.request.prompt.size();
  usage.completion_tokens = request.completion_tokens;
  usage.reasoning_tokens = request.reasoning_tokens;
  usage.cached_tokens = request.cached_tokens.value_or(0);
  if (!request.request.prediction.empty()) {
    usage.accepted_prediction_tokens = request.accepted_prediction_tokens;
    usage.rejected_prediction_tokens = request.rejected_prediction_tokens;
  }
  usage.drafts = request.drafts;
  usage.end_to_end_s = SecondsBetween(request.request.received, now);
  if (request.first_token) {
    usage.ttft_s = SecondsBetween(request.request.received, *request.first_token);
    usage.prefill_s = SecondsBetween(*request.first_row, *request.first_token);
    usage.decode_s = SecondsBetween(*request.first_token, now);
  }
  return usage;
}

RequestEvent NewEvent(const RequestState& request) {
  RequestEvent event;
  event.id = request.request.id;
  event.usage = MakeUsage(request);
  return event;
}

// An event with what the request has not sent yet.
RequestEvent TakeEvent(RequestState* request) {
  RequestEvent event = NewEvent(*request);
  event.prompt = std::exchange(request->prompt_scores, {});
  event.deltas = std::exchange(request->deltas, {});
  return event;
}

bool IsFinite(const std::vector<double>& vector) {
  return std::all_of(vector.begin(), vector.end(), [](double x) { return std::isfinite(x); });
}

}  // namespace

void Engine::EmitDeltas(const std::vector<SequenceCommit>& commits) {
  for (const SequenceCommit& commit : commits) {
    RequestState& request = *commit.sequence->request;
    if (request.deltas.empty()) continue;
    if (request.num_unfinished == 0) {
      EmitFinished(&request, Status());
    } else {
      events_.push_back(TakeEvent(&request));
    }
  }
}

void Engine::EmitProgress(const Sequence& sequence) {
  const RequestState& request = *sequence.request;
  RequestEvent event = NewEvent(request);
  event.progress = {sequence.num_prompt_tokens(), request.cached_tokens.value_or(0),
                    std::min(sequence.num_computed, sequence.num_prompt_tokens()),
                    SecondsBetween(*request.first_row, Clock::now())};
  events_.push_back(std::move(event));
}

Status Engine::RunHead(const std::vector<StepItem>& items) {
  if (info().head_size == 0) return Status();
  std::vector<float> vectors;
  std::vector<RequestState*> finished;
  for (const StepItem& item : items) {
    if (!item.sequence->is_pooled() || !item.sequence->finished()) continue;
    const std::vector<double>& vector = item.sequence->request->embedding;
    if (!IsFinite(vector)) continue;  // a head could make a number of it; EmitEmbeddings refuses it
    finished.push_back(item.sequence->request.get());
    vectors.insert(vectors.end(), vector.begin(), vector.end());
  }
  if (finished.empty()) return Status();
  MLC_ASSIGN_OR_RETURN(const float* made,
                       model_->RunHead(vectors, static_cast<int>(finished.size())));
  for (RequestState* request : finished) {
    request->embedding.assign(made, made + info().head_size);
    made += info().head_size;
  }
  return Status();
}

void Engine::EmitEmbeddings(const std::vector<StepItem>& items) {
  for (const StepItem& item : items) {
    if (!item.sequence->is_pooled() || !item.sequence->finished()) continue;
    RequestState& request = *item.sequence->request;
    EmitFinished(&request, IsFinite(request.embedding)
                               ? Status()
                               : Internal("the model's hidden states are no numbers"));
  }
}

void Engine::EmitFinished(RequestState* request, const Status& status) {
  RequestEvent event = TakeEvent(request);
  event.embedding = std::move(request->embedding);
  event.finished = true;
  event.status = status;
  if (status.ok()) {
    metrics_.AddFinished(event.usage);
  } else {
    ++metrics_.num_failed;
  }
  if (trace_ != nullptr) trace_->Finished(*request, status);
  events_.push_back(std::move(event));
  num_queued_ -= !request->started;
  if (auto deadline = request->request.deadline()) {
    deadlines_.erase({*deadline, request->request.id});
  }
  requests_.erase(request->request.id);
}

}  // namespace mlc
