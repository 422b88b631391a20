// The pages of the KV cache: who owns which, without a tensor in sight.
//
// A sequence is a list of pages that hold its first `length` tokens. Pages are shared between
// sequences (fork) and copied when a shared, partly filled page is about to be written.
//
//   KVCache cache(/*num_pages=*/100, /*page_size=*/16);
//   cache.Add(id);
//   MLC_RETURN_IF_ERROR(cache.Append(id, 35));   // three pages
//   cache.Slot(id, 34);                          // where the last of them goes
#ifndef MLC_KV_KV_CACHE_H_
#define MLC_KV_KV_CACHE_H_

#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/status.h"

namespace mlc {

using SequenceId = int64_t;

class KVCache {
 public:
  KVCache(int num_pages, int page_size);

  int num_pages() const { return static_cast<int>(owners_.size()); }
  int num_free_pages() const { return static_cast<int>(free_pages_.size()); }
  int page_size() const { return page_size_; }

  // An empty sequence. The id must be new.
  void Add(SequenceId id);
  // A new sequence with the first `length` tokens of `parent`; they share pages.
  void Fork(SequenceId parent, SequenceId child, int length);
  void Remove(SequenceId id);
  bool Has(SequenceId id) const { return sequences_.count(id) > 0; }

  // How many pages Append would take from the free ones.
  int PagesNeeded(SequenceId id, int num_tokens) const;
  // How many pages Remove would free: those that no other sequence holds.
  int PagesFreedBy(SequenceId id) const;
  // Makes room for more tokens. kResourceExhausted (and nothing changed) when pages are short.
  Status Append(SequenceId id, int num_tokens);
  // Forgets the last tokens; pages that fall empty become free.
  void Pop(SequenceId id, int num_tokens);

  int Length(SequenceId id) const { return Get(id).length; }
  const std::vector<int32_t>& Pages(SequenceId id) const { return Get(id).pages; }
  // page * page_size + offset of a position below Length.
  int32_t Slot(SequenceId id, int position) const;

  // Page contents that must be copied (source, destination) before the next step writes, in order.
  // The caller does it and the list is empty again.
  std::vector<std::pair<int32_t, int32_t>> TakePendingCopies();

 private:
  struct Sequence {
    std::vector<int32_t> pages;
    int length = 0;
  };
  const Sequence& Get(SequenceId id) const;
  Sequence& Get(SequenceId id);
  int32_t TakePage();
  void ReleasePage(int32_t page);
  // Whether appending writes into a page that another sequence reads too.
  bool MustCopyLastPage(const Sequence& sequence) const;

  int page_size_;
  std::vector<int> owners_;  // sequences that hold each page
  std::vector<int32_t> free_pages_;
  std::unordered_map<SequenceId, Sequence> sequences_;
  std::vector<std::pair<int32_t, int32_t>> pending_copies_;
};

}  // namespace mlc

#endif  // MLC_KV_KV_CACHE_H_
