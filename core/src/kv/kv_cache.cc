#include "kv/kv_cache.h"

#include <algorithm>
#include <string>

namespace mlc {

KVCache::KVCache(int num_pages, int page_size, const KVCacheOptions& options)
    : page_size_(page_size),
      options_(options),
      owners_(static_cast<size_t>(num_pages), 0),
      pinned_(static_cast<size_t>(num_pages), false),
      states_(options.num_states),
      tree_(num_pages, page_size, &states_) {
  for (int32_t page = num_pages - 1; page >= 0; --page) free_pages_.push_back(page);
}

const KVCache::Sequence& KVCache::Get(SequenceId id) const {
  auto found = sequences_.find(id);
  MLC_ICHECK(found != sequences_.end());
  return found->second;
}

KVCache::Sequence& KVCache::Get(SequenceId id) {
  return const_cast<Sequence&>(static_cast<const KVCache*>(this)->Get(id));
}

int32_t KVCache::TakePage() {
  if (free_pages_.empty()) free_pages_.push_back(tree_.Evict());
  int32_t page = free_pages_.back();
  free_pages_.pop_back();
  owners_[page] = 1;
  return page;
}

void KVCache::Hold(int32_t page) {
  if (owners_[page]++ == 0) tree_.SetBusy(page);
}

void KVCache::Release(int32_t page) {
  MLC_ICHECK(owners_[page] > 0);
  if (--owners_[page] > 0) return;
  if (tree_.Holds(page)) return tree_.SetIdle(page);
  free_pages_.push_back(page);
}

void KVCache::Add(SequenceId id) {
  bool is_new = sequences_.emplace(id, Sequence{}).second;
  MLC_ICHECK(is_new);
}

void KVCache::Fork(SequenceId parent_id, SequenceId child_id, int length) {
  Sequence child = Get(parent_id);
  MLC_ICHECK(length >= 0 && length <= child.length);
  child.pages.resize(static_cast<size_t>(PagesOf(length)));
  child.length = length;
  MLC_ICHECK(!has_states() || child.states.empty() || child.states.back().length == length);
  if (child.states.size() > 1) child.states.erase(child.states.begin(), child.states.end() - 1);
  for (State& state : child.states) {
    state.kept = false;
    states_.Hold(state.slot);
  }
  if (length / page_size_ < child.num_published) {
    child.num_published = 0;
    child.last_published = PrefixTree::kNone;
  }
  for (int32_t page : child.pages) {
    if (page != kNoPage) ++owners_[page];
  }
  bool is_new = sequences_.emplace(child_id, std::move(child)).second;
  MLC_ICHECK(is_new);
}

// The last page first: of pages that fall idle together the tree evicts the first one first, and
// what hangs on an evicted page is lost.
void KVCache::Remove(SequenceId id) {
  CutStates(&Get(id), -1);
  const std::vector<int32_t>& pages = Get(id).pages;
  for (auto page = pages.rbegin(); page != pages.rend(); ++page) {
    if (*page != kNoPage) Release(*page);
  }
  sequences_.erase(id);
}

bool KVCache::MustCopyLastPage(const Sequence& sequence) const {
  return sequence.length % page_size_ != 0 && owners_[sequence.pages.back()] > 1;
}

int KVCache::PagesNeeded(SequenceId id, int num_tokens) const {
  const Sequence& sequence = Get(id);
  if (num_tokens == 0) return 0;
  int after = PagesOf(sequence.length + num_tokens);
  return after - static_cast<int>(sequence.pages.size()) + (MustCopyLastPage(sequence) ? 1 : 0);
}

int KVCache::PagesFreedBy(SequenceId id) const {
  const std::vector<int32_t>& pages = Get(id).pages;
  return static_cast<int>(std::count_if(pages.begin(), pages.end(), [this](int32_t page) {
    return page != kNoPage && owners_[page] == 1;
  }));
}

Status KVCache::ShortOfPages(int needed) const {
  return ResourceExhausted("the KV cache has " + std::to_string(num_available_pages()) +
                           " free pages and needs " + std::to_string(needed));
}

Status KVCache::Append(SequenceId id, int num_tokens) {
  int needed = PagesNeeded(id, num_tokens);
  if (needed > num_available_pages()) return ShortOfPages(needed);
  if (num_tokens == 0) return Status();
  Sequence& sequence = Get(id);
  if (MustCopyLastPage(sequence)) {
    int32_t copy = TakePage();
    pending_copies_.emplace_back(sequence.pages.back(), copy);
    Release(sequence.pages.back());
    sequence.pages.back() = copy;
  } else if (sequence.length % page_size_ != 0 && tree_.Holds(sequence.pages.back())) {
    tree_.Drop(sequence.pages.back());  // about to hold something else
  }
  sequence.length += num_tokens;
  while (static_cast<int>(sequence.pages.size()) * page_size_ < sequence.length) {
    sequence.pages.push_back(TakePage());
  }
  return Status();
}

void KVCache::Pop(SequenceId id, int num_tokens) {
  Sequence& sequence = Get(id);
  MLC_ICHECK(num_tokens >= 0 && num_tokens <= sequence.length);
  sequence.length -= num_tokens;
  if (has_states()) {
    CutStates(&sequence, sequence.length);
    DropStatesBefore(&sequence, sequence.length);
    sequence.length = sequence.states.empty() ? 0 : sequence.states.back().length;
  }
  while (static_cast<int>(sequence.pages.size()) > PagesOf(sequence.length)) {
    if (sequence.pages.back() != kNoPage) Release(sequence.pages.back());
    sequence.pages.pop_back();
  }
  if (sequence.length / page_size_ < sequence.num_published) {
    sequence.num_published = 0;
    sequence.last_published = PrefixTree::kNone;
  }
}

int32_t KVCache::Slot(SequenceId id, int position) const {
  const Sequence& sequence = Get(id);
  MLC_ICHECK(position >= 0 && position < sequence.length);
  int32_t page = sequence.pages[position / page_size_];
  MLC_ICHECK(page != kNoPage);
  return page * page_size_ + position % page_size_;
}

std::vector<std::pair<int32_t, int32_t>> KVCache::TakePendingCopies() {
  return std::exchange(pending_copies_, {});
}

}  // namespace mlc
