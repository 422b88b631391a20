#include "text/unicode/unicode.h"

#include <gtest/gtest.h>

namespace mlc {
namespace {

bool Contains(const CodePointRanges& ranges, char32_t c) {
  for (const auto& [first, last] : ranges) {
    if (first <= c && c <= last) return true;
  }
  return false;
}

TEST(UnicodeTest, KnowsKindsOfCharacters) {
  EXPECT_TRUE(IsWhiteSpace(' ') && IsWhiteSpace(0x85) && IsWhiteSpace(0x3000));
  EXPECT_FALSE(IsWhiteSpace(0x200B) || IsWhiteSpace('a'));
  EXPECT_TRUE(IsNumeric('7') && IsNumeric(0x0663) && IsNumeric(0x2167) && IsNumeric(0x11DE0));
  EXPECT_FALSE(IsNumeric('a'));
  EXPECT_TRUE(IsPunctuation('$') && IsPunctuation('~') && IsPunctuation(0x2014));
  EXPECT_FALSE(IsPunctuation('a') || IsPunctuation('0') || IsPunctuation(' '));
  EXPECT_TRUE(IsRustWord('_') && IsRustWord(0x0301) && IsRustWord(0x4E00));
  EXPECT_FALSE(IsRustWord('-'));
  EXPECT_TRUE(IsCombiningMark(0x0301) && IsNonspacingMark(0x0301) && IsOther(0x200D));
}

TEST(UnicodeTest, FindsPropertiesByLooseName) {
  CodePointRanges set;
  ASSERT_TRUE(LookUpProperty("uppercase_letter", &set));
  EXPECT_TRUE(Contains(set, 'A'));
  EXPECT_FALSE(Contains(set, 'a'));
  ASSERT_TRUE(LookUpProperty("l", &set));
  EXPECT_TRUE(Contains(set, 'a') && Contains(set, 0x10FF));
  ASSERT_TRUE(LookUpProperty("Katakana", &set));
  EXPECT_TRUE(Contains(set, 0x30A2));
  EXPECT_FALSE(LookUpProperty("", &set) || LookUpProperty("Xx", &set) ||
               LookUpProperty("Lx", &set));
}

TEST(UnicodeTest, MapsCase) {
  EXPECT_EQ(ToLower('Q'), U'q');
  EXPECT_EQ(ToLower(0x0100), 0x0101u);
  EXPECT_EQ(ToLower(0x0101), 0x0101u);
  EXPECT_EQ(ToLower(0x10D50), 0x10D70u);  // new in Unicode 16
  EXPECT_EQ(ToLower(0x1E9E), 0xDFu);
  CodePointRanges set = {{'s', 's'}};
  CloseUnderCase(&set);
  EXPECT_TRUE(Contains(set, 'S') && Contains(set, 0x17F));
}

TEST(UnicodeTest, RangesFormAnAlgebra) {
  CodePointRanges ranges = {{5, 9}, {1, 3}, {4, 4}, {20, 30}};
  NormalizeRanges(&ranges);
  EXPECT_EQ(ranges, (CodePointRanges{{1, 9}, {20, 30}}));
  CodePointRanges rest = ComplementRanges(ranges);
  EXPECT_EQ(rest, (CodePointRanges{{0, 0}, {10, 19}, {31, 0x10FFFF}}));
  EXPECT_EQ(ComplementRanges(rest), ranges);
  EXPECT_EQ(IntersectRanges(ranges, {{8, 25}}), (CodePointRanges{{8, 9}, {20, 25}}));
  EXPECT_TRUE(ComplementRanges({{0, 0x10FFFF}}).empty());
}

}  // namespace
}  // namespace mlc
