#include "base/nearest_name.h"

#include <gtest/gtest.h>

#include <string>

namespace mlc {
namespace {

TEST(NearestName, IsTheOneWithTheFewestOtherLetters) {
  auto nearest = [](std::string_view name) {
    return NearestName(name, {"max_num_sequence", "max_total_seq_length", "mode"});
  };
  EXPECT_EQ(nearest("max_num_seq"), "max_num_sequence");
  EXPECT_EQ(nearest("max_num_sequences"), "max_num_sequence");
  EXPECT_EQ(nearest("max_total_sequence_length"), "max_total_seq_length");
  EXPECT_EQ(nearest("mdoe"), "mode");
  EXPECT_EQ(nearest("made"), "mode");
  EXPECT_EQ(nearest("temperature"), "");
  EXPECT_EQ(nearest("node_count"), "");
  EXPECT_EQ(nearest(""), "");
  EXPECT_EQ(nearest(std::string(1 << 20, 'm')), "");
}

TEST(EditDistance, CountsSwappedLettersOnce) {
  EXPECT_EQ(EditDistance("", "abc"), 3u);
  EXPECT_EQ(EditDistance("abc", "abc"), 0u);
  EXPECT_EQ(EditDistance("acb", "abc"), 1u);
  EXPECT_EQ(EditDistance("abd", "abc"), 1u);
  EXPECT_EQ(EditDistance("abcd", "bcd"), 1u);
}

}  // namespace
}  // namespace mlc
