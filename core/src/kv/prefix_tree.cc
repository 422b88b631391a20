#include "kv/prefix_tree.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <utility>

#include "base/status.h"

namespace mlc {
namespace {

int CommonLength(const std::vector<int32_t>& a, const int32_t* b, int count) {
  int limit = std::min(static_cast<int>(a.size()), count);
  return static_cast<int>(std::mismatch(a.begin(), a.begin() + limit, b).first - a.begin());
}

}  // namespace

bool PrefixTree::Order::operator()(const Tokens& a, const View& b) const {
  return std::lexicographical_compare(a.begin(), a.end(), b.tokens, b.tokens + b.count);
}

bool PrefixTree::Order::operator()(const View& a, const Tokens& b) const {
  return std::lexicographical_compare(a.tokens, a.tokens + a.count, b.begin(), b.end());
}

PrefixTree::PrefixTree(std::vector<int> num_pages, int page_size, StateSlots* states)
    : num_pages_(std::move(num_pages)),
      page_size_(page_size),
      states_(states),
      node_of_state_(states == nullptr ? 0 : static_cast<size_t>(states->num_slots()), kNone),
      node_of_page_(static_cast<size_t>(std::accumulate(num_pages_.begin(), num_pages_.end(), 0)),
                    kNone) {}

bool PrefixTree::HasAllPages(NodeId node) const {
  for (size_t g = 0; g < num_pages_.size(); ++g) {
    if (page(node, g) == kNoPage) return false;
  }
  return true;
}

PrefixTree::State PrefixTree::BestState(NodeId node, int most) const {
  State best;
  for (const State& state : nodes_[node].states) {
    if (state.count <= most && state.count > best.count) best = state;
  }
  return best;
}

void PrefixTree::SetState(NodeId node, const State& state) {
  bool is_held = BestState(node, state.count).count == state.count;
  if (is_held || node_of_state_[state.slot] != kNone) return;
  nodes_[node].states.push_back(state);
  node_of_state_[state.slot] = node;
  states_->Keep(state.slot);
}

void PrefixTree::DropState(int32_t slot) {
  std::vector<State>& states = nodes_[node_of_state_[slot]].states;
  states.erase(std::find_if(states.begin(), states.end(),
                            [slot](const State& state) { return state.slot == slot; }));
  node_of_state_[slot] = kNone;
  states_->Drop(slot);
}

void PrefixTree::MoveStates(NodeId from, NodeId to) {
  for (const State& state : nodes_[from].states) node_of_state_[state.slot] = to;
  nodes_[to].states = std::move(nodes_[from].states);
  nodes_[from].states.clear();
}

PrefixTree::NodeId PrefixTree::NewNode() {
  if (free_nodes_.empty()) {
    nodes_.emplace_back();
    return static_cast<NodeId>(nodes_.size()) - 1;
  }
  NodeId node = free_nodes_.back();
  free_nodes_.pop_back();
  nodes_[node] = Node();
  return node;
}

PrefixTree::NodeId PrefixTree::Root(uint64_t key) {
  auto found = roots_.find(key);
  if (found != roots_.end()) return found->second;
  constexpr size_t kFewRoots = 16;
  if (roots_.size() >= kFewRoots + static_cast<size_t>(num_nodes_)) ForgetEmptyRoots();
  NodeId root = NewNode();
  roots_.emplace(key, root);
  return root;
}

// Each scale of an adapter is a key of its own, and requests name any.
void PrefixTree::ForgetEmptyRoots() {
  for (auto root = roots_.begin(); root != roots_.end();) {
    bool is_empty = nodes_[root->second].children.empty();
    if (is_empty) free_nodes_.push_back(root->second);
    root = is_empty ? roots_.erase(root) : std::next(root);
  }
}

PrefixTree::Match PrefixTree::Find(uint64_t key, const int32_t* tokens, int count,
                                   bool first_group_alone) const {
  Match match;
  auto root = roots_.find(key);
  if (root == roots_.end()) return match;
  NodeId node = root->second;
  for (; count > 0; tokens += page_size_, count -= page_size_) {
    const Children& children = nodes_[node].children;
    auto next = children.lower_bound(View{tokens, std::min(count, page_size_)});
    if (next != children.end() && CommonLength(next->first, tokens, count) == page_size_) {
      node = next->second;
      match.nodes.push_back(node);
      continue;
    }
    // In lexicographic order, the child with the longest common beginning is a neighbour of the
    // tokens.
    auto consider = [&](Children::const_iterator child) {
      int common = CommonLength(child->first, tokens, count);
      bool has_pages =
          first_group_alone ? page(child->second) != kNoPage : HasAllPages(child->second);
      if (common <= match.num_partial_tokens || !has_pages) return;
      match.partial = child->second;
      match.num_partial_tokens = common;
    };
    if (next != children.end()) consider(next);
    if (next != children.begin()) consider(std::prev(next));
    break;
  }
  return match;
}

void PrefixTree::SetPage(NodeId node, int32_t page) {
  MLC_ICHECK(!Holds(page));
  nodes_[node].pages.of[GroupOf(page)] = page;
  node_of_page_[page] = node;
}

// Takes a page from the node, which may have none, and its states with that of the first group.
int32_t PrefixTree::TakePage(NodeId id, size_t group) {
  Node& node = nodes_[id];
  while (group == 0 && !node.states.empty()) DropState(node.states.back().slot);
  if (node.idle[group]) SetBusy(node.pages.of[group]);
  int32_t page = std::exchange(node.pages.of[group], kNoPage);
  if (page != kNoPage) node_of_page_[page] = kNone;
  return page;
}

PrefixTree::NodeId PrefixTree::Attach(NodeId parent_id, View tokens) {
  NodeId id = NewNode();
  Node& parent = nodes_[parent_id];
  if (IsIdleLeaf(parent)) --num_idle_leaves_;
  Node& node = nodes_[id];
  node.parent = parent_id;
  node.in_parent =
      parent.children.emplace(Tokens(tokens.tokens, tokens.tokens + tokens.count), id).first;
  ++num_nodes_;
  return id;
}

// Removes a leaf without a page, and its ancestors that are holes without children.
void PrefixTree::Detach(NodeId leaf) {
  do {
    Node& node = nodes_[leaf];
    Node& parent = nodes_[node.parent];
    parent.children.erase(node.in_parent);
    free_nodes_.push_back(leaf);
    --num_nodes_;
    leaf = node.parent;
    if (IsIdleLeaf(parent)) ++num_idle_leaves_;
  } while (!IsRoot(leaf) && page(leaf) == kNoPage && nodes_[leaf].children.empty());
}

PrefixTree::Placed PrefixTree::Put(NodeId parent, const int32_t* tokens, int count,
                                   const PageSet& pages) {
  MLC_ICHECK(count >= 1 && count <= page_size_);
  Placed placed{kNone};
  Children& children = nodes_[parent].children;
  auto next = children.lower_bound(View{tokens, count});
  if (next != children.end() && CommonLength(next->first, tokens, count) == count) {
    placed.node = next->second;
    bool same = static_cast<int>(next->first.size()) == count;
    for (int32_t page : pages.of) {
      bool lacks = same && page != kNoPage && this->page(placed.node, GroupOf(page)) == kNoPage;
      if (lacks) SetPage(placed.node, page);
    }
    return placed;
  }
  // No child is the beginning of another child. So a child that is a beginning of these tokens is
  // next to them.
  if (next != children.begin()) {
    auto before = std::prev(next);
    int length = static_cast<int>(before->first.size());
    if (CommonLength(before->first, tokens, count) == length) {
      NodeId shorter = before->second;
      // before the old leaf is removed, so that the parent always has a child
      placed.node = Attach(parent, View{tokens, count});
      if (pages.of[0] != kNoPage) MoveStates(shorter, placed.node);
      for (size_t g = 0; g < num_pages_.size(); ++g) {
        int32_t released = TakePage(shorter, g);
        if (released != kNoPage) placed.released.push_back(released);
      }
      Detach(shorter);
    }
  }
  if (placed.node == kNone) placed.node = Attach(parent, View{tokens, count});
  for (int32_t page : pages.of) {
    if (page != kNoPage) SetPage(placed.node, page);
  }
  return placed;
}

void PrefixTree::SetIdle(int32_t page, bool first) {
  size_t group = GroupOf(page);
  NodeId id = node_of_page_[page];
  Node& node = nodes_[id];
  std::list<NodeId>& idle = idle_[group];
  MLC_ICHECK(!node.idle[group]);
  node.idle[group] = true;
  node.in_idle[group] = idle.insert(first ? idle.begin() : idle.end(), id);
  if (group == 0 && node.children.empty()) ++num_idle_leaves_;
}

void PrefixTree::SetBusy(int32_t page) {
  size_t group = GroupOf(page);
  Node& node = nodes_[node_of_page_[page]];
  MLC_ICHECK(node.idle[group]);
  node.idle[group] = false;
  idle_[group].erase(node.in_idle[group]);
  if (group == 0 && node.children.empty()) --num_idle_leaves_;
}

std::vector<int32_t> PrefixTree::Drop(int32_t page) {
  NodeId node = node_of_page_[page];
  size_t first = GroupOf(page), last = first == 0 ? num_pages_.size() - 1 : first;
  std::vector<int32_t> dropped;
  for (size_t g = first; g <= last; ++g) {
    bool was_idle = nodes_[node].idle[g];
    int32_t taken = TakePage(node, g);
    if (was_idle) dropped.push_back(taken);
  }
  if (first == 0 && nodes_[node].children.empty()) Detach(node);
  return dropped;
}

std::vector<int32_t> PrefixTree::Evict(size_t group) {
  MLC_ICHECK(!idle_[group].empty());
  return Drop(page(idle_[group].front(), group));
}

}  // namespace mlc
