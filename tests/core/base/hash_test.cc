#include "base/hash.h"

#include <gtest/gtest.h>

#include <set>

namespace mlc {
namespace {

TEST(Hash, Fnv1aOfItsAuthorsTestVectors) {
  EXPECT_EQ(Fnv1a(""), 0xcbf29ce484222325u);
  EXPECT_EQ(Fnv1a("foobar"), 0x85944171f73967e8u);
}

TEST(Hash, HashWordsSeesEveryBitAndTheLength) {
  const std::string text = "neither two words nor a whole one";
  std::set<uint64_t> hashes = {HashWords(text)};
  for (size_t bit = 0; bit < text.size() * 8; ++bit) {
    std::string changed = text;
    changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ (1 << bit % 8));
    EXPECT_TRUE(hashes.insert(HashWords(changed)).second) << "bit " << bit;
  }
  EXPECT_NE(HashWords(text + '\0'), HashWords(text));
  EXPECT_NE(HashWords(std::string(8, '\0')), HashWords(""));
}

TEST(Hash, HighBitsOfTwoWordsDoNotCancel) {
  std::string zeros(16, '\0'), highs = zeros;
  highs[7] = highs[15] = '\x80';
  EXPECT_NE(HashWords(zeros), HashWords(highs));
}

TEST(Hash, TextIsSixteenDigits) {
  EXPECT_EQ(HexText(0xabc), "0000000000000abc");
  EXPECT_EQ(HexText(~uint64_t{0}), "ffffffffffffffff");
}

}  // namespace
}  // namespace mlc
