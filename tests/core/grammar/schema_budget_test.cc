// Schemas that would take seconds to read are read in part, or refused: the outcome is the same on
// every machine, as work is counted and not timed.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "grammar/grammar.h"
#include "grammar/text/automaton.h"
#include "grammar/text/work_budget.h"
#include "support/byte_tokenizer.h"

namespace mlc {
namespace {

using testing::kByteVocab;
using testing::kEnd;

std::string Listed(int count, const std::function<std::string(int)>& item) {
  std::string out;
  for (int i = 0; i < count; ++i) out += (i > 0 ? "," : "") + item(i);
  return out;
}

std::string Members(int count, const std::function<std::string(int)>& schema) {
  return "{\"type\":\"object\",\"properties\":{" +
         Listed(count, [&](int i) { return "\"p" + std::to_string(i) + "\":" + schema(i); }) + "}}";
}

std::string Pattern(const std::string& pattern) {
  return "{\"type\":\"string\",\"pattern\":\"" + pattern + "\"}";
}

// Each needs a state for all that its last nine letters were.
std::string Hard(int i) {
  return Pattern("(a|b)*" + std::string(1, static_cast<char>('a' + i % 26)) + "(a|b|" +
                 std::to_string(i) + "){9}$");
}

std::string DeepOneOf(int depth) {
  std::string schema = R"({"type":"string"})";
  for (int i = 0; i < depth; ++i) {
    std::string name = "a" + std::to_string(i);
    schema = "{\"oneOf\":[" + schema + R"(,{"type":"object","properties":{")" + name +
             "\":" + Pattern("(a|b)*a(a|b|" + std::to_string(i) + "){6}") + "}}]}";
  }
  return schema;
}

Result<Grammar> Read(const std::string& schema, Strictness strictness) {
  GrammarCompiler compiler(*testing::ByteTokenizer(), kByteVocab, {kEnd});
  return compiler.CompileJsonSchema(schema, strictness);
}

// Each asks twice for the next one.
std::string Doubled(int times, const std::string& open, const std::string& close) {
  return "{\"$defs\":{" +
         Listed(times,
                [&](int i) {
                  std::string next = "{\"$ref\":\"#/$defs/d" + std::to_string(i + 1) + "\"}";
                  return "\"d" + std::to_string(i) + "\":" + open + next + "," + next + close;
                }) +
         ",\"d" + std::to_string(times) + R"(":{"type":"object"}},"$ref":"#/$defs/d0"})";
}

struct Case {
  const char* name;
  std::string schema;
  const char* path;  // of the first keyword that is left out; null where all is enforced
  size_t least_warnings;
};

std::vector<Case> Cases() {
  std::string letters = "\\\\w{1,200}";
  std::string classes = Listed(120, [](int i) {
    return "[a-" + std::string(1, static_cast<char>('b' + i % 24)) + "]{1," +
           std::to_string(i % 30 + 1) + "}" + std::to_string(i);
  });
  std::replace(classes.begin(), classes.end(), ',', '|');
  std::string exclusive = Listed(150, [](int i) {
    std::string values = Listed(900, [i](int value) { return std::to_string(i * 300 + value); });
    return "{\"type\":\"object\",\"properties\":{\"k\":{\"enum\":[" + values +
           "]}},\"required\":[\"k\"]}";
  });
  std::string numbers = Listed(10000, [](int i) { return std::to_string(i); });
  return {
      {"nested repeats", Pattern("((a|ab){1,20}(b|ba){1,20}){1,12}$"), "/pattern", 1},
      {"500 hard patterns", Members(500, Hard), "/properties/p0/pattern", 40},
      {"500 times one pattern", Members(500, [](int) { return Hard(1); }), "/properties/p0/pattern",
       500},
      {"500 multiples",
       Members(500,
               [](int i) {
                 return "{\"type\":\"number\",\"multipleOf\":0.0" + std::to_string(i + 500) +
                        ",\"minimum\":" + std::to_string(i) + "}";
               }),
       "/properties/p1/multipleOf", 400},
      {"many classes", Pattern("^(" + classes + ")$"), nullptr, 0},
      {"lengths that are joined",
       "{\"allOf\":[" + Pattern(letters) + "," + Pattern("^" + letters + "$") + "," +
           Pattern("[a-f]{3,200}") + "]}",
       nullptr, 0},
      {"many empty parts",
       Pattern("^" +
               [] {
                 std::string parts;
                 for (int i = 0; i < 300; ++i) parts += "(abc|[x-z]{2,5}|[0-9]+)?";
                 return parts;
               }() +
               "$"),
       "/pattern", 1},
      {"uniqueItems", "{\"uniqueItems\":true,\"items\":{\"enum\":[" + numbers + "]}}",
       "/uniqueItems", 1},
      {"long enums that are joined",
       "{\"allOf\":[{\"enum\":[" + numbers + "]},{\"enum\":[" + numbers + "]}]}", nullptr, 0},
      {"an allOf that doubles", Doubled(40, "{\"allOf\":[", "]}"), nullptr, 0},
      {"a not that doubles", Doubled(40, "{\"not\":{\"anyOf\":[", "]}}"), nullptr, 0},
      {"a deep oneOf", DeepOneOf(30), nullptr, 0},
      {"a oneOf of long enums", "{\"oneOf\":[" + exclusive + "]}", "/oneOf", 1},
      {"a oneOf beside much else",
       "{\"allOf\":[" +
           Listed(20, [](int i) { return "{\"required\":[\"a" + std::to_string(i) + "\"]}"; }) +
           R"(],"oneOf":[{"properties":{"k":{"minLength":1}}},{"properties":{"k":{"maxLength":9}}}],)"
           R"("anyOf":[)" +
           Listed(300,
                  [](int i) {
                    return "{\"type\":\"object\",\"properties\":{\"b" + std::to_string(i) +
                           "\":{\"type\":\"integer\"}}}";
                  }) +
           "]}",
       "/oneOf", 1},
      {"members that depend on each other",
       "{\"maxProperties\":30,\"properties\":{" +
           Listed(60, [](int i) { return "\"p" + std::to_string(i) + "\":{}"; }) +
           "},\"dependentRequired\":{" +
           Listed(12,
                  [](int i) {
                    return "\"p" + std::to_string(i) + "\":[\"p" + std::to_string(59 - i) + "\"]";
                  }) +
           "}}",
       "/dependentRequired/p8", 4},
  };
}

// All cases; with sanitizers, where each takes many times as long, the first one and every fifth.
std::vector<Case> CasesOfThisBuild() {
  std::vector<Case> cases = Cases();
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  std::vector<Case> drawn;
  for (size_t i = 0; i < cases.size(); i += 5) drawn.push_back(cases[i]);
  return drawn;
#else
  return cases;
#endif
}

TEST(SchemaBudget, WhatTakesTooMuchWorkIsLeftOut) {
  for (const Case& c : CasesOfThisBuild()) {
    Result<Grammar> lenient = Read(c.schema, Strictness::kLenient);
    ASSERT_TRUE(lenient.ok()) << c.name << ": " << lenient.status().message();
    size_t count = lenient->warnings().size();
    EXPECT_GE(count, c.least_warnings) << c.name;
    EXPECT_EQ(count == 0, c.path == nullptr) << c.name;
    if (c.path == nullptr || count == 0) continue;
    EXPECT_EQ(lenient->warnings()[0].path.rfind(c.path, 0), 0u)
        << c.name << ": " << lenient->warnings()[0].path;
  }
}

TEST(SchemaBudget, WhatTakesTooMuchWorkIsRefusedWhenStrict) {
  for (const Case& c : CasesOfThisBuild()) {
    Result<Grammar> strict = Read(c.schema, Strictness::kStrict);
    EXPECT_EQ(strict.ok(), c.path == nullptr) << c.name << ": " << strict.status().message();
    if (strict.ok() || c.path == nullptr) continue;
    EXPECT_EQ(strict.status().code(), StatusCode::kInvalidArgument) << c.name;
    EXPECT_EQ(strict.status().message().rfind(c.path, 0), 0u)
        << c.name << ": " << strict.status().message();
  }
}

TEST(SchemaBudget, ItIsSpentOnceForAllPatterns) {
  Result<Grammar> grammar = Read(Members(1500, Hard), Strictness::kLenient);
  ASSERT_TRUE(grammar.ok());
  const std::vector<SchemaWarning> warnings = grammar->warnings();
  const SchemaWarning& last = warnings.back();
  EXPECT_EQ(last.path, "/properties/p1499/pattern");
  EXPECT_EQ(last.message, WorkBudget::Error().message());
  // The first of those that are affordable is still enforced.
  for (const SchemaWarning& warning : warnings) {
    EXPECT_NE(warning.path, "/properties/p2/pattern");
  }
}

TEST(SchemaBudget, TheLengthOfAPatternThatCannotBeCountedIsLeftOut) {
  const std::string schema =
      R"({"type":"string","pattern":"^arn:[a-z0-9-\\.]{1,63}:[a-z0-9-\\.]{0,63}:)"
      R"([a-z0-9-\\.]{0,63}:[a-z0-9-\\.]{0,63}:[^/].{0,1023}$",)"
      R"("minLength":20,"maxLength":2048})";
  Result<Grammar> grammar = Read(schema, Strictness::kLenient);
  ASSERT_TRUE(grammar.ok()) << grammar.status().message();
  ASSERT_EQ(grammar->warnings().size(), 1u);
  EXPECT_EQ(grammar->warnings()[0].path, "/minLength");
  auto admits = [&grammar](std::string_view text) {
    GrammarMatcher matcher(*grammar);
    for (char c : text) {
      if (!matcher.Accept(static_cast<unsigned char>(c))) return false;
    }
    return matcher.Accept(kEnd);
  };
  EXPECT_TRUE(admits(R"("arn:aws:s3:a:b:c")"));
  EXPECT_FALSE(admits(R"("urn:aws:s3:a:b:c")"));
  grammar = Read(schema, Strictness::kStrict);
  ASSERT_TRUE(grammar.ok()) << grammar.status().message();
  EXPECT_FALSE(admits(R"("arn:aws:s3:a:b:c")")) << "shorter than 20";
  EXPECT_TRUE(admits(R"("arn:aws:s3:us:ours:bucket")")) << "strict: short texts that fit";
}

TEST(SchemaBudget, BelongsToTheScope) {
  Automaton words = *Automaton::Matching("^[a-z]+$");
  {
    WorkBudget budget(10);
    EXPECT_EQ(Automaton::Matching("^[a-z]{1,50}$").status().code(), StatusCode::kUnsupported);
    EXPECT_EQ(words.And(words).status().code(), StatusCode::kUnsupported);
    EXPECT_EQ(Automaton::OfTexts({"abc"}).status().code(), StatusCode::kUnsupported);
    WorkBudget inner(1000);
    EXPECT_FALSE(words.And(words).ok()) << "it takes from both";
  }
  WorkBudget budget(1000);
  {
    WorkBudget inner(10);
    EXPECT_FALSE(Automaton::Matching("^[a-z]{1,5}$").ok());
  }
  EXPECT_TRUE(words.And(words).ok());
}

TEST(Automaton, HasAsFewStatesAsCanBe) {
  struct Size {
    const char* pattern;
    size_t states;
  };
  for (const Size& c : {Size{"^a{0,50}$", 52}, Size{"^(a|b)*a(a|b){5}$", 65}, Size{"", 1},
                        Size{"^(ab|cb|db)$", 4}, Size{"^(abc|xbc|yc)+$", 5}}) {
    EXPECT_EQ(Automaton::Matching(c.pattern)->states().size(), c.states) << c.pattern;
  }
}

}  // namespace
}  // namespace mlc
