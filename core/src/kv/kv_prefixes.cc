// The parts of KVCache that work with token ids: they find and publish cached beginnings, and slide
// the window.
#include <algorithm>

#include "kv/kv_cache.h"

namespace mlc {
namespace {

// The most nodes for each page. A hole has no page, but it costs memory.
constexpr int kMaxNodesPerPage = 32;

}  // namespace

// Nothing ends inside a picture: what its other rows need may be dear (its tower runs again), and
// they may be seen by the rows before them.
bool KVCache::IsInContent(const std::vector<int32_t>& tokens, int length) {
  size_t at = static_cast<size_t>(length);
  return length > 0 && at < tokens.size() && tokens[at] < 0 && tokens[at] == tokens[at - 1];
}

int KVCache::FirstInWindow(int position, size_t group) const {
  int sinks = PagesOf(options_.sink), window = groups_[group].window;
  if (window == 0) return 0;
  return std::max(sinks, (position - window + 1) / page_size_);
}

bool KVCache::InReach(int page_index, int position, size_t group) const {
  return page_index < PagesOf(options_.sink) || page_index >= FirstInWindow(position, group);
}

bool KVCache::IsKept(const Sequence& sequence, int page_index, size_t group) const {
  auto reads = [&](int end) {
    int whole = end / page_size_ * page_size_;
    return page_index >= FirstInWindow(whole, group) && page_index <= end / page_size_;
  };
  return std::any_of(sequence.kept_ends.begin(), sequence.kept_ends.end(), reads);
}

PageCounts KVCache::PagesToHold(int num_tokens) const {
  PageCounts held = PageCounts::Each(PagesOf(num_tokens));
  for (size_t g = 0; g < num_groups(); ++g) {
    int window = groups_[g].window, most = PagesOf(options_.sink) + PagesOf(window) + 1;
    if (window > 0) held.of[g] = std::min(held.of[g], most);
  }
  return held;
}

PageCounts KVCache::PagesToStart(int cached, int num_tokens) const {
  int shared = cached / page_size_;
  PageCounts counts;
  for (size_t g = 0; g < num_groups(); ++g) {
    int sinks = groups_[g].window == 0 ? 0 : std::min(shared, PagesOf(options_.sink));
    int held = sinks + std::max(0, shared - FirstInWindow(cached, g));
    counts.of[g] = held + PagesOf(cached + num_tokens) - shared;
  }
  return counts;
}

void KVCache::Slide(SequenceId id, int position) {
  Sequence& sequence = Get(id);
  if (!sequence.states.empty()) position = std::min(position, sequence.states.front().length);
  for (size_t g = 0; g < num_groups(); ++g) {
    if (groups_[g].window == 0) continue;
    Table& table = sequence.tables[g];
    int end = FirstInWindow(position, g);
    int begin = std::max(table.num_slid, PagesOf(options_.sink));
    for (int i = end - 1; i >= begin; --i) {
      int32_t& page = table.pages[static_cast<size_t>(i)];
      if (page == kNoPage) continue;
      Release(page, /*first=*/!IsKept(sequence, i, g));
      page = kNoPage;
    }
    table.num_slid = std::max(table.num_slid, end > begin ? end : 0);
  }
}

PrefixTree::Match KVCache::Find(uint64_t key, const std::vector<int32_t>& tokens, size_t limit,
                                Found* found) const {
  *found = {};
  if (!options_.keep_prefixes || limit == 0) return {};
  PrefixTree::Match match = tree_.Find(key, tokens.data(), static_cast<int>(limit));
  int full = static_cast<int>(match.nodes.size()), &length = found->length;
  length = full * page_size_ + match.num_partial_tokens;
  for (int before = -1; before != length;) {
    while (IsInContent(tokens, length)) --length;
    before = length;
    // A hole ends the usable part, unless the window of the next rows is already behind it.
    for (int i = full - 1; i >= 0; --i) {
      if (i * page_size_ < length && IsHole(match, i, length)) length = i * page_size_;
    }
  }
  if (has_states()) LimitToState(match, tokens, found);
  return match;
}

bool KVCache::IsHole(const PrefixTree::Match& match, int page_index, int position) const {
  PrefixTree::NodeId node = match.nodes[static_cast<size_t>(page_index)];
  for (size_t g = 0; g < num_groups(); ++g) {
    if (tree_.page(node, g) == kNoPage && InReach(page_index, position, g)) return true;
  }
  return false;
}

bool KVCache::HasHole(const PrefixTree::Match& match, int pages, int position) const {
  for (int i = 0; i < pages; ++i) {
    if (IsHole(match, i, position)) return true;
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
  int sinks = PagesOf(options_.sink);
  for (size_t g = 0; g < num_groups(); ++g) {
    std::vector<int32_t>& pages = held.pages[g];
    for (int i = 0; i < PagesOf(held.length); ++i) {
      pages.push_back(tree_.page(NodeOf(match, i), g));
    }
    int& num_slid = held.num_slid.of[g];
    if (FirstInWindow(held.length, g) <= sinks) continue;
    num_slid = FirstInWindow(held.length, g);
    // When the same prompt comes again, its last token is computed again. That row may read one
    // page more.
    int first = FirstInWindow(held.length - 1, g);
    while (num_slid > first && pages[static_cast<size_t>(num_slid - 1)] != kNoPage) --num_slid;
    std::fill(pages.begin() + sinks, pages.begin() + std::max(sinks, num_slid), kNoPage);
  }
  return held;
}

Status KVCache::AddFilled(SequenceId id, uint64_t key, int length, const PageCounts& num_slid) {
  int sinks = PagesOf(options_.sink);
  PageCounts needed;
  for (size_t g = 0; g < num_groups(); ++g) {
    int slid = num_slid.of[g];
    if (slid > 0 && (groups_[g].window == 0 || slid > FirstInWindow(length, g))) {
      return Corrupt("pages are missing that the window still reads");
    }
    needed.of[g] = PagesOf(length) - std::max(0, slid - sinks);
  }
  if (!needed.FitIn(available_pages())) return ShortOfPages(needed);
  if (has_states() && states_.num_available() <= static_cast<int>(sequences_.size())) {
    return ResourceExhausted("every slot for recurrent state is in use");
  }
  Add(id);
  Sequence& sequence = Get(id);
  sequence.key = key;
  sequence.length = length;
  if (has_states()) sequence.states.push_back({length, TakeState(), true});
  for (size_t g = 0; g < num_groups(); ++g) {
    Table& table = sequence.tables[g];
    table.num_slid = num_slid.of[g];
    for (int i = 0; i < PagesOf(length); ++i) {
      bool slid = i >= sinks && i < table.num_slid;
      table.pages.push_back(slid ? kNoPage : TakePage(g));
    }
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
  // the end of the prompt, and the place where it leaves what is there
  int matched = static_cast<int>(match.nodes.size()) * page_size_ + match.num_partial_tokens;
  sequence.kept_ends = {static_cast<int>(limit), matched};
  int full = sequence.length / page_size_, rest = sequence.length % page_size_;
  for (size_t g = 0; g < num_groups(); ++g) {
    Table& table = sequence.tables[g];
    for (int i = 0; i < full; ++i) {
      bool holds = InReach(i, sequence.length, g);
      table.pages.push_back(holds ? tree_.page(match.nodes[static_cast<size_t>(i)], g) : kNoPage);
      if (holds) Hold(table.pages.back());
      if (!holds) table.num_slid = i + 1;
    }
  }
  sequence.num_published = full;
  sequence.last_published = full > 0 ? match.nodes[full - 1] : PrefixTree::kNone;
  if (rest == 0) return sequence.length;
  if (!PageCounts::Each(1).FitIn(available_pages())) {  // the plan should have prevented it
    Remove(id);
    Add(id);
    Get(id).key = key;
    return 0;
  }
  // The copies are recorded now, so a plan need not count the sources. These may be evicted for the
  // copies, because all copies happen before a step writes.
  PageSet sources;
  for (size_t g = 0; g < num_groups(); ++g) sources.of[g] = tree_.page(NodeOf(match, full), g);
  for (size_t g = 0; g < num_groups(); ++g) {
    int32_t copy = TakePage(g);
    if (copy != sources.of[g]) pending_copies_.emplace_back(sources.of[g], copy);
    sequence.tables[g].pages.push_back(copy);
  }
  return sequence.length;
}

PrefixTree::NodeId KVCache::PutPage(Sequence* sequence, PrefixTree::NodeId parent, int index,
                                    const std::vector<int32_t>& tokens, int count) {
  PageSet own;
  for (size_t g = 0; g < num_groups(); ++g) {
    own.of[g] = sequence->tables[g].pages[static_cast<size_t>(index)];
  }
  PrefixTree::Placed placed = tree_.Put(parent, tokens.data() + index * page_size_, count, own);
  for (int32_t released : placed.released) {
    if (owners_[released] == 0) PutFree({released});
  }
  bool is_full = count == page_size_;
  for (size_t g = 0; g < num_groups(); ++g) {
    int32_t kept = tree_.page(placed.node, g);
    if (own.of[g] == kNoPage || kept == own.of[g] || !is_full) continue;
    Hold(kept);  // the same content was computed twice
    Release(own.of[g]);
    sequence->tables[g].pages[static_cast<size_t>(index)] = kept;
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
  if (!options_.keep_prefixes || sequence->tables[0].num_slid > 0) return;
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
  RetireHeld(id, tokens);
}

void KVCache::RetireHeld(SequenceId id, const std::vector<int32_t>& tokens) {
  PublishAll(id, tokens);
  Remove(id);
  LimitCached();
}

void KVCache::PublishAll(SequenceId id, const std::vector<int32_t>& tokens) {
  Sequence& sequence = Get(id);
  int length = sequence.length;
  bool has_last = length > 0 && sequence.tables[0].pages.back() != kNoPage;
  if (!options_.keep_prefixes || !has_last) return;
  // start at the root: its last published node may have been evicted
  if (sequence.tables[0].num_slid > 0) {
    PrefixTree::NodeId node = tree_.Root(sequence.key);
    for (int i = 0; i < length / page_size_; ++i) {
      node = PutPage(&sequence, node, i, tokens, page_size_);
    }
    sequence.last_published = node;
  } else {
    Publish(id, tokens, length);
  }
  int rest = length % page_size_, full = length / page_size_;
  PrefixTree::NodeId last = full > 0 ? sequence.last_published : tree_.Root(sequence.key);
  if (rest > 0) last = PutPage(&sequence, last, full, tokens, rest);
  int count = rest > 0 ? rest : page_size_;
  if (!sequence.states.empty()) tree_.SetState(last, {count, sequence.states.back().slot});
}

void KVCache::LimitCached() {
  auto too_many = [this] {
    return (options_.max_cached_sequences >= 0 &&
            tree_.num_idle_leaves() > options_.max_cached_sequences) ||
           tree_.num_nodes() > kMaxNodesPerPage * num_pages();
  };
  while (too_many() && tree_.num_idle_pages() > 0) PutFree(tree_.Evict(0));
}

void KVCache::ClearPrefixes() {
  for (size_t g = 0; g < num_groups(); ++g) {
    while (tree_.num_idle_pages(g) > 0) PutFree(tree_.Evict(g));
  }
}

void KVCache::Pin(SequenceId id, int num_tokens) {
  const Sequence& sequence = Get(id);
  num_tokens = std::min(num_tokens, sequence.length);
  for (size_t g = 0; g < num_groups(); ++g) {
    int& num_pinned = groups_[g].num_pinned;
    for (int i = 0; i < num_tokens / page_size_; ++i) {
      int32_t page = sequence.tables[g].pages[static_cast<size_t>(i)];
      bool is_needed = page != kNoPage && tree_.Holds(page) && InReach(i, num_tokens - 1, g);
      if (!is_needed || pinned_[page] || num_pinned >= max_pinned_pages(g)) continue;
      pinned_[page] = true;
      ++num_pinned;
      Hold(page);
    }
  }
}

void KVCache::UnpinAll() {
  for (int32_t page = num_pages() - 1; page >= 0; --page) {
    if (!pinned_[page]) continue;
    pinned_[page] = false;
    Release(page);
  }
  for (Group& group : groups_) group.num_pinned = 0;
}

bool KVCache::HasRoomToPin(uint64_t key, const std::vector<int32_t>& tokens) const {
  int num_tokens = static_cast<int>(tokens.size());
  PrefixTree::Match match = tree_.Find(key, tokens.data(), num_tokens);
  for (size_t g = 0; g < num_groups(); ++g) {
    int more = 0;
    for (int i = 0; i < num_tokens / page_size_; ++i) {
      size_t at = static_cast<size_t>(i);
      int32_t page = at < match.nodes.size() ? tree_.page(match.nodes[at], g) : kNoPage;
      bool is_pinned = page != kNoPage && pinned_[page];
      more += InReach(i, num_tokens - 1, g) && !is_pinned ? 1 : 0;
    }
    if (groups_[g].num_pinned + more > max_pinned_pages(g)) return false;
  }
  return true;
}

}  // namespace mlc
