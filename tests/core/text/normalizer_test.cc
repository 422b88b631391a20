#include "text/normalizer.h"

#include <gtest/gtest.h>

#include "base/json.h"

namespace mlc {
namespace {

std::string Normalize(const std::string& normalizer, const std::string& text) {
  Json json = *Json::Parse(normalizer);
  Result<std::unique_ptr<Normalizer>> made = Normalizer::FromJson(JsonView(json));
  if (!made.ok()) return "error: " + made.status().message();
  Piece piece = Piece::OfInput(text);
  Status status = (*made)->Apply(&piece);
  return status.ok() ? piece.text : "error: " + status.message();
}

TEST(NormalizerTest, EachKind) {
  EXPECT_EQ(Normalize(R"({"type": "Lowercase"})", "\u0130ÀB"), "i\u0307àb");
  EXPECT_EQ(Normalize(R"({"type": "NFC"})", "e\u0301"), "\u00e9");
  EXPECT_EQ(Normalize(R"({"type": "Strip", "strip_left": true, "strip_right": false})", " a "),
            "a ");
  EXPECT_EQ(Normalize(R"({"type": "Strip", "strip_left": true, "strip_right": true})", " \t"), "");
  EXPECT_EQ(Normalize(R"({"type": "StripAccents"})", "e\u0301"), "e");
  EXPECT_EQ(Normalize(R"({"type": "Nmt"})", "a\x01\u200bb"), "a b");
  EXPECT_EQ(Normalize(R"({"type": "Prepend", "prepend": "_"})", "a"), "_a");
  EXPECT_EQ(Normalize(R"({"type": "Prepend", "prepend": "_"})", ""), "");
  EXPECT_EQ(Normalize(R"({"type": "Replace", "pattern": {"Regex": " +"}, "content": "_"})", "a  b"),
            "a_b");
  EXPECT_EQ(Normalize(R"({"type": "ByteLevel"})", " \u00e9"), "ĠÃ©");
  std::string bert = R"({"type": "BertNormalizer", "clean_text": true, "lowercase": true,
      "handle_chinese_chars": true, "strip_accents": null})";
  EXPECT_EQ(Normalize(bert, "\u00c9\t\u4e2d\x07"), "e  \u4e2d ");
}

TEST(NormalizerTest, SequenceRunsInOrder) {
  EXPECT_EQ(Normalize(R"({"type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": "A "},
                          {"type": "Lowercase"}]})",
                      "B"),
            "a b");
}

TEST(NormalizerTest, APrecompiledMapIsCheckedAndOneWithoutRulesChangesNothing) {
  auto map = [](const char* base64) {
    return std::string(R"({"type": "Precompiled", "precompiled_charsmap": ")") + base64 + "\"}";
  };
  for (const char* bad : {"", "!!!!", "AAAA", "AAAAAA==", "/////w=="}) {
    EXPECT_EQ(Normalize(map(bad), "a").substr(0, 6), "error:") << bad;
  }
  // Its trie has a root and no rule.
  EXPECT_EQ(Normalize(map("BAAAAAAAAAB4eQA="), "ab\u00e9"), "ab\u00e9");
}

TEST(NormalizerTest, RefusesWhatItDoesNotKnow) {
  EXPECT_NE(Normalize(R"({"type": "Shout"})", "a").find("Shout"), std::string::npos);
  EXPECT_NE(Normalize(R"({"type": "Prepend"})", "a").find("prepend"), std::string::npos);
}

}  // namespace
}  // namespace mlc
