#include "engine/step.h"

#include <algorithm>

#include "engine/branches.h"

namespace mlc {
namespace {

// The lengths behind which other requests may begin: the ends of intervals of the prompt, and the
// end of the last full page before the last token. The same prompt begins there when it comes
// again.
std::vector<int> LengthsToKeep(const StepItem& item, const KVCache& cache) {
  const Sequence& sequence = *item.sequence;
  int begin = sequence.num_computed, end = begin + item.num_rows, page_size = cache.page_size();
  bool is_prompt = begin < sequence.num_prompt_tokens();
  if (!cache.has_states() || !cache.options().keep_prefixes || !is_prompt) return {};
  std::vector<int> lengths;
  int last = (sequence.num_tokens() - 1) / page_size * page_size;
  if (last > begin && last <= end) lengths.push_back(last);
  int interval = (cache.options().state_interval + page_size - 1) / page_size * page_size;
  for (int at = (begin / interval + 1) * interval; at <= end; at += interval) {
    if (at != last) lengths.push_back(at);
  }
  if (end == sequence.num_tokens() && end % page_size == 0) lengths.push_back(end);
  return lengths;
}

RowSpan SpanOf(const StepItem& item, const KVCache& cache) {
  const Sequence& sequence = *item.sequence;
  auto first = sequence.tokens().begin() + sequence.num_computed;
  RowSpan span{sequence.id, {first, first + item.num_rows}};
  int num_drafts = item.drafts.FirstChain();
  const std::vector<int32_t>& drafts = item.drafts.tokens();
  span.tokens.insert(span.tokens.end(), drafts.begin(), drafts.begin() + num_drafts);
  span.num_logit_rows = item.num_scored + (item.wants_logits ? 1 + num_drafts : 0);
  span.num_hidden_rows = item.wants_states ? static_cast<int>(span.tokens.size())
                                           : sequence.NumPooledRows(item.num_rows);
  span.prompt = &sequence.request->request.prompt;
  span.types = &sequence.request->request.token_types;
  span.num_drafts = num_drafts;
  span.kept_lengths = LengthsToKeep(item, cache);
  return span;
}

// Adds the slots of the rows' recurrent states. `first`: the sequence's length before these rows.
Status AddStates(const RowSpan& span, int first, KVCache* cache, Batch* batch) {
  if (!cache->has_states()) return Status();
  int num_rows = static_cast<int>(span.tokens.size());
  MLC_ASSIGN_OR_RETURN(
      KVCache::StepStates states,
      cache->AppendStates(span.sequence, num_rows, span.num_drafts, span.kept_lengths));
  batch->state_source.push_back(states.source);
  if (batch->row_indptr.empty()) batch->row_indptr.push_back(0);
  batch->row_indptr.push_back(batch->num_rows() + num_rows);
  batch->state_writes.resize(batch->tokens.size() + span.tokens.size(), -1);
  for (const KVCache::StateWrite& write : states.writes) {
    batch->state_writes[batch->tokens.size() + static_cast<size_t>(write.length - first - 1)] =
        write.slot;
  }
  return Status();
}

// Adds one row to the batch: the token or embedding row at `position` of its sequence.
void AddInput(const Prompt* prompt, int32_t token, int position, Batch* batch) {
  const float* embedding = prompt == nullptr ? nullptr : prompt->RowAt(position);
  MLC_ICHECK(token >= 0 || embedding != nullptr);
  batch->tokens.push_back(embedding == nullptr ? token : 0);
  if (embedding != nullptr) {
    batch->embedding_rows.push_back(batch->num_rows() - 1);
    batch->embeddings.push_back(embedding);
  }
  batch->positions.push_back(position);
  bool is_plain = prompt == nullptr || !prompt->has_positions();
  if (is_plain && batch->rotary.empty()) return;
  for (size_t row = batch->rotary.size() / 3; row + 1 < batch->tokens.size(); ++row) {
    batch->rotary.insert(batch->rotary.end(), 3, batch->positions[row]);  // earlier rows are plain
  }
  RotaryPosition at =
      is_plain ? RotaryPosition{position, position, position} : prompt->RotaryAt(position);
  batch->rotary.insert(batch->rotary.end(), at.begin(), at.end());
}

// Adds the last position that the batch's last row sees, if any row sees later rows.
void AddLastSeen(const Prompt* prompt, int position, Batch* batch) {
  const Prompt::Span* span = prompt == nullptr ? nullptr : prompt->SpanAt(position);
  bool looks_ahead = span != nullptr && span->rows != nullptr && span->rows->see_each_other();
  if (!looks_ahead && batch->last_seen.empty()) return;
  for (size_t row = batch->last_seen.size(); row < batch->tokens.size(); ++row) {
    batch->last_seen.push_back(batch->positions[row]);
  }
  if (looks_ahead) batch->last_seen.back() = span->begin + span->size - 1;
}

// Adds the type of the batch's last row, which is at `position` of its sequence.
void AddType(const std::vector<int32_t>* types, int position, Batch* batch) {
  bool is_in = types != nullptr && static_cast<size_t>(position) < types->size();
  int32_t type = is_in ? (*types)[static_cast<size_t>(position)] : 0;
  if (type == 0 && batch->token_types.empty()) return;
  batch->token_types.resize(batch->tokens.size());
  batch->token_types.back() = type;
}

uint64_t AdapterOf(const StepItem& item) { return item.sequence->request->request.adapter; }

using Pages = std::vector<int32_t>;
struct NumberedPages {
  const Pages* pages;
  size_t item;
};

// Sequences with the same pages before `depth`: those that share more with the first one follow it.
void Gather(NumberedPages* begin, NumberedPages* end, size_t depth) {
  while (end - begin > 2) {
    const Pages& first = *begin->pages;
    auto differs = first.end();
    for (NumberedPages* other = begin + 1; other != end; ++other) {
      auto skip = static_cast<std::ptrdiff_t>(depth);
      differs = std::mismatch(first.begin() + skip, differs, other->pages->begin() + skip,
                              other->pages->end())
                    .first;
    }
    depth = static_cast<size_t>(differs - first.begin());
    NumberedPages* sharers = std::stable_partition(begin + 1, end, [&](const NumberedPages& other) {
      return differs != first.end() && depth < other.pages->size() &&
             (*other.pages)[depth] == *differs;
    });
    Gather(begin, sharers, depth + 1);
    begin = sharers;
  }
}

}  // namespace

void GatherSharers(const KVCache& cache, std::vector<StepItem>* items) {
  std::vector<NumberedPages> order;
  for (const StepItem& item : *items) {
    if (item.num_rows > 1) break;  // decodes come first
    order.push_back({&cache.Pages(item.sequence->id), order.size()});
  }
  std::stable_sort(order.begin(), order.end(), [&](NumberedPages a, NumberedPages b) {
    return AdapterOf((*items)[a.item]) < AdapterOf((*items)[b.item]);
  });
  Gather(order.data(), order.data() + order.size(), 0);
  std::vector<StepItem> moved;
  moved.reserve(items->size());
  for (const NumberedPages& at : order) moved.push_back(std::move((*items)[at.item]));
  std::move(moved.begin(), moved.end(), items->begin());
}

Status AddRows(const RowSpan& span, KVCache* cache, Batch* batch) {
  int num_rows = static_cast<int>(span.tokens.size());
  int first = cache->Length(span.sequence);
  MLC_RETURN_IF_ERROR(cache->Append(span.sequence, num_rows));
  MLC_RETURN_IF_ERROR(AddStates(span, first, cache, batch));
  if (batch->page_indptr.empty()) batch->page_indptr.push_back(0);
  int32_t sequence_in_batch = batch->num_sequences();
  for (int row = 0; row < num_rows; ++row) {
    int to_end = num_rows - row;
    if (to_end <= span.num_logit_rows) batch->logit_rows.push_back(batch->num_rows());
    if (to_end <= span.num_hidden_rows) batch->hidden_rows.push_back(batch->num_rows());
    AddInput(span.prompt, span.tokens[static_cast<size_t>(row)], first + row, batch);
    AddLastSeen(span.prompt, first + row, batch);
    AddType(span.types, first + row, batch);
    batch->row_sequence.push_back(sequence_in_batch);
  }
  std::vector<int32_t>* const slots[] = {&batch->slots, &batch->windowed_slots};
  std::vector<int32_t>* const indices[] = {&batch->page_indices, &batch->windowed_indices};
  for (size_t g = 0; g < cache->num_groups(); ++g) {
    for (int row = 0; row < num_rows; ++row) {
      slots[g]->push_back(cache->Slot(span.sequence, first + row, g));
    }
    for (int32_t page : cache->Pages(span.sequence, g)) {
      indices[g]->push_back(page == kNoPage ? kNoPage : cache->NumberInGroup(page, g));
    }
  }
  batch->page_indptr.push_back(static_cast<int32_t>(batch->page_indices.size()));
  return Status();
}

Result<Batch> BuildBatch(const std::vector<StepItem>& items, KVCache* cache) {
  Batch batch;
  std::vector<AdaptedRows> adapted;
  for (const StepItem& item : items) {
    MLC_ICHECK(item.drafts.empty() || item.wants_logits);
    MLC_ICHECK(item.sequence->num_computed == cache->Length(item.sequence->id));
    int first_row = batch.num_rows();
    MLC_RETURN_IF_ERROR(AddRows(SpanOf(item, *cache), cache, &batch));
    MLC_RETURN_IF_ERROR(AddBranches(item, first_row, cache, &batch));
    const AdapterUses& uses = item.sequence->request->request.adapters;
    if (!uses.empty()) adapted.push_back({first_row, batch.num_rows(), AdapterOf(item), &uses});
  }
  AddAdapters(adapted, &batch);
  return batch;
}

Status CopyPending(KVCache* cache, Model* model) {
  std::vector<int32_t> source, destination;
  auto copy = [&]() -> Status {
    if (source.empty()) return Status();
    MLC_RETURN_IF_ERROR(model->CopyPages(source, destination));
    source.clear();
    destination.clear();
    return Status();
  };
  auto is_in = [](const std::vector<int32_t>& pages, int32_t page) {
    return std::find(pages.begin(), pages.end(), page) != pages.end();
  };
  for (const auto& [from, to] : cache->TakePendingCopies()) {
    // A device copies pages in parallel, so no copy may depend on another.
    if (is_in(destination, from) || is_in(source, to) || is_in(destination, to)) {
      MLC_RETURN_IF_ERROR(copy());
    }
    source.push_back(from);
    destination.push_back(to);
  }
  return copy();
}

Result<Outputs> RunBatch(const Batch& batch, KVCache* cache, Model* model) {
  MLC_RETURN_IF_ERROR(CopyPending(cache, model));
  return model->Forward(batch);
}

}  // namespace mlc
