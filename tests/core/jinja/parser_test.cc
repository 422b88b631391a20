#include "jinja/parser.h"

#include <gtest/gtest.h>

namespace mlc::jinja {
namespace {

std::string Error(const std::string& source) {
  Result<Block> block = ParseTemplate(source);
  return block.ok() ? "" : block.status().message();
}

TEST(JinjaParser, BuildsStatements) {
  Result<Block> block = ParseTemplate("a{% if x %}b{% elif y %}c{% else %}d{% endif %}{{ z }}");
  ASSERT_TRUE(block.ok());
  ASSERT_EQ(block->size(), 3u);
  EXPECT_EQ((*block)[0]->kind, Stmt::Kind::kText);
  EXPECT_EQ((*block)[1]->kind, Stmt::Kind::kIf);
  EXPECT_EQ((*block)[1]->exprs.size(), 2u);
  EXPECT_EQ((*block)[1]->bodies.size(), 3u);
  EXPECT_EQ((*block)[2]->kind, Stmt::Kind::kOutput);
}

TEST(JinjaParser, FiltersBindTighterThanOperators) {
  Result<Block> block = ParseTemplate("{{ a + b | length }}");
  ASSERT_TRUE(block.ok());
  const Expr& sum = *(*block)[0]->exprs[0];
  EXPECT_EQ(sum.kind, Expr::Kind::kBinary);
  EXPECT_EQ(sum.children[1]->kind, Expr::Kind::kFilter);
}

TEST(JinjaParser, ErrorsSayWhereAndWhat) {
  struct Case {
    const char *source, *message;
  };
  const Case cases[] = {
      {"{{ }}", "line 1: expected an expression, got '}}'"},
      {"\n{{ 1 + }}", "line 2: unexpected '}}'"},
      {"{% if x %}\n", "line 1: unexpected end of the template, expected 'elif' or 'else' or"},
      {"{% for x in y %}{% endif %}", "line 1: unknown tag 'endif', expected 'else' first"},
      {"{% set 1 = 2 %}", "line 1: cannot assign"},
      {"\n\n{% include 'x' %}", "line 3: 'include' is not offered in chat templates"},
      {"{% for x in y recursive %}{% endfor %}", "recursive loops are not offered"},
      {"{{ x | nope }}", "no filter named 'nope'"},
      {"{{ x is nope }}", "no test named 'nope'"},
      {"{% break %}", "outside of a loop"},
      {"{% macro m(a=1, b) %}{% endmacro %}", "non-default argument follows default argument"},
      {"{{ f(a=1, 2) }}", "invalid syntax for function call expression"},
      {"{{ x[1 }}", "unexpected '}', expected ']'"},
  };
  for (const Case& c : cases)
    EXPECT_NE(Error(c.source).find(c.message), std::string::npos) << c.source << "\n"
                                                                  << Error(c.source);
}

TEST(JinjaParser, UnknownFiltersWaitUnderAnIf) {
  EXPECT_EQ(Error("{% if x %}{{ y | nope }}{% endif %}"), "");
  EXPECT_EQ(Error("{{ (y | nope) if x else 1 }}"), "");
  EXPECT_NE(Error("{% if x %}{% for y in z %}{{ y | nope }}{% endfor %}{% endif %}"), "");
}

TEST(JinjaParser, BoundsNesting) {
  auto repeat = [](const std::string& text, int count) {
    std::string out;
    for (int i = 0; i < count; ++i) out += text;
    return out;
  };
  for (const std::string& source :
       {"{{ " + repeat("(", 50000) + "1" + repeat(")", 50000) + " }}",
        "{{ " + repeat("not ", 50000) + "1 }}", "{{ 1" + repeat(" + 1", 50000) + " }}",
        "{{ 1" + repeat(" | string", 50000) + " }}", "{{ a" + repeat("[0]", 50000) + " }}",
        repeat("{% if 1 %}", 5000) + repeat("{% endif %}", 5000)})
    EXPECT_NE(Error(source).find("nested too deeply"), std::string::npos) << source.substr(0, 40);
  EXPECT_EQ(Error("{{ " + repeat("(", 30) + "1" + repeat(")", 30) + " }}"), "");
  EXPECT_EQ(Error("{{ 1" + repeat(" + 1", 80) + " }}"), "");
}

}  // namespace
}  // namespace mlc::jinja
