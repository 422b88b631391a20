// Which tokens the pages of the KV cache hold, for sequences that begin alike: a radix tree whose
// edges are pages. It knows no sequences; kv_cache tells it which of its pages are in use.
//
// A node stands for the tokens of the path to it and names the page with the last of them. Leaves
// may be partly filled. A node whose page was taken away while others hang on it is a hole.
//
//   PrefixTree tree(/*num_pages=*/100, /*page_size=*/16);
//   tree.Put(tree.Root(adapter), tokens, 16, page);
//   PrefixTree::Match match = tree.Find(adapter, tokens, 40);
#ifndef MLC_KV_PREFIX_TREE_H_
#define MLC_KV_PREFIX_TREE_H_

#include <cstdint>
#include <deque>
#include <list>
#include <map>
#include <unordered_map>
#include <vector>

#include "kv/state_slots.h"

namespace mlc {

constexpr int32_t kNoPage = -1;

class PrefixTree {
 public:
  using NodeId = int32_t;
  static constexpr NodeId kNone = -1;

  // Full pages that begin alike, then the page that shares its first tokens with what comes next.
  struct Match {
    std::vector<NodeId> nodes;
    NodeId partial = kNone;
    int num_partial_tokens = 0;
  };
  struct Placed {
    NodeId node;
    int32_t released = kNoPage;  // a page that the tree held and holds no more
  };

  // `states`: slots of recurrent state that nodes may keep, which must outlive the tree; null:
  // none.
  PrefixTree(int num_pages, int page_size, StateSlots* states = nullptr);

  // Where the sequences of a key begin. The key keeps apart what the same tokens mean to different
  // weights: an adapter's number.
  NodeId Root(uint64_t key);
  // The longest match within tokens[0 .. count).
  Match Find(uint64_t key, const int32_t* tokens, int count) const;

  // The child of `parent` for `count` tokens (1 .. page_size). An existing one keeps its page; a
  // new one, or a hole, takes `page`, in use (kNoPage makes a hole, on which something must be
  // hung). A partly filled leaf that the tokens continue is replaced; tokens that only begin a
  // child's are found in that child.
  Placed Put(NodeId parent, const int32_t* tokens, int count, int32_t page);

  int32_t page(NodeId node) const { return nodes_[node].page; }
  bool Holds(int32_t page) const { return node_of_page_[page] != kNone; }
  int num_nodes() const { return num_nodes_; }
  // A recurrent state that a node keeps: behind the first `count` of its page's tokens.
  struct State {
    int count = 0;
    int32_t slot = kNoState;
  };
  // The state furthest within the first `most` tokens of the node's page; no slot: there is none.
  State BestState(NodeId node, int most) const;
  // The node keeps the slot as well as its owners do, as long as it has its page. Not where it has
  // the state already.
  void SetState(NodeId node, const State& state);
  void DropState(int32_t slot);

  // Of a page that the tree holds: whether no sequence uses it. Only idle pages are evicted, those
  // that fell idle first, first.
  void SetIdle(int32_t page);
  void SetBusy(int32_t page);
  int num_idle_pages() const { return static_cast<int>(idle_.size()); }
  // Ends of cached sequences that nothing uses.
  int num_idle_leaves() const { return num_idle_leaves_; }
  // Takes the page that has been idle longest. Requires one.
  int32_t Evict();
  // Forgets what a page holds.
  void Drop(int32_t page);

 private:
  using Tokens = std::vector<int32_t>;
  struct View {
    const int32_t* tokens;
    int count;
  };
  struct Order {  // lexicographic: neighbours share the longest beginnings
    using is_transparent = void;
    bool operator()(const Tokens& a, const Tokens& b) const { return a < b; }
    bool operator()(const Tokens& a, const View& b) const;
    bool operator()(const View& a, const Tokens& b) const;
  };
  using Children = std::map<Tokens, NodeId, Order>;
  struct Node {
    NodeId parent = kNone;
    int32_t page = kNoPage;
    std::vector<State> states;
    bool idle = false;
    std::list<NodeId>::iterator in_idle;
    Children::iterator in_parent;
    Children children;
  };

  NodeId NewNode();
  void SetPage(NodeId node, int32_t page);
  int32_t TakePage(NodeId node);
  // To a node for the same tokens and more.
  void MoveStates(NodeId from, NodeId to);
  NodeId Attach(NodeId parent, View tokens);
  void Detach(NodeId leaf);
  bool IsIdleLeaf(const Node& node) const { return node.idle && node.children.empty(); }
  bool IsRoot(NodeId node) const { return nodes_[node].parent == kNone; }

  int page_size_;
  StateSlots* states_;
  std::vector<NodeId> node_of_state_;
  std::deque<Node> nodes_;  // stable addresses
  std::vector<NodeId> free_nodes_;
  std::unordered_map<uint64_t, NodeId> roots_;
  std::vector<NodeId> node_of_page_;
  std::list<NodeId> idle_;  // longest idle first
  int num_nodes_ = 0;       // without roots
  int num_idle_leaves_ = 0;
};

}  // namespace mlc

#endif  // MLC_KV_PREFIX_TREE_H_
