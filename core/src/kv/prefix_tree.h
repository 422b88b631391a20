// A radix tree whose edges are pages. It records which tokens the pages of the KV cache hold, so
// that sequences that begin alike can share pages. It does not know sequences; kv_cache tells it
// which pages are in use.
//
// A node stands for the tokens on the path to it, and names the pages with the last of them: one of
// each group (page_groups.h). A leaf may be partly filled. A node without a page of the first
// group, but with children, is a hole. A node that loses its page of the first group loses the
// others too.
//
//   PrefixTree tree(/*num_pages=*/{100}, /*page_size=*/16);
//   tree.Put(tree.Root(adapter), tokens, 16, page);
//   PrefixTree::Match match = tree.Find(adapter, tokens, 40);
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <list>
#include <map>
#include <unordered_map>
#include <vector>

#include "kv/page_groups.h"
#include "kv/state_slots.h"

namespace mlc {

class PrefixTree {
 public:
  using NodeId = int32_t;
  static constexpr NodeId kNone = -1;

  // Full pages that match, then one page of which only the first tokens match.
  struct Match {
    std::vector<NodeId> nodes;
    NodeId partial = kNone;
    int num_partial_tokens = 0;
  };
  struct Placed {
    NodeId node;
    std::vector<int32_t> released = {};  // pages that the tree does not hold any more
  };

  // `num_pages`: of each group. `states`: slots of recurrent state that nodes may keep; null: none.
  // It must outlive the tree.
  PrefixTree(std::vector<int> num_pages, int page_size, StateSlots* states = nullptr);

  // The root for a key. The key separates weights: the same tokens give different states with
  // another adapter. It is valid until the next call, and as long as it has children.
  NodeId Root(uint64_t key);
  // The longest match in tokens[0 .. count). The page that matches in part has a page of each
  // group, or with `first_group_alone` of the first one.
  Match Find(uint64_t key, const int32_t* tokens, int count, bool first_group_alone = false) const;

  // Returns the child of `parent` for `count` tokens (1 .. page_size). An existing child keeps its
  // pages. It takes those that it lacks out of `pages`, which are in use; a new child takes all.
  // (Without a page of the first group it is a hole; the caller must give it a child.) If the
  // tokens continue a partly filled leaf, they replace it. If an existing child begins with the
  // tokens, that child is returned.
  Placed Put(NodeId parent, const int32_t* tokens, int count, const PageSet& pages);

  int32_t page(NodeId node, size_t group = 0) const { return nodes_[node].pages.of[group]; }
  // Whether it has a page of each group.
  bool HasAllPages(NodeId node) const;
  bool Holds(int32_t page) const { return node_of_page_[page] != kNone; }
  int num_nodes() const { return num_nodes_; }
  int num_roots() const { return static_cast<int>(roots_.size()); }
  // A recurrent state that a node keeps: the state behind the first `count` tokens of its page.
  struct State {
    int count = 0;
    int32_t slot = kNoState;
  };
  // The last state within the first `most` tokens of the node's page. Without a slot if there is
  // none.
  State BestState(NodeId node, int most) const;
  // The node keeps the slot, in addition to the slot's owners, while the node has its pages. Does
  // nothing if the node has that state already.
  void SetState(NodeId node, const State& state);
  void DropState(int32_t slot);

  // Marks that no sequence uses a page of the tree. Only idle pages are evicted, in the order in
  // which they became idle; those that became idle as `first` are evicted before all others.
  void SetIdle(int32_t page, bool first = false);
  void SetBusy(int32_t page);
  int num_idle_pages(size_t group = 0) const { return static_cast<int>(idle_[group].size()); }
  // The number of cached sequences that nothing uses.
  int num_idle_leaves() const { return num_idle_leaves_; }
  // Removes the page of the group that has been idle for the longest time; there must be one.
  // Returns it, and what Drop returns.
  std::vector<int32_t> Evict(size_t group);
  // Forgets a page; with one of the first group all pages of its node. Returns those that were
  // idle.
  std::vector<int32_t> Drop(int32_t page);

 private:
  using Tokens = std::vector<int32_t>;
  struct View {
    const int32_t* tokens;
    int count;
  };
  struct Order {  // lexicographic: neighbours have the longest common beginnings
    using is_transparent = void;
    bool operator()(const Tokens& a, const Tokens& b) const { return a < b; }
    bool operator()(const Tokens& a, const View& b) const;
    bool operator()(const View& a, const Tokens& b) const;
  };
  using Children = std::map<Tokens, NodeId, Order>;
  struct Node {
    NodeId parent = kNone;
    PageSet pages;
    std::vector<State> states;
    std::array<bool, kMaxPageGroups> idle{};
    std::array<std::list<NodeId>::iterator, kMaxPageGroups> in_idle;
    Children::iterator in_parent;
    Children children;
  };

  NodeId NewNode();
  void ForgetEmptyRoots();
  size_t GroupOf(int32_t page) const { return page < num_pages_[0] ? 0 : 1; }
  void SetPage(NodeId node, int32_t page);
  int32_t TakePage(NodeId node, size_t group);
  // Moves the states to a node with the same tokens and more.
  void MoveStates(NodeId from, NodeId to);
  NodeId Attach(NodeId parent, View tokens);
  void Detach(NodeId leaf);
  bool IsIdleLeaf(const Node& node) const { return node.idle[0] && node.children.empty(); }
  bool IsRoot(NodeId node) const { return nodes_[node].parent == kNone; }

  std::vector<int> num_pages_;
  int page_size_;
  StateSlots* states_;
  std::vector<NodeId> node_of_state_;
  std::deque<Node> nodes_;  // its elements never move
  std::vector<NodeId> free_nodes_;
  std::unordered_map<uint64_t, NodeId> roots_;
  std::vector<NodeId> node_of_page_;
  std::array<std::list<NodeId>, kMaxPageGroups> idle_;  // idle for the longest time: first
  int num_nodes_ = 0;                                   // roots are not counted
  int num_idle_leaves_ = 0;
};

}  // namespace mlc
