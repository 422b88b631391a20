// Sources that would take a compiler for ever end in bounded time, with a grammar or a refusal.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>

#include "grammar/grammar.h"
#include "support/byte_tokenizer.h"

namespace mlc {
namespace {

using testing::kByteVocab;
using testing::kEnd;

std::string Repeated(const std::string& text, int count) {
  std::string out;
  for (int i = 0; i < count; ++i) out += text;
  return out;
}

std::string Listed(int count, const std::function<std::string(int)>& item) {
  std::string out;
  for (int i = 0; i < count; ++i) out += (i > 0 ? "," : "") + item(i);
  return out;
}

std::string Named(int i) { return "\"field" + std::to_string(i) + "\""; }

struct Case {
  const char* name;
  std::function<Result<Grammar>(GrammarCompiler*)> compile;
  bool is_refused;
};

Case Schema(const char* name, std::string text, bool is_refused) {
  return {name, [text](GrammarCompiler* c) { return c->CompileJsonSchema(text); }, is_refused};
}
Case Regex(const char* name, std::string text, bool is_refused) {
  return {name, [text](GrammarCompiler* c) { return c->CompileRegex(text); }, is_refused};
}
Case Ebnf(const char* name, std::string text, bool is_refused) {
  return {name, [text](GrammarCompiler* c) { return c->CompileEbnf(text); }, is_refused};
}

std::vector<Case> Cases() {
  std::string members = Listed(10000, [](int i) { return Named(i) + ":{\"type\":\"integer\"}"; });
  std::string refs = Listed(300, [](int i) {
    return "\"d" + std::to_string(i) + "\":{\"$ref\":\"#/$defs/d" + std::to_string(i + 1) + "\"}";
  });
  std::string doubling = Listed(40, [](int i) {
    std::string next = "{\"$ref\":\"#/$defs/d" + std::to_string(i + 1) + "\"}";
    return "\"d" + std::to_string(i) + "\":{\"anyOf\":[" + next + "," + next +
           "],\"properties\":{\"p" + std::to_string(i) + "\":{}}}";
  });
  return {
      Schema("enum of 10,000", "{\"enum\":[" + Listed(10000, Named) + "]}", false),
      Schema("depth 200", Repeated("{\"items\":", 200) + "{}" + Repeated("}", 200), true),
      Schema("depth 60", Repeated("{\"items\":", 60) + "{}" + Repeated("}", 60), false),
      Schema("2 MB", "{\"description\":\"" + std::string(2 << 20, 'x') + "\"}", true),
      Schema("10,000 optional members", "{\"properties\":{" + members + "}}", true),
      Schema("recursion without a base",
             R"({"type":"object","properties":{"a":{"$ref":"#"}},"required":["a"]})", true),
      Schema("a circle of references",
             R"({"$ref":"#/$defs/a","$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}}})",
             true),
      Schema("a long chain of references",
             "{\"$ref\":\"#/$defs/d0\",\"$defs\":{" + refs + ",\"d300\":{}}}", true),
      Schema("doubling alternatives",
             "{\"$ref\":\"#/$defs/d0\",\"$defs\":{" + doubling +
                 ",\"d40\":{\"properties\":{\"a\":{}}}}}",
             false),
      Schema("a joined circle",
             R"({"properties":{"c":{"allOf":[{"$ref":"#"},{"properties":{"c":{}}}]}}})", false),
      Schema("many empty parts in patterns",
             "{\"properties\":{" +
                 Listed(60,
                        [](int i) {
                          return Named(i) + ":{\"pattern\":\"^" + Repeated("[a-z]?", 30) + "$\"}";
                        }) +
                 "}}",
             false),
      Schema("maxLength of a million", R"({"type":"string","maxLength":1000000})", false),
      Regex("exponential", "(a?){50}a{50}", false),
      Regex("stars in stars", "((a*)*)*b", false),
      Regex("overlapping words", "(a|aa|aaa)+(b|bb)+c", false),
      Regex("repeated 100,000 times", "a{1,100000}", true),
      Regex("repetitions of repetitions", "((((a{1,10}){1,10}){1,10}){1,10}){1,10}", true),
      Regex("optional classes in a row", Repeated("[a-z]?", 300), true),
      Regex("nested groups", std::string(1000, '(') + "a" + std::string(1000, ')'), true),
      Ebnf("left recursion", "root ::= root \"a\" | \"a\"", false),
      Ebnf("an undefined rule", "root ::= nothing", true),
      Ebnf("no root", "x ::= \"a\"", true),
      Ebnf("an open text", "root ::= \"abc", true),
      Ebnf("a huge repetition", "root ::= \"a\"{1,100000}", false),
      Ebnf("an endless repetition count", "root ::= \"a\"{1,999999999999999999999}", true),
      Ebnf("optional texts in a row", "root ::= " + Repeated("\"a\"? ", 3000), true),
      Ebnf(
          "rules that double",
          "root ::= r0\n" +
              [] {
                std::string rules;
                for (int i = 0; i < 30; ++i) {
                  std::string next = " r" + std::to_string(i + 1);
                  rules += "r" + std::to_string(i) + " ::=" + next + next + "\n";
                }
                return rules + "r30 ::= \"z\" | \"\"\n";
              }(),
          false),
      Ebnf("nested groups", "root ::= " + std::string(5000, '(') + "\"a\"" + std::string(5000, ')'),
           true),
  };
}

TEST(GrammarCompiler, PathologicalSourcesEndInTime) {
  for (const Case& c : Cases()) {
    GrammarCompiler compiler(*testing::ByteTokenizer(), kByteVocab, {kEnd});
    auto begin = std::chrono::steady_clock::now();
    Result<Grammar> grammar = c.compile(&compiler);
    Status status = grammar.ok() ? grammar->Prepare() : grammar.status();
    std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
    EXPECT_EQ(!status.ok(), c.is_refused) << c.name << ": " << status.message();
    if (!status.ok()) {
      EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << c.name;
      EXPECT_LT(status.message().size(), 2000u) << c.name;
    }
    EXPECT_LT(seconds.count(), 600) << c.name;  // a second, but on a busy machine under sanitizers
  }
}

// As large as those of current models: words of three syllables behind a space or not.
std::unique_ptr<Tokenizer> LargeTokenizer(int vocab_size) {
  constexpr const char* kSyllables = "bacedifoguhajekilomunaperisotuvawexiyozu";
  constexpr int kCount = 20;
  std::vector<std::string> words;
  for (int i = 0; kByteVocab + static_cast<int>(words.size()) < vocab_size; ++i) {
    std::string word = i % 2 == 0 ? " " : "";
    for (int rest = i / 2 + kCount; rest > 0; rest /= kCount) {
      word += std::string(kSyllables + rest % kCount * 2, 2);
    }
    words.push_back(std::move(word));
  }
  return std::move(Tokenizer::FromJson(testing::ByteTokenizerJson(words))).value();
}

constexpr int kLargeVocab = 128256;

// Describing its vocabulary takes as long as a test.
GrammarCompiler& LargeCompiler() {
  static const std::unique_ptr<Tokenizer> tokenizer = LargeTokenizer(kLargeVocab);
  static GrammarCompiler compiler(*tokenizer, kLargeVocab, {kEnd});
  return compiler;
}

// A regular expression whose parts are alike for long.
std::string AlikeParts() {
  std::string regex;
  for (int i = 1; i <= 100; ++i) {
    regex += (i > 1 ? "|[a-z]{1," : "[a-z]{1,") + std::to_string(i) + "}x" + std::to_string(i);
  }
  return regex;
}

TEST(GrammarCompiler, RefusesWhatWouldTakeTooLongForALargeVocabulary) {
  GrammarCompiler& compiler = LargeCompiler();
  Grammar usual = *compiler.CompileJsonSchema(
      R"({"properties": {"a": {"type": "string", "maxLength": 20}, "b": {"type": "number"},
          "c": {"type": "string", "maxLength": 2000}, "d": {"enum": ["x", "y", 1]}}})");
  EXPECT_TRUE(usual.Prepare().ok()) << usual.Prepare().message();
  std::string regex = AlikeParts();
  Status status = compiler.CompileRegex(regex)->Prepare();
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_NE(status.message().find("vocabulary of 128256 tokens"), std::string::npos)
      << status.message();
  GrammarCompiler small(*testing::ByteTokenizer(), kByteVocab, {kEnd});
  EXPECT_TRUE(small.CompileRegex(regex)->Prepare().ok()) << "it is the vocabulary that decides";
}

// The first letters take all the work that is done ahead.
TEST(GrammarMatcher, MasksAreMadeWhenTheyAreNeeded) {
  constexpr int kLetters = 50;
  GrammarCompiler& compiler = LargeCompiler();
  auto bytes_after = [](const Grammar& grammar) {
    GrammarMatcher matcher(grammar);
    std::vector<int32_t> mask;
    for (int i = 0; i < kLetters; ++i) {
      EXPECT_TRUE(matcher.FillMask(&mask).ok());
      EXPECT_TRUE(matcher.Accept('a'));
    }
    return grammar.memory_bytes();
  };
  Grammar large = *compiler.CompileRegex(Repeated("[a-z ]", kLetters) + "[a-z]");
  ASSERT_TRUE(large.Prepare().ok()) << large.Prepare().message();
  int64_t bytes = large.memory_bytes(), all = bytes_after(large);
  EXPECT_GT(all, bytes);
  EXPECT_EQ(bytes_after(large), all) << "a mask is made once";
  EXPECT_GE(compiler.stats().kept_bytes, all);
}

// They begin alike and end alike, and each state is made once. With a state for each byte this is
// refused.
TEST(GrammarMatcher, LongListsOfValuesTakeFewStates) {
  constexpr int kValues = 30'000;
  GrammarCompiler compiler(*testing::ByteTokenizer(), kByteVocab, {kEnd});
  Grammar grammar = *compiler.CompileJsonSchema("{\"enum\":[" + Listed(kValues, Named) + "]}");
  ASSERT_TRUE(grammar.Prepare().ok()) << grammar.Prepare().message();
  for (int i : {0, 29, 29'999, kValues}) {
    GrammarMatcher matcher(grammar);
    bool is_taken = true;
    for (char c : Named(i)) is_taken = is_taken && matcher.Accept(static_cast<uint8_t>(c));
    EXPECT_EQ(is_taken, i < kValues) << i;
  }
}

TEST(GrammarMatcher, RefusesAMaskThatWouldTakeTooLong) {
  constexpr int kLetters = 50;
  GrammarCompiler& compiler = LargeCompiler();
  Grammar grammar = *compiler.CompileRegex(Repeated("[a-z ]", kLetters) + "(" + AlikeParts() + ")");
  ASSERT_TRUE(grammar.Prepare().ok()) << grammar.Prepare().message();
  GrammarMatcher matcher(grammar);
  for (int i = 0; i < kLetters; ++i) ASSERT_TRUE(matcher.Accept('a'));
  std::vector<int32_t> mask;
  Status status = matcher.FillMask(&mask);
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_NE(status.message().find("fewer alternatives"), std::string::npos) << status.message();
}

// No mask of this format can be kept: what may follow depends on the groups that are open.
TEST(GrammarMatcher, SlowMasksDoNotEndAnAnswer) {
  constexpr int kVocab = 30000;
  std::unique_ptr<Tokenizer> tokenizer = LargeTokenizer(kVocab);
  GrammarCompiler compiler(*tokenizer, kVocab, {kEnd});
  GrammarMatcher matcher(*compiler.CompileJsonSchema(R"({"type": "string", "format": "regex"})"));
  std::vector<int32_t> mask;
  for (char letter : std::string("\"abcdefghij\"")) {
    Status status = matcher.FillMask(&mask);
    ASSERT_TRUE(status.ok()) << letter << ": " << status.message();
    ASSERT_TRUE(matcher.Accept(letter));
  }
}

TEST(GrammarMatcher, FindsForcedTextInPieces) {
  GrammarCompiler compiler(*testing::ByteTokenizer(), kByteVocab, {kEnd});
  GrammarMatcher matcher(*compiler.CompileEbnf("root ::= \"ab\" root"));
  ASSERT_TRUE(matcher.Accept('a'));
  EXPECT_EQ(matcher.ForcedText(), "b" + Repeated("ab", 31) + "a");
  EXPECT_TRUE(matcher.Accept('b')) << "it stands where it stood";
  std::string text(200, 'x');
  GrammarMatcher whole(*compiler.CompileJsonSchema("{\"const\":\"" + text + "\"}"));
  text = "\"" + text + "\"";
  for (size_t at = 0; at < text.size();) {
    std::string piece = whole.ForcedText();
    ASSERT_EQ(piece, text.substr(at, 64));
    for (char byte : piece) ASSERT_TRUE(whole.Accept(byte));
    at += piece.size();
  }
}

TEST(GrammarCompiler, StopsWhenItIsCancelled) {
  GrammarCompiler compiler(*testing::ByteTokenizer(), kByteVocab, {kEnd});
  Grammar grammar = *compiler.CompileJsonSchema(R"({"type":"integer"})");
  std::atomic<bool> is_cancelled{true};
  EXPECT_EQ(grammar.Prepare(&is_cancelled).code(), StatusCode::kCancelled);
  EXPECT_FALSE(grammar.ready());
  EXPECT_TRUE(grammar.Prepare().ok()) << "another request may still want it";
  EXPECT_TRUE(grammar.ready());
}

// Each step is affordable, and there is no end of them.
TEST(GrammarMatcher, AllStepsOfAnAnswerAreBoundedTogether) {
  GrammarCompiler compiler(*testing::ByteTokenizer(), kByteVocab, {kEnd});
  GrammarMatcher matcher(*compiler.CompileEbnf("root ::= root root | \"a\""));
  std::vector<int32_t> mask;
  int steps = 0;
  while (steps < 2000 && matcher.FillMask(&mask).ok() && matcher.Accept('a')) ++steps;
  EXPECT_GT(steps, 100);
  EXPECT_LT(steps, 2000);
  Status status = matcher.FillMask(&mask);
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_NE(status.message().find("takes too long"), std::string::npos) << status.message();
  EXPECT_FALSE(matcher.Accept('a'));
  EXPECT_EQ(matcher.ForcedText(), "");
  matcher.Rollback(1);
  EXPECT_FALSE(matcher.Fork().FillMask(&mask).ok());
}

TEST(GrammarMatcher, AGrammarThatLeadsNowhereIsAnErrorOfItsField) {
  GrammarCompiler compiler(*testing::ByteTokenizer(), kByteVocab, {kEnd});
  Status status = compiler.CompileEbnf("root ::= root")->For("the field").Prepare();
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(status.param(), "the field");
  GrammarMatcher matcher(compiler.CompileEbnf("root ::= \"a\" b\nb ::= b")->For("the field"));
  EXPECT_TRUE(matcher.Accept('a'));
  GrammarMatcher fork = matcher.Fork();
  for (GrammarMatcher* one : {&matcher, &fork}) {
    std::vector<int32_t> mask;
    status = one->FillMask(&mask);
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
    EXPECT_EQ(status.param(), "the field");
  }
}

TEST(GrammarCompiler, WhatWasCompiledIsKept) {
  GrammarCompiler compiler(*testing::ByteTokenizer(), kByteVocab, {kEnd});
  for (int i = 0; i < 3; ++i) {
    Grammar grammar = *compiler.CompileJsonSchema(R"({"type":"integer"})");
    EXPECT_EQ(grammar.ready(), i > 0);
    ASSERT_TRUE(grammar.Prepare().ok());
  }
  GrammarCompiler::Stats stats = compiler.stats();
  EXPECT_EQ(stats.compiled, 1);
  EXPECT_EQ(stats.found, 2);
  EXPECT_EQ(stats.kept, 1);
  EXPECT_GT(stats.kept_bytes, 0);
  EXPECT_FALSE(
      compiler.CompileStructuralTag(R"({"type": "structural_tag", "format": {"type": "nothing"}})")
          ->Prepare()
          .ok());
  EXPECT_EQ(compiler.stats().kept, 1) << "failures are not kept";
}

// Grammars that only check a part of a request are not compiled, nor those of requests that are
// refused.
TEST(GrammarCompiler, OfWhatNobodyCompilesLittleIsKept) {
  GrammarCompiler compiler(*testing::ByteTokenizer(), kByteVocab, {kEnd});
  auto read = [&](int i) {
    return *compiler.CompileJsonSchema("{\"const\":" + std::to_string(i) + ",\"description\":\"" +
                                       std::string(100'000, 'x') + "\"}");
  };
  Grammar held = read(-1);
  ASSERT_TRUE(read(-2).Prepare().ok());
  for (int i = 0; i < 200; ++i) read(i);
  EXPECT_LT(compiler.stats().kept, 100);
  ASSERT_TRUE(held.Prepare().ok());
  EXPECT_TRUE(read(-1).ready() && read(-2).ready());
  int64_t found = compiler.stats().found;
  for (int i = 190; i < 200; ++i) read(i);
  EXPECT_EQ(compiler.stats().found, found + 10) << "the last ones are not read again";
}

TEST(GrammarCompiler, TheLongestUnusedGrammarsGoFirst) {
  GrammarCompiler compiler(*testing::ByteTokenizer(), kByteVocab, {kEnd});
  auto schema = [](int i) {
    return "{\"enum\":[" + Listed(2000, [i](int k) { return Named(k * 1000 + i); }) + "]}";
  };
  Grammar kept = *compiler.CompileJsonSchema(R"({"type":"integer"})");
  ASSERT_TRUE(kept.Prepare().ok());
  for (int i = 0; i < 40 && compiler.stats().kept == i + 1; ++i) {
    ASSERT_TRUE(compiler.CompileJsonSchema(schema(i))->Prepare().ok());
  }
  EXPECT_LE(compiler.stats().kept_bytes, 64 << 20);
  EXPECT_GT(compiler.stats().kept, 1);
}

}  // namespace
}  // namespace mlc
