#include "grammar/grammar.h"

#include <gtest/gtest.h>

#include <random>
#include <thread>

#include "base/json.h"
#include "base/utf8.h"
#include "support/byte_tokenizer.h"

namespace mlc {
namespace {

using testing::kByteVocab;
using testing::kEnd;

GrammarCompiler ByteCompiler(std::vector<int32_t> stop_tokens = {kEnd}) {
  return GrammarCompiler(*testing::ByteTokenizer(), kByteVocab, stop_tokens);
}

bool Allows(const std::vector<int32_t>& mask, int32_t token) {
  return (static_cast<uint32_t>(mask[token / 32]) >> (token % 32) & 1) != 0;
}

bool AllowsNext(GrammarMatcher* matcher, int32_t token) {
  std::vector<int32_t> mask;
  EXPECT_TRUE(matcher->FillMask(&mask).ok());
  EXPECT_EQ(mask.size(), static_cast<size_t>((kByteVocab + 31) / 32));
  return Allows(mask, token);
}

// Whether every byte of the text is allowed and accepted, and the end after it.
bool Matches(const Grammar& grammar, const std::string& text) {
  GrammarMatcher matcher(grammar);
  for (int32_t token : testing::Bytes(text)) {
    if (!AllowsNext(&matcher, token)) return false;
    EXPECT_TRUE(matcher.Accept(token));
  }
  return AllowsNext(&matcher, kEnd);
}

// Takes tokens at random among those allowed until the end; the text.
std::string RandomText(const Grammar& grammar, uint32_t seed, int max_tokens) {
  std::mt19937 random(seed);
  GrammarMatcher matcher(grammar);
  std::string text;
  for (int i = 0; i < max_tokens; ++i) {
    std::vector<int32_t> mask, allowed;
    EXPECT_TRUE(matcher.FillMask(&mask).ok());
    for (int32_t token = 0; token < kByteVocab; ++token) {
      if (Allows(mask, token)) allowed.push_back(token);
    }
    EXPECT_FALSE(allowed.empty()) << text;
    if (allowed.empty()) break;
    // Closing is likelier than it would be, so that texts end.
    int32_t token = allowed[random() % allowed.size()];
    for (int32_t closer : {int32_t{'}'}, int32_t{']'}, int32_t{'"'}, kEnd}) {
      if (random() % 3 == 0 && Allows(mask, closer)) token = closer;
    }
    EXPECT_TRUE(matcher.Accept(token));
    if (token == kEnd) return text;
    text.push_back(static_cast<char>(token));
  }
  return "";
}

TEST(Grammar, ASchemaAdmitsWhatItSays) {
  GrammarCompiler compiler = ByteCompiler();
  Result<Grammar> grammar = compiler.CompileJsonSchema(
      R"({"type": "object", "properties": {"city": {"type": "string"}, "n": {"type": "integer"}},
          "required": ["city"], "additionalProperties": false})");
  ASSERT_TRUE(grammar.ok()) << grammar.status().message();
  for (const char* text : {R"({"city": "Rome"})", R"({"city": "x", "n": -3})"}) {
    EXPECT_TRUE(Matches(*grammar, text)) << text;
  }
  for (const char* text : {"{}", R"({"n": 1})", R"({"city": 3})", R"({"city": "x", "n": 1.5})",
                           R"({"city": "x", "z": 1})", "[]", "", "x"}) {
    EXPECT_FALSE(Matches(*grammar, text)) << text;
  }
}

// A reader's rounding must not carry a number over a bound.
TEST(Grammar, NumbersHaveNoMoreDigitsThanAReaderKeeps) {
  GrammarCompiler compiler = ByteCompiler();
  Grammar grammar = *compiler.CompileJsonSchema(
      R"({"type": "number", "exclusiveMinimum": -1000, "exclusiveMaximum": 1000.25})");
  for (const char* text : {"-999.99999999999", "0.5", "1000.24999999999", "1000"}) {
    EXPECT_TRUE(Matches(grammar, text)) << text;
  }
  for (const char* text : {"-999.999999999999997", "1000.2499999999999999", "1000.25", "-1000"}) {
    EXPECT_FALSE(Matches(grammar, text)) << text;
  }
}

TEST(Grammar, AnyJsonObject) {
  GrammarCompiler compiler = ByteCompiler();
  Result<Grammar> grammar = compiler.CompileJsonObject();
  ASSERT_TRUE(grammar.ok());
  for (const char* text : {"{}", R"({"a": [1, {"b": null}], "c": "\u00e9 é"})"}) {
    EXPECT_TRUE(Matches(*grammar, text)) << text;
  }
  for (const char* text : {"[]", "1", "\"x\"", "{", R"({"a"})", R"({"a": 01})"}) {
    EXPECT_FALSE(Matches(*grammar, text)) << text;
  }
}

struct FormatCase {
  Result<Grammar> grammar;
  std::vector<std::string> yes, no;
};

TEST(Grammar, TheOtherFormats) {
  GrammarCompiler compiler = ByteCompiler();
  const FormatCase cases[] = {
      {compiler.CompileRegex("\\d{3}-[a-c]+"),
       {"123-abc", "000-a"},
       {"12-a", "123-", "123-ad", ""}},
      {compiler.CompileEbnf("root ::= \"a\" root \"b\" | \"\""),
       {"", "ab", "aabb"},
       {"a", "ba", "abb"}},
      {compiler.CompileStructuralTag(
           R"({"type": "structural_tag", "format": {"type": "triggered_tags", "triggers": ["<f"],
               "tags": [{"type": "tag", "begin": "<f>", "end": "</f>", "content":
                 {"type": "json_schema", "json_schema": {"type": "integer"}}}]}})"),
       {"", "free < text", "x<f>12</f>y", "<f>1</f><f>2</f>"},
       {"<f", "<f>a</f>", "<f>1"}},
  };
  for (const FormatCase& format : cases) {
    ASSERT_TRUE(format.grammar.ok()) << format.grammar.status().message();
    for (const std::string& text : format.yes) EXPECT_TRUE(Matches(*format.grammar, text)) << text;
    for (const std::string& text : format.no) EXPECT_FALSE(Matches(*format.grammar, text)) << text;
  }
}

TEST(Grammar, WhateverIsAllowedIsJson) {
  GrammarCompiler compiler = ByteCompiler();
  Result<Grammar> grammar = compiler.CompileJsonObject();
  ASSERT_TRUE(grammar.ok());
  int complete = 0;
  for (uint32_t seed = 0; seed < 40; ++seed) {
    std::string text = RandomText(*grammar, seed, 300);
    if (text.empty()) continue;
    ++complete;
    // The grammar admits encoded surrogates, which the decoder replaces.
    Result<Json> json = Json::Parse(RepairUtf8(text));
    ASSERT_TRUE(json.ok()) << json.status().message() << ": " << text;
    EXPECT_TRUE(json->is_object()) << text;
  }
  EXPECT_GT(complete, 20);
}

TEST(GrammarMatcher, ARefusedTokenChangesNothing) {
  GrammarCompiler compiler = ByteCompiler();
  Grammar grammar = *compiler.CompileJsonObject();
  GrammarMatcher matcher(grammar);
  for (int32_t token : {int32_t{'x'}, kEnd, kEnd + 1, -1, kByteVocab, INT32_MAX}) {
    EXPECT_FALSE(matcher.Accept(token)) << token;
  }
  EXPECT_TRUE(matcher.Accept('{'));
  EXPECT_TRUE(matcher.Accept('}'));
  EXPECT_FALSE(matcher.finished());
  EXPECT_FALSE(AllowsNext(&matcher, '{'));
  EXPECT_FALSE(AllowsNext(&matcher, kEnd + 1)) << "a special token that stops nothing";
  EXPECT_TRUE(matcher.Accept(kEnd));
  EXPECT_TRUE(matcher.finished());
  EXPECT_FALSE(matcher.Accept(kEnd));
  EXPECT_FALSE(matcher.Accept('{'));
}

TEST(GrammarMatcher, AskedAfterTheEndItFailsWithAStatus) {
  GrammarCompiler compiler = ByteCompiler();
  GrammarMatcher matcher(*compiler.CompileJsonObject());
  for (int32_t token : {int32_t{'{'}, int32_t{'}'}, kEnd}) ASSERT_TRUE(matcher.Accept(token));
  std::vector<int32_t> mask;
  EXPECT_EQ(matcher.FillMask(&mask).code(), StatusCode::kInternal);
}

TEST(GrammarMatcher, WithoutAStopTokenACompleteTextIsTheEnd) {
  GrammarCompiler compiler = ByteCompiler({});
  GrammarMatcher matcher(*compiler.CompileJsonObject());
  EXPECT_TRUE(matcher.Accept('{'));
  EXPECT_FALSE(matcher.finished());
  EXPECT_TRUE(matcher.Accept('}'));
  EXPECT_TRUE(matcher.finished());
  Grammar nothing = *compiler.CompileEbnf("root ::= \"\"");
  ASSERT_TRUE(nothing.Prepare().ok());
  EXPECT_TRUE(GrammarMatcher(nothing).finished());
}

TEST(GrammarCompiler, AStopTokenOutsideTheVocabularyIsIgnored) {
  GrammarCompiler compiler = ByteCompiler({-1, kEnd, kByteVocab, INT32_MAX});
  EXPECT_TRUE(Matches(*compiler.CompileJsonObject(), "{}"));
}

TEST(GrammarCompiler, AVocabularyWiderThanTheTokenizerIsPadded) {
  GrammarCompiler compiler(*testing::ByteTokenizer(), kByteVocab + 100, {kEnd});
  GrammarMatcher matcher(*compiler.CompileJsonObject());
  std::vector<int32_t> mask;
  ASSERT_TRUE(matcher.FillMask(&mask).ok());
  ASSERT_EQ(mask.size(), static_cast<size_t>((kByteVocab + 100 + 31) / 32));
  for (int32_t token = kByteVocab; token < kByteVocab + 100; ++token) {
    EXPECT_FALSE(Allows(mask, token)) << token;
  }
}

TEST(GrammarCompiler, WhatCannotBeEnforcedIsRefused) {
  GrammarCompiler compiler = ByteCompiler();
  for (const char* schema : {"", "{", "[]", "3", "\"object\"", R"({"type": "thing"})",
                             R"({"type": 3})", R"({"properties": []})",
                             R"({"type": "string", "pattern": "("})", R"({"$ref": "#/nowhere"})"}) {
    Result<Grammar> grammar = compiler.CompileJsonSchema(schema);
    ASSERT_FALSE(grammar.ok()) << schema;
    EXPECT_EQ(grammar.status().code(), StatusCode::kInvalidArgument) << schema;
  }
}

TEST(GrammarCompiler, AFaultQuotesNoHalfCharacter) {
  GrammarCompiler compiler = ByteCompiler();
  // As Schemathesis drew it: four bytes a character, where the library quotes a single one.
  Result<Grammar> grammar = compiler.CompileEbnf(u8"\U0001130E\u0094\u00E8\u00F5E=Al\U000A04BE.");
  ASSERT_FALSE(grammar.ok());
  EXPECT_TRUE(IsValidUtf8(grammar.status().message())) << grammar.status().message();
}

// Each of these would take the compiler minutes, or the stack.
TEST(GrammarCompiler, WhatIsTooLargeIsRefused) {
  std::string groups(50000, '('), ends(50000, ')'), arrays, escaped;
  for (int i = 0; i < 200; ++i) arrays += R"({"type": "array", "items": )";
  for (int i = 0; i < 5000; ++i) escaped += "\\u0028";
  GrammarCompiler compiler = ByteCompiler();
  for (const std::string& schema :
       {R"({"type": "string", "pattern": ")" + groups + "a" + ends + "\"}",
        R"({"type": "string", "pattern": ")" + escaped + "\"}",
        R"({"patternProperties": {")" + std::string(1000, '(') + R"(": {}}})",
        "{\"enum\": [\"" + std::string(2 << 20, 'x') + "\"]}",
        arrays + "{}" + std::string(200, '}')}) {
    Result<Grammar> grammar = compiler.CompileJsonSchema(schema);
    ASSERT_FALSE(grammar.ok()) << schema.substr(0, 60);
    EXPECT_EQ(grammar.status().code(), StatusCode::kInvalidArgument);
    EXPECT_LT(grammar.status().message().size(), 400u);
  }
  std::string nested = std::string(50, '(') + "a" + std::string(50, ')');
  EXPECT_TRUE(
      compiler.CompileJsonSchema(R"({"type": "string", "pattern": ")" + nested + "\"}").ok());
}

TEST(GrammarCompiler, ManyThreadsAtOnce) {
  GrammarCompiler compiler = ByteCompiler();
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&compiler, t] {
      for (int i = 0; i < 4; ++i) {
        std::string key(1, static_cast<char>('a' + (t + i) % 3));
        Result<Grammar> grammar =
            compiler.CompileJsonSchema(R"({"type": "object", "properties": {")" + key +
                                       R"(": {"type": "null"}}, "required": [")" + key +
                                       R"("], "additionalProperties": false})");
        ASSERT_TRUE(grammar.ok()) << grammar.status().message();
        EXPECT_TRUE(Matches(*grammar, "{\"" + key + "\": null}"));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(GrammarMatcher, CountsTheCharactersOfLongTexts) {
  GrammarCompiler compiler = ByteCompiler();
  std::string many = R"({"type": "string", "minLength": 70, "maxLength": 100})";
  Grammar list = *compiler.CompileJsonSchema("{\"items\": " + many + ", \"type\": \"array\"}");
  auto quoted = [](int ascii, int others) {
    std::string text = "\"" + std::string(static_cast<size_t>(ascii), 'a');
    for (int i = 0; i < others; ++i) text += "\u65e5";
    return text + "\"";
  };
  EXPECT_TRUE(Matches(list, "[" + quoted(70, 0) + ", " + quoted(100, 0) + "]"));
  EXPECT_TRUE(Matches(list, "[" + quoted(0, 100) + ", " + quoted(30, 40) + "]"));
  for (std::string wrong : {quoted(69, 0), quoted(101, 0), quoted(0, 101), quoted(60, 41)}) {
    EXPECT_FALSE(Matches(list, "[" + wrong + "]")) << wrong;
    EXPECT_FALSE(Matches(list, "[" + quoted(80, 0) + ", " + wrong + "]")) << wrong;
  }
}

}  // namespace
}  // namespace mlc
