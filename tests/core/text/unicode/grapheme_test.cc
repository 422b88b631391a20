#include "text/unicode/grapheme.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace mlc {
namespace {

TEST(GraphemeTest, ClustersAreWhatReadersSee) {
  const std::vector<std::vector<std::string>> kTexts = {
      {"a", "b"},
      {"\r\n", "\n", "\r"},
      {"e\u0301\u0323", "x"},
      {"\u1112\u1161\u11ab", "\ud55c", "\uac00\u11a8"},
      {"\U0001F468\u200D\U0001F469\u200D\U0001F467", "\U0001F600"},
      {"\U0001F1EB\U0001F1F7", "\U0001F1E9\U0001F1EA", "\U0001F1EF"},
      {"\U0001F44D\U0001F3FD"},
      {"\u0915\u094D\u0937", "a"},  // a conjunct: consonant, virama, consonant
      {"a\u200D", "b"},
      {"\u0600a"},
  };
  for (const auto& clusters : kTexts) {
    std::string text;
    for (const std::string& cluster : clusters) text += cluster;
    size_t pos = 0;
    for (const std::string& cluster : clusters) {
      size_t end = GraphemeEnd(text, pos);
      EXPECT_EQ(text.substr(pos, end - pos), cluster);
      pos = end;
    }
    EXPECT_EQ(pos, text.size());
  }
}

}  // namespace
}  // namespace mlc
