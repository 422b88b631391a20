// The parts of KVCache that deal in tokens: taking over what is cached, leaving it to others, and
// what a sliding window leaves behind.
#include <algorithm>

#include "kv/kv_cache.h"

namespace mlc {
namespace {

// Holes cost memory although they hold no page; so many nodes a page are kept at most.
constexpr int kMaxNodesPerPage = 32;

}  // namespace

int KVCache::FirstInWindow(int position) const {
  int sinks = PagesOf(options_.sink);
  if (options_.window == 0) return 0;
  return std::max(sinks, (position - options_.window + 1) / page_size_);
}

bool KVCache::InReach(int page_index, int position) const {
  return page_index < PagesOf(options_.sink) || page_index >= FirstInWindow(position);
}

int KVCache::PagesToHold(int num_tokens) const {
  int all = PagesOf(num_tokens);
  if (options_.window == 0) return all;
  return std::min(all, PagesOf(options_.sink) + PagesOf(options_.window) + 1);
}

int KVCache::PagesToStart(int cached, int num_tokens) const {
  int shared = cached / page_size_;
  int sinks = options_.window == 0 ? 0 : std::min(shared, PagesOf(options_.sink));
  int held = sinks + std::max(0, shared - FirstInWindow(cached));
  return held + PagesOf(cached + num_tokens) - shared;
}

void KVCache::Slide(SequenceId id, int position) {
  if (options_.window == 0) return;
  Sequence& sequence = Get(id);
  if (!sequence.states.empty()) position = std::min(position, sequence.states.front().length);
  int end = FirstInWindow(position);
  int begin = std::max(sequence.num_slid, PagesOf(options_.sink));
  for (int i = end - 1; i >= begin; --i) {
    if (sequence.pages[i] == kNoPage) continue;
    Release(sequence.pages[i]);
    sequence.pages[i] = kNoPage;
  }
  if (end > begin) sequence.num_slid = end;
}

PrefixTree::Match KVCache::Find(uint64_t key, const std::vector<int32_t>& tokens, size_t limit,
                                Found* found) const {
  *found = {};
  if (!options_.keep_prefixes || limit == 0) return {};
  PrefixTree::Match match = tree_.Find(key, tokens.data(), static_cast<int>(limit));
  int full = static_cast<int>(match.nodes.size()), &length = found->length;
  length = full * page_size_ + match.num_partial_tokens;
  // A hole ends what is usable unless the window of the rows that follow has passed it.
  for (int i = full - 1; i >= 0; --i) {
    if (tree_.page(match.nodes[i]) == kNoPage && InReach(i, length)) length = i * page_size_;
  }
  if (has_states()) LimitToState(match, found);
  return match;
}

bool KVCache::HasHole(const PrefixTree::Match& match, int pages, int position) const {
  for (int i = 0; i < pages; ++i) {
    if (tree_.page(match.nodes[i]) == kNoPage && InReach(i, position)) return true;
  }
  return false;
}

int KVCache::CachedLength(uint64_t key, const std::vector<int32_t>& tokens) const {
  Found found;
  if (!tokens.empty()) Find(key, tokens, tokens.size() - 1, &found);
  return found.length;
}

KVCache::HeldPages KVCache::FindPages(uint64_t key, const std::vector<int32_t>& tokens) const {
  HeldPages held;
  Found found;
  PrefixTree::Match match = Find(key, tokens, tokens.size(), &found);
  held.length = found.length;
  held.state = found.state;
  for (int i = 0; i < held.length / page_size_; ++i) {
    held.pages.push_back(tree_.page(match.nodes[i]));
  }
  if (held.length % page_size_ != 0) {
    held.pages.push_back(tree_.page(NodeOf(match, held.length / page_size_)));
  }
  int sinks = PagesOf(options_.sink);
  if (FirstInWindow(held.length) <= sinks) return held;
  held.num_slid = FirstInWindow(held.length);
  // The same prompt again has its last token computed again, for which a page more may be in reach.
  int first = FirstInWindow(held.length - 1);
  while (held.num_slid > first && held.pages[held.num_slid - 1] != kNoPage) --held.num_slid;
  for (int i = sinks; i < held.num_slid; ++i) held.pages[i] = kNoPage;
  return held;
}

Status KVCache::AddFilled(SequenceId id, uint64_t key, int length, int num_slid) {
  int sinks = PagesOf(options_.sink);
  if (num_slid > 0 && (options_.window == 0 || num_slid > FirstInWindow(length))) {
    return Corrupt("pages are missing that the window still reads");
  }
  int needed = PagesOf(length) - std::max(0, num_slid - sinks);
  if (needed > num_available_pages()) return ShortOfPages(needed);
  if (has_states() && states_.num_available() <= static_cast<int>(sequences_.size())) {
    return ResourceExhausted("every slot for recurrent state is in use");
  }
  Add(id);
  Sequence& sequence = Get(id);
  sequence.key = key;
  sequence.length = length;
  sequence.num_slid = num_slid;
  if (has_states()) sequence.states.push_back({length, TakeState(), true});
  for (int i = 0; i < PagesOf(length); ++i) {
    bool slid = i >= sinks && i < num_slid;
    sequence.pages.push_back(slid ? kNoPage : TakePage());
  }
  return Status();
}

int KVCache::AddWithPrefix(SequenceId id, uint64_t key, const std::vector<int32_t>& tokens) {
  Add(id);
  Sequence& sequence = Get(id);
  sequence.key = key;
  size_t limit = tokens.empty() ? 0 : tokens.size() - 1;
  Found found;
  PrefixTree::Match match = Find(key, tokens, limit, &found);
  sequence.length = found.length;
  if (found.state != kNoState) {
    states_.Hold(found.state);
    sequence.states.push_back({found.length, found.state, false});
  }
  int full = sequence.length / page_size_;
  for (int i = 0; i < full; ++i) {
    bool holds = InReach(i, sequence.length);
    sequence.pages.push_back(holds ? tree_.page(match.nodes[i]) : kNoPage);
    if (holds) Hold(sequence.pages.back());
    if (!holds) sequence.num_slid = i + 1;
  }
  sequence.num_published = full;
  sequence.last_published = full > 0 ? match.nodes[full - 1] : PrefixTree::kNone;
  int rest = sequence.length % page_size_;
  if (rest == 0) return sequence.length;
  if (num_available_pages() == 0) {  // a plan would have seen it
    Remove(id);
    Add(id);
    Get(id).key = key;
    return 0;
  }
  // The copy is made now, so that a plan need not count both pages: the source may be evicted for
  // it, and copies come before anything that a step writes.
  int32_t source = tree_.page(NodeOf(match, full)), copy = TakePage();
  if (copy != source) pending_copies_.emplace_back(source, copy);
  sequence.pages.push_back(copy);
  return sequence.length;
}

PrefixTree::NodeId KVCache::PutPage(Sequence* sequence, PrefixTree::NodeId parent, int index,
                                    const std::vector<int32_t>& tokens, int count) {
  int32_t& own = sequence->pages[index];
  PrefixTree::Placed placed = tree_.Put(parent, tokens.data() + index * page_size_, count, own);
  int32_t released = placed.released;
  if (released != kNoPage && owners_[released] == 0) free_pages_.push_back(released);
  int32_t kept = tree_.page(placed.node);
  bool is_full = count == page_size_;
  if (own != kNoPage && kept != own && is_full) {  // the same content, computed twice
    Hold(kept);
    Release(own);
    own = kept;
  }
  return placed.node;
}

void KVCache::Publish(SequenceId id, const std::vector<int32_t>& tokens, int num_computed) {
  Sequence& sequence = Get(id);
  PublishPages(&sequence, tokens, num_computed);
  if (has_states()) DropStatesBefore(&sequence, num_computed);
}

void KVCache::PublishPages(Sequence* sequence, const std::vector<int32_t>& tokens,
                           int num_computed) {
  if (!options_.keep_prefixes || sequence->num_slid > 0) return;
  int first = sequence->num_published;
  if (first >= num_computed / page_size_) return;
  PrefixTree::NodeId node = first > 0 ? sequence->last_published : tree_.Root(sequence->key);
  std::vector<PrefixTree::NodeId> nodes;
  for (int& i = sequence->num_published; i < num_computed / page_size_; ++i) {
    node = PutPage(sequence, node, i, tokens, page_size_);
    if (has_states()) nodes.push_back(node);
  }
  sequence->last_published = node;
  PublishStates(*sequence, nodes, first);
}

void KVCache::Retire(SequenceId id, const std::vector<int32_t>& tokens, int num_computed) {
  Pop(id, Length(id) - num_computed);
  Sequence& sequence = Get(id);
  num_computed = sequence.length;
  if (options_.keep_prefixes && num_computed > 0 && sequence.pages.back() != kNoPage) {
    if (sequence.num_slid > 0) {  // from the root again: others may have evicted what it left
      PrefixTree::NodeId node = tree_.Root(sequence.key);
      for (int i = 0; i < num_computed / page_size_; ++i) {
        node = PutPage(&sequence, node, i, tokens, page_size_);
      }
      sequence.last_published = node;
    } else {
      Publish(id, tokens, num_computed);
    }
    int rest = num_computed % page_size_, full = num_computed / page_size_;
    PrefixTree::NodeId last = full > 0 ? sequence.last_published : tree_.Root(sequence.key);
    if (rest > 0) last = PutPage(&sequence, last, full, tokens, rest);
    int count = rest > 0 ? rest : page_size_;
    if (has_states()) tree_.SetState(last, {count, sequence.states.back().slot});
  }
  Remove(id);
  LimitCached();
}

void KVCache::LimitCached() {
  auto too_many = [this] {
    return (options_.max_cached_sequences >= 0 &&
            tree_.num_idle_leaves() > options_.max_cached_sequences) ||
           tree_.num_nodes() > kMaxNodesPerPage * num_pages();
  };
  while (too_many() && tree_.num_idle_pages() > 0) free_pages_.push_back(tree_.Evict());
}

void KVCache::ClearPrefixes() {
  while (tree_.num_idle_pages() > 0) free_pages_.push_back(tree_.Evict());
}

void KVCache::Pin(SequenceId id, int num_tokens) {
  const Sequence& sequence = Get(id);
  for (int i = 0; i < std::min(num_tokens, sequence.length) / page_size_; ++i) {
    int32_t page = sequence.pages[i];
    if (page == kNoPage || !tree_.Holds(page) || pinned_[page]) continue;
    if (num_pinned_ >= max_pinned_pages()) return;
    pinned_[page] = true;
    ++num_pinned_;
    Hold(page);
  }
}

void KVCache::UnpinAll() {
  for (int32_t page = num_pages() - 1; page >= 0; --page) {
    if (!pinned_[page]) continue;
    pinned_[page] = false;
    Release(page);
  }
  num_pinned_ = 0;
}

int KVCache::NumPinned(uint64_t key, const std::vector<int32_t>& tokens) const {
  PrefixTree::Match match = tree_.Find(key, tokens.data(), static_cast<int>(tokens.size()));
  return static_cast<int>(
      std::count_if(match.nodes.begin(), match.nodes.end(), [this](PrefixTree::NodeId node) {
        int32_t page = tree_.page(node);
        return page != kNoPage && pinned_[page];
      }));
}

}  // namespace mlc
