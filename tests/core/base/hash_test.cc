#include "base/hash.h"

#include <gtest/gtest.h>

#include <set>

namespace mlc {
namespace {

TEST(Hash, Fnv1aOfItsAuthorsTestVectors) {
  EXPECT_EQ(Fnv1a(""), 0xcbf29ce484222325u);
  EXPECT_EQ(Fnv1a("foobar"), 0x85944171f73967e8u);
}

TEST(Hash, WordsAndLanesSeeEveryBitAndTheLength) {
  for (auto hash : {HashWords, HashLanes}) {
    for (const std::string& text :
         {std::string("neither two words nor a whole one"), std::string(85, 'x')}) {
      std::set<uint64_t> hashes = {hash(text)};
      for (size_t bit = 0; bit < text.size() * 8; ++bit) {
        std::string changed = text;
        changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ (1 << bit % 8));
        EXPECT_TRUE(hashes.insert(hash(changed)).second) << "bit " << bit;
      }
      EXPECT_NE(hash(text + '\0'), hash(text));
    }
    std::set<uint64_t> zeros;
    for (size_t size = 0; size < 100; ++size) zeros.insert(hash(std::string(size, '\0')));
    EXPECT_EQ(zeros.size(), 100u);
  }
}

TEST(Hash, HighBitsOfTwoWordsDoNotCancel) {
  std::string zeros(64, '\0'), highs = zeros, lanes = zeros;
  highs[7] = highs[15] = '\x80';
  lanes[7] = lanes[39] = '\x80';  // two words of one lane
  EXPECT_NE(HashWords(zeros), HashWords(highs));
  EXPECT_NE(HashLanes(zeros), HashLanes(highs));
  EXPECT_NE(HashLanes(zeros), HashLanes(lanes));
}

TEST(Hash, WordsInAnotherOrderAreOthers) {
  std::string text(64, '\0');
  std::set<uint64_t> hashes;
  for (size_t at = 0; at < 64; at += 8) {
    std::string one = text;
    one[at] = 'x';
    hashes.insert(HashLanes(one));
  }
  EXPECT_EQ(hashes.size(), 8u);
}

TEST(Hash, TextIsSixteenDigits) {
  EXPECT_EQ(HexText(0xabc), "0000000000000abc");
  EXPECT_EQ(HexText(~uint64_t{0}), "ffffffffffffffff");
}

}  // namespace
}  // namespace mlc
