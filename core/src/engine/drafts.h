// Drafts: guesses of the tokens that follow a sequence. They form a tree, often just a chain. The
// target model computes the whole tree at once. The commit follows the tree as long as the chosen
// tokens are in it.
//
//   Drafts drafts = {7, 8};                 // 7, then 8
//   drafts.Add(9, 0);                       // or 9 behind the 7
//   drafts.Add(5, Drafts::kKnown);          // or a 5 instead of the 7
//
// The rows of a step have the order of the drafts. If a draft's parent is not the draft just before
// it, it begins a branch: a sequence of its own in the batch (engine/branches.h). So drafters add
// drafts depth first, the likeliest first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <vector>

namespace mlc {

class Drafts {
 public:
  static constexpr int kKnown = -1;  // a parent: the last known token
  static constexpr int kNone = -2;   // no draft

  Drafts() = default;
  Drafts(std::initializer_list<int32_t> chain) : Drafts(std::vector<int32_t>(chain)) {}
  Drafts(std::vector<int32_t> chain);  // NOLINT(google-explicit-constructor)

  bool empty() const { return tokens_.empty(); }
  int size() const { return static_cast<int>(tokens_.size()); }
  const std::vector<int32_t>& tokens() const { return tokens_; }
  int32_t operator[](int draft) const { return tokens_[static_cast<size_t>(draft)]; }
  // The parent: an earlier draft, or kKnown.
  int parent(int draft) const { return parents_[static_cast<size_t>(draft)]; }
  // The number of drafts on the path to it, itself included; 0 for kKnown.
  int depth(int draft) const { return draft < 0 ? 0 : depths_[static_cast<size_t>(draft)]; }
  // How probable its drafter takes the path to it: at most as probable as the path to its parent.
  double chance(int draft) const { return chances_[static_cast<size_t>(draft)]; }
  // The depth of the deepest draft.
  int length() const;

  void Add(int32_t token, int parent, double chance = 1);
  // Adds a draft behind the last one.
  void Append(int32_t token) { Add(token, size() - 1); }
  // Keeps the first `count` drafts.
  void Truncate(int count);
  // Keeps the drafts that are at most `depth` deep.
  void Prune(int depth);
  // Keeps the `count` drafts with the highest chances; of equal ones, the first.
  void KeepLikeliest(int count);
  // Keeps the drafts for which `keep(draft)` is true and whose parents are kept. Calls `keep` in
  // order.
  template <typename Predicate>
  void KeepIf(Predicate keep);

  // The draft with that parent and token, or kNone.
  int Child(int parent, int32_t token) const;
  // The path to `draft`: all drafts from the first one to `draft` itself.
  std::vector<int> Path(int draft) const;
  std::vector<int32_t> PathTokens(int draft) const;
  // The number of drafts in the first chain.
  int FirstChain() const { return BranchEnd(0); }
  // The same tree in depth-first order. Siblings keep their order.
  Drafts DepthFirst() const;

  // A branch is a chain of adjacent drafts. Branch 0 continues the sequence itself.
  bool BeginsBranch(int draft) const { return parent(draft) != draft - 1; }
  bool has_branches() const { return FirstChain() < size(); }
  // The number of the branch that `draft` is on; 0 for kKnown.
  int BranchOf(int draft) const;
  int num_branches() const { return empty() ? 1 : BranchOf(size() - 1) + 1; }
  // The end of the branch that `draft` is on: its last draft + 1.
  int BranchEnd(int draft) const;

  friend bool operator==(const Drafts& a, const Drafts& b) {
    return a.tokens_ == b.tokens_ && a.parents_ == b.parents_;
  }

 private:
  std::vector<int32_t> tokens_;
  std::vector<int> parents_, depths_;
  std::vector<double> chances_;
};

template <typename Predicate>
void Drafts::KeepIf(Predicate keep) {
  Drafts kept;
  std::vector<int> now;  // the new index of each draft
  for (int draft = 0; draft < size(); ++draft) {
    int above = parent(draft) < 0 ? kKnown : now[static_cast<size_t>(parent(draft))];
    bool is_kept = above != kNone && keep(draft);
    now.push_back(is_kept ? kept.size() : kNone);
    if (is_kept) kept.Add((*this)[draft], above, chance(draft));
  }
  *this = std::move(kept);
}

}  // namespace mlc
