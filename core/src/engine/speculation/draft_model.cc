#include "engine/speculation/draft_model.h"

#include <algorithm>
#include <string>

namespace mlc {
namespace {

// Sequences whose state is kept, beside those at work: it bounds the search for a common beginning.
constexpr size_t kMaxBranches = 256;

size_t CommonLength(const std::vector<int32_t>& a, const std::vector<int32_t>& b) {
  size_t length = std::min(a.size(), b.size());
  return static_cast<size_t>(
      std::mismatch(a.begin(), a.begin() + static_cast<std::ptrdiff_t>(length), b.begin()).first -
      a.begin());
}

}  // namespace

Result<std::unique_ptr<DraftModel>> DraftModel::Create(std::unique_ptr<Model> model, int vocab_size,
                                                       int max_total_tokens) {
  const ModelInfo& info = model->info();
  if (info.vocab_size < vocab_size) {
    return InvalidArgument("the draft model's vocabulary of " + std::to_string(info.vocab_size) +
                           " tokens is smaller than the tokenizer's of " +
                           std::to_string(vocab_size) +
                           "; a draft model must have the vocabulary of its target")
        .WithParam("draft");
  }
  if (info.sliding_window_size > 0) {
    return Unsupported("a draft model with a sliding window is not supported").WithParam("draft");
  }
  int num_pages = (max_total_tokens + info.page_size - 1) / info.page_size;
  MLC_RETURN_IF_ERROR(model->AllocatePages(num_pages));
  return std::unique_ptr<DraftModel>(new DraftModel(std::move(model), vocab_size, num_pages));
}

DraftModel::DraftModel(std::unique_ptr<Model> model, int vocab_size, int num_pages)
    : model_(std::move(model)),
      logit_rows_{model_->info().vocab_size, vocab_size},
      cache_(num_pages, model_->info().page_size) {}

void DraftModel::Forget(size_t branch) {
  cache_.Remove(branches_[branch]->id);
  branches_.erase(branches_.begin() + static_cast<std::ptrdiff_t>(branch));
}

// Makes the pages free that `num_tokens` more need, at the cost of branches not in use now.
bool DraftModel::MakeRoom(SequenceId id, int num_tokens) {
  auto older = [](const auto& a, const auto& b) { return a->last_used < b->last_used; };
  while (cache_.PagesNeeded(id, num_tokens) > cache_.num_free_pages()) {
    auto oldest = std::min_element(branches_.begin(), branches_.end(), older);
    if (oldest == branches_.end() || (*oldest)->last_used == now_) return false;
    Forget(static_cast<size_t>(oldest - branches_.begin()));
  }
  return true;
}

DraftModel::Branch* DraftModel::NewBranch(const Sequence& sequence) {
  size_t best_length = 0;
  const Branch* best = nullptr;
  for (const auto& branch : branches_) {
    size_t length = CommonLength(branch->tokens, sequence.tokens());
    if (length <= best_length) continue;
    best_length = length;
    best = branch.get();
  }
  auto branch = std::make_unique<Branch>(Branch{sequence.id, {}, now_});
  if (best == nullptr) {
    cache_.Add(sequence.id);
  } else {
    cache_.Fork(best->id, sequence.id, static_cast<int>(best_length));
    branch->tokens.assign(best->tokens.begin(),
                          best->tokens.begin() + static_cast<std::ptrdiff_t>(best_length));
  }
  branches_.push_back(std::move(branch));
  return branches_.back().get();
}

// The branch of a sequence, cut to what the sequence has: drafts that were refused go. Its last
// token is always computed anew, for its logits.
DraftModel::Branch* DraftModel::BranchOf(const Sequence& sequence) {
  auto found = std::find_if(branches_.begin(), branches_.end(),
                            [&](const auto& branch) { return branch->id == sequence.id; });
  Branch* branch = found != branches_.end() ? found->get() : NewBranch(sequence);
  branch->last_used = now_;
  size_t common = CommonLength(branch->tokens, sequence.tokens());
  size_t keep = std::min(common, sequence.tokens().size() - 1);
  cache_.Pop(branch->id, static_cast<int>(branch->tokens.size() - keep));
  branch->tokens.resize(keep);
  return branch;
}

// Tokens beyond the model's vocabulary may stand in a prompt: the target's may be padded further.
bool DraftModel::CanDraft(const DraftTask& task) const {
  const std::vector<int32_t>& tokens = task.sequence->tokens();
  int longest = model_->info().context_window_size;
  return static_cast<int>(tokens.size()) + task.max_drafts <= longest &&
         *std::max_element(tokens.begin(), tokens.end()) < model_->info().vocab_size;
}

std::vector<DraftModel::Run> DraftModel::Begin(const std::vector<DraftTask>& tasks) {
  ++now_;
  auto by_age = [](const auto& a, const auto& b) { return a->last_used > b->last_used; };
  std::sort(branches_.begin(), branches_.end(), by_age);
  while (branches_.size() > kMaxBranches) Forget(branches_.size() - 1);
  std::vector<Run> runs;
  for (const DraftTask& task : tasks) {
    bool has_place = static_cast<int>(runs.size()) < model_->info().max_batch_size;
    bool can_draft = has_place && CanDraft(task);
    runs.push_back({task, can_draft ? BranchOf(*task.sequence) : nullptr, {}});
  }
  return runs;
}

void DraftModel::Clear() {
  while (!branches_.empty()) Forget(branches_.size() - 1);
}

int DraftModel::Missing(const Run& run) {
  return run.task.sequence->num_tokens() - static_cast<int>(run.branch->tokens.size());
}

Status DraftModel::Compute(const Batch& batch, const std::vector<std::pair<Run*, bool>>& runs) {
  MLC_ASSIGN_OR_RETURN(Outputs outputs, RunBatch(batch, &cache_, model_.get()));
  const float* logits = outputs.logits;
  for (const auto& [run, wants_logits] : runs) {
    run->logits = wants_logits ? logits : nullptr;
    if (wants_logits) logits += logit_rows_.stride;
  }
  return Status();
}

Status DraftModel::CatchUp(std::vector<Run>* runs) {
  std::vector<Run*> order;
  for (Run& run : *runs) {
    if (run.branch != nullptr) order.push_back(&run);
  }
  // Who lacks little first, so that a long prompt does not hold up the drafts beside it.
  std::stable_sort(order.begin(), order.end(),
                   [&](const Run* a, const Run* b) { return Missing(*a) < Missing(*b); });
  Batch batch;
  std::vector<std::pair<Run*, bool>> computed;
  for (Run* run : order) {
    int num_rows = std::min(Missing(*run), model_->info().prefill_chunk_size - batch.num_rows());
    if (num_rows <= 0 || !MakeRoom(run->branch->id, num_rows)) continue;
    bool is_complete = num_rows == Missing(*run);
    auto first = run->task.sequence->tokens().begin() +
                 static_cast<std::ptrdiff_t>(run->branch->tokens.size());
    RowSpan span{run->branch->id, {first, first + num_rows}, is_complete ? 1 : 0};
    MLC_RETURN_IF_ERROR(AddRows(span, &cache_, &batch));
    run->branch->tokens.insert(run->branch->tokens.end(), first, first + num_rows);
    computed.emplace_back(run, is_complete);
  }
  return computed.empty() ? Status() : Compute(batch, computed);
}

void DraftModel::Sample(std::vector<Run>* runs) {
  for (Run& run : *runs) {
    if (run.logits == nullptr) continue;
    Result<int32_t> token = ChooseToken(logit_rows_, run.task.sequence, run.logits, &scratch_);
    run.logits = nullptr;
    if (!token.ok()) continue;  // not a number, or nothing the grammar allows: no draft
    run.drafts.push_back(*token);
    run.task.sequence->PushDraft(*token);
  }
}

// Whether its last draft is new (the model may have found none) and another may follow.
bool DraftModel::WantsMore(const Run& run) {
  if (run.branch == nullptr) return false;
  size_t known = static_cast<size_t>(run.task.sequence->num_tokens()) + run.drafts.size();
  return known == run.branch->tokens.size() + 1 && !run.drafts.empty() &&
         static_cast<int>(run.drafts.size()) < run.task.max_drafts &&
         !run.task.sequence->drafts_ended();
}

Status DraftModel::Continue(std::vector<Run>* runs) {
  Batch batch;
  std::vector<std::pair<Run*, bool>> computed;
  for (Run& run : *runs) {
    if (!WantsMore(run) || !MakeRoom(run.branch->id, 1)) continue;
    MLC_RETURN_IF_ERROR(AddRows({run.branch->id, {run.drafts.back()}, 1}, &cache_, &batch));
    run.branch->tokens.push_back(run.drafts.back());
    computed.emplace_back(&run, true);
  }
  return computed.empty() ? Status() : Compute(batch, computed);
}

Result<std::vector<Drafts>> DraftModel::Draft(const std::vector<DraftTask>& tasks) {
  Clock::time_point begin = Clock::now();
  std::vector<Run> runs = Begin(tasks);
  // What lacks more than the last two tokens is being taken in: no measure of what a draft costs.
  bool is_usual = std::none_of(runs.begin(), runs.end(), [](const Run& run) {
    return run.branch != nullptr && Missing(run) > 2;
  });
  Status status = CatchUp(&runs);
  int num_drafts = 0;
  auto has_logits = [](const Run& run) { return run.logits != nullptr; };
  for (; status.ok() && std::any_of(runs.begin(), runs.end(), has_logits); ++num_drafts) {
    Sample(&runs);
    status = Continue(&runs);
  }
  std::vector<Drafts> drafts;
  for (Run& run : runs) {
    run.task.sequence->PopDrafts();
    drafts.push_back(std::move(run.drafts));
  }
  MLC_RETURN_IF_ERROR(status);
  if (is_usual && num_drafts > 0) {
    double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    seconds_per_token_.Add(static_cast<int>(tasks.size()), seconds / num_drafts);
  }
  return drafts;
}

}  // namespace mlc
