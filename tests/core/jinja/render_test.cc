#include "jinja/render.h"

#include <gtest/gtest.h>

#include "jinja/parser.h"

namespace mlc::jinja {
namespace {

std::tm FixedTime() {
  std::tm time{};
  time.tm_year = 2025 - 1900;
  time.tm_mon = 6;
  time.tm_mday = 4;
  time.tm_hour = 13;
  time.tm_wday = 5;
  time.tm_yday = 184;
  return time;
}

// The rendered text, or the error's message.
std::string Render(const std::string& source, const std::string& context = "{}",
                   Limits limits = {}) {
  Result<Block> block = ParseTemplate(source);
  if (!block.ok()) return block.status().message();
  Renderer renderer(limits, FixedTime);
  Json variables = *Json::Parse(context);
  for (const auto& [name, value] : variables.as_object()) renderer.Define(name, *FromJson(value));
  Result<std::string> text = renderer.Run(*block);
  return text.ok() ? *text : text.status().message();
}

struct Case {
  const char *source, *expected;
};

// More, and the comparison with jinja2, in tests/python/chat.
TEST(JinjaRender, PrintsAsPythonDoes) {
  const Case cases[] = {
      {"{{ true }} {{ none }} {{ 1.0 }} {{ 1e16 }} {{ 1e-5 }}", "True None 1.0 1e+16 1e-05"},
      {"{{ [1, 'a', \"it's\"] }}", "[1, 'a', \"it's\"]"},
      {"{{ {'a': (1,), 'b': {}} }}", "{'a': (1,), 'b': {}}"},
      {"{{ '\\n\\x00\\u200b' ~ 1 }}|{{ ['\\n\\u200b'] }}", "\n\0\u200b1|['\\n\\u200b']"},
      {"{{ undefined }}|{{ undefined is defined }}", "|False"},
  };
  for (const Case& c : cases) {
    std::string expected = c.expected;
    if (std::string(c.source).find("x00") != std::string::npos)
      expected = std::string("\n\0", 2) + "\u200b1|['\\n\\u200b']";
    EXPECT_EQ(Render(c.source), expected) << c.source;
  }
}

TEST(JinjaRender, Computes) {
  const Case cases[] = {
      {"{{ 7 // 2 }} {{ -7 // 2 }} {{ -7 % 3 }} {{ 7 / 2 }} {{ 2 ** 3 ** 2 }}", "3 -4 2 3.5 64"},
      {"{{ 1 < 2 < 3 }} {{ 3 > 2 > 2 }} {{ 'a' in 'abc' }} {{ 2 not in [1] }}",
       "True False True True"},
      {"{{ 'héllo'[1] }}{{ 'héllo'[::-1] }}{{ [1, 2, 3][-2:] }}", "éolléh[2, 3]"},
      {"{{ 'a-b-c'.split('-', 1) }}{{ ' x '.strip() }}", "['a', 'b-c']x"},
      {"{{ '%s=%05.1f' % ('a', 2.25) }}{{ '{:>4}|{x}'.format(1, x=2) }}", "a=002.2   1|2"},
      {"{{ [3, 1, 2] | sort | join('-') }}{{ 'a b' | upper }}", "1-2-3A B"},
      {"{{ {'b': [1, None], 'a': 'é\"'} | tojson }}", "{\"b\": [1, null], \"a\": \"é\\\"\"}"},
      {"{{ [{'r': 'u'}, {'r': 's'}] | selectattr('r', 'eq', 's') | list }}", "[{'r': 's'}]"},
      {"{{ strftime_now('%d %b %Y, %A %-I %p') }}", "04 Jul 2025, Friday 1 PM"},
  };
  for (const Case& c : cases) EXPECT_EQ(Render(c.source), c.expected) << c.source;
}

TEST(JinjaRender, RunsStatements) {
  const Case cases[] = {
      {"{% set ns = namespace(n=0) %}{% for i in range(4) if i %}{% set ns.n = ns.n + i %}"
       "{% endfor %}{{ ns.n }}",
       "6"},
      {"{% set x = 1 %}{% for i in [1] %}{% set x = 2 %}{% endfor %}{{ x }}", "1"},
      {"{% for i in [1, 2, 3] %}{% if i == 2 %}{% continue %}{% endif %}{{ i }}{{ loop.last }}"
       "{% endfor %}",
       "1False3True"},
      {"{% macro m(a, b=a) %}{{ a }}{{ b }}{{ caller() if caller }}{% endmacro %}"
       "{{ m(1) }}{% call m(2, 3) %}!{% endcall %}",
       "1123!"},
      {"{% set t | upper %}a{% endset %}{{ t }}{% filter replace('x', 'y') %}x{% endfilter %}",
       "Ay"},
      {"{% with a = 1 %}{{ a }}{% endwith %}{{ a is defined }}", "1False"},
      {"{% for k, v in {'a': 1}.items() %}{{ k }}{{ v }}{% else %}none{% endfor %}", "a1"},
      {"{% generation %}{% set a = 1 %}{{ a }}{% endgeneration %}{{ a }}", "1"},
  };
  for (const Case& c : cases) EXPECT_EQ(Render(c.source), c.expected) << c.source;
}

TEST(JinjaRender, ErrorsNameTheInnermostLine) {
  const Case cases[] = {
      {"{% for i in [1] %}\n\n{{ i.x.y }}\n{% endfor %}",
       "chat template, line 3: 'int' object has no attribute 'x'"},
      {"{% macro m() %}\n{{ 1 / 0 }}{% endmacro %}\n\n{{ m() }}",
       "chat template, line 2: division by zero"},
      {"\n{{ nope() }}", "chat template, line 2: 'nope' is undefined"},
      {"{{ 'a' + 1 }}", "chat template, line 1: unsupported operand types for +: 'str' and 'int'"},
      {"{{ [].append(1) }}",
       "chat template, line 1: access to attribute 'append' of 'list' object is unsafe"},
      {"{{ 9223372036854775807 + 1 }}",
       "chat template, line 1: an integer is out of the 64-bit range"},
  };
  for (const Case& c : cases) EXPECT_EQ(Render(c.source), c.expected) << c.source;
}

TEST(JinjaRender, RaiseExceptionSpeaksForItself) {
  Result<Block> block = ParseTemplate("{{ raise_exception('No ' ~ 1) }}");
  ASSERT_TRUE(block.ok());
  Result<std::string> text = Renderer(Limits{}, FixedTime).Run(*block);
  ASSERT_FALSE(text.ok());
  EXPECT_EQ(text.status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(text.status().message(), "No 1");
  EXPECT_TRUE(text.status().Is(Reason::kTemplateError));
}

TEST(JinjaRender, StopsAtItsLimits) {
  Limits few_steps, few_bytes, shallow;
  few_steps.steps = 1000;
  few_bytes.bytes = 100'000;
  shallow.depth = 50;
  EXPECT_NE(Render("{% for i in range(2000) %}{% endfor %}", "{}", few_steps).find("steps"),
            std::string::npos);
  EXPECT_NE(Render("{{ ('x' * 99999) ~ 'y' }}", "{}", few_bytes).find("memory"), std::string::npos);
  EXPECT_NE(Render("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}", "{}", shallow).find("deep"),
            std::string::npos);
  EXPECT_EQ(Render("{% for i in range(20) %}{% endfor %}x", "{}", few_steps), "x");
}

TEST(JinjaRender, NamespacesMayHoldThemselves) {
  EXPECT_NE(Render("{% set n = namespace() %}{% set n.x = [n] %}{{ n }}").find("deeply"),
            std::string::npos);
  EXPECT_EQ(Render("{% set n = namespace() %}{% set n.n = n %}{{ n.n.n is defined }}"), "True");
}

// A chain of a hundred thousand namespaces must be freed without recursion.
TEST(JinjaRender, FreesLongChains) {
  EXPECT_EQ(Render("{% set n = namespace(x=0) %}{% for i in range(99999) %}"
                   "{% set m = namespace(x=n.x) %}{% set n.x = m %}{% endfor %}ok"),
            "ok");
}

}  // namespace
}  // namespace mlc::jinja
