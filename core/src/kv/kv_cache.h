// The pages of the KV cache: who owns which, without a tensor in sight.
//
// A sequence is a table of pages that hold its first `length` tokens. Pages are shared between
// sequences and copied when a shared, partly filled page is about to be written. With the prefix
// cache on, full pages of running sequences and all pages of retired ones can be found by their
// tokens; those that no sequence uses count as available and are taken back, longest unused first.
// Under a sliding window, pages that no later row can read are given up: holes in the table.
//
// Of a model with recurrent layers a sequence has states too (state_slots.h), each behind some of
// its tokens; only there it can be cut, forked or begun by others.
//
//   KVCache cache(/*num_pages=*/100, /*page_size=*/16, {/*keep_prefixes=*/true});
//   int computed = cache.AddWithPrefix(id, key, tokens);
//   MLC_RETURN_IF_ERROR(cache.Append(id, 35));
//   cache.Slot(id, computed + 34);                // where the last of them goes
//   cache.Retire(id, tokens, computed + 35);
#ifndef MLC_KV_KV_CACHE_H_
#define MLC_KV_KV_CACHE_H_

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/status.h"
#include "kv/prefix_tree.h"
#include "kv/state_slots.h"

namespace mlc {

using SequenceId = int64_t;

struct KVCacheOptions {
  bool keep_prefixes = false;
  int max_cached_sequences = -1;  // retired and not in use; -1: as many as fit
  int window = 0;                 // tokens that a row looks back, itself included; 0: all
  int sink = 0;                   // first tokens that stay in its reach
  int num_states = 0;             // slots of recurrent state; 0: the model has none
};

class KVCache {
 public:
  KVCache(int num_pages, int page_size, const KVCacheOptions& options = {});
  KVCache(const KVCache&) = delete;  // the tree knows where the slots are

  int num_pages() const { return static_cast<int>(owners_.size()); }
  int page_size() const { return page_size_; }
  const KVCacheOptions& options() const { return options_; }
  // Pages that hold nothing.
  int num_free_pages() const { return static_cast<int>(free_pages_.size()); }
  // Pages that Append can take: the free ones and those that only the prefix cache holds.
  int num_available_pages() const { return num_free_pages() + tree_.num_idle_pages(); }
  bool has_states() const { return options_.num_states > 0; }
  const StateSlots& states() const { return states_; }

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
    int32_t state = kNoState;  // behind the last token
  };
  HeldPages FindPages(uint64_t key, const std::vector<int32_t>& tokens) const;
  // A new sequence of `length` tokens, whose pages and state the caller fills; FindPages says what
  // `num_slid` is. kResourceExhausted when pages are short; kCorrupt when rows to come would read a
  // page that slid away.
  Status AddFilled(SequenceId id, uint64_t key, int length, int num_slid);
  // A new sequence with the first `length` tokens of `parent`, behind which it must have a state
  // where there are states; they share pages.
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
  // Where there are states it forgets more, back to the last state: Length says how much is left.
  void Pop(SequenceId id, int num_tokens);

  // Where the rows that were appended last find the state before them (kNoState: the sequence
  // begins), and where the states behind some of them go, in order, the last row's always.
  struct StateWrite {
    int length;  // of the sequence, the row included
    int32_t slot;
  };
  struct StepStates {
    int32_t source = kNoState;
    std::vector<StateWrite> writes;
  };
  // Nothing where there are no states. Besides the last row's, those of the rows before each of the
  // last `num_drafts`, which may be taken back, and those behind `kept_lengths`, which Publish lets
  // others find, as far as slots are to spare. kResourceExhausted when there is none at all.
  Result<StepStates> AppendStates(SequenceId id, int num_rows, int num_drafts,
                                  const std::vector<int>& kept_lengths);

  // Lets others find the full pages among the first `num_computed` tokens. The sequence may get
  // other pages of the same content.
  void Publish(SequenceId id, const std::vector<int32_t>& tokens, int num_computed);
  // Gives up the pages that no row from `position` on can read.
  void Slide(SequenceId id, int position);
  // Removes the sequence and keeps its first `num_computed` tokens findable.
  void Retire(SequenceId id, const std::vector<int32_t>& tokens, int num_computed);
  // Frees the pages that only the prefix cache holds.
  void ClearPrefixes();

  // Keeps the full pages of the sequence's first `num_tokens` that others can find from being
  // evicted, until UnpinAll: half of all pages at most, those in front first.
  void Pin(SequenceId id, int num_tokens);
  void UnpinAll();
  int num_pinned_pages() const { return num_pinned_; }
  int max_pinned_pages() const { return num_pages() / 2; }
  // How many pages of the longest cached beginning of `tokens` are pinned.
  int NumPinned(uint64_t key, const std::vector<int32_t>& tokens) const;

  int Length(SequenceId id) const { return Get(id).length; }
  // The slot with the state behind its last token; kNoState: there are none.
  int32_t StateOf(SequenceId id) const {
    return Get(id).states.empty() ? kNoState : Get(id).states.back().slot;
  }
  // kNoPage where pages were given up.
  const std::vector<int32_t>& Pages(SequenceId id) const { return Get(id).pages; }
  // page * page_size + offset of a position below Length.
  int32_t Slot(SequenceId id, int position) const;

  // Page contents that must be copied (source, destination) before the next step writes, in order.
  // The caller does it and the list is empty again.
  std::vector<std::pair<int32_t, int32_t>> TakePendingCopies();

 private:
  struct State {
    int length;  // tokens before it
    int32_t slot;
    bool kept;  // others are to find it
  };
  struct Sequence {
    std::vector<State> states;  // ascending; the last is that of all tokens, but within a step
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
  // How much of a match is usable, and the state behind that.
  struct Found {
    int length = 0;
    int32_t state = kNoState;
  };
  // The longest match of tokens[0 .. limit).
  PrefixTree::Match Find(uint64_t key, const std::vector<int32_t>& tokens, size_t limit,
                         Found* found) const;
  static PrefixTree::NodeId NodeOf(const PrefixTree::Match& match, int page) {
    bool is_full = page < static_cast<int>(match.nodes.size());
    return is_full ? match.nodes[static_cast<size_t>(page)] : match.partial;
  }
  // Whether a page among the first `pages` is gone that rows from `position` on read.
  bool HasHole(const PrefixTree::Match& match, int pages, int position) const;
  // Cuts what is found to where there is a state.
  void LimitToState(const PrefixTree::Match& match, Found* found) const;
  int32_t TakeState();
  std::optional<int32_t> TakeSpareState();
  // Gives up the states behind `length`, or those before the last one that is not.
  void CutStates(Sequence* sequence, int length);
  void DropStatesBefore(Sequence* sequence, int length);
  void PublishStates(const Sequence& sequence, const std::vector<PrefixTree::NodeId>& nodes,
                     int first_page);
  Status ShortOfPages(int needed) const;
  // The tree's node for tokens whose page is at `index` of the sequence, which may get another.
  PrefixTree::NodeId PutPage(Sequence* sequence, PrefixTree::NodeId parent, int index,
                             const std::vector<int32_t>& tokens, int count);
  void PublishPages(Sequence* sequence, const std::vector<int32_t>& tokens, int num_computed);
  void LimitCached();

  int page_size_;
  KVCacheOptions options_;
  std::vector<int> owners_;  // sequences that hold each page; a pin counts as one
  std::vector<bool> pinned_;
  int num_pinned_ = 0;
  std::vector<int32_t> free_pages_;
  StateSlots states_;
  PrefixTree tree_;
  std::unordered_map<SequenceId, Sequence> sequences_;
  std::vector<std::pair<int32_t, int32_t>> pending_copies_;
};

}  // namespace mlc

#endif  // MLC_KV_KV_CACHE_H_
