// The parts of KVCache that work with recurrent states.
#include <algorithm>

#include "kv/kv_cache.h"

namespace mlc {

int32_t KVCache::TakeState() {
  if (states_.num_free() == 0) tree_.DropState(states_.OldestIdle());
  return states_.Take();
}

// Returns a slot only if enough slots stay available for every sequence.
std::optional<int32_t> KVCache::TakeSpareState() {
  if (num_spare_states() <= 0) return std::nullopt;
  return TakeState();
}

Result<KVCache::StepStates> KVCache::AppendStates(SequenceId id, int num_rows, int num_drafts,
                                                  const std::vector<int>& kept_lengths) {
  StepStates step;
  Sequence& sequence = Get(id);
  if (!has_states() || num_rows == 0) return step;
  int end = sequence.length, known = end - num_drafts;
  bool begins = sequence.states.empty();
  if (!begins) step.source = sequence.states.back().slot;
  MLC_ICHECK((begins ? 0 : sequence.states.back().length) == end - num_rows);
  auto add = [&](int length, int32_t slot, bool kept) {
    sequence.states.push_back({length, slot, kept});
    step.writes.push_back({length, slot});
  };
  bool in_place = !begins && num_drafts == 0 && states_.IsOnlyOwned(step.source);
  if (!in_place && states_.num_available() == 0) {
    return ResourceExhausted("there is no free slot for the recurrent state of a sequence");
  }
  int32_t last = in_place ? step.source : TakeState();
  if (in_place) sequence.states.pop_back();
  for (int length = end - num_rows + 1; length < end; ++length) {
    bool kept = std::find(kept_lengths.begin(), kept_lengths.end(), length) != kept_lengths.end();
    if (!kept && (num_drafts == 0 || length < known)) continue;
    if (std::optional<int32_t> slot = TakeSpareState()) add(length, *slot, kept);
  }
  bool kept = std::find(kept_lengths.begin(), kept_lengths.end(), end) != kept_lengths.end();
  add(end, last, kept);
  return step;
}

void KVCache::CutStates(Sequence* sequence, int length) {
  std::vector<State>& states = sequence->states;
  while (!states.empty() && states.back().length > length) {
    states_.Release(states.back().slot);
    states.pop_back();
  }
}

void KVCache::DropStatesBefore(Sequence* sequence, int length) {
  std::vector<State>& states = sequence->states;
  auto behind = std::find_if(states.begin(), states.end(),
                             [length](const State& state) { return state.length > length; });
  if (behind == states.begin()) return;
  auto last = std::prev(behind);
  std::for_each(states.begin(), last, [this](const State& state) { states_.Release(state.slot); });
  states.erase(states.begin(), last);
}

// Publishes states that others should find, at the ends of pages that the tree has.
void KVCache::PublishStates(const Sequence& sequence, const std::vector<PrefixTree::NodeId>& nodes,
                            int first_page) {
  for (const State& state : sequence.states) {
    int page = state.length / page_size_ - 1 - first_page;
    bool is_end_of_page = state.length % page_size_ == 0;
    if (!state.kept || !is_end_of_page || page < 0) continue;
    if (page >= static_cast<int>(nodes.size())) continue;
    tree_.SetState(nodes[static_cast<size_t>(page)], {page_size_, state.slot});
  }
}

void KVCache::LimitToState(const PrefixTree::Match& match, const std::vector<int32_t>& tokens,
                           Found* found) const {
  int length = found->length;
  *found = {};
  for (int page = length / page_size_; page >= 0; --page) {
    int within = std::min(page_size_, length - page * page_size_);
    if (within == 0) continue;
    PrefixTree::NodeId node = NodeOf(match, page);
    PrefixTree::State state = tree_.BestState(node, within);
    int end = page * page_size_ + state.count;
    if (state.slot == kNoState || !tree_.HasAllPages(node) || HasHole(match, page, end)) continue;
    if (IsInContent(tokens, end)) continue;
    *found = {end, state.slot};
    return;
  }
}

}  // namespace mlc
