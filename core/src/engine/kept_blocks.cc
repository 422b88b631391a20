// The part of Engine that copies blocks of a prefix out of the prefix cache and back (kept/).
#include <algorithm>
#include <new>

#include "engine/engine.h"

namespace mlc {

int Engine::NumHeldIds(uint64_t adapter, const std::vector<int32_t>& ids) const {
  return cache_.FindPages(adapter, ids).length;
}

Result<std::unique_ptr<char[]>> Engine::CopyBlock(uint64_t adapter, const std::vector<int32_t>& ids,
                                                  int begin, int end, size_t group) const {
  std::vector<int32_t> pages = cache_.BlockPages(adapter, ids, begin, end, group);
  if (pages.empty()) return std::unique_ptr<char[]>();
  int64_t page_bytes = info().PageBytes()[group];
  size_t bytes = pages.size() * static_cast<size_t>(page_bytes);
  std::unique_ptr<char[]> copy(new (std::nothrow) char[bytes]);
  if (copy == nullptr) return copy;
  MLC_RETURN_IF_ERROR(model_->ReadPages(pages, copy.get()));
  if (int rest = end % cache_.page_size()) {
    MLC_RETURN_IF_ERROR(model_->ClearSlots(rest, group, copy.get() + bytes - page_bytes));
  }
  return copy;
}

bool Engine::AdoptBlock(uint64_t adapter, const std::vector<int32_t>& ids, int begin, int end,
                        size_t group, const char* pages) {
  // A page that is to be copied by the next step would be written over one of ours.
  if (cache_.has_pending_copies()) return false;
  SequenceId id = next_sequence_++;
  bool is_window = group > 0;
  if (!cache_.AddHeld(id, adapter, ids, is_window ? end : begin, is_window)) return false;
  bool fits = is_window || cache_.AppendToFirstGroup(id, end - begin).ok();
  if (fits) {
    std::vector<int32_t> own = cache_.Pages(id, group);
    if (!is_window) own.erase(own.begin(), own.begin() + begin / cache_.page_size());
    own.erase(std::remove(own.begin(), own.end(), kNoPage), own.end());
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
