#include "engine/speculation/model_drafter.h"

#include <algorithm>
#include <string>
#include <utility>

#include "model/target_states.h"

namespace mlc {
namespace {

// How many unused sequences keep their state. It limits the search for a common beginning.
constexpr size_t kMaxBranches = 256;
// A run that lacks more rows is still reading its prompt. Its time says nothing about the cost of a
// draft, and a call reads for one such run only. So in a batch it costs little to try whether
// drafts pay.
constexpr int kUsualRows = 16;

size_t CommonLength(const std::vector<int32_t>& a, const std::vector<int32_t>& b) {
  size_t length = std::min(a.size(), b.size());
  return static_cast<size_t>(
      std::mismatch(a.begin(), a.begin() + static_cast<std::ptrdiff_t>(length), b.begin()).first -
      a.begin());
}

// Rows of a batch: no more than a step of the target has where memory is short and others wait.
int MostRows(const ModelInfo& info) {
  constexpr int kMostRows = 512;
  return std::min(kMostRows, info.prefill_chunk_size);
}

// Branches go back anywhere, so a draft model keeps all pages of layers with a window.
KVCacheOptions CacheOptions(const ModelInfo& info, int num_pages) {
  KVCacheOptions options;
  options.num_windowed_pages = info.has_windowed_pages() ? num_pages : 0;
  options.layer_window = info.layer_window;
  return options;
}

}  // namespace

Status ModelDrafter::Check(const ModelInfo& info, int vocab_size) {
  MLC_RETURN_IF_ERROR(CheckVocabulary(info, vocab_size));
  if (info.sliding_window_size > 0) {
    return Unsupported("a draft model with a sliding window is not supported").WithParam("draft");
  }
  if (info.state_bytes > 0) {
    return Unsupported("a draft model with recurrent layers is not supported").WithParam("draft");
  }
  return Status();
}

Result<int> ModelDrafter::AllocatePages(Model* model, int max_total_tokens) {
  int page_size = model->info().page_size;
  int num_pages = (max_total_tokens + page_size - 1) / page_size;
  MLC_RETURN_IF_ERROR(
      model->AllocatePages(std::vector<int>(model->info().PageBytes().size(), num_pages)));
  return num_pages;
}

ModelDrafter::ModelDrafter(std::unique_ptr<Model> model, int vocab_size, int num_pages)
    : TreeDrafter(std::move(model), vocab_size),
      cache_(num_pages, info().page_size, CacheOptions(info(), num_pages)) {}

void ModelDrafter::Forget(const Branch* branch) {
  cache_.Remove(branch->id);
  branches_.erase(std::find_if(branches_.begin(), branches_.end(),
                               [&](const auto& one) { return one.get() == branch; }));
}

void ModelDrafter::LimitBranches() {
  auto older = [](const auto& a, const auto& b) { return a->last_used < b->last_used; };
  while (branches_.size() > kMaxBranches) {
    Forget(std::min_element(branches_.begin(), branches_.end(), older)->get());
  }
}

void ModelDrafter::Use(Branch* branch) {
  branch->last_used = ++now_;
  LimitBranches();
}

// Frees pages for `num_tokens` more tokens, by removing branches that are not in use.
bool ModelDrafter::MakeRoom(SequenceId id, int num_tokens) {
  auto older = [](const auto& a, const auto& b) { return a->last_used < b->last_used; };
  while (!cache_.PagesNeeded(id, num_tokens).FitIn(cache_.available_pages())) {
    auto oldest = std::min_element(branches_.begin(), branches_.end(), older);
    if (oldest == branches_.end() || (*oldest)->last_used == now_) return false;
    Forget(oldest->get());
  }
  return true;
}

ModelDrafter::Branch* ModelDrafter::FindBranch(SequenceId id) const {
  auto found = std::find_if(branches_.begin(), branches_.end(),
                            [&](const auto& branch) { return branch->id == id; });
  return found != branches_.end() ? found->get() : nullptr;
}

ModelDrafter::Branch* ModelDrafter::NewBranch(const Sequence& sequence, size_t max_tokens) {
  size_t best_length = 0;
  const Branch* best = nullptr;
  for (const auto& branch : branches_) {
    size_t length = std::min(max_tokens, CommonLength(branch->tokens, sequence.tokens()));
    if (length <= std::max(best_length, static_cast<size_t>(branch->skipped))) continue;
    best_length = length;
    best = branch.get();
  }
  auto branch = std::make_unique<Branch>(Branch{sequence.id, {}, now_});
  if (best == nullptr) {
    cache_.Add(sequence.id);
  } else {
    cache_.Fork(best->id, sequence.id, static_cast<int>(best_length) - best->skipped);
    branch->skipped = best->skipped;
    branch->tokens.assign(best->tokens.begin(),
                          best->tokens.begin() + static_cast<std::ptrdiff_t>(best_length));
  }
  branches_.push_back(std::move(branch));
  return branches_.back().get();
}

void ModelDrafter::Trim(Branch* branch, const Sequence& sequence, size_t max_tokens) {
  size_t keep = std::min(CommonLength(branch->tokens, sequence.tokens()), max_tokens);
  int rows = static_cast<int>(branch->tokens.size()) - branch->skipped;
  int kept = std::max(0, static_cast<int>(keep) - branch->skipped);
  cache_.Pop(branch->id, rows - kept);
  branch->tokens.resize(keep);
  branch->skipped = std::min(branch->skipped, static_cast<int>(keep));
}

bool ModelDrafter::CanDraft(const Sequence& sequence) const {
  const std::vector<int32_t>& tokens = sequence.tokens();
  return sequence.num_tokens() < info().context_window_size &&
         !sequence.request->request.prompt.has_rows() &&
         *std::max_element(tokens.begin(), tokens.end()) < info().vocab_size;
}

std::vector<ModelDrafter::Run> ModelDrafter::Begin(const std::vector<DraftTask>& tasks) {
  ++now_;
  LimitBranches();
  int most = std::min(info().max_batch_size, info().prefill_chunk_size);
  int widest = std::max(1, most / std::max(1, static_cast<int>(tasks.size())));
  std::vector<Run> runs;
  for (DraftTask task : tasks) {
    bool can_draft = static_cast<int>(runs.size()) < most && CanDraft(*task.sequence);
    task.width = std::min(task.width, widest);
    int room = info().context_window_size - task.sequence->num_tokens();
    task.max_drafts = std::min(task.max_drafts, room);
    runs.push_back({task, can_draft ? BranchOf(*task.sequence) : nullptr});
    if (runs.back().branch != nullptr) runs.back().branch->last_used = now_;
  }
  return runs;
}

void ModelDrafter::Clear() {
  while (!branches_.empty()) Forget(branches_.back().get());
}

Status ModelDrafter::Compute(const Batch& batch, const std::vector<Leaf*>& leaves) {
  if (batch.num_rows() == 0) return Status();
  MLC_ASSIGN_OR_RETURN(Outputs outputs, RunBatch(batch, &cache_, model()));
  const float *logits = outputs.logits, *state = outputs.hidden_states;
  for (Leaf* leaf : leaves) {
    leaf->logits = logits;
    logits += logit_rows().stride;
    if (state == nullptr) continue;
    leaf->state = state;
    state += info().hidden_size;
  }
  return Status();
}

Status ModelDrafter::FuseStates(Batch* batch) {
  if (info().num_chosen_layers == 0 || batch->target_states.empty()) return Status();
  std::vector<float> vectors = GatherStates(*batch, info().state_size());
  MLC_ASSIGN_OR_RETURN(const float* made, model()->RunHead(vectors, batch->num_rows()));
  auto width = static_cast<std::ptrdiff_t>(info().hidden_size);
  fused_.assign(made, made + width * batch->num_rows());
  for (size_t row = 0; row < batch->target_states.size(); ++row) {
    batch->target_states[row] = fused_.data() + width * static_cast<std::ptrdiff_t>(row);
  }
  return Status();
}

Status ModelDrafter::Start(std::vector<Run>* runs) {
  std::vector<Run*> order;
  for (Run& run : *runs) {
    if (run.branch != nullptr) order.push_back(&run);
  }
  // Sequences with few missing tokens come first, so that a long prompt does not delay the drafts
  // of others.
  std::stable_sort(order.begin(), order.end(),
                   [&](const Run* a, const Run* b) { return Missing(*a) < Missing(*b); });
  Batch batch;
  std::vector<Leaf*> leaves;
  std::vector<std::pair<Branch*, int>> computed;
  bool has_read = false;
  for (Run* run : order) {
    if (std::exchange(has_read, Missing(*run) > kUsualRows)) break;
    int num_rows = std::min(Missing(*run), MostRows(info()) - batch.num_rows());
    if (num_rows <= 0 || !MakeRoom(run->branch->id, num_rows)) continue;
    bool is_complete = num_rows == Missing(*run);
    auto first = run->task.sequence->tokens().begin() +
                 static_cast<std::ptrdiff_t>(run->branch->tokens.size());
    int num_results = is_complete ? 1 : 0;
    RowSpan span{run->branch->id, {first, first + num_rows}, num_results};
    span.num_hidden_rows = info().takes_states ? num_results : 0;
    AddStates(*run->branch, num_rows, &batch);
    MLC_RETURN_IF_ERROR(AddRows(span, &cache_, &batch));
    computed.emplace_back(run->branch, num_rows);
    run->branch->tokens.insert(run->branch->tokens.end(), first, first + num_rows);
    if (!is_complete) continue;
    run->leaves.push_back({Drafts::kKnown, run->branch->id});
    leaves.push_back(&run->leaves.back());
  }
  MLC_RETURN_IF_ERROR(FuseStates(&batch));
  MLC_RETURN_IF_ERROR(Compute(batch, leaves));
  for (auto [branch, num_rows] : computed) Computed(branch, num_rows);
  for (Run& run : *runs) run.num_known = run.branch == nullptr ? 0 : run.branch->tokens.size();
  return Status();
}

Result<bool> ModelDrafter::AddLeaf(Run* run, size_t index, Batch* batch) {
  Leaf& leaf = run->leaves[index];
  auto end = run->leaves.begin() + static_cast<std::ptrdiff_t>(index);
  bool is_shared = std::any_of(run->leaves.begin(), end,
                               [&](const Leaf& earlier) { return earlier.id == leaf.id; });
  if (is_shared) {
    SequenceId fork = -1 - static_cast<SequenceId>(forks_.size());
    cache_.Fork(leaf.id, fork, cache_.Length(leaf.id));
    forks_.push_back(fork);
    leaf.id = fork;
  }
  if (!MakeRoom(leaf.id, 1)) return false;
  int32_t token = run->drafts[leaf.draft];
  RowSpan span{leaf.id, {token}, 1};
  if (info().takes_states) {
    span.num_hidden_rows = 1;
    batch->target_states.push_back(leaf.state);
  }
  MLC_RETURN_IF_ERROR(AddRows(span, &cache_, batch));
  if (leaf.id == run->branch->id) run->branch->tokens.push_back(token);
  return true;
}

Status ModelDrafter::Continue(std::vector<Run>* runs) {
  Batch batch;
  std::vector<Leaf*> leaves;
  for (Run& run : *runs) {
    // Goes from the last leaf to the first. Of the leaves that share a sequence of the cache, the
    // first one keeps it.
    for (size_t i = run.leaves.size(); i-- > 0;) {
      if (!WantsMore(run, run.leaves[i])) continue;
      MLC_ASSIGN_OR_RETURN(bool is_added, AddLeaf(&run, i, &batch));
      if (is_added) leaves.push_back(&run.leaves[i]);
    }
  }
  return Compute(batch, leaves);
}

bool ModelDrafter::IsUsual(const std::vector<Run>& runs) const {
  return std::none_of(runs.begin(), runs.end(), [this](const Run& run) {
    return run.branch != nullptr && Missing(run) > kUsualRows;
  });
}

void ModelDrafter::End(std::vector<Run>* runs) {
  for (SequenceId fork : forks_) cache_.Remove(fork);
  forks_.clear();
  if (!info().takes_states) return;
  // the rows of drafts are of the layer's own states; those of the target will replace them
  for (Run& run : *runs) {
    if (run.branch != nullptr) Trim(run.branch, *run.task.sequence, run.num_known);
  }
}

}  // namespace mlc
