// The part of Engine that copies blocks of a prefix out of the prefix cache and back (kept/).
#include <algorithm>
#include <new>
#include <numeric>

#include "engine/engine.h"

namespace mlc {

int Engine::NumHeldIds(uint64_t adapter, const std::vector<int32_t>& ids) const {
  return cache_.FindPages(adapter, ids).length;
}

Result<std::unique_ptr<char[]>> Engine::CopyBlock(uint64_t adapter, const std::vector<int32_t>& ids,
                                                  int begin, int end) const {
  int page_size = cache_.page_size();
  KVCache::HeldPages held = cache_.FindPages(adapter, ids);
  if (held.length < end) return std::unique_ptr<char[]>();
  auto part_of = [&](const std::vector<int32_t>& all) {
    return std::vector<int32_t>(all.begin() + begin / page_size,
                                all.begin() + (end + page_size - 1) / page_size);
  };
  std::vector<int64_t> page_bytes = info().PageBytes();
  int64_t page = std::accumulate(page_bytes.begin(), page_bytes.end(), int64_t{0});
  size_t bytes = part_of(held.pages[0]).size() * static_cast<size_t>(page);
  std::unique_ptr<char[]> copy(new (std::nothrow) char[bytes]);
  char* at = copy.get();
  for (size_t g = 0; copy != nullptr && g < cache_.num_groups(); ++g) {
    std::vector<int32_t> pages = part_of(held.pages[g]);
    if (std::count(pages.begin(), pages.end(), kNoPage) > 0) return std::unique_ptr<char[]>();
    MLC_RETURN_IF_ERROR(model_->ReadPages(pages, at));
    at += static_cast<int64_t>(pages.size()) * page_bytes[g];
    if (int rest = end % page_size) {
      MLC_RETURN_IF_ERROR(model_->ClearSlots(rest, g, at - page_bytes[g]));
    }
  }
  return copy;
}

bool Engine::AdoptBlock(uint64_t adapter, const std::vector<int32_t>& ids, int begin, int end,
                        const char* pages) {
  // A prefix never takes the last token. So these give whole pages, and no page is to be copied by
  // the next step, which would write over a page of ours.
  std::vector<int32_t> before(ids.begin(), ids.begin() + begin + 1);
  if (cache_.CachedLength(adapter, before) != begin || cache_.has_pending_copies()) return false;
  SequenceId id = next_sequence_++;
  (void)cache_.AddWithPrefix(id, adapter, before);
  bool fits = cache_.Append(id, end - begin).ok();
  if (fits) {
    std::vector<int32_t> own;
    for (size_t g = 0; g < cache_.num_groups(); ++g) {
      const std::vector<int32_t>& all = cache_.Pages(id, g);
      own.insert(own.end(), all.begin() + begin / cache_.page_size(), all.end());
    }
    fits = model_->WritePages(own, pages).ok();
  }
  if (!fits) {
    cache_.Remove(id);
    return false;
  }
  cache_.Retire(id, ids, end);
  return true;
}

void Engine::CountKept(int restored_tokens, int written_blocks) {
  metrics_.restored_tokens += restored_tokens;
  metrics_.written_blocks += written_blocks;
}

}  // namespace mlc
