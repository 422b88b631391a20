// The part of Engine that copies blocks of a prefix out of the prefix cache and back (kept/).
#include <algorithm>
#include <new>

#include "engine/engine.h"

namespace mlc {

int Engine::NumHeldIds(uint64_t adapter, const std::vector<int32_t>& ids) const {
  return cache_.FindPages(adapter, ids).length;
}

Result<std::unique_ptr<char[]>> Engine::CopyStateAt(uint64_t adapter, std::vector<int32_t> ids,
                                                    int end) const {
  ids.resize(static_cast<size_t>(end));
  KVCache::HeldPages held = cache_.FindPages(adapter, ids);
  std::unique_ptr<char[]> copy;
  if (held.length < end || held.state == kNoState) return copy;
  copy.reset(new (std::nothrow) char[static_cast<size_t>(info().state_bytes)]);
  if (copy != nullptr) MLC_RETURN_IF_ERROR(model_->ReadState(held.state, copy.get()));
  return copy;
}

Result<std::unique_ptr<char[]>> Engine::CopyBlock(uint64_t adapter, const std::vector<int32_t>& ids,
                                                  int begin, int end, KeptPart part) const {
  if (part == KeptPart::kState) return CopyStateAt(adapter, ids, end);
  size_t group = part == KeptPart::kWindow ? 1 : 0;
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
                        KeptPart part, const char* body) {
  SequenceId id = next_sequence_++;
  bool has_pages = part == KeptPart::kPages;
  if (!cache_.AddHeld(id, adapter, ids, has_pages ? begin : end, part)) return false;
  bool fits = !has_pages || cache_.AppendToFirstGroup(id, end - begin).ok();
  if (fits && part == KeptPart::kState) {
    fits = model_->WriteState(cache_.StateOf(id), body).ok();
  } else if (fits) {
    std::vector<int32_t> own = cache_.Pages(id, part == KeptPart::kWindow ? 1 : 0);
    if (has_pages) own.erase(own.begin(), own.begin() + begin / cache_.page_size());
    own.erase(std::remove(own.begin(), own.end(), kNoPage), own.end());
    fits = model_->WritePages(own, body).ok();
  }
  if (!fits) {
    cache_.Remove(id);
    return false;
  }
  cache_.RetireHeld(id, ids);
  return true;
}

void Engine::CountKept(int restored_tokens, int written_blocks) {
  metrics_.restored_tokens += restored_tokens;
  metrics_.written_blocks += written_blocks;
}

}  // namespace mlc
