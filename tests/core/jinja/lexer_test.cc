#include "jinja/lexer.h"

#include <gtest/gtest.h>

namespace mlc::jinja {
namespace {

// The tokens as text: data in quotes, tags as their brackets, the rest as written.
std::string Show(std::string_view source) {
  Result<std::vector<Token>> tokens = Tokenize(source);
  if (!tokens.ok()) return tokens.status().message();
  std::string out;
  for (const Token& token : *tokens) {
    switch (token.type) {
      case TokenType::kData:
        out += "\"" + token.text + "\"";
        break;
      case TokenType::kVariableBegin:
        out += "{{";
        break;
      case TokenType::kVariableEnd:
        out += "}}";
        break;
      case TokenType::kBlockBegin:
        out += "{%";
        break;
      case TokenType::kBlockEnd:
        out += "%}";
        break;
      case TokenType::kString:
        out += "'" + token.text + "'";
        break;
      case TokenType::kEof:
        continue;
      default:
        out += token.text;
    }
    out += " ";
  }
  return out;
}

TEST(JinjaLexer, TrimsAroundTags) {
  EXPECT_EQ(Show("a {{ x }} b"), "\"a \" {{ x }} \" b\" ");
  EXPECT_EQ(Show("a {{- x -}} b"), "\"a\" {{ x }} \"b\" ");
  EXPECT_EQ(Show("a\n  {% x %}\n  b"), "\"a\n\" {% x %} \"  b\" ");
  EXPECT_EQ(Show("a\n  {%+ x +%}\n  b"), "\"a\n  \" {% x %} \"\n  b\" ");
  EXPECT_EQ(Show("a\n  {{ x }}\n  b"), "\"a\n  \" {{ x }} \"\n  b\" ");
  EXPECT_EQ(Show("  {# c #}\nb"), "\"b\" ");
}

TEST(JinjaLexer, NormalizesLineEndsAndDropsTheLast) {
  EXPECT_EQ(Show("a\r\nb\rc\n"), "\"a\nb\nc\" ");
  EXPECT_EQ(Show("a\n\n"), "\"a\n\" ");
  EXPECT_EQ(Show("\n"), "");
}

TEST(JinjaLexer, KeepsRawText) {
  EXPECT_EQ(Show("{% raw %}{{ x }}{% endraw %}y"), "\"{{ x }}\" \"y\" ");
  EXPECT_EQ(Show("{%- raw -%} {{ {%- endraw -%} y"), "\"{{\" \"y\" ");
}

TEST(JinjaLexer, ReadsNumbers) {
  EXPECT_EQ(Show("{{ 1 1.5 1e3 0x1F 1_000 a.0.1 }}"), "{{ 1 1.5 1e3 0x1F 1_000 a . 0 . 1 }} ");
  Result<std::vector<Token>> tokens = Tokenize("{{ 0x1F 1_000 2.5e1 }}");
  ASSERT_TRUE(tokens.ok());
  EXPECT_EQ((*tokens)[1].integer, 31);
  EXPECT_EQ((*tokens)[2].integer, 1000);
  EXPECT_EQ((*tokens)[3].number, 25.0);
}

TEST(JinjaLexer, UnescapesStrings) {
  EXPECT_EQ(Show(R"({{ 'a\n\'\\\x41\u00e9\101\q' "b" }})"),
            "{{ 'a\n'\\A\xc3\xa9"
            "A\\q' 'b' }} ");
  EXPECT_EQ(Show("{{ '}}' }}"), "{{ '}}' }} ");
}

TEST(JinjaLexer, BracketsHideTheEnd) { EXPECT_EQ(Show("{{ {'a': {}} }}"), "{{ { 'a' : { } } }} "); }

TEST(JinjaLexer, ErrorsNameTheLine) {
  struct Case {
    const char *source, *message;
  };
  const Case cases[] = {
      {"\n{{ 'a }}", "chat template, line 2: unexpected char \"'\""},
      {"a\n\n{# b", "chat template, line 3: missing end of comment tag"},
      {"\n{% raw %}", "chat template, line 2: missing end of raw directive"},
      {"{{ (] }}", "chat template, line 1: unexpected ']', expected ')'"},
      {"{{\n\n@ }}", "chat template, line 3: unexpected char '@'"},
      {"{{ '\\x4' }}", "chat template, line 1: truncated \\x, \\u or \\U escape in a string"},
      {"{{ 99999999999999999999 }}",
       "chat template, line 1: integer 99999999999999999999 is too large"},
  };
  for (const Case& c : cases) EXPECT_EQ(Show(c.source), c.message) << c.source;
}

TEST(JinjaLexer, CountsLinesThroughTrimmedText) {
  Result<std::vector<Token>> tokens = Tokenize("a\n\n {%- x -%}\n\n{{ y }}");
  ASSERT_TRUE(tokens.ok());
  EXPECT_EQ((*tokens)[2].line, 3);
  EXPECT_EQ((*tokens)[5].line, 5);
}

}  // namespace
}  // namespace mlc::jinja
