// The part of Engine that copies blocks of a prefix out of the prefix cache and back (kept/).
#include <algorithm>
#include <new>

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
  std::vector<int32_t> pages(held.pages.begin() + begin / page_size,
                             held.pages.begin() + (end + page_size - 1) / page_size);
  if (std::count(pages.begin(), pages.end(), kNoPage) > 0) return std::unique_ptr<char[]>();
  size_t bytes = pages.size() * static_cast<size_t>(info().page_bytes);
  std::unique_ptr<char[]> copy(new (std::nothrow) char[bytes]);
  if (copy == nullptr) return copy;
  MLC_RETURN_IF_ERROR(model_->ReadPages(pages, copy.get()));
  if (int rest = end % page_size) {
    MLC_RETURN_IF_ERROR(model_->ClearSlots(rest, copy.get() + bytes - info().page_bytes));
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
    const std::vector<int32_t>& all = cache_.Pages(id);
    std::vector<int32_t> own(all.begin() + begin / cache_.page_size(), all.end());
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
