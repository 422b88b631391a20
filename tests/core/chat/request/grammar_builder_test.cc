#include "chat/request/grammar_builder.h"

#include <gtest/gtest.h>

#include "chat/test_model.h"

namespace mlc {
namespace {

Result<std::optional<Grammar>> Build(const std::string& format) {
  static ModelBundle bundle = testing::ChatBundle();
  auto request = testing::ParseRequest(testing::HiJson("\"response_format\": " + format));
  return BuildFormatGrammar(bundle, request.response_format);
}

TEST(BuildFormatGrammar, FreeTextNeedsNone) {
  for (const char* format : {R"({"type": "text"})", "null"}) {
    Result<std::optional<Grammar>> grammar = Build(format);
    ASSERT_TRUE(grammar.ok()) << format;
    EXPECT_FALSE(grammar->has_value()) << format;
  }
}

struct Case {
  const char* format;
  const char* fits;
  const char* breaks;
};

bool Follows(const Grammar& grammar, std::string_view text) {
  GrammarMatcher matcher(grammar);
  for (int32_t token : testing::Bytes(text)) {
    if (!matcher.Accept(token)) return false;
  }
  return matcher.Accept(testing::kEnd);
}

TEST(BuildFormatGrammar, EachFormat) {
  const Case cases[] = {
      {R"({"type": "json_object"})", "{}", "[]"},
      {R"({"type": "json_object", "schema": "{\"type\": \"integer\"}"})", "1", "{}"},
      {R"({"type": "json_object", "schema": {"type": "integer"}})", "1", "{}"},
      {R"({"type": "json_schema", "json_schema": {"name": "n", "schema": {"type": "null"}}})",
       "null", "{}"},
      {R"({"type": "json_schema", "json_schema": {"name": "n"}})", "{}", "1"},
      {R"({"type": "regex", "regex": "[ab]{2}"})", "ab", "a"},
      {R"({"type": "grammar", "grammar": "root ::= \"x\" | \"y\""})", "y", "z"},
      {R"({"type": "structural_tag", "triggers": ["<f"], "tags": [
           {"begin": "<f>", "schema": {"type": "integer"}, "end": "</f>"}]})",
       "so <f>1</f>", "so <f>x</f>"},
      {R"({"type": "structural_tag", "format": {"type": "const_string", "value": "hi"}})", "hi",
       "ho"},
  };
  for (const Case& c : cases) {
    Result<std::optional<Grammar>> grammar = Build(c.format);
    ASSERT_TRUE(grammar.ok()) << c.format << grammar.status().message();
    ASSERT_TRUE(grammar->has_value()) << c.format;
    EXPECT_TRUE(Follows(**grammar, c.fits)) << c.format;
    EXPECT_FALSE(Follows(**grammar, c.breaks)) << c.format;
  }
}

TEST(BuildFormatGrammar, AnErrorNamesItsField) {
  const std::pair<const char*, const char*> faults[] = {
      {R"({"type": "json_object", "schema": "{"})", "response_format.schema"},
      {R"({"type": "json_schema", "json_schema": {"name": "n", "schema": {"type": "thing"}}})",
       "response_format.json_schema.schema"},
      {R"({"type": "regex", "regex": "("})", "response_format.regex"},
      {R"({"type": "grammar", "grammar": "root ::= nothing"})", "response_format.grammar"},
      {R"({"type": "structural_tag"})", "response_format"},
      {R"({"type": "structural_tag", "triggers": ["<"]})", "response_format"},
      {R"({"type": "structural_tag", "triggers": ["<"], "format": {}})", "response_format"},
      {R"({"type": "structural_tag", "format": {"type": "thing"}})", "response_format.format"},
      {R"({"type": "grammar", "grammar": "root ::= root"})", "response_format.grammar"},
  };
  for (const auto& [format, param] : faults) {
    Result<std::optional<Grammar>> grammar = Build(format);
    Status status = grammar.ok() ? (*grammar)->Prepare() : grammar.status();
    ASSERT_FALSE(status.ok()) << format;
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << format;
    EXPECT_EQ(status.param(), param) << status.message();
    EXPECT_EQ(status.message().find("Check failed"), std::string::npos) << status.message();
  }
}

}  // namespace
}  // namespace mlc
