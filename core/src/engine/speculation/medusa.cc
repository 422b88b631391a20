#include "engine/speculation/medusa.h"

#include <algorithm>
#include <cstddef>

namespace mlc {

Result<std::unique_ptr<MedusaDrafter>> MedusaDrafter::Create(std::unique_ptr<Model> heads,
                                                             int vocab_size) {
  MLC_RETURN_IF_ERROR(CheckVocabulary(heads->info(), vocab_size));
  return std::unique_ptr<MedusaDrafter>(new MedusaDrafter(std::move(heads), vocab_size));
}

void MedusaDrafter::TakeStates(const Sequence& sequence, int first, int count,
                               const float* states) {
  if (count <= 0) return;
  Last& last = last_[sequence.id];
  const float* state = states + ptrdiff_t{info().hidden_size} * (count - 1);
  last = {first + count - 1, ++now_, {state, state + info().hidden_size}};
  if (last_.size() <= kMostStates) return;
  last_.erase(std::min_element(last_.begin(), last_.end(), [](const auto& a, const auto& b) {
    return a.second.taken < b.second.taken;
  }));
}

std::vector<TreeDrafter::Run> MedusaDrafter::Begin(const std::vector<DraftTask>& tasks) {
  std::vector<Run> runs;
  for (const DraftTask& task : tasks) runs.push_back({task});
  return runs;
}

Status MedusaDrafter::Start(std::vector<Run>* runs) {
  std::vector<float> states;
  std::vector<Run*> found;
  for (Run& run : *runs) {
    const Sequence& sequence = *run.task.sequence;
    auto last = last_.find(sequence.id);
    bool is_there = last != last_.end() && last->second.position == sequence.num_tokens() - 2;
    if (!is_there || static_cast<int>(found.size()) == info().prefill_chunk_size) continue;
    states.insert(states.end(), last->second.state.begin(), last->second.state.end());
    found.push_back(&run);
  }
  if (found.empty()) return Status();
  MLC_ASSIGN_OR_RETURN(const float* logits,
                       model()->RunHead(states, static_cast<int>(found.size())));
  for (Run* run : found) {
    run->heads = logits;
    run->leaves.push_back({Drafts::kKnown, run->task.sequence->id, 0, logits});
    logits += info().head_size;
  }
  return Status();
}

Status MedusaDrafter::Continue(std::vector<Run>* runs) {
  int num_heads = info().head_size / info().vocab_size;
  for (Run& run : *runs) {
    for (Leaf& leaf : run.leaves) {
      int depth = run.drafts.depth(leaf.draft);
      if (depth >= num_heads || !WantsMore(run, leaf)) continue;
      leaf.logits = run.heads + ptrdiff_t{logit_rows().stride} * depth;
    }
  }
  return Status();
}

}  // namespace mlc
