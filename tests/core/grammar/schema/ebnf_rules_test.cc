#include "grammar/schema/ebnf_rules.h"

#include <gtest/gtest.h>

#include "grammar/schema/schema.h"

namespace mlc {
namespace {

size_t Count(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

std::string Written(const std::string& schema) {
  std::vector<SchemaWarning> warnings;
  Result<std::string> ebnf = JsonSchemaToEbnf(*Json::Parse(schema), Strictness::kStrict, &warnings);
  EXPECT_TRUE(ebnf.ok()) << ebnf.status().message();
  return ebnf.ok() ? *ebnf : "";
}

TEST(EbnfRules, OneBodyIsWrittenOnce) {
  EbnfRules rules;
  EXPECT_EQ(rules.Add("a", "\"x\" | \"y\""), "a");
  EXPECT_EQ(rules.Add("b", "\"x\" | \"y\""), "a");
  EXPECT_EQ(rules.Known("b"), "a");
  EXPECT_EQ(rules.Known("a"), "a");
  EXPECT_EQ(rules.Add("c", "a"), "a") << "another name is no rule";
  EXPECT_EQ(rules.Add("d", "a a"), "d");
  EXPECT_EQ(Count(rules.text(), "\"x\""), 1);
  EXPECT_EQ(Count(rules.text(), "\nb ::="), 0);
}

TEST(EbnfRules, OtherNamesShareWhatEndsAlike) {
  EbnfRules rules;
  std::string first = rules.AddOtherName("x", {"alpha", "beta"});
  size_t size = rules.text().size();
  EXPECT_EQ(rules.AddOtherName("y", {"beta", "alpha"}), first);
  EXPECT_EQ(rules.text().size(), size);
}

// A schema that says the same in two places, by a copy or by a reference, is written once.
TEST(SchemaWriter, EqualSchemasShareTheirRules) {
  std::string part = R"({"type":"object","properties":{"q":{"enum":["left","right"]}}})";
  std::string ebnf = Written(R"({"type":"object","required":["a","b"],"properties":{"a":)" + part +
                             R"(,"b":)" + part + "}}");
  EXPECT_EQ(Count(ebnf, "left"), 1) << ebnf;
  EXPECT_EQ(Count(ebnf, "\\\"q"), 1) << ebnf;
}

// Rules that name each other in a circle are named before they are written.
TEST(SchemaWriter, CirclesHaveARuleForEachName) {
  std::string ebnf = Written(R"({"$ref":"#/$defs/a","$defs":{
      "a":{"anyOf":[{"type":"null"},{"type":"array","items":{"$ref":"#/$defs/b"}}]},
      "b":{"anyOf":[{"type":"null"},{"type":"array","items":{"$ref":"#/$defs/a"}}]}}})");
  for (size_t at = 0; (at = ebnf.find('n', at)) != std::string::npos; ++at) {
    size_t end = ebnf.find_first_not_of("0123456789", at + 1);
    bool is_name = end > at + 1 && !std::isalnum(static_cast<unsigned char>(ebnf[at - 1]));
    if (!is_name) continue;
    std::string name = ebnf.substr(at, end - at);
    EXPECT_NE(ebnf.find("\n" + name + " ::= "), std::string::npos) << name << "\n" << ebnf;
  }
}

}  // namespace
}  // namespace mlc
