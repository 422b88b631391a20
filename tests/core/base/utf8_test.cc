#include "base/utf8.h"

#include <gtest/gtest.h>

namespace mlc {
namespace {

TEST(Utf8, RoundTripsEveryScalarValue) {
  for (char32_t c = 0; c <= 0x10FFFF; ++c) {
    if (c >= 0xD800 && c <= 0xDFFF) continue;
    std::string bytes;
    AppendUtf8(c, &bytes);
    size_t pos = 0;
    ASSERT_EQ(DecodeUtf8(bytes, &pos), c);
    ASSERT_EQ(pos, bytes.size());
    ASSERT_EQ(IncompleteUtf8Tail(bytes), 0u);
    for (size_t n = 1; n < bytes.size(); ++n) {
      ASSERT_EQ(IncompleteUtf8Tail(bytes.substr(0, n)), n);
    }
  }
}

TEST(Utf8, InvalidBytesBecomeOneReplacementPerMaximalSubpart) {
  // The text and the answers of Python's bytes.decode("utf-8", "replace").
  struct Case {
    std::string bytes;
    size_t replacements;
  };
  for (const Case& c :
       {Case{"\xff", 1}, Case{"\xe2\x82", 1}, Case{"\xe2\x28\xa1", 2}, Case{"\xed\xa0\x80", 3},
        Case{"\xf0\x9f\x98", 1}, Case{"\xc0\xaf", 2}, Case{"\xf4\x90\x80\x80", 4}}) {
    size_t count = 0;
    for (char32_t cp : ToCodePoints(c.bytes)) count += cp == kReplacementChar;
    EXPECT_EQ(count, c.replacements);
    EXPECT_FALSE(IsValidUtf8(c.bytes));
    EXPECT_TRUE(IsValidUtf8(RepairUtf8(c.bytes)));
  }
}

TEST(Utf8, TailThatNothingCanCompleteIsNotHeldBack) {
  EXPECT_EQ(IncompleteUtf8Tail("a\xff"), 0u);
  EXPECT_EQ(IncompleteUtf8Tail("\xe2\x28"), 0u);
  EXPECT_EQ(IncompleteUtf8Tail("\x80\x80"), 0u);
  EXPECT_EQ(IncompleteUtf8Tail(""), 0u);
}

}  // namespace
}  // namespace mlc
