#include "kv/kv_cache.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <string>

namespace mlc {
namespace {

std::vector<int> GroupSizes(int num_pages, const KVCacheOptions& options) {
  if (options.num_windowed_pages == 0) return {num_pages};
  return {num_pages, options.num_windowed_pages};
}

int SumOf(const std::vector<int>& sizes) { return std::accumulate(sizes.begin(), sizes.end(), 0); }

}  // namespace

KVCache::KVCache(int num_pages, int page_size, const KVCacheOptions& options)
    : page_size_(page_size),
      options_(options),
      owners_(static_cast<size_t>(SumOf(GroupSizes(num_pages, options))), 0),
      pinned_(owners_.size(), false),
      states_(options.num_states),
      tree_(GroupSizes(num_pages, options), page_size, &states_) {
  groups_.push_back({0, num_pages, options.window});
  if (options.num_windowed_pages > 0) {
    groups_.push_back({num_pages, options.num_windowed_pages, options.layer_window});
  }
  for (int32_t page = this->num_pages() - 1; page >= 0; --page) PutFree({page});
}

std::vector<int32_t> KVCache::free_pages() const {
  std::vector<int32_t> pages;
  for (const Group& group : groups_) {
    pages.insert(pages.end(), group.free_pages.begin(), group.free_pages.end());
  }
  return pages;
}

int KVCache::num_free_pages() const {
  size_t count = 0;
  for (const Group& group : groups_) count += group.free_pages.size();
  return static_cast<int>(count);
}

PageCounts KVCache::available_pages() const {
  PageCounts counts = PageCounts::Each(1 << 30);  // a group that is not there lacks nothing
  for (size_t g = 0; g < num_groups(); ++g) {
    counts.of[g] = static_cast<int>(groups_[g].free_pages.size()) + tree_.num_idle_pages(g);
  }
  return counts;
}

int KVCache::num_available_pages() const {
  PageCounts counts = available_pages();
  return std::accumulate(counts.of.begin(),
                         counts.of.begin() + static_cast<std::ptrdiff_t>(num_groups()), 0);
}

const KVCache::Sequence& KVCache::Get(SequenceId id) const {
  auto found = sequences_.find(id);
  MLC_ICHECK(found != sequences_.end());
  return found->second;
}

KVCache::Sequence& KVCache::Get(SequenceId id) {
  return const_cast<Sequence&>(static_cast<const KVCache*>(this)->Get(id));
}

void KVCache::PutFree(const std::vector<int32_t>& pages) {
  for (int32_t page : pages) groups_[GroupOf(page)].free_pages.push_back(page);
}

int32_t KVCache::TakePage(size_t group) {
  std::vector<int32_t>& free_pages = groups_[group].free_pages;
  if (free_pages.empty()) PutFree(tree_.Evict(group));
  int32_t page = free_pages.back();
  free_pages.pop_back();
  owners_[page] = 1;
  return page;
}

void KVCache::Hold(int32_t page) {
  if (owners_[page]++ == 0) tree_.SetBusy(page);
}

void KVCache::Release(int32_t page, bool first) {
  MLC_ICHECK(owners_[page] > 0);
  if (--owners_[page] > 0) return;
  if (tree_.Holds(page)) return tree_.SetIdle(page, first);
  PutFree({page});
}

void KVCache::Add(SequenceId id) {
  bool is_new = sequences_.emplace(id, Sequence{}).second;
  MLC_ICHECK(is_new);
}

void KVCache::Fork(SequenceId parent_id, SequenceId child_id, int length) {
  Sequence child = Get(parent_id);
  MLC_ICHECK(length >= 0 && length <= child.length);
  for (size_t g = 0; g < num_groups(); ++g) {
    std::vector<int32_t>& pages = child.tables[g].pages;
    pages.resize(static_cast<size_t>(PagesOf(length)));
    for (int32_t page : pages) {
      if (page != kNoPage) ++owners_[page];
    }
  }
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
  bool is_new = sequences_.emplace(child_id, std::move(child)).second;
  MLC_ICHECK(is_new);
}

// Releases the last page first. When pages become idle together, the tree evicts the one that was
// released first, and everything behind an evicted page is lost.
void KVCache::Remove(SequenceId id) {
  CutStates(&Get(id), -1);
  for (size_t g = 0; g < num_groups(); ++g) {
    const std::vector<int32_t>& pages = Pages(id, g);
    for (auto page = pages.rbegin(); page != pages.rend(); ++page) {
      if (*page != kNoPage) Release(*page);
    }
  }
  sequences_.erase(id);
}

bool KVCache::MustCopyLastPage(const Sequence& sequence, size_t group) const {
  return sequence.length % page_size_ != 0 && owners_[sequence.tables[group].pages.back()] > 1;
}

PageCounts KVCache::PagesNeeded(SequenceId id, int num_tokens) const {
  const Sequence& sequence = Get(id);
  PageCounts needed;
  if (num_tokens == 0) return needed;
  int more = PagesOf(sequence.length + num_tokens) - PagesOf(sequence.length);
  for (size_t g = 0; g < num_groups(); ++g) {
    needed.of[g] = more + (MustCopyLastPage(sequence, g) ? 1 : 0);
  }
  return needed;
}

PageCounts KVCache::PagesFreedBy(SequenceId id) const {
  PageCounts freed;
  for (size_t g = 0; g < num_groups(); ++g) {
    const std::vector<int32_t>& pages = Pages(id, g);
    freed.of[g] = static_cast<int>(std::count_if(pages.begin(), pages.end(), [this](int32_t page) {
      return page != kNoPage && owners_[page] == 1;
    }));
  }
  return freed;
}

Status KVCache::ShortOfPages(const PageCounts& needed) const {
  PageCounts available = available_pages();
  size_t group = needed.of[0] > available.of[0] ? 0 : 1;
  return ResourceExhausted("the KV cache has " + std::to_string(available.of[group]) +
                           " free pages and needs " + std::to_string(needed.of[group]));
}

Status KVCache::Append(SequenceId id, int num_tokens) {
  PageCounts needed = PagesNeeded(id, num_tokens);
  if (!needed.FitIn(available_pages())) return ShortOfPages(needed);
  if (num_tokens == 0) return Status();
  Sequence& sequence = Get(id);
  int num_pages = PagesOf(sequence.length + num_tokens);
  for (size_t g = 0; g < num_groups(); ++g) {
    std::vector<int32_t>& pages = sequence.tables[g].pages;
    if (MustCopyLastPage(sequence, g)) {
      int32_t copy = TakePage(g);
      pending_copies_.emplace_back(pages.back(), copy);
      Release(pages.back());
      pages.back() = copy;
    } else if (sequence.length % page_size_ != 0 && tree_.Holds(pages.back())) {
      PutFree(tree_.Drop(pages.back()));  // the page will hold other tokens
    }
    while (static_cast<int>(pages.size()) < num_pages) pages.push_back(TakePage(g));
  }
  sequence.length += num_tokens;
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
  for (size_t g = 0; g < num_groups(); ++g) {
    std::vector<int32_t>& pages = sequence.tables[g].pages;
    for (; static_cast<int>(pages.size()) > PagesOf(sequence.length); pages.pop_back()) {
      if (pages.back() != kNoPage) Release(pages.back());
    }
  }
  if (sequence.length / page_size_ < sequence.num_published) {
    sequence.num_published = 0;
    sequence.last_published = PrefixTree::kNone;
  }
}

int32_t KVCache::Slot(SequenceId id, int position, size_t group) const {
  MLC_ICHECK(position >= 0 && position < Length(id));
  int32_t page = Pages(id, group)[static_cast<size_t>(position / page_size_)];
  MLC_ICHECK(page != kNoPage);
  return NumberInGroup(page, group) * page_size_ + position % page_size_;
}

std::vector<std::pair<int32_t, int32_t>> KVCache::TakePendingCopies() {
  return std::exchange(pending_copies_, {});
}

}  // namespace mlc
