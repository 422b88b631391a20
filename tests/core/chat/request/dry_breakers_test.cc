#include "chat/request/dry_breakers.h"

#include <gtest/gtest.h>

#include "support/byte_tokenizer.h"

namespace mlc {
namespace {

std::vector<int32_t> IdsOf(const std::vector<bool>& breakers) {
  std::vector<int32_t> ids;
  for (size_t id = 0; id < breakers.size(); ++id) {
    if (breakers[id]) ids.push_back(static_cast<int32_t>(id));
  }
  return ids;
}

TEST(DryBreakers, AreTokensWithTheTextAndSpecialOnes) {
  auto tokenizer =
      std::move(Tokenizer::FromJson(testing::ByteTokenizerJson({"a:b", "cd"}))).value();
  DryBreakers breakers;
  auto found = breakers.Find(*tokenizer, {":"});
  EXPECT_EQ(IdsOf(*found), (std::vector<int32_t>{':', 256, 257, 258}));
  EXPECT_EQ(breakers.Find(*tokenizer, {":"}), found);
  EXPECT_EQ(IdsOf(*breakers.Find(*tokenizer, {"c", "xyz"})),
            (std::vector<int32_t>{'c', 'z', 256, 257, 259}));
  EXPECT_EQ(IdsOf(*breakers.Find(*tokenizer, {})), (std::vector<int32_t>{256, 257}));
}

}  // namespace
}  // namespace mlc
