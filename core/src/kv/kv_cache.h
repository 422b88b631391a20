// The pages of the KV cache: who owns which, without a tensor in sight.
//
// A sequence is a table of pages that hold its first `length` tokens. Pages are shared between
// sequences and copied when a shared, partly filled page is about to be written. With the prefix
// cache on, full pages of running sequences and all pages of retired ones can be found by their
// tokens; those that no sequence uses count as available and are taken back, longest unused first.
// Under a sliding window, pages that no later row can read are given up: holes in the table.
//
//   KVCache cache(/*num_pages=*/100, /*page_size=*/16, {/*keep_prefixes=*/true});
//   int computed = cache.AddWithPrefix(id, key, tokens);
//   MLC_RETURN_IF_ERROR(cache.Append(id, 35));
//   cache.Slot(id, computed + 34);                // where the last of them goes
//   cache.Retire(id, tokens, computed + 35);
#ifndef MLC_KV_KV_CACHE_H_
#define MLC_KV_KV_CACHE_H_

#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/status.h"
#include "kv/prefix_tree.h"

namespace mlc {

using SequenceId = int64_t;

struct KVCacheOptions {
  bool keep_prefixes = false;
  int max_cached_sequences = -1;  // retired and not in use; -1: as many as fit
  int window = 0;                 // tokens that a row looks back, itself included; 0: all
  int sink = 0;                   // first tokens that stay in its reach
};

class KVCache {
 public:
  KVCache(int num_pages, int page_size, const KVCacheOptions& options = {});

  int num_pages() const { return static_cast<int>(owners_.size()); }
  int page_size() const { return page_size_; }
  const KVCacheOptions& options() const { return options_; }
  // Pages that hold nothing.
  int num_free_pages() const { return static_cast<int>(free_pages_.size()); }
  // Pages that Append can take: the free ones and those that only the prefix cache holds.
  int num_available_pages() const { return num_free_pages() + tree_.num_idle_pages(); }

  // An empty sequence. The id must be new.
  void Add(SequenceId id);
  // A new sequence that takes over the longest cached beginning of `tokens` (never all of them: the
  // last one's logits are wanted). Returns its length.
  int AddWithPrefix(SequenceId id, uint64_t key, const std::vector<int32_t>& tokens);
  // What AddWithPrefix would take over.
  int CachedLength(uint64_t key, const std::vector<int32_t>& tokens) const;
  // The pages with the longest cached beginning of `tokens`, their last one included: to be read
  // before anything else is done. kNoPage from behind the sinks up to page `num_slid`.
  struct HeldPages {
    int length = 0, num_slid = 0;
    std::vector<int32_t> pages;
  };
  HeldPages FindPages(uint64_t key, const std::vector<int32_t>& tokens) const;
  // A new sequence of `length` tokens, whose pages the caller fills; FindPages says what `num_slid`
  // is. kResourceExhausted when pages are short; kCorrupt when rows to come would read a page that
  // slid away.
  Status AddFilled(SequenceId id, uint64_t key, int length, int num_slid);
  // A new sequence with the first `length` tokens of `parent`; they share pages.
  void Fork(SequenceId parent, SequenceId child, int length);
  // Each gets the pages and the length of the other.
  void Swap(SequenceId a, SequenceId b) { std::swap(Get(a), Get(b)); }
  void Remove(SequenceId id);
  bool Has(SequenceId id) const { return sequences_.count(id) > 0; }

  // How many pages Append would take from the available ones.
  int PagesNeeded(SequenceId id, int num_tokens) const;
  // How many pages a sequence of that length occupies.
  int PagesToHold(int num_tokens) const;
  // How many pages a new sequence occupies that takes over `cached` tokens and appends others.
  int PagesToStart(int cached, int num_tokens) const;
  // How many pages would come available if the sequence went: those that no other sequence holds.
  int PagesFreedBy(SequenceId id) const;
  // Makes room for more tokens. kResourceExhausted (and nothing changed) when pages are short.
  Status Append(SequenceId id, int num_tokens);
  // Forgets the last tokens; pages that fall empty become free. Not behind where it has slid to.
  void Pop(SequenceId id, int num_tokens);

  // Lets others find the full pages among the first `num_computed` tokens. The sequence may get
  // other pages of the same content.
  void Publish(SequenceId id, const std::vector<int32_t>& tokens, int num_computed);
  // Gives up the pages that no row from `position` on can read.
  void Slide(SequenceId id, int position);
  // Removes the sequence and keeps its first `num_computed` tokens findable.
  void Retire(SequenceId id, const std::vector<int32_t>& tokens, int num_computed);
  // Frees the pages that only the prefix cache holds.
  void ClearPrefixes();

  int Length(SequenceId id) const { return Get(id).length; }
  // kNoPage where pages were given up.
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
    uint64_t key = 0;
    int num_slid = 0;       // pages before are holes, but for sinks
    int num_published = 0;  // pages that the tree holds too
    PrefixTree::NodeId last_published = PrefixTree::kNone;
  };
  const Sequence& Get(SequenceId id) const;
  Sequence& Get(SequenceId id);
  int32_t TakePage();
  void Hold(int32_t page);
  void Release(int32_t page);
  // Whether appending writes into a page that another sequence reads too.
  bool MustCopyLastPage(const Sequence& sequence) const;
  int PagesOf(int num_tokens) const { return (num_tokens + page_size_ - 1) / page_size_; }
  // The first page behind the sinks that a row at `position` reads.
  int FirstInWindow(int position) const;
  bool InReach(int page_index, int position) const;
  // The longest match of tokens[0 .. limit), and how much of it is usable.
  PrefixTree::Match Find(uint64_t key, const std::vector<int32_t>& tokens, size_t limit,
                         int* length) const;
  Status ShortOfPages(int needed) const;
  // The tree's node for tokens whose page is at `index` of the sequence, which may get another.
  PrefixTree::NodeId PutPage(Sequence* sequence, PrefixTree::NodeId parent, int index,
                             const std::vector<int32_t>& tokens, int count);
  void LimitCached();

  int page_size_;
  KVCacheOptions options_;
  std::vector<int> owners_;  // sequences that hold each page
  std::vector<int32_t> free_pages_;
  PrefixTree tree_;
  std::unordered_map<SequenceId, Sequence> sequences_;
  std::vector<std::pair<int32_t, int32_t>> pending_copies_;
};

}  // namespace mlc

#endif  // MLC_KV_KV_CACHE_H_
