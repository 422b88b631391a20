#include "engine/drafts.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace mlc {

Drafts::Drafts(std::vector<int32_t> chain) {
  for (int32_t token : chain) Append(token);
}

int Drafts::length() const {
  return empty() ? 0 : *std::max_element(depths_.begin(), depths_.end());
}

void Drafts::Add(int32_t token, int parent, double chance) {
  depths_.push_back(depth(parent) + 1);
  tokens_.push_back(token);
  parents_.push_back(parent);
  chances_.push_back(chance);
}

void Drafts::Truncate(int count) {
  size_t size = std::min(tokens_.size(), static_cast<size_t>(std::max(0, count)));
  tokens_.resize(size);
  parents_.resize(size);
  depths_.resize(size);
  chances_.resize(size);
}

void Drafts::Prune(int depth) {
  KeepIf([&](int draft) { return this->depth(draft) <= depth; });
}

void Drafts::KeepLikeliest(int count) {
  std::vector<int> order(tokens_.size()), rank(tokens_.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return chance(a) > chance(b); });
  for (int i = 0; i < size(); ++i) rank[static_cast<size_t>(order[static_cast<size_t>(i)])] = i;
  KeepIf([&](int draft) { return rank[static_cast<size_t>(draft)] < count; });
}

int Drafts::Child(int parent, int32_t token) const {
  for (int draft = std::max(0, parent + 1); draft < size(); ++draft) {
    if (this->parent(draft) == parent && (*this)[draft] == token) return draft;
  }
  return kNone;
}

std::vector<int> Drafts::Path(int draft) const {
  std::vector<int> path;
  for (int at = draft; at >= 0; at = parent(at)) path.push_back(at);
  std::reverse(path.begin(), path.end());
  return path;
}

std::vector<int32_t> Drafts::PathTokens(int draft) const {
  std::vector<int32_t> tokens;
  for (int at : Path(draft)) tokens.push_back((*this)[at]);
  return tokens;
}

Drafts Drafts::DepthFirst() const {
  Drafts ordered;
  std::vector<std::pair<int, int>> waiting;  // a draft, and the new index of its parent
  auto push_children = [&](int parent, int parent_now) {
    for (int draft = size() - 1; draft > parent; --draft) {
      if (this->parent(draft) == parent) waiting.emplace_back(draft, parent_now);
    }
  };
  push_children(kKnown, kKnown);
  while (!waiting.empty()) {
    auto [draft, parent_now] = waiting.back();
    waiting.pop_back();
    ordered.Add((*this)[draft], parent_now, chance(draft));
    push_children(draft, ordered.size() - 1);
  }
  return ordered;
}

int Drafts::BranchOf(int draft) const {
  int branch = 0;
  for (int at = 0; at <= draft; ++at) branch += BeginsBranch(at) ? 1 : 0;
  return branch;
}

int Drafts::BranchEnd(int draft) const {
  int end = std::min(draft + 1, size());
  while (end < size() && !BeginsBranch(end)) ++end;
  return end;
}

}  // namespace mlc
