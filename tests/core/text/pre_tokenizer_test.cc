#include "text/pre_tokenizer.h"

#include <gtest/gtest.h>

#include "base/json.h"

namespace mlc {
namespace {

using Strings = std::vector<std::string>;

Strings Split(const std::string& pre_tokenizer, const std::string& text) {
  Json json = *Json::Parse(pre_tokenizer);
  Result<std::unique_ptr<PreTokenizer>> made = PreTokenizer::FromJson(JsonView(json));
  if (!made.ok()) return {made.status().message()};
  std::vector<Piece> pieces = {Piece::OfInput(text)};
  Status status = (*made)->Apply(&pieces);
  if (!status.ok()) return {status.message()};
  Strings out;
  for (const Piece& piece : pieces) out.push_back(piece.text);
  return out;
}

std::string SplitBy(const std::string& behavior) {
  return R"({"type": "Split", "invert": false, "pattern": {"String": "-"}, "behavior": ")" +
         behavior + "\"}";
}

TEST(PreTokenizerTest, SplitBehaviors) {
  EXPECT_EQ(Split(SplitBy("Removed"), "a--b-c"), (Strings{"a", "b", "c"}));
  EXPECT_EQ(Split(SplitBy("Isolated"), "a--b-c"), (Strings{"a", "-", "-", "b", "-", "c"}));
  EXPECT_EQ(Split(SplitBy("MergedWithPrevious"), "a--b-c"), (Strings{"a-", "-", "b-", "c"}));
  EXPECT_EQ(Split(SplitBy("MergedWithNext"), "a--b-c"), (Strings{"a", "-", "-b", "-c"}));
  EXPECT_EQ(Split(SplitBy("Contiguous"), "a--b-c"), (Strings{"a", "--", "b", "-", "c"}));
}

TEST(PreTokenizerTest, EachKind) {
  EXPECT_EQ(Split(R"({"type": "Digits", "individual_digits": false})", "a12b"),
            (Strings{"a", "12", "b"}));
  EXPECT_EQ(Split(R"({"type": "Whitespace"})", "a_b, (c)"), (Strings{"a_b", ",", "(", "c", ")"}));
  EXPECT_EQ(Split(R"({"type": "WhitespaceSplit"})", " a,b\u3000c "), (Strings{"a,b", "c"}));
  EXPECT_EQ(Split(R"({"type": "Punctuation"})", "a,b"), (Strings{"a", ",", "b"}));
  EXPECT_EQ(Split(R"({"type": "BertPreTokenizer"})", "a, b"), (Strings{"a", ",", "b"}));
  EXPECT_EQ(Split(R"({"type": "CharDelimiterSplit", "delimiter": "x"})", "axbx"),
            (Strings{"a", "b"}));
  EXPECT_EQ(Split(R"({"type": "FixedLength", "length": 2})", "\u00e9bc"),
            (Strings{"\u00e9b", "c"}));
  std::string bytes = R"({"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": false})";
  EXPECT_EQ(Split(bytes, "it's \u00e9"), (Strings{"Ġit", "'s", "ĠÃ©"}));
}

TEST(PreTokenizerTest, MetaspacePrependsByScheme) {
  std::string head = R"({"type": "Sequence", "pretokenizers": [{"type": "Digits",)"
                     R"("individual_digits": true}, {"type": "Metaspace", "replacement": "▁",)";
  std::string always = head + R"("prepend_scheme": "always"}]})";
  std::string first = head + R"("prepend_scheme": "first"}]})";
  std::string never = head + R"("prepend_scheme": "never", "split": false}]})";
  EXPECT_EQ(Split(always, "a b1c"), (Strings{"▁a", "▁b", "▁1", "▁c"}));
  EXPECT_EQ(Split(first, "a b1c"), (Strings{"▁a", "▁b", "1", "c"}));
  EXPECT_EQ(Split(never, "a b1c"), (Strings{"a▁b", "1", "c"}));
}

TEST(PreTokenizerTest, RefusesWhatItDoesNotKnow) {
  EXPECT_NE(Split(R"({"type": "UnicodeScripts"})", "a")[0].find("UnicodeScripts"),
            std::string::npos);
  EXPECT_NE(Split(SplitBy("Sideways"), "a")[0].find("Sideways"), std::string::npos);
}

}  // namespace
}  // namespace mlc
