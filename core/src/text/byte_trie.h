// Which of many strings begins at a place of a text.
#ifndef MLC_TEXT_BYTE_TRIE_H_
#define MLC_TEXT_BYTE_TRIE_H_

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
  // Strings with values from 0 on. Of equal strings one is taken; false tells that there were some.
  bool Build(std::vector<std::pair<std::string_view, int32_t>> entries);

  // The node that `byte` leads to; kNone when no string goes on like that.
  uint32_t Child(uint32_t node, unsigned char byte) const;
  // The value of the string that ends at the node, or kNoValue.
  int32_t ValueAt(uint32_t node) const { return nodes_[node].value; }

  // The longest string that begins at `pos`: its end, or `pos` when there is none.
  size_t LongestAt(std::string_view text, size_t pos, int32_t* value) const {
    return LongestFrom(kRoot, text, pos, value);
  }
  // The same for strings that begin with what leads to `node`.
  size_t LongestFrom(uint32_t node, std::string_view text, size_t pos, int32_t* value) const;

  bool empty() const { return nodes_.size() == 1; }

 private:
  struct Node {
    uint32_t first_child, num_children;  // children are adjacent, in the order of their bytes
    int32_t value;
    unsigned char byte;  // that leads here
  };
  std::vector<Node> nodes_;
  std::array<uint32_t, 256> root_children_;
};

}  // namespace mlc

#endif  // MLC_TEXT_BYTE_TRIE_H_
