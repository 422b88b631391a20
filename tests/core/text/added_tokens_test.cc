#include "text/added_tokens.h"

#include <gtest/gtest.h>

#include "base/json.h"

namespace mlc {
namespace {

std::string TokenJson(const std::string& content, const std::string& flags) {
  std::string out = R"({"id": 0, "content": ")" + content + "\"";
  for (const char* name : {"single_word", "lstrip", "rstrip", "normalized", "special"}) {
    bool value = flags.find(name) != std::string::npos;
    out += std::string(", \"") + name + "\": " + (value ? "true" : "false");
  }
  return out + "}";
}

// The pieces of `text`; the ids of found tokens in angle brackets.
std::string Cut(const std::string& tokens, std::string text, bool lowercase = false,
                const std::string& mark = "", const std::vector<int32_t>& shown = {}) {
  Json file = *Json::Parse("{\"added_tokens\": [" + tokens + "]}");
  Json lower = *Json::Parse(R"({"type": "Lowercase"})");
  std::unique_ptr<Normalizer> normalizer;
  if (lowercase) normalizer = std::move(Normalizer::FromJson(JsonView(lower))).value();
  Result<AddedTokens> made = AddedTokens::FromJson(JsonView(file), Vocabulary(), normalizer.get());
  if (!made.ok()) return made.status().message();
  if (!mark.empty()) text = made->MarkSpecial(text, mark, shown);
  std::vector<Piece> pieces;
  EXPECT_TRUE(made->Split(text, normalizer.get(), &pieces, mark).ok());
  std::string out;
  for (const Piece& piece : pieces) {
    out += piece.id >= 0 ? "<" + std::to_string(piece.id) + ">" : "(" + piece.text + ")";
  }
  return out;
}

TEST(AddedTokensTest, LongestOfTheLeftmostWins) {
  std::string tokens = TokenJson("ab", "") + "," + TokenJson("abc", "") + "," + TokenJson("b", "");
  EXPECT_EQ(Cut(tokens, "xabcbab"), "(x)<1><2><0>");
}

TEST(AddedTokensTest, Flags) {
  EXPECT_EQ(Cut(TokenJson("ab", "single_word"), "ab xab ab"), "<0>( xab )<0>");
  EXPECT_EQ(Cut(TokenJson("ab", "lstrip"), "x  ab  ab"), "(x)<0><0>");
  EXPECT_EQ(Cut(TokenJson("ab", "rstrip"), "ab  ab x"), "<0><0>(x)");
  EXPECT_EQ(Cut(TokenJson("AB", "normalized"), "xaB", true), "(x)<0>");
  EXPECT_EQ(Cut(TokenJson("AB", ""), "XaBAB", true), "(xab)<0>");
}

TEST(AddedTokensTest, ARunOfSpacesIsLookedAtOnce) {
  EXPECT_EQ(Cut(TokenJson(" ", "rstrip"), std::string(1 << 20, ' ')).size(), 3u << 20);
}

TEST(AddedTokensTest, MarkedSpecialTokensAreText) {
  std::string tokens = TokenJson("ab", "special") + "," + TokenJson("c", "special") + "," +
                       TokenJson("de", "") + "," + TokenJson("aab", "special");
  EXPECT_EQ(Cut(tokens, "xabcxdeaabab"), "(x)<0><1>(x)<2><3><0>");
  EXPECT_EQ(Cut(tokens, "xabcxdeaabab", false, "|"), "(xabcx)<2>(aabab)");
  EXPECT_EQ(Cut(tokens, "ccxa", false, "|"), "(ccxa)");
  EXPECT_EQ(Cut(tokens, "xabcde", false, "|", {0}), "(x)<0>(c)<2>") << "but those that are shown";
  EXPECT_EQ(Cut(tokens, "de d", false, "|"), "<2>( d)");
  std::string normalized = TokenJson("FG", "normalized special");
  EXPECT_EQ(Cut(normalized, "xFG fg", true), "(x)<0>( )<0>");
  EXPECT_EQ(Cut(normalized, "xFG fg", true, "|"), "(xfg fg)");
}

TEST(AddedTokensTest, RefusesWhatTheReferenceCannotLoad) {
  EXPECT_NE(Cut(TokenJson("a", "normalized") + "," + TokenJson("A", "normalized"), "", true)
                .find("equal once normalized"),
            std::string::npos);
}

}  // namespace
}  // namespace mlc
