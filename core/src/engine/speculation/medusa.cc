#include "engine/speculation/medusa.h"

#include <cstddef>

namespace mlc {

Result<std::unique_ptr<MedusaDrafter>> MedusaDrafter::Create(std::unique_ptr<Model> heads,
                                                             int vocab_size) {
  MLC_RETURN_IF_ERROR(CheckVocabulary(heads->info(), vocab_size));
  return std::unique_ptr<MedusaDrafter>(new MedusaDrafter(std::move(heads), vocab_size));
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
    const float* state = last_.Find(*run.task.sequence);
    bool is_full = static_cast<int>(found.size()) == info().prefill_chunk_size;
    if (state == nullptr || is_full) continue;
    states.insert(states.end(), state, state + info().hidden_size);
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
