// The pages of the KV cache: which sequence owns which pages. It has no tensors.
//
// A sequence has a block table for each group of pages (page_groups.h): the pages that hold its
// first `length` tokens. Sequences share pages. A shared page that is partly filled is copied
// before a sequence writes to it. With the prefix cache, the full pages of running sequences and
// all pages of retired sequences can be found by their tokens. Pages that no sequence uses count as
// available; the one that was unused for the longest time is taken first.
//
// In a group with a window, pages that no later row can read are given up. They leave holes in the
// block table. A prefix can be found again where all pages of the first group are there, and those
// of the window before its end. Of the pages that were given up, the prefix cache keeps best those
// in a window before the end of a prompt, and before the place where a prompt has left another one.
// The others are evicted before all other pages.
//
// With recurrent layers a sequence also has states (state_slots.h), each behind one of its tokens.
// It can be cut, forked or shared only at these tokens.
//
//   KVCache cache(/*num_pages=*/100, /*page_size=*/16, {/*keep_prefixes=*/true});
//   int computed = cache.AddWithPrefix(id, key, tokens);
//   MLC_RETURN_IF_ERROR(cache.Append(id, 35));
//   cache.Slot(id, computed + 34);                // the slot of the last token
//   cache.Retire(id, tokens, computed + 35);
#pragma once

#include <array>
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
  int max_cached_sequences = -1;  // sequences that are retired and not in use; -1: as many as fit
  int window = 0;                 // how many tokens a row can read, itself included; 0: all
  int sink = 0;                   // how many first tokens every row can read
  int num_states = 0;             // slots of recurrent state; 0: the model has none
  // The second group: its pages (0: there is no such group), and how many tokens a row can read.
  int num_windowed_pages = 0, layer_window = 0;
  int state_interval = 1;  // tokens of a prompt from one kept state to the next, about
};

class KVCache {
 public:
  KVCache(int num_pages, int page_size, const KVCacheOptions& options = {});
  KVCache(const KVCache&) = delete;  // the tree has a pointer to the slots

  size_t num_groups() const { return groups_.size(); }
  // The pages of all groups, and of one.
  int num_pages() const { return static_cast<int>(owners_.size()); }
  int num_pages(size_t group) const { return groups_[group].num_pages; }
  int page_size() const { return page_size_; }
  const KVCacheOptions& options() const { return options_; }
  // The pages that hold nothing, of all groups.
  std::vector<int32_t> free_pages() const;
  int num_free_pages() const;
  // The pages that Append can take: free pages, and pages that only the prefix cache holds.
  PageCounts available_pages() const;
  int num_available_pages() const;  // of all groups
  bool has_states() const { return options_.num_states > 0; }
  const StateSlots& states() const { return states_; }
  // How many slots a step may take beside those that its sequences need.
  int num_spare_states() const {
    return states_.num_available() - static_cast<int>(sequences_.size());
  }

  // Adds an empty sequence. The id must be new.
  void Add(SequenceId id);
  // Adds a sequence that takes the longest cached beginning of `tokens`. It never takes the last
  // token, because that token's logits are needed. Returns the length of the beginning.
  int AddWithPrefix(SequenceId id, uint64_t key, const std::vector<int32_t>& tokens);
  // The length that AddWithPrefix would return.
  int CachedLength(uint64_t key, const std::vector<int32_t>& tokens) const;
  // The pages of the longest cached beginning of `tokens`, which may include the last token. Read
  // them before the next call. In each group the pages between the sinks and page `num_slid` are
  // kNoPage.
  struct HeldPages {
    int length = 0;
    PageCounts num_slid;
    std::array<std::vector<int32_t>, kMaxPageGroups> pages;
    int32_t state = kNoState;  // the state behind the last token
  };
  HeldPages FindPages(uint64_t key, const std::vector<int32_t>& tokens) const;
  // Adds a sequence of `length` tokens. The caller fills its pages and its state. `num_slid` has
  // the meaning of FindPages. Returns kResourceExhausted when there are too few pages, and kCorrupt
  // when a page is missing that later rows read.
  Status AddFilled(SequenceId id, uint64_t key, int length, const PageCounts& num_slid);
  // For prefixes in files (kv_blocks.cc). The pages of tokens begin .. end in the first group, or
  // all pages that rows from end - 1 on read in another one, if the prefix cache has each of them;
  // `begin` is the first token of a page. Otherwise none.
  std::vector<int32_t> BlockPages(uint64_t key, const std::vector<int32_t>& tokens, int begin,
                                  int end, size_t group) const;
  // Adds a sequence of the first `length` tokens with the pages of the first group, which the
  // prefix cache must have. Besides it gets new pages of the second group as BlockPages names them
  // (kWindow) or a new slot (kState), which the caller fills; or nothing. False, and nothing
  // changes, if there are too few pages or slots.
  bool AddHeld(SequenceId id, uint64_t key, const std::vector<int32_t>& tokens, int length,
               KeptPart part);
  // Append to such a sequence: it gets no pages of other groups.
  Status AppendToFirstGroup(SequenceId id, int num_tokens);
  // Removes it. What it has is found with its tokens.
  void RetireHeld(SequenceId id, const std::vector<int32_t>& tokens);
  // Adds a sequence with the first `length` tokens of `parent`; they share pages. With recurrent
  // layers `parent` must have a state at `length`.
  void Fork(SequenceId parent, SequenceId child, int length);
  // Exchanges the pages and lengths of two sequences.
  void Swap(SequenceId a, SequenceId b) { std::swap(Get(a), Get(b)); }
  void Remove(SequenceId id);
  bool Has(SequenceId id) const { return sequences_.count(id) > 0; }

  // The number of available pages that Append would take.
  PageCounts PagesNeeded(SequenceId id, int num_tokens) const;
  // The number of pages for a sequence of that length.
  PageCounts PagesToHold(int num_tokens) const;
  // The number of pages for a new sequence that takes `cached` tokens and appends others.
  PageCounts PagesToStart(int cached, int num_tokens) const;
  // The number of pages that removing the sequence makes available: pages that no other sequence
  // holds.
  PageCounts PagesFreedBy(SequenceId id) const;
  // Makes room for more tokens. Returns kResourceExhausted, and changes nothing, when there are too
  // few pages.
  Status Append(SequenceId id, int num_tokens);
  // Removes the last tokens; empty pages become free. It cannot go back behind pages that were
  // given up. With recurrent layers it removes more, back to the last state; Length gives the new
  // length.
  void Pop(SequenceId id, int num_tokens);

  // Where a step reads and writes recurrent states. `source` is the state before the rows that were
  // appended last (kNoState at the beginning of a sequence). `writes` lists, in order, the slots
  // for the states behind some of these rows; the last row is always one of them.
  struct StateWrite {
    int length;  // of the sequence, with this row
    int32_t slot;
  };
  struct StepStates {
    int32_t source = kNoState;
    std::vector<StateWrite> writes;
  };
  // Empty when the model has no states. It writes the state behind the last row; the states before
  // each of the last `num_drafts` rows, which may be removed again; and, if enough slots are left,
  // the states at `kept_lengths`, which Publish makes findable. Returns kResourceExhausted when
  // there is no slot at all.
  Result<StepStates> AppendStates(SequenceId id, int num_rows, int num_drafts,
                                  const std::vector<int>& kept_lengths);

  // Makes the full pages among the first `num_computed` tokens findable. The sequence may get other
  // pages with the same content.
  void Publish(SequenceId id, const std::vector<int32_t>& tokens, int num_computed);
  // Gives up the pages that no row from `position` on can read.
  void Slide(SequenceId id, int position);
  // Removes the sequence. Its first `num_computed` tokens stay findable.
  void Retire(SequenceId id, const std::vector<int32_t>& tokens, int num_computed);
  // Frees the pages that only the prefix cache holds.
  void ClearPrefixes();

  // Keeps what others need to find the full pages of the sequence's first `num_tokens` from being
  // evicted, until UnpinAll: half of each group's pages at most, those in front first.
  void Pin(SequenceId id, int num_tokens);
  void UnpinAll();
  // Whether Pin would keep all pages of a prompt of these tokens.
  bool HasRoomToPin(uint64_t key, const std::vector<int32_t>& tokens) const;
  int num_pinned_pages(size_t group = 0) const { return groups_[group].num_pinned; }
  int max_pinned_pages(size_t group = 0) const { return num_pages(group) / 2; }

  int Length(SequenceId id) const { return Get(id).length; }
  // The slot of the state behind its last token; kNoState if there is none.
  int32_t StateOf(SequenceId id) const {
    return Get(id).states.empty() ? kNoState : Get(id).states.back().slot;
  }
  // The block table of a group. kNoPage where a page was given up.
  const std::vector<int32_t>& Pages(SequenceId id, size_t group = 0) const {
    return Get(id).tables[group].pages;
  }
  // The number of a page in its group.
  int32_t NumberInGroup(int32_t page, size_t group) const { return page - groups_[group].first; }
  // NumberInGroup * page_size + offset, for a position below Length.
  int32_t Slot(SequenceId id, int position, size_t group = 0) const;

  // The pages that must be copied (source, destination), in this order, before the next step
  // writes. The caller copies them; the list is then empty.
  std::vector<std::pair<int32_t, int32_t>> TakePendingCopies();
  bool has_pending_copies() const { return !pending_copies_.empty(); }

 private:
  struct State {
    int length;  // how many tokens are before it
    int32_t slot;
    bool kept;  // other sequences should find it
  };
  struct Group {
    int32_t first;  // its first page
    int num_pages, window;
    std::vector<int32_t> free_pages = {};
    int num_pinned = 0;
  };
  struct Table {
    std::vector<int32_t> pages;
    int num_slid = 0;  // the pages before it are holes, except sinks
  };
  struct Sequence {
    // in ascending order; the last one is behind all tokens, except during a step
    std::vector<State> states;
    std::array<Table, kMaxPageGroups> tables;
    int length = 0;
    uint64_t key = 0;
    std::vector<int> kept_ends;  // where others may begin: the windows before them are kept
    int num_published = 0;       // how many pages the tree has too
    PrefixTree::NodeId last_published = PrefixTree::kNone;
  };
  const Sequence& Get(SequenceId id) const;
  Sequence& Get(SequenceId id);
  size_t GroupOf(int32_t page) const { return page < groups_[0].num_pages ? 0 : 1; }
  void PutFree(const std::vector<int32_t>& pages);
  int32_t TakePage(size_t group);
  void Hold(int32_t page);
  // `first`: if the tree has the page, it is to be evicted before others.
  void Release(int32_t page, bool first = false);
  // Whether Append writes to a page that another sequence reads too.
  bool MustCopyLastPage(const Sequence& sequence, size_t group) const;
  int PagesOf(int num_tokens) const { return (num_tokens + page_size_ - 1) / page_size_; }
  // The first page, not counting sinks, that a row at `position` reads.
  int FirstInWindow(int position, size_t group) const;
  bool InReach(int page_index, int position, size_t group) const;
  // Whether BlockPages has the page.
  bool IsInBlock(int page_index, int begin, int end, size_t group) const;
  // Whether other sequences that begin at one of `kept_ends` read the page.
  bool IsKept(const Sequence& sequence, int page_index, size_t group) const;
  // How many tokens of a match can be used, and the state behind them.
  struct Found {
    int length = 0;
    int32_t state = kNoState;
  };
  // Whether `length` is between two rows of one content (content_names.h).
  static bool IsInContent(const std::vector<int32_t>& tokens, int length);
  // The longest match in tokens[0 .. limit) that does not end in a content.
  PrefixTree::Match Find(uint64_t key, const std::vector<int32_t>& tokens, size_t limit,
                         Found* found) const;
  static PrefixTree::NodeId NodeOf(const PrefixTree::Match& match, int page) {
    bool is_full = page < static_cast<int>(match.nodes.size());
    return is_full ? match.nodes[static_cast<size_t>(page)] : match.partial;
  }
  // Whether a page is missing that rows from `position` on would read.
  bool IsHole(const PrefixTree::Match& match, int page_index, int position) const;
  // Whether there is such a hole among the first `pages` pages.
  bool HasHole(const PrefixTree::Match& match, int pages, int position) const;
  // Shortens what was found to the last place that has a state.
  void LimitToState(const PrefixTree::Match& match, const std::vector<int32_t>& tokens,
                    Found* found) const;
  int32_t TakeState();
  std::optional<int32_t> TakeSpareState();
  // Gives up the states behind `length`, or all states before the last one at or before `length`.
  void CutStates(Sequence* sequence, int length);
  void DropStatesBefore(Sequence* sequence, int length);
  void PublishStates(const Sequence& sequence, const std::vector<PrefixTree::NodeId>& nodes,
                     int first_page);
  Status ShortOfPages(const PageCounts& needed) const;
  // Puts the pages `index` of the sequence into the tree and returns their node. The sequence may
  // get other pages with the same content.
  PrefixTree::NodeId PutPage(Sequence* sequence, PrefixTree::NodeId parent, int index,
                             const std::vector<int32_t>& tokens, int count);
  void PublishPages(Sequence* sequence, const std::vector<int32_t>& tokens, int num_computed);
  // Puts all that the sequence has into the tree.
  void PublishAll(SequenceId id, const std::vector<int32_t>& tokens);
  void LimitCached();

  int page_size_;
  KVCacheOptions options_;
  std::vector<int> owners_;  // sequences that hold each page; a pin counts as one
  std::vector<bool> pinned_;
  std::vector<Group> groups_;
  StateSlots states_;
  PrefixTree tree_;
  std::unordered_map<SequenceId, Sequence> sequences_;
  std::vector<std::pair<int32_t, int32_t>> pending_copies_;
};

}  // namespace mlc
