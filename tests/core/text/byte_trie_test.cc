#include "text/byte_trie.h"

#include <gtest/gtest.h>

namespace mlc {
namespace {

TEST(ByteTrieTest, FindsTheLongestString) {
  ByteTrie trie;
  EXPECT_TRUE(trie.empty());
  ASSERT_TRUE(trie.Build({{"ab", 1}, {"a", 0}, {"abcd", 2}, {"\xFF", 3}}));
  int32_t value = -1;
  EXPECT_EQ(trie.LongestAt("xabcx", 1, &value), 3u);
  EXPECT_EQ(value, 1);
  EXPECT_EQ(trie.LongestAt("abcd", 0, &value), 4u);
  EXPECT_EQ(value, 2);
  EXPECT_EQ(trie.LongestAt("\xFF", 0, &value), 1u);
  EXPECT_EQ(trie.LongestAt("b", 0, &value), 0u);
  EXPECT_EQ(trie.Child(ByteTrie::kRoot, 'z'), ByteTrie::kNone);
}

TEST(ByteTrieTest, TellsOfEqualStrings) {
  ByteTrie trie;
  EXPECT_FALSE(trie.Build({{"a", 0}, {"a", 1}}));
  EXPECT_FALSE(trie.Build({{"", 0}, {"", 1}}));
}

}  // namespace
}  // namespace mlc
