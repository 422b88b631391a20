// The parts of KVCache for prefixes that are kept in files (engine/kept), where the pages of
// windows are apart from those of the first group.
#include <algorithm>

#include "kv/kv_cache.h"

namespace mlc {

bool KVCache::IsInBlock(int page_index, int begin, int end, size_t group) const {
  return group == 0 ? page_index >= begin / page_size_ : InReach(page_index, end - 1, group);
}

std::vector<int32_t> KVCache::BlockPages(uint64_t key, const std::vector<int32_t>& tokens,
                                         int begin, int end, size_t group) const {
  PrefixTree::Match match = tree_.Find(key, tokens.data(), end, /*first_group_alone=*/true);
  int found = static_cast<int>(match.nodes.size()) * page_size_ + match.num_partial_tokens;
  std::vector<int32_t> pages;
  if (found < end) return pages;
  for (int i = 0; i < PagesOf(end); ++i) {
    if (!IsInBlock(i, begin, end, group)) continue;
    pages.push_back(tree_.page(NodeOf(match, i), group));
    if (pages.back() == kNoPage) return {};
  }
  return pages;
}

bool KVCache::AddHeld(SequenceId id, uint64_t key, const std::vector<int32_t>& tokens, int length,
                      KeptPart part) {
  bool with_window = part == KeptPart::kWindow, with_state = part == KeptPart::kState;
  std::vector<int32_t> held = BlockPages(key, tokens, 0, length, 0);
  if (static_cast<int>(held.size()) < PagesOf(length)) return false;
  bool has_slot = states_.num_available() > static_cast<int>(sequences_.size());
  if (with_state && !has_slot) return false;
  PageCounts needed;
  for (size_t g = 1; g < num_groups(); ++g) {
    for (int i = 0; i < PagesOf(length); ++i) {
      needed.of[g] += with_window && IsInBlock(i, 0, length, g) ? 1 : 0;
    }
  }
  if (!needed.FitIn(available_pages())) return false;
  Add(id);
  Sequence& sequence = Get(id);
  sequence.key = key;
  sequence.length = length;
  if (with_state) sequence.states.push_back({length, TakeState(), /*kept=*/true});
  for (int32_t page : held) Hold(page);
  sequence.tables[0].pages = std::move(held);
  for (size_t g = 1; g < num_groups(); ++g) {
    Table& table = sequence.tables[g];
    table.num_slid = PagesOf(length);
    for (int i = 0; i < PagesOf(length); ++i) {
      table.pages.push_back(with_window && IsInBlock(i, 0, length, g) ? TakePage(g) : kNoPage);
    }
  }
  return true;
}

Status KVCache::AppendToFirstGroup(SequenceId id, int num_tokens) {
  MLC_RETURN_IF_ERROR(Append(id, num_tokens));
  for (size_t g = 1; g < num_groups(); ++g) {
    for (int32_t& page : Get(id).tables[g].pages) {
      if (page != kNoPage) Release(page);
      page = kNoPage;
    }
  }
  return Status();
}

}  // namespace mlc
