#include "engine/speculation/tree_drafter.h"

#include <algorithm>
#include <cmath>
#include <string>

namespace mlc {

Status TreeDrafter::CheckVocabulary(const ModelInfo& info, int vocab_size) {
  if (info.vocab_size >= vocab_size) return Status();
  return InvalidArgument("the draft model's vocabulary of " + std::to_string(info.vocab_size) +
                         " tokens is smaller than the tokenizer's of " +
                         std::to_string(vocab_size) +
                         "; a draft model must have the vocabulary of its target")
      .WithParam("draft");
}

bool TreeDrafter::HasLogits(const Run& run) {
  return std::any_of(run.leaves.begin(), run.leaves.end(),
                     [](const Leaf& leaf) { return leaf.logits != nullptr; });
}

void TreeDrafter::Sample(Run* run) {
  Sequence* sequence = run->task.sequence;
  std::vector<Leaf> grown;  // `draft` is still the parent's
  std::vector<int32_t> tokens;
  std::vector<size_t> order;
  for (const Leaf& leaf : run->leaves) {
    if (leaf.logits == nullptr) continue;
    sequence->SetDrafts(run->drafts.PathTokens(leaf.draft));
    Result<std::vector<LikelyToken>> chosen =
        ChooseTokens(logit_rows_, sequence, leaf.logits, run->task.width, &scratch_);
    if (!chosen.ok()) continue;  // the logits have NaN, or the grammar allows nothing: no draft
    for (const LikelyToken& token : *chosen) {
      order.push_back(grown.size());
      grown.push_back({leaf.draft, leaf.id, leaf.score + token.logprob, nullptr, leaf.state});
      tokens.push_back(token.token);
    }
  }
  // The first leaf is the token that the target chooses if both models agree. The others are the
  // likeliest ones.
  auto likelier = [&](size_t a, size_t b) { return grown[a].score > grown[b].score; };
  if (!order.empty()) std::stable_sort(order.begin() + 1, order.end(), likelier);
  order.resize(std::min(order.size(), static_cast<size_t>(run->task.width)));
  run->leaves.clear();
  for (size_t i : order) {
    run->drafts.Add(tokens[i], grown[i].draft, std::exp(grown[i].score));
    run->leaves.push_back(
        {run->drafts.size() - 1, grown[i].id, grown[i].score, nullptr, grown[i].state});
  }
}

bool TreeDrafter::WantsMore(const Run& run, const Leaf& leaf) {
  if (run.drafts.depth(leaf.draft) >= run.task.max_drafts) return false;
  run.task.sequence->SetDrafts(run.drafts.PathTokens(leaf.draft));
  return !run.task.sequence->drafts_ended();
}

Result<std::vector<Drafts>> TreeDrafter::Draft(const std::vector<DraftTask>& tasks) {
  Clock::time_point begin = Clock::now();
  std::vector<Run> runs = Begin(tasks);
  bool is_usual = IsUsual(runs);
  Status status = Start(&runs);
  int num_drafts = 0;
  for (; status.ok() && std::any_of(runs.begin(), runs.end(), HasLogits); ++num_drafts) {
    for (Run& run : runs) Sample(&run);
    status = Continue(&runs);
  }
  std::vector<Drafts> drafts;
  for (Run& run : runs) {
    run.task.sequence->PopDrafts();
    drafts.push_back(run.drafts.DepthFirst());
  }
  End(&runs);
  MLC_RETURN_IF_ERROR(status);
  if (is_usual && num_drafts > 0) {
    double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    seconds_.Add(static_cast<int>(tasks.size()), seconds / (drafts_at_once() ? 1 : num_drafts));
  }
  return drafts;
}

}  // namespace mlc
