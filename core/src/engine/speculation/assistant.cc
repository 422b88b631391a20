#include "engine/speculation/assistant.h"

#include <algorithm>

namespace mlc {

Result<std::unique_ptr<AssistantDrafter>> AssistantDrafter::Create(std::unique_ptr<Model> model,
                                                                   int vocab_size) {
  MLC_RETURN_IF_ERROR(CheckVocabulary(model->info(), vocab_size));
  return std::unique_ptr<AssistantDrafter>(new AssistantDrafter(std::move(model), vocab_size));
}

bool AssistantDrafter::CanDraft(const Sequence& sequence) const {
  return last_.Find(sequence) != nullptr && cache_ != nullptr && !cache_->has_pending_copies() &&
         cache_->Length(sequence.id) == sequence.num_tokens() - 1;
}

std::vector<TreeDrafter::Run> AssistantDrafter::Begin(const std::vector<DraftTask>& tasks) {
  int most = std::min(info().max_batch_size, info().prefill_chunk_size);
  int widest = std::max(1, most / std::max(1, static_cast<int>(tasks.size())));
  std::vector<Run> runs;
  for (DraftTask task : tasks) {
    task.width = std::min(task.width, widest);
    runs.push_back({task});
  }
  return runs;
}

void AssistantDrafter::AddRow(const Run& run, int32_t token, Leaf* leaf) {
  SequenceId id = run.task.sequence->id;
  if (batch_.page_indptr.empty()) batch_.page_indptr.push_back(0);
  batch_.row_sequence.push_back(batch_.num_sequences());
  batch_.logit_rows.push_back(batch_.num_rows());
  batch_.hidden_rows.push_back(batch_.num_rows());
  batch_.tokens.push_back(token);
  batch_.positions.push_back(cache_->Length(id) - 1);
  batch_.target_states.push_back(leaf->state);
  std::vector<int32_t>* const slots[] = {&batch_.slots, &batch_.windowed_slots};
  std::vector<int32_t>* const indices[] = {&batch_.page_indices, &batch_.windowed_indices};
  for (size_t g = 0; g < cache_->num_groups(); ++g) {
    slots[g]->push_back(0);  // nothing is written
    for (int32_t page : cache_->Pages(id, g)) {
      indices[g]->push_back(page == kNoPage ? kNoPage : cache_->NumberInGroup(page, g));
    }
  }
  batch_.page_indptr.push_back(static_cast<int32_t>(batch_.page_indices.size()));
  leaves_.push_back(leaf);
}

Status AssistantDrafter::Compute() {
  Batch batch = std::exchange(batch_, {});
  std::vector<Leaf*> leaves = std::exchange(leaves_, {});
  if (leaves.empty()) return Status();
  MLC_ASSIGN_OR_RETURN(Outputs outputs, model()->Forward(batch));
  for (size_t row = 0; row < leaves.size(); ++row) {
    auto index = static_cast<ptrdiff_t>(row);
    leaves[row]->logits = outputs.logits + logit_rows().stride * index;
    leaves[row]->state = outputs.hidden_states + info().hidden_size * index;
  }
  return Status();
}

Status AssistantDrafter::Start(std::vector<Run>* runs) {
  int most = std::min(info().max_batch_size, info().prefill_chunk_size);
  for (Run& run : *runs) {
    const Sequence& sequence = *run.task.sequence;
    if (!CanDraft(sequence) || static_cast<int>(leaves_.size()) == most) continue;
    run.leaves.push_back({Drafts::kKnown, sequence.id, 0, nullptr, last_.Find(sequence)});
    AddRow(run, sequence.tokens().back(), &run.leaves.back());
  }
  return Compute();
}

Status AssistantDrafter::Continue(std::vector<Run>* runs) {
  for (Run& run : *runs) {
    for (Leaf& leaf : run.leaves) {
      if (WantsMore(run, leaf)) AddRow(run, run.drafts[leaf.draft], &leaf);
    }
  }
  return Compute();
}

}  // namespace mlc
