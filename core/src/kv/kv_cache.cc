#include "kv/kv_cache.h"

#include <algorithm>
#include <string>

namespace mlc {

KVCache::KVCache(int num_pages, int page_size)
    : page_size_(page_size), owners_(static_cast<size_t>(num_pages), 0) {
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
  MLC_ICHECK(!free_pages_.empty());
  int32_t page = free_pages_.back();
  free_pages_.pop_back();
  owners_[page] = 1;
  return page;
}

void KVCache::ReleasePage(int32_t page) {
  MLC_ICHECK(owners_[page] > 0);
  if (--owners_[page] == 0) free_pages_.push_back(page);
}

void KVCache::Add(SequenceId id) {
  bool is_new = sequences_.emplace(id, Sequence{}).second;
  MLC_ICHECK(is_new);
}

void KVCache::Fork(SequenceId parent_id, SequenceId child_id, int length) {
  Sequence child;
  const Sequence& parent = Get(parent_id);
  MLC_ICHECK(length >= 0 && length <= parent.length);
  int num_pages = (length + page_size_ - 1) / page_size_;
  child.pages.assign(parent.pages.begin(), parent.pages.begin() + num_pages);
  child.length = length;
  for (int32_t page : child.pages) ++owners_[page];
  bool is_new = sequences_.emplace(child_id, std::move(child)).second;
  MLC_ICHECK(is_new);
}

void KVCache::Remove(SequenceId id) {
  for (int32_t page : Get(id).pages) ReleasePage(page);
  sequences_.erase(id);
}

bool KVCache::MustCopyLastPage(const Sequence& sequence) const {
  return sequence.length % page_size_ != 0 && owners_[sequence.pages.back()] > 1;
}

int KVCache::PagesNeeded(SequenceId id, int num_tokens) const {
  const Sequence& sequence = Get(id);
  if (num_tokens == 0) return 0;
  int after = (sequence.length + num_tokens + page_size_ - 1) / page_size_;
  return after - static_cast<int>(sequence.pages.size()) + (MustCopyLastPage(sequence) ? 1 : 0);
}

int KVCache::PagesFreedBy(SequenceId id) const {
  const std::vector<int32_t>& pages = Get(id).pages;
  return static_cast<int>(
      std::count_if(pages.begin(), pages.end(), [this](int32_t p) { return owners_[p] == 1; }));
}

Status KVCache::Append(SequenceId id, int num_tokens) {
  int needed = PagesNeeded(id, num_tokens);
  if (needed > num_free_pages()) {
    return ResourceExhausted("the KV cache has " + std::to_string(num_free_pages()) +
                             " free pages and needs " + std::to_string(needed));
  }
  if (num_tokens == 0) return Status();
  Sequence& sequence = Get(id);
  if (MustCopyLastPage(sequence)) {
    int32_t copy = TakePage();
    pending_copies_.emplace_back(sequence.pages.back(), copy);
    ReleasePage(sequence.pages.back());
    sequence.pages.back() = copy;
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
  size_t keep = static_cast<size_t>((sequence.length + page_size_ - 1) / page_size_);
  while (sequence.pages.size() > keep) {
    ReleasePage(sequence.pages.back());
    sequence.pages.pop_back();
  }
}

int32_t KVCache::Slot(SequenceId id, int position) const {
  const Sequence& sequence = Get(id);
  MLC_ICHECK(position >= 0 && position < sequence.length);
  return sequence.pages[position / page_size_] * page_size_ + position % page_size_;
}

std::vector<std::pair<int32_t, int32_t>> KVCache::TakePendingCopies() {
  return std::exchange(pending_copies_, {});
}

}  // namespace mlc
