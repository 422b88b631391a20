// The parts of Speculator that choose what is drafted in a step, and by whom.
#include <algorithm>
#include <numeric>

#include "engine/speculation/speculator.h"

namespace mlc {

Speculator::Request Speculator::ByDrafter(Request request) const {
  if (!request.can_draft) return request;
  request.source = DraftSource::kDrafter;
  request.max_drafts = request.most;
  request.width = shape_.width;
  return request;
}

bool Speculator::TakeFound(Request* request) const {
  auto entry = found_.find(request->item->sequence->id);
  if (entry == found_.end()) return false;
  const Drafts& drafts = entry->second.drafts;
  request->source = entry->second.source;
  request->max_drafts = drafts.length();
  request->width = (drafts.size() + drafts.length() - 1) / drafts.length();
  return true;
}

DraftChances Speculator::Chances(const Request& request) const {
  return policy_.Chances(request.source, RecordOf(request.source, request.item->sequence.get()));
}

double Speculator::Promise(const Request& request) const {
  std::vector<double> gains = DraftPolicy::ChainGains(Chances(request), request.max_drafts);
  return std::accumulate(gains.begin(), gains.end(), 0.0);
}

double Speculator::ChooseLengths(const std::vector<Request*>& requests, double draft_seconds,
                                 DecodeRows* rows) const {
  std::vector<DraftCandidate> candidates;
  for (const Request* request : requests) {
    // Of a tree that is not drafted yet it is not known how many drafts will be checked: at least
    // one at each depth.
    bool by_drafter = request->source == DraftSource::kDrafter;
    candidates.push_back({DraftPolicy::ChainGains(Chances(*request), request->max_drafts),
                          by_drafter ? 1 : request->width, by_drafter});
  }
  bool at_once = draft_seconds > 0 && drafter_->drafts_at_once();
  DraftChoice choice = policy_.Choose(*rows, candidates, draft_seconds, at_once);
  for (size_t i = 0; i < requests.size(); ++i) {
    requests[i]->max_drafts = choice.counts[i];
    rows->drafts += choice.counts[i] * candidates[i].rows_per_draft;
    auto begin = candidates[i].gains.begin();
    rows->gain += std::accumulate(begin, begin + choice.counts[i], 0.0);
  }
  return choice.rate;
}

Speculator::Plan Speculator::MakePlan(int num_sequences, std::vector<Request> requests) const {
  Plan plan{std::move(requests), {num_sequences}};
  std::vector<Request*> found, others;
  for (Request& request : plan.requests) {
    if (request.source != DraftSource::kDrafter) {
      found.push_back(&request);
    } else if (request.can_draft) {
      others.push_back(&request);
    }
  }
  plan.rate = ChooseLengths(found, 0, &plan.rows);
  for (Request* request : found) {
    if (request->max_drafts > 0 || !request->can_draft) continue;
    *request = ByDrafter(*request);
    others.push_back(request);
  }
  if (others.empty()) return plan;
  double seconds = drafter_->seconds_per_draft(static_cast<int>(others.size()));
  // until the cost of a draft is known, one is enough to measure it
  for (Request* request : others) {
    if (seconds == 0) request->max_drafts = std::min(request->max_drafts, 1);
  }
  DecodeRows rows = plan.rows;
  plan.rate = ChooseLengths(others, seconds, &rows);
  return plan;
}

Speculator::Plan Speculator::ChoosePlan(int num_sequences, std::vector<Request> requests) const {
  Plan plan = MakePlan(num_sequences, requests);
  if (drafter_ == nullptr || found_.empty()) return plan;
  for (Request& request : requests) request = ByDrafter(request);
  Plan other = MakePlan(num_sequences, std::move(requests));
  return other.rate > plan.rate ? other : plan;
}

void Speculator::ChooseSources(std::vector<Request>* requests) const {
  for (Request& request : *requests) {
    Request other = ByDrafter(request);
    if (Promise(other) > Promise(request)) request = other;
  }
}

void Speculator::PutBack(Plan* plan) {
  std::vector<Request*> left;
  for (Request& request : plan->requests) {
    bool has_none = request.source == DraftSource::kDrafter && request.item->drafts.empty();
    if (has_none && request.max_drafts > 0 && TakeFound(&request)) left.push_back(&request);
  }
  if (left.empty()) return;
  if (shape_.is_adaptive()) ChooseLengths(left, 0, &plan->rows);
  for (Request* request : left) {
    Found& found = found_.at(request->item->sequence->id);
    request->item->drafts = found.drafts;
    request->item->drafts.Prune(request->max_drafts);
    found.is_used = request->max_drafts > 0;
  }
}

}  // namespace mlc
