#include "text/byte_trie.h"

#include <algorithm>

namespace mlc {
namespace {

// The sorted entries that share the path to one node.
struct Range {
  size_t begin, end, depth;
};

}  // namespace

bool ByteTrie::Build(std::vector<std::pair<std::string_view, int32_t>> entries) {
  std::sort(entries.begin(), entries.end());
  bool all_different = true;
  std::vector<Range> ranges = {{0, entries.size(), 0}};  // parallel to nodes_
  nodes_ = {{0, 0, kNoValue, 0}};
  for (size_t at = 0; at < nodes_.size(); ++at) {
    auto [begin, end, depth] = ranges[at];
    for (; begin < end && entries[begin].first.size() == depth; ++begin) {
      all_different = all_different && nodes_[at].value == kNoValue;
      nodes_[at].value = entries[begin].second;
    }
    nodes_[at].first_child = static_cast<uint32_t>(nodes_.size());
    while (begin < end) {
      unsigned char byte = static_cast<unsigned char>(entries[begin].first[depth]);
      size_t next = begin;
      while (next < end && static_cast<unsigned char>(entries[next].first[depth]) == byte) ++next;
      nodes_.push_back({0, 0, kNoValue, byte});
      ranges.push_back({begin, next, depth + 1});
      ++nodes_[at].num_children;
      begin = next;
    }
  }
  root_children_.fill(kNone);
  for (uint32_t i = 0; i < nodes_[kRoot].num_children; ++i) {
    root_children_[nodes_[i + 1].byte] = i + 1;
  }
  return all_different;
}

uint32_t ByteTrie::Child(uint32_t node, unsigned char byte) const {
  if (node == kRoot) return root_children_[byte];
  uint32_t low = nodes_[node].first_child, high = low + nodes_[node].num_children;
  const uint32_t end = high;
  while (low < high) {
    uint32_t middle = (low + high) / 2;
    if (nodes_[middle].byte < byte) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low < end && nodes_[low].byte == byte ? low : kNone;
}

size_t ByteTrie::LongestFrom(uint32_t node, std::string_view text, size_t pos,
                             int32_t* value) const {
  size_t longest = pos;
  for (size_t i = pos; i < text.size();) {
    node = Child(node, static_cast<unsigned char>(text[i]));
    if (node == kNone) break;
    ++i;
    if (ValueAt(node) == kNoValue) continue;
    longest = i;
    *value = ValueAt(node);
  }
  return longest;
}

}  // namespace mlc
