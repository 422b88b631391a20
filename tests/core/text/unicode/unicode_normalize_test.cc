#include "text/unicode/unicode_normalize.h"

#include <gtest/gtest.h>

namespace mlc {
namespace {

std::string Normalized(NormalizationForm form, const std::string& text) {
  Piece piece = Piece::OfInput(text);
  NormalizeUnicode(form, &piece);
  return piece.text;
}

TEST(UnicodeNormalizeTest, AllFormsOfOneTable) {
  constexpr auto kNfc = NormalizationForm::kNfc, kNfd = NormalizationForm::kNfd;
  constexpr auto kNfkc = NormalizationForm::kNfkc, kNfkd = NormalizationForm::kNfkd;
  EXPECT_EQ(Normalized(kNfd, "\u00e9"), "e\u0301");
  EXPECT_EQ(Normalized(kNfc, "e\u0301"), "\u00e9");
  EXPECT_EQ(Normalized(kNfc, "a\u0301\u0323"), "\u1ea1\u0301");  // reordered, then composed
  EXPECT_EQ(Normalized(kNfc, "a\u0315\u0300"), "\u00e0\u0315");
  EXPECT_EQ(Normalized(kNfc, "\u0958"), "\u0915\u093c");  // excluded from composition
  EXPECT_EQ(Normalized(kNfd, "\ud55c"), "\u1112\u1161\u11ab");
  EXPECT_EQ(Normalized(kNfc, "\u1112\u1161\u11ab"), "\ud55c");
  EXPECT_EQ(Normalized(kNfc, "\ufb01"), "\ufb01");
  EXPECT_EQ(Normalized(kNfkc, "\ufb01\u2460"), "fi1");
  EXPECT_EQ(Normalized(kNfkd, "\u1e9b\u0323"), "s\u0323\u0307");
  EXPECT_EQ(Normalized(kNfkc, "\u1e9b\u0323"), "\u1e69");
  EXPECT_EQ(Normalized(kNfc, "plain"), "plain");
}

TEST(UnicodeNormalizeTest, KeepsTheLeadOfAPiece) {
  Piece piece = Piece::OfInput("\u00e9x");
  NormalizeUnicode(NormalizationForm::kNfd, &piece);
  EXPECT_EQ(piece.lead, 3u);  // e and the accent both come from the first character
  EXPECT_TRUE(piece.Slice(1, 3).at_start);
  EXPECT_FALSE(piece.Slice(3, 4).at_start);
}

TEST(UnicodeNormalizeTest, AMegabyteOfMarksTakesNoTime) {
  std::string marks;
  for (int i = 0; i < 250000; ++i) marks += i % 2 ? "\u0301" : "\u0323";
  EXPECT_EQ(Normalized(NormalizationForm::kNfc, marks).size(), marks.size());
}

}  // namespace
}  // namespace mlc
