// Guesses of what follows a sequence in a step: a tree of tokens, often a mere chain. The target
// computes all of it at once and the commit walks down as far as the tokens that it chooses.
//
//   Drafts drafts = {7, 8};                 // 7, then 8
//   drafts.Add(9, 0);                       // or 9 behind the 7
//   drafts.Add(5, Drafts::kKnown);          // or a 5 instead of the 7
//
// The rows of a step come in the order of the drafts. One whose parent is not the draft before it
// begins a branch: a sequence of its own in the batch (engine/branches.h). So drafters add depth
// first, the likeliest first.
#ifndef MLC_ENGINE_DRAFTS_H_
#define MLC_ENGINE_DRAFTS_H_

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
  // An earlier draft, or kKnown.
  int parent(int draft) const { return parents_[static_cast<size_t>(draft)]; }
  // How many drafts lead to it, itself included; 0 for kKnown.
  int depth(int draft) const { return draft < 0 ? 0 : depths_[static_cast<size_t>(draft)]; }
  // The depth of the deepest.
  int length() const;

  void Add(int32_t token, int parent);
  // Behind the last one.
  void Append(int32_t token) { Add(token, size() - 1); }
  // Leaves the first `count`.
  void Truncate(int count);
  // Leaves those that are at most `depth` deep.
  void Prune(int depth);
  // Leaves those for which `keep(draft)` is true and whose parents are left. In order.
  template <typename Predicate>
  void KeepIf(Predicate keep);

  // The draft with that token and parent, or kNone.
  int Child(int parent, int32_t token) const;
  // The drafts that lead to `draft`, from the first on, itself included.
  std::vector<int> Path(int draft) const;
  std::vector<int32_t> PathTokens(int draft) const;
  // How many drafts from the first on form a chain.
  int FirstChain() const { return BranchEnd(0); }
  // The same tree, depth first; siblings in the order in which they were added.
  Drafts DepthFirst() const;

  // Branches: chains of adjacent drafts. Branch 0 continues the sequence itself.
  bool BeginsBranch(int draft) const { return parent(draft) != draft - 1; }
  bool has_branches() const { return FirstChain() < size(); }
  // Which branch a draft is on, from 0; 0 for kKnown.
  int BranchOf(int draft) const;
  int num_branches() const { return empty() ? 1 : BranchOf(size() - 1) + 1; }
  // Behind the last draft of the branch that `draft` is on.
  int BranchEnd(int draft) const;

  friend bool operator==(const Drafts& a, const Drafts& b) {
    return a.tokens_ == b.tokens_ && a.parents_ == b.parents_;
  }

 private:
  std::vector<int32_t> tokens_;
  std::vector<int> parents_, depths_;
};

template <typename Predicate>
void Drafts::KeepIf(Predicate keep) {
  Drafts kept;
  std::vector<int> now;  // where each is among those that are kept
  for (int draft = 0; draft < size(); ++draft) {
    int above = parent(draft) < 0 ? kKnown : now[static_cast<size_t>(parent(draft))];
    bool is_kept = above != kNone && keep(draft);
    now.push_back(is_kept ? kept.size() : kNone);
    if (is_kept) kept.Add((*this)[draft], above);
  }
  *this = std::move(kept);
}

}  // namespace mlc

#endif  // MLC_ENGINE_DRAFTS_H_
