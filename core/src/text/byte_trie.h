// A trie that finds which of many strings begins at a position of a text.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace mlc {

class ByteTrie {
 public:
  static constexpr uint32_t kRoot = 0, kNone = ~uint32_t{0};
  static constexpr int32_t kNoValue = -1;

  ByteTrie() { Build({}); }
  // Builds the trie from strings and their values (from 0 on). Of equal strings only one is kept;
  // then it returns false.
  bool Build(std::vector<std::pair<std::string_view, int32_t>> entries);

  // Whether a string begins with this byte.
  bool CanBegin(unsigned char byte) const { return root_children_[byte] != kNone; }
  // The child of `node` for `byte`; kNone if no string continues like that.
  uint32_t Child(uint32_t node, unsigned char byte) const;
  // The value of the string that ends at the node, or kNoValue.
  int32_t ValueAt(uint32_t node) const { return nodes_[node].value; }

  // The end of the longest string that begins at `pos`; `pos` if there is none.
  size_t LongestAt(std::string_view text, size_t pos, int32_t* value) const {
    return LongestFrom(kRoot, text, pos, value);
  }
  // The same for strings that begin with the path to `node`.
  size_t LongestFrom(uint32_t node, std::string_view text, size_t pos, int32_t* value) const;

  bool empty() const { return nodes_.size() == 1; }

 private:
  struct Node {
    uint32_t first_child, num_children;  // the children are adjacent and ordered by their bytes
    int32_t value;
    unsigned char byte;  // the byte that leads to this node
  };
  std::vector<Node> nodes_;
  std::array<uint32_t, 256> root_children_;
};

}  // namespace mlc
