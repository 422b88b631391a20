#include "chat/tools/answer_parser.h"

#include <gtest/gtest.h>

#include "chat/tools/answer_parsing.h"

namespace mlc {
namespace {

using testing::Check;
using testing::Describe;
using testing::Parse;
using testing::ParseInPieces;
using testing::PlanFor;
using testing::Thinking;

constexpr char kPlain[] = "The sky over Paris: blue, 21 °C {not a call} — 晴れ.\n\n1 < 2 [a]\n";

TEST(AnswerParser, TextWithoutCallsIsContentInEveryFormat) {
  for (const ToolFormat& format : ToolFormats()) {
    EXPECT_EQ(Parse(PlanFor(format.name), kPlain), kPlain) << format.name;
    EXPECT_EQ(Parse(PlanFor(format.name), ""), "") << format.name;
    EXPECT_EQ(Parse(PlanFor(format.name), " \n"), " \n") << format.name;
    EXPECT_EQ(Parse(PlanFor(format.name), "{\"name\": \"Ada\", \"age\": 3}\n"),
              "{\"name\": \"Ada\", \"age\": 3}\n")
        << format.name;
    EXPECT_EQ(Parse(PlanFor(format.name), "[1, 2]"), "[1, 2]") << format.name;
  }
}

TEST(AnswerParser, WhatAFormatWritesItReads) {
  const std::string arguments =
      R"({"city":"Zoë's \"Köln\" {]}\\ 東京 😀 </tool_call>","days":3,"deep":{"a":[1,{"b":null}],"c":true}})";
  for (const ToolFormat& format : ToolFormats()) {
    for (size_t count = 1; count <= 3; ++count) {
      std::string expected;
      for (size_t i = 0; i < count; ++i) expected += "@get_weather" + arguments;
      std::string text =
          WriteCalls(format, std::vector<WrittenCall>(count, {"get_weather", arguments}));
      if (format.style == CallStyle::kXml) continue;  // below: its writing loses the layout
      EXPECT_EQ(Parse(PlanFor(format.name), text), expected) << format.name;
      EXPECT_EQ(Parse(PlanFor(format.name), "\n\n" + text + "\n"), expected) << format.name;
    }
  }
}

TEST(AnswerParser, AMalformedCallIsContentAndNothingIsLost) {
  for (const char* text : {
           "<tool_call>",
           "<tool_call>\n{\"name\": \"get_wea",
           "<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Par",
           "<tool_call>{\"name\": \"get_weather\", \"arguments\": {\"city\": }}</tool_call>",
           "<tool_call>{\"name\": \"get_weather\", \"arguments\": {'city': 1}}</tool_call>",
           "<tool_call>{\"name\": \"unknown\", \"arguments\": {}}</tool_call>",
           "<tool_call>{\"name\": \"now\", \"arguments\": [1]}</tool_call>",
           "<tool_call>{\"name\": \"now\", \"arguments\": \"no json\"}</tool_call>",
           "<tool_call>{\"name\": \"now\", \"name\": \"now\"}</tool_call>",
           "<tool_call>{\"arguments\": {}}</tool_call>",
           "<tool_call>{\"name\": 3}</tool_call>",
           "<tool_call>{\"name\": \"now\" \"arguments\": {}}</tool_call>",
           "<tool_call>now()</tool_call>",
           "<tool_call>[]</tool_call>",
           "before <tool_call>\n nothing here </tool_call> after",
           "<tool_",
           "a < b && c <tool",
       }) {
    EXPECT_EQ(Parse(PlanFor("hermes"), text), text);
  }
  // A call that follows a broken one is still found, as is one within its text.
  Check(PlanFor("hermes"),
        {{"<tool_call>{\"name\": \"now\", \"arguments\": {\"a\": oops}}</tool_call>\n"
          "<tool_call>{\"name\": \"now\", \"arguments\": {}}</tool_call>",
          "<tool_call>{\"name\": \"now\", \"arguments\": {\"a\": oops}}</tool_call>@now{}"},
         {"<tool_call>{\"x <tool_call>{\"name\": \"now\", \"arguments\": {}}</tool_call>",
          "<tool_call>{\"x@now{}"},
         {"<tool_call><tool_call>{\"name\": \"now\", \"arguments\": {}}</tool_call>",
          "<tool_call>@now{}"}});
}

TEST(AnswerParser, UnderAGrammarOnlyTheWrittenFormBeginsAnotherCall) {
  AnswerPlan glm = PlanFor("glm4"), json = PlanFor("json");
  glm.is_guided = json.is_guided = true;
  Check(glm, {{"now\n{}\nget_weather {\"days\": \"x\"}", "@now{}get_weather {\"days\": \"x\"}"},
              {"now\n{}\nget_weather\n{\"days\": 2}", "@now{}@get_weather{\"days\": 2}"}});
  const std::string call = "{\"name\": \"now\", \"arguments\": {}}";
  EXPECT_EQ(Parse(json, "<tool_call>\n" + call + "\n</tool_call>\n" + call), "@now{}" + call);
}

TEST(AnswerParser, Thoughts) {
  AnswerPlan think = Thinking("think");
  Check(think, {{"<think>\nHm. 1 < 2.\n</think>\n\nYes.\n", "((Hm. 1 < 2.))Yes.\n"},
                {"\n<think></think>Yes", "Yes"},
                {"<think>\n\n</think>\n\n", ""},
                {"<think>cut off", "((cut off))"},
                {"<thin", "<thin"},
                {"No <think>tag</think>", "No <think>tag</think>"},
                {"<think>a</think>b<think>c</think>", "((a))b<think>c</think>"}});
  think.begins_in_thoughts = true;
  Check(think, {{"Hm.\n</think>\n\nYes <think>.", "((Hm.))Yes <think>."},
                {"<think>\nHm.</think>Yes", "((Hm.))Yes"},
                {"</think>Yes", "Yes"}});
  Check(Thinking("magistral"), {{"[THINK]a[b][/THINK]c", "((a[b]))c"}});
  Check(Thinking("granite"),
        {{"Here is my thought process: a\nHere is my response:\nb", "((a))b"}});
}

TEST(AnswerParser, ThoughtsThenCalls) {
  const std::string call = "<tool_call>\n{\"name\": \"now\", \"arguments\": {}}\n</tool_call>";
  Check(Thinking("think", "hermes"),
        {{("<think>I may " + call + "</think>\n" + call).c_str(),
          ("((I may " + call + "))@now{}").c_str()},
         {("<think>x</think>\n\nOK.\n" + call).c_str(), "((x))OK.@now{}"}});
}

TEST(AnswerParser, SpecialTokensAreNeverContent) {
  AnswerPlan plan = PlanFor("phi4");
  plan.hidden = {"<|tool_call|>", "<|/tool_call|>"};
  Check(plan, {{"a <|tool_call|>b<|/tool_call|> c", "a b c"},
               {"<|tool_call|>[{\"name\": \"no\"}]<|/tool_call|>", "[{\"name\": \"no\"}]"}});
}

TEST(AnswerParser, UnderAGrammarArgumentsComeAsTheyAreGenerated) {
  AnswerPlan plan = PlanFor("hermes");
  plan.is_guided = true;
  AnswerParser parser(std::make_shared<const AnswerPlan>(plan));
  EXPECT_TRUE(parser.Put("<tool_call>\n{\"name\": \"get_weather\"").empty());
  EXPECT_EQ(Describe(parser.Put(", \"arguments\": {\"ci")), "@get_weather{\"ci");
  std::vector<AnswerPart> more = parser.Put("ty\": \"Pa");
  ASSERT_EQ(more.size(), 1u);
  EXPECT_EQ(more[0].text, "ty\": \"Pa");
  // Cut short, the call keeps what it has.
  EXPECT_TRUE(parser.Finish().empty());
  EXPECT_EQ(parser.num_calls(), 1);
  Check(plan,
        {{"<tool_call>\n{\"name\": \"now\", \"arguments\": {\"a\": \"cut", "@now{\"a\": \"cut"}});
}

TEST(AnswerParser, AMarkerBehindACallThatIsCutShortIsNoContent) {
  AnswerPlan free = PlanFor("hermes"), guided = free;
  guided.is_guided = true;
  const std::string call = "<tool_call>\n{\"name\": \"now\", \"arguments\": {}}";
  for (const AnswerPlan& plan : {free, guided}) {
    for (const char* cut : {"\n<", "\n</tool_c", "\n</tool_call>\n<tool_ca", "</tool_call"}) {
      EXPECT_EQ(Parse(plan, call + cut), "@now{}") << cut;
    }
    EXPECT_EQ(Parse(plan, call + "\n</tool_call>\n1 < 2 <"), "@now{}1 < 2 <");
  }
}

TEST(AnswerParser, UnderAGrammarABareCallMayComeAnywhere) {
  AnswerPlan plan = PlanFor("llama3");
  plan.is_guided = true;
  Check(plan, {{"Sure: {\"name\": \"now\", \"parameters\": {\"a\": 1}}", "Sure:@now{\"a\": 1}"},
               {"a {b} {\"c\": {}}", "a {b} {\"c\": {}}"}});
}

TEST(AnswerParser, HostileTextTakesBoundedTime) {
  std::string open = "<tool_call>{\"name\": \"now\", \"arguments\": {\"a\": \"", many;
  for (int i = 0; i < 20000; ++i) many += open.substr(0, i % 2 == 0 ? 11 : open.size());
  std::string nested = "<tool_call>{\"name\": \"now\", \"arguments\": {\"a\": ";
  nested += std::string(500000, '[');
  for (const std::string& text : {many, nested, std::string(500000, '<')}) {
    EXPECT_EQ(ParseInPieces(PlanFor("hermes"), text, [] { return 7; }), text);
  }
}

TEST(AnswerParser, AToolMayHaveTheNameOfAMarkInItsName) {
  const std::vector<std::string> names = {"get_json", "json", "my_function", "function_of"};
  for (const ToolFormat& format : ToolFormats()) {
    AnswerPlan plan = PlanFor(format.name);
    for (const std::string& name : names) plan.offered.push_back({name, Json(), false});
    for (const std::string& name : names) {
      EXPECT_EQ(Parse(plan, WriteCalls(format, {{name, "{}"}})), "@" + name + "{}") << format.name;
    }
  }
  AnswerPlan apertus = PlanFor("apertus");
  apertus.offered.push_back({"function", Json(), false});
  Check(apertus,
        {{R"(<|tools_prefix|>[{"function": {"a": 1}}]<|tools_suffix|>)", R"(@function{"a": 1})"}});
}

TEST(AnswerParser, PythonArgumentsHaveAnyNameAndEndWithAComma) {
  Check(
      PlanFor("pythonic"),
      {{R"([now(user-id=1, città="Roma", 城市='北京', $x = [1, 2,], _y1=(3,),)])",
        R"(@now{"user-id":1,"città":"Roma","城市":"北京","$x":[1,2],"_y1":[3]})"},
       {R"([now(a='\xe9\x1b \U0001f600 C:\Users \x')])", R"(@now{"a":"é\u001b 😀 C:\\Users \\x"})"},
       {"[now(\n    a=1,\n    b={'k': 2,},\n)]", R"(@now{"a":1,"b":{"k":2}})"},
       {"[now(,)]", "[now(,)]"},
       {"[now(=1)]", "[now(=1)]"},
       {"[now(1)]", "[now(1)]"},
       {"[now(a=1, 2)]", "[now(a=1, 2)]"}});
}

TEST(AnswerParser, AnXmlValueThatMayBeATextIsNoOtherTypeThanItsSchemaNames) {
  Result<Json> schema = Json::Parse(R"({"properties": {
      "zip": {"anyOf": [{"type": "string"}, {"type": "null"}]},
      "id": {"type": ["string", "null"]},
      "either": {"oneOf": [{"type": "string"}, {"type": "integer"}]}, "any": {}}})");
  ASSERT_TRUE(schema.ok());
  for (const char* name : {"qwen3_coder", "glm", "minimax"}) {
    AnswerPlan plan = PlanFor(name);
    plan.offered = {{"f", *schema, false}};
    for (const char* arguments :
         {R"({"zip": "01234", "id": "10", "either": 10, "any": 10})",
          R"({"zip": "1e5", "id": "true", "either": "x", "any": [1]})",
          R"({"zip": null, "id": null, "any": null})", R"({"either": "1.5", "any": 1.5})",
          R"({"zip": "[1]", "id": "\"quoted\"", "any": true})"}) {
      EXPECT_EQ(Parse(plan, WriteCalls(*plan.tools, {{"f", arguments}})),
                "@f" + std::string(arguments))
          << name;
    }
  }
}

TEST(AnswerParser, AnXmlValueThatItsSchemaListsHasNoSpacesAroundIt) {
  Result<Json> schema = Json::Parse(R"({"properties": {"unit": {"enum": ["c", " f", "1"]},
      "maybe": {"anyOf": [{"enum": ["c", "f"]}, {"type": "null"}]},
      "kind": {"type": "string", "const": "x"}, "text": {"type": "string"}}})");
  ASSERT_TRUE(schema.ok());
  AnswerPlan plan = PlanFor("minimax");
  plan.offered = {{"f", *schema, false}};
  auto call = [](const std::string& key, const std::string& value) {
    return "<minimax:tool_call><invoke name=\"f\"><parameter name=\"" + key + "\">" + value +
           "</parameter></invoke></minimax:tool_call>";
  };
  EXPECT_EQ(Parse(plan, call("unit", "\n\tc \n")), R"(@f{"unit": "c"})");
  EXPECT_EQ(Parse(plan, call("unit", " f")), R"(@f{"unit": " f"})");
  EXPECT_EQ(Parse(plan, call("unit", " 1")), R"(@f{"unit": "1"})");
  EXPECT_EQ(Parse(plan, call("maybe", " c\n")), R"(@f{"maybe": "c"})");
  EXPECT_EQ(Parse(plan, call("unit", " k")), R"(@f{"unit": " k"})");
  EXPECT_EQ(Parse(plan, call("kind", " x ")), R"(@f{"kind": "x"})");
  EXPECT_EQ(Parse(plan, call("text", " \n")), R"(@f{"text": " \n"})");
}

}  // namespace
}  // namespace mlc
