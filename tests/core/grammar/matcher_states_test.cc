// A matcher that accepts, takes back and forks at random stands where a fresh one stands that
// accepted what is left. MLC_TEST_LONG=1 runs 10,000 sequences, CI a twentieth.
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>

#include "grammar/grammar.h"
#include "support/byte_tokenizer.h"

namespace mlc {
namespace {

using testing::kByteVocab;
using testing::kEnd;

std::vector<int32_t> MaskOf(GrammarMatcher* matcher) {
  std::vector<int32_t> mask;
  if (!matcher->finished()) EXPECT_TRUE(matcher->FillMask(&mask).ok());
  return mask;
}

std::vector<int32_t> AllowedBy(const std::vector<int32_t>& mask) {
  std::vector<int32_t> allowed;
  for (int32_t token = 0; token < kByteVocab && !mask.empty(); ++token) {
    auto word = static_cast<uint32_t>(mask[static_cast<size_t>(token / 32)]);
    if (word >> (token % 32) & 1) allowed.push_back(token);
  }
  return allowed;
}

struct Walker {
  GrammarMatcher matcher;
  std::vector<int32_t> tokens;
};

void ExpectAsFresh(const Grammar& grammar, Walker* walker) {
  GrammarMatcher fresh(grammar);
  for (int32_t token : walker->tokens) ASSERT_TRUE(fresh.Accept(token));
  ASSERT_EQ(fresh.finished(), walker->matcher.finished());
  ASSERT_EQ(MaskOf(&fresh), MaskOf(&walker->matcher));
  ASSERT_EQ(fresh.ForcedText(), walker->matcher.ForcedText());
}

void Step(std::mt19937* random, std::vector<Walker>* walkers) {
  Walker& walker = (*walkers)[(*random)() % walkers->size()];
  uint32_t what = (*random)() % 10;
  if (what < 7) {
    std::vector<int32_t> allowed = AllowedBy(MaskOf(&walker.matcher));
    if (allowed.empty()) return;
    int32_t token = allowed[(*random)() % allowed.size()];
    ASSERT_TRUE(walker.matcher.Accept(token));
    walker.tokens.push_back(token);
  } else if (what < 9) {
    size_t count =
        walker.tokens.empty() ? 0 : (*random)() % std::min<size_t>(walker.tokens.size() + 1, 8);
    walker.matcher.Rollback(static_cast<int>(count));
    walker.tokens.resize(walker.tokens.size() - count);
  } else if (walkers->size() < 4) {
    walkers->push_back({walker.matcher.Fork(), walker.tokens});
  }
}

TEST(GrammarMatcher, StandsWhereAFreshOneStands) {
  GrammarCompiler compiler(*testing::ByteTokenizer(), kByteVocab, {kEnd});
  const Result<Grammar> formats[] = {
      compiler.CompileJsonObject(),
      compiler.CompileJsonSchema(
          R"({"$ref": "#/$defs/n", "$defs": {"n": {"type": "object", "properties": {
               "v": {"type": "number", "minimum": -2.5}, "s": {"type": "string", "maxLength": 5},
               "k": {"type": "array", "items": {"$ref": "#/$defs/n"}}}, "required": ["v"]}}})"),
      compiler.CompileRegex("(a|ab|[x-z]{1,3}\\d?)+(yes|no)"),
      compiler.CompileEbnf("root ::= \"(\" root \")\" root | \"\" | [a-c]+ \";\""),
      compiler.CompileEbnf(
          "root ::= \"<\" few (\",\" few)* \">\"\nfew[max_chars=4] ::= [a-c\u00E9]*"),
      compiler.CompileStructuralTag(
          R"({"type": "structural_tag", "format": {"type": "triggered_tags", "triggers": ["<f"],
              "tags": [{"type": "tag", "begin": "<f>", "end": "</f>", "content":
                {"type": "json_schema", "json_schema": {"type": "integer"}}}]}})"),
  };
  int sequences = std::getenv("MLC_TEST_LONG") != nullptr ? 10000 : 500;
  for (int i = 0; i < sequences; ++i) {
    const Result<Grammar>& grammar = formats[i % 6];
    ASSERT_TRUE(grammar.ok()) << grammar.status().message();
    std::mt19937 random(static_cast<uint32_t>(i));
    std::vector<Walker> walkers;
    walkers.push_back({GrammarMatcher(*grammar), {}});
    for (int step = 0; step < 40; ++step) Step(&random, &walkers);
    for (Walker& walker : walkers) ExpectAsFresh(*grammar, &walker);
  }
}

}  // namespace
}  // namespace mlc
