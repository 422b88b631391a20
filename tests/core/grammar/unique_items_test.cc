// Lists whose items must differ, which the matcher looks after beside the grammar.
#include "grammar/unique_items.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

#include "base/json.h"
#include "grammar/grammar.h"
#include "grammar/schema/values.h"
#include "support/byte_tokenizer.h"

namespace mlc {
namespace {

using testing::kByteVocab;
using testing::kEnd;

constexpr char kTexts[] = R"({"type":"array","items":{"type":"string"},"uniqueItems":true})";

// Tokens that end an item and begin the next one, and that hold a whole item.
const std::vector<std::string> kLonger = {"\", \"", "\"]", "\"a\"", "a\"", ", ",
                                          "[\"",    "ab",  "1, 1",  "1]",  "true, true",
                                          "[1, 1",  "\"}", "e0"};

struct Vocabulary {
  std::shared_ptr<const Tokenizer> tokenizer;
  int size;
};

Vocabulary Words() {
  std::shared_ptr<const Tokenizer> made =
      std::move(Tokenizer::FromJson(testing::ByteTokenizerJson(kLonger))).value();
  return {made, kByteVocab + static_cast<int>(kLonger.size())};
}

class UniqueItemsTest : public ::testing::Test {
 protected:
  Grammar Compile(const std::string& schema) {
    Result<Grammar> grammar = compiler_.CompileJsonSchema(schema);
    EXPECT_TRUE(grammar.ok()) << grammar.status().message();
    EXPECT_TRUE(grammar->Prepare().ok());
    return *grammar;
  }

  bool Allows(GrammarMatcher* matcher, const std::string& token) {
    std::vector<int32_t> mask;
    EXPECT_TRUE(matcher->FillMask(&mask).ok());
    int32_t id = IdOf(token);
    return (static_cast<uint32_t>(mask[static_cast<size_t>(id / 32)]) >> (id % 32) & 1) != 0;
  }

  static int32_t IdOf(const std::string& token) {
    if (token.size() == 1) return static_cast<unsigned char>(token[0]);
    auto found = std::find(kLonger.begin(), kLonger.end(), token);
    EXPECT_NE(found, kLonger.end()) << token;
    return kByteVocab + static_cast<int32_t>(found - kLonger.begin());
  }

  static void Write(GrammarMatcher* matcher, const std::string& text) {
    for (int32_t byte : testing::Bytes(text)) ASSERT_TRUE(matcher->Accept(byte)) << text;
  }

  Vocabulary words_ = Words();
  GrammarCompiler compiler_{*words_.tokenizer, words_.size, {kEnd}};
};

TEST_F(UniqueItemsTest, ATokenThatRepeatsAnItemIsMaskedAndRefused) {
  GrammarMatcher matcher(Compile(kTexts));
  Write(&matcher, "[\"a\", \"a");
  for (const char* token : {"\"", "\"]", "\", \""}) {
    EXPECT_FALSE(Allows(&matcher, token)) << token;
    EXPECT_FALSE(matcher.Accept(IdOf(token))) << token;
  }
  EXPECT_TRUE(Allows(&matcher, "a\""));
  Write(&matcher, "b");
  EXPECT_TRUE(Allows(&matcher, "\"]"));
  EXPECT_TRUE(matcher.Accept(IdOf("\", \"")));
  EXPECT_FALSE(Allows(&matcher, "a\""));
}

TEST_F(UniqueItemsTest, ValuesCountNotTheirSpelling) {
  GrammarMatcher texts(Compile(kTexts));
  Write(&texts, "[\"a\", \"\\u0061");
  EXPECT_FALSE(texts.Accept('"'));
  GrammarMatcher numbers(Compile(R"({"type":"array","uniqueItems":true})"));
  Write(&numbers, "[1, 1.0");
  EXPECT_FALSE(numbers.Accept(','));
  Write(&numbers, "1, {\"a\": 1, \"b\": 2}, {\"b\": 2, \"a\": 1");
  EXPECT_FALSE(numbers.Accept('}'));
}

TEST_F(UniqueItemsTest, ATokenMayHoldTwoItems) {
  GrammarMatcher matcher(
      Compile(R"({"type":"array","items":{"type":"integer"},"uniqueItems":true})"));
  EXPECT_FALSE(Allows(&matcher, "[1, 1") && matcher.Accept(IdOf("[1, 1")) && Allows(&matcher, "]"));
  GrammarMatcher inside(
      Compile(R"({"type":"array","items":{"type":"integer"},"uniqueItems":true})"));
  Write(&inside, "[1, 2");
  EXPECT_FALSE(Allows(&inside, "1, 1") && inside.Accept(IdOf("1, 1")) && Allows(&inside, "]"));
}

TEST_F(UniqueItemsTest, RollbackForgetsItems) {
  GrammarMatcher matcher(Compile(kTexts));
  Write(&matcher, "[\"a\", \"b\"");
  matcher.Rollback(static_cast<int>(std::string("\"a\", \"b\"").size()));
  Write(&matcher, "\"b\", \"a\", \"b");
  EXPECT_FALSE(matcher.Accept('"'));
  matcher.Rollback(1);
  Write(&matcher, "c\"");
}

TEST_F(UniqueItemsTest, RollbackOfMoreTokensThanAreKept) {
  GrammarMatcher matcher(Compile(kTexts));
  Write(&matcher, "[\"a\", \"");
  Write(&matcher, std::string(400, 'x'));
  matcher.Rollback(400);
  Write(&matcher, "a");
  EXPECT_FALSE(matcher.Accept('"'));
  Write(&matcher, "x\"]");
}

TEST_F(UniqueItemsTest, AForkHasItsOwnItems) {
  GrammarMatcher matcher(Compile(kTexts));
  Write(&matcher, "[\"a\", ");
  GrammarMatcher fork = matcher.Fork();
  Write(&fork, "\"b\", \"a");
  Write(&matcher, "\"c\", \"b\"");
  EXPECT_FALSE(fork.Accept('"'));
  Write(&fork, "c\"]");
}

TEST_F(UniqueItemsTest, ForcedTextRepeatsNothing) {
  GrammarMatcher matcher(Compile(R"({"type":"array","uniqueItems":true,"items":{"type":"object",
      "properties":{"a":{"enum":["x"]},"b":{"type":"string"}},"required":["a"],
      "additionalProperties":false}})"));
  Write(&matcher, "[{\"a\": \"x\"}, ");
  while (true) {
    std::string forced = matcher.ForcedText();
    if (forced.empty()) break;
    Write(&matcher, forced);
  }
  EXPECT_FALSE(Allows(&matcher, "}"));
  Write(&matcher, ", \"b\": \"\"}");
}

// An item that could end only as an earlier one is not begun.
TEST_F(UniqueItemsTest, AnItemHasAWayOut) {
  GrammarMatcher digits(Compile(
      R"({"type":"array","items":{"type":"integer","minimum":0,"maximum":12},"uniqueItems":true})"));
  Write(&digits, "[3, 1, ");
  EXPECT_FALSE(Allows(&digits, "3"));
  EXPECT_TRUE(Allows(&digits, "1"));  // 10 may follow
  GrammarMatcher words(Compile(R"({"type":"array","items":{"type":"string","pattern":"^(foo|b+)$"},
      "uniqueItems":true})"));
  Write(&words, "[\"foo\", \"b\", \"");
  EXPECT_FALSE(Allows(&words, "f"));
  EXPECT_TRUE(Allows(&words, "b"));
}

TEST_F(UniqueItemsTest, WhereNoWayIsLeftTheMaskSaysSo) {
  GrammarMatcher matcher(Compile(
      R"({"type":"array","items":{"type":"string","pattern":"^[ab]$"},"uniqueItems":true})"));
  Write(&matcher, "[\"a\", \"b\", ");
  std::vector<int32_t> mask;
  Status status;
  while ((status = matcher.FillMask(&mask)).ok() && matcher.Accept('"')) {
  }
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
}

TEST_F(UniqueItemsTest, OtherListsMayRepeat) {
  GrammarMatcher matcher(Compile(R"({"type":"object","properties":{
      "u":{"type":"array","items":{"type":"string"},"uniqueItems":true},
      "v":{"type":"array","items":{"type":"string"}}},"additionalProperties":false})"));
  Write(&matcher, R"({"u": ["a", "b"], "v": ["a", "a"]})");
}

bool IsUnique(const Json& value) {
  std::set<std::string> seen;
  for (const Json& item : value.as_array()) {
    if (!seen.insert(TextOf(item)).second) return false;
  }
  return true;
}

// What the mask allows is accepted, at every step of random answers, whole ones hold to the schema,
// and drafts that are rolled back change nothing.
TEST_F(UniqueItemsTest, RandomAnswers) {
  const Grammar grammars[] = {
      Compile(kTexts), Compile(R"({"type":"array","uniqueItems":true})"),
      Compile(R"({"type":"array","items":{"enum":["a","aa",1,true,[1]]},"uniqueItems":true,
          "minItems":1})"),
      Compile(R"({"type":"array","uniqueItems":true,"items":{"type":"integer","minimum":0,
          "maximum":300}})")};
  for (uint32_t seed = 0; seed < 400; ++seed) {
    std::mt19937 random(seed);
    GrammarMatcher matcher(grammars[seed % std::size(grammars)]);
    std::string text;
    while (!matcher.finished() && text.size() < 80) {
      std::vector<int32_t> mask, again;
      ASSERT_TRUE(matcher.FillMask(&mask).ok()) << text;
      std::vector<int32_t> allowed;
      for (int32_t id = 0; id < words_.size; ++id) {
        bool is_in = static_cast<uint32_t>(mask[static_cast<size_t>(id / 32)]) >> (id % 32) & 1;
        bool is_likely = id >= kByteVocab ||
                         (id < 128 && std::string("[]{}\",: a1e0.").find(static_cast<char>(id)) !=
                                          std::string::npos);
        if (is_in && (is_likely || id == kEnd || random() % 16 == 0)) allowed.push_back(id);
      }
      if (allowed.empty()) continue;
      int32_t draft = allowed[random() % allowed.size()],
              token = allowed[random() % allowed.size()];
      ASSERT_TRUE(matcher.Accept(draft)) << text << " and " << draft;
      matcher.Rollback(1);
      ASSERT_TRUE(matcher.FillMask(&again).ok());
      ASSERT_EQ(mask, again) << text;
      ASSERT_TRUE(matcher.Accept(token)) << text << " and " << token;
      if (token != kEnd) text += words_.tokenizer->TokenBytes(token);
    }
    if (!matcher.finished()) continue;
    Result<Json> value = Json::Parse(text);
    ASSERT_TRUE(value.ok()) << text;
    EXPECT_TRUE(IsUnique(*value)) << text;
  }
}

}  // namespace
}  // namespace mlc
