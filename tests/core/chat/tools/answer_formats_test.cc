// The answers of each format of tool calls.
#include <gtest/gtest.h>

#include "chat/tools/answer_parsing.h"

namespace mlc {
namespace {

using testing::Check;
using testing::Parse;
using testing::PlanFor;
using testing::Thinking;

TEST(AnswerFormats, Hermes) {
  Check(
      PlanFor("hermes"),
      {{"<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": "
        "\"Paris\"}}\n</tool_call>",
        "@get_weather{\"city\": \"Paris\"}"},
       {"I'll look.\n\n<tool_call>{\"arguments\": {\"days\": 2}, \"name\": "
        "\"get_weather\"}</tool_call>\n<tool_call>\n{\"name\": \"now\", \"arguments\": "
        "{}}\n</tool_call>\nDone.",
        "I'll look.@get_weather{\"days\": 2}@now{}Done."},
       {"<tool_call>[{\"name\": \"now\"}, {\"name\": \"now\", \"arguments\": {\"z\": "
        "\"Europe/Zürich\"}}]</tool_call>",
        "@now{}@now{\"z\": \"Europe/Zürich\"}"},
       {"<tool_call>{\"type\": \"function\", \"function\": {\"name\": \"now\", \"arguments\": "
        "\"{\\\"a\\\": 1}\"}, \"id\": 7}</tool_call>",
        "@now{\"a\": 1}"},
       // The end tag may be missing.
       {"<tool_call>\n{\"name\": \"now\", \"arguments\": {}}", "@now{}"},
       // A tag that is only spoken of, and then used.
       {"Write <tool_call> like so: <tool_call>{\"name\": \"now\", \"arguments\": {}}</tool_call>",
        "Write <tool_call> like so:@now{}"}});
}

TEST(AnswerFormats, Llama3) {
  Check(PlanFor("llama3"),
        {{"{\"name\": \"get_weather\", \"parameters\": {\"city\": \"Paris\"}}",
          "@get_weather{\"city\": \"Paris\"}"},
         {"\n{\"type\": \"function\", \"name\": \"now\", \"parameters\": {}}; {\"name\": \"now\", "
          "\"parameters\": {\"a\": [1, 2.5e3, -0]}}",
          "@now{}@now{\"a\": [1, 2.5e3, -0]}"},
         {"<|python_tag|>{\"name\": \"now\", \"parameters\": null}", "@now{}"},
         {"[{\"name\": \"now\", \"parameters\": {}}, {\"name\": \"now\", \"parameters\": {}}]",
          "@now{}@now{}"},
         // Objects that are no calls, and calls that are not at the beginning, are text.
         {"{\"name\": \"now\"}", "{\"name\": \"now\"}"},
         {"{\"name\": \"now\", \"parameters\": {}, \"and\": 1} is how",
          "{\"name\": \"now\", \"parameters\": {}, \"and\": 1} is how"},
         {"Use {\"name\": \"now\", \"parameters\": {}}",
          "Use {\"name\": \"now\", \"parameters\": {}}"},
         {"<|python_tag|>print(1)", "<|python_tag|>print(1)"},
         {"{\"name\": \"now\", \"parameters\": {}}; or so", "@now{}; or so"},
         {"{\"name\": \"now\", \"parameters\": {}}; {\"x\": 1}", "@now{}; {\"x\": 1}"}});
}

TEST(AnswerFormats, Mistral) {
  Check(PlanFor("mistral_v3"),
        {{"[TOOL_CALLS][{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Lyon\"}}]",
          "@get_weather{\"city\": \"Lyon\"}"},
         {"[TOOL_CALLS] [{\"name\": \"now\", \"arguments\": {}, \"id\": \"9Ae3bDc2F\"}, {\"name\": "
          "\"now\", \"arguments\": {\"a\": \"]}\"}}] bye",
          "@now{}@now{\"a\": \"]}\"}bye"},
         {"[TOOL_CALLS] [{\"name\": \"now\", \"arguments\": {}}, {\"name\": \"no\"}]",
          "@now{}, {\"name\": \"no\"}]"},
         {"[TOOL_CALLS] none", "[TOOL_CALLS] none"}});
  Check(PlanFor("mistral"),
        {{"[TOOL_CALLS]get_weather[ARGS]{\"city\": \"Lyon\"}", "@get_weather{\"city\": \"Lyon\"}"},
         {"Let me see.[TOOL_CALLS]now[CALL_ID]a1B2c3D4e[ARGS]{}[TOOL_CALLS]now[ARGS]{\"a\": 1}",
          "Let me see.@now{}@now{\"a\": 1}"},
         {"[TOOL_CALLS][{\"name\": \"now\", \"arguments\": {}}]", "@now{}"},
         {"[TOOL_CALLS]nothing[ARGS]{}", "[TOOL_CALLS]nothing[ARGS]{}"},
         {"[TOOL_CALLS]now[ARGS]{\"a\": 1", "[TOOL_CALLS]now[ARGS]{\"a\": 1"}});
}

TEST(AnswerFormats, DeepSeek) {
  Check(PlanFor("deepseek_v3"),
        {{"Sure.\n<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>get_weather\n"
          "```json\n{\"city\": \"杭州\"}\n```<｜tool▁call▁end｜>\n<｜tool▁call▁begin｜>function"
          "<｜tool▁sep｜>now\n```json\n{}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
          "Sure.@get_weather{\"city\": \"杭州\"}@now{}"},
         {"<｜tool▁calls▁begin｜>x", "<｜tool▁calls▁begin｜>x"},
         {"<｜tool▁call▁begin｜>function<｜tool▁sep｜>now\n```json\n{]\n```<｜tool▁call▁end｜>",
          "<｜tool▁call▁begin｜>function<｜tool▁sep｜>now\n```json\n{]\n```<｜tool▁call▁end｜>"}});
  Check(
      PlanFor("deepseek_v31"),
      {{"<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>now<｜tool▁sep｜>{\"a\": 1}<｜tool▁call▁end｜>"
        "<｜tool▁call▁begin｜>now<｜tool▁sep｜>{}<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
        "@now{\"a\": 1}@now{}"}});
  Check(PlanFor("kimi_k2"),
        {{"<|tool_calls_section_begin|><|tool_call_begin|>functions.now:0"
          "<|tool_call_argument_begin|>{}<|tool_call_end|><|tool_call_begin|>functions.now:1"
          "<|tool_call_argument_begin|>{\"a\": 1}<|tool_call_end|><|tool_calls_section_end|>",
          "@now{}@now{\"a\": 1}"}});
}

TEST(AnswerFormats, Phi4AndGranite) {
  Check(
      PlanFor("phi4"),
      {{"<|tool_call|>[{\"name\":\"get_weather\",\"arguments\":{\"city\":\"Oslo\"}}]<|/tool_call|>",
        "@get_weather{\"city\":\"Oslo\"}"},
       {"functools[{\"name\": \"now\", \"arguments\": {}}]", "@now{}"},
       {"<|tool_calls|>[{\"name\": \"now\", \"arguments\": {}}]<|/tool_calls|>", "@now{}"},
       {"functools are fine", "functools are fine"},
       {"<|tool_call|>{\"name\": \"now\"}<|/tool_call|> and", "@now{}and"}});
  Check(PlanFor("granite"), {{"<|tool_call|>[{\"name\": \"now\", \"arguments\": {}}]", "@now{}"},
                             {"<tool_call>[{\"name\": \"now\", \"arguments\": {}}]", "@now{}"}});
}

TEST(AnswerFormats, NemotronAndInternLM2) {
  Check(PlanFor("nemotron"),
        {{"Let me see.\n\n<TOOLCALL>[{\"name\": \"get_weather\", \"arguments\": {\"city\": "
          "\"Oslo\"}}, {\"name\": \"now\", \"arguments\": {}}]</TOOLCALL>",
          "Let me see.@get_weather{\"city\": \"Oslo\"}@now{}"},
         {"<TOOLCALL>[1]</TOOLCALL>", "<TOOLCALL>[1]</TOOLCALL>"}});
  Check(PlanFor("internlm2"),
        {{"I look.<|action_start|><|plugin|>\n{\"name\": \"now\", \"parameters\": {\"a\": 1}}"
          "<|action_end|>\n",
          "I look.@now{\"a\": 1}"},
         {"<|action_start|><|plugin|>now", "<|action_start|><|plugin|>now"}});
}

TEST(AnswerFormats, FunctionGemma) {
  Check(PlanFor("functiongemma"),
        {{"<start_function_call>call:get_weather{city:<escape>Oslo, {Norway}<escape>,days:2}"
          "<end_function_call>",
          R"(@get_weather{"city":"Oslo, {Norway}","days":2})"},
         {"<start_function_call>call:now{}<end_function_call><start_function_call>call:now{z:"
          "<escape>Europe/Z\"rich<escape>}<end_function_call><start_function_response>",
          R"(@now{}@now{"z":"Europe/Z\"rich"})"},
         {"I look.\n<start_function_call>call:now{deep:{a:[1,<escape><escape>,true],b:null}}"
          "<end_function_call> Done.",
          R"(I look.@now{"deep":{"a":[1,"",true],"b":null}}Done.)"},
         {"<start_function_call>call now {a:1}", R"(@now{"a":1})"},
         // As a grammar writes it.
         {R"(<start_function_call>call:now{"a": "<escape>}", "b": [{}]}<end_function_call>)",
          R"(@now{"a": "<escape>}", "b": [{}]})"}});
  for (const char* text : {
           "<start_function_call>",
           "<start_function_call>call:now",
           "<start_function_call>call:unknown{}<end_function_call>",
           "<start_function_call>call:now{a:<escape>x}<end_function_call>",
           "<start_function_call>call:now{a:oops}<end_function_call>",
           "<start_function_call>call:now{a}<end_function_call>",
           "<start_function_call>call:now{a:1",
           "<start_function_call>now(a=1)<end_function_call>",
           "<start_function_call>call:now[1]<end_function_call>",
       }) {
    EXPECT_EQ(Parse(PlanFor("functiongemma"), text), text);
  }
  Check(PlanFor("gemma4"),
        {{"<|tool_call>call:get_weather{city:<|\"|>Bergen<|\"|>}<tool_call|>",
          R"(@get_weather{"city":"Bergen"})"},
         {"<|tool_call>call:now{a:<|\"|><|\"|>,b:<|\"|>}<|\"|>}<tool_call|><|tool_response>",
          R"(@now{"a":"","b":"}"})"}});
  Check(Thinking("gemma4", "gemma4"),
        {{"<|channel>thought\nHm.<channel|><|tool_call>call:now{}<tool_call|>", "((Hm.))@now{}"}});
}

TEST(AnswerFormats, Gemma) {
  Check(PlanFor("gemma"),
        {{"```tool_call\n{\"name\": \"now\", \"parameters\": {}}\n```", "@now{}"},
         {"```json\n{\"name\": \"now\", \"parameters\": {\"a\": \"`\"}}\n```\nThat's it.",
          "@now{\"a\": \"`\"}That's it."},
         {"{\"name\": \"now\", \"parameters\": {}}", "@now{}"},
         {"Some code:\n```json\n{\"a\": 1}\n```\n", "Some code:\n```json\n{\"a\": 1}\n```\n"},
         {"```python\nprint()\n```", "```python\nprint()\n```"}});
}

TEST(AnswerFormats, Qwen3Coder) {
  Check(PlanFor("qwen3_coder"),
        {{"I'll check.\n<tool_call>\n<function=get_weather>\n<parameter=city>\nSão \"Paulo\" <b>\n"
          "</parameter>\n<parameter=days>\n3\n</parameter>\n</function>\n</tool_call>",
          "I'll check.@get_weather{\"city\": \"São \\\"Paulo\\\" <b>\", \"days\": 3}"},
         {"<tool_call>\n<function=get_weather>\n<parameter=code>\ndef f():\n    return {1}\n\n"
          "</parameter>\n</function>\n</tool_call>\n<tool_call>\n<function=now>\n</function>\n"
          "</tool_call>",
          "@get_weather{\"code\": \"def f():\\n    return {1}\\n\"}@now{}"},
         // A string stays one, whatever it looks like; other values are JSON or else strings.
         {"<function=get_weather><parameter=city>12</parameter><parameter=days>soon</parameter>"
          "<parameter=x>True</parameter></function>",
          "@get_weather{\"city\": \"12\", \"days\": \"soon\", \"x\": true}"},
         {"<tool_call>{\"name\": \"now\", \"arguments\": {}}</tool_call>", "@now{}"},
         {"<function=unknown>\n</function>", "<function=unknown>\n</function>"},
         {"<tool_call>\n<function=now>\n<parameter=a>\n1",
          "<tool_call>\n<function=now>\n<parameter=a>\n1"},
         {"<tool_call>\n<function=now>\ntext</function>",
          "<tool_call>\n<function=now>\ntext</function>"}});
}

TEST(AnswerFormats, GLM) {
  Check(PlanFor("glm"),
        {{"I'll check.\n<tool_call>get_weather\n<arg_key>city</arg_key>\n<arg_value>São <b> Paulo"
          "</arg_value>\n<arg_key>days</arg_key>\n<arg_value>3</arg_value>\n</tool_call>",
          "I'll check.@get_weather{\"city\": \"São <b> Paulo\", \"days\": 3}"},
         // GLM 4.7 writes no line breaks.
         {"<tool_call>get_weather<arg_key>city</arg_key><arg_value>\n12</arg_value></tool_call>"
          "<tool_call>now</tool_call>",
          "@get_weather{\"city\": \"\\n12\"}@now{}"},
         {"<tool_call>{\"name\": \"now\", \"arguments\": {}}</tool_call>", "@now{}"}});
  for (const char* text : {
           "<tool_call>unknown\n</tool_call>",
           "<tool_call>now\n<arg_key>a</arg_key>\ntext</tool_call>",
           "<tool_call>now\n<arg_key></arg_key><arg_value>1</arg_value></tool_call>",
           "<tool_call>now\n<arg_key>a</arg_key><arg_value>1",
           "<tool_call>now and then",
       }) {
    EXPECT_EQ(Parse(PlanFor("glm"), text), text);
  }
  Check(Thinking("think", "glm"),
        {{"<think>Hm.</think>\n<tool_call>now\n</tool_call>", "((Hm.))@now{}"}});
}

TEST(AnswerFormats, MiniMax) {
  Check(
      PlanFor("minimax"),
      {{"I look.\n<minimax:tool_call>\n<invoke name=\"get_weather\">\n<parameter "
        "name=\"city\">\"Oslo\"</parameter>\n<parameter name=\"days\">2</parameter>\n</invoke>\n"
        "<invoke name=\"now\">\n</invoke>\n</minimax:tool_call>",
        "I look.@get_weather{\"city\": \"\\\"Oslo\\\"\", \"days\": 2}@now{}"},
       {"<invoke name=\"now\"><parameter name=\"a\">[1]</parameter></invoke>", "@now{\"a\": [1]}"},
       {"<minimax:tool_call>\n<invoke name=\"unknown\">\n</invoke>",
        "<minimax:tool_call>\n<invoke name=\"unknown\">\n</invoke>"}});
}

TEST(AnswerFormats, DeepSeekV32) {
  Check(PlanFor("deepseek_v32"),
        {{"I look.\n\n<｜DSML｜function_calls>\n<｜DSML｜invoke name=\"get_weather\">\n"
          "<｜DSML｜parameter name=\"city\" string=\"true\">7</｜DSML｜parameter>\n"
          "<｜DSML｜parameter name=\"days\" string=\"false\">2</｜DSML｜parameter>\n"
          "</｜DSML｜invoke>\n<｜DSML｜invoke name=\"now\">\n</｜DSML｜invoke>\n"
          "</｜DSML｜function_calls>",
          "I look.@get_weather{\"city\": \"7\", \"days\": 2}@now{}"},
         // The tag says what a value is, also where the schema does not.
         {"<｜DSML｜invoke name=\"now\"><｜DSML｜parameter name=\"a\" string=\"true\">[1]"
          "</｜DSML｜parameter><｜DSML｜parameter name=\"b\" string=\"false\">[1]"
          "</｜DSML｜parameter></｜DSML｜invoke>",
          "@now{\"a\": \"[1]\", \"b\": [1]}"},
         {"<｜DSML｜invoke name=\"now\"><｜DSML｜parameter name=\"a\">[1]</｜DSML｜parameter>"
          "</｜DSML｜invoke>",
          "@now{\"a\": [1]}"},
         {"<｜DSML｜function_calls>\n<｜DSML｜invoke name=\"unknown\">\n</｜DSML｜invoke>",
          "<｜DSML｜function_calls>\n<｜DSML｜invoke name=\"unknown\">\n</｜DSML｜invoke>"}});
}

TEST(AnswerFormats, Apertus) {
  Check(Thinking("apertus", "apertus"),
        {{"<|inner_prefix|>Hm.<|inner_suffix|>I look.<|tools_prefix|>[{\"get_weather\": {\"city\": "
          "\"Oslo\"}}, {\"now\": {}}]<|tools_suffix|>",
          "((Hm.))I look.@get_weather{\"city\": \"Oslo\"}@now{}"},
         {"It is <|inner_prefix|>7?<|inner_suffix|>8.", "It is((7?))8."},
         {"<|tools_prefix|>[{\"unknown\": {}}]", "<|tools_prefix|>[{\"unknown\": {}}]"},
         {"<|tools_prefix|>[{\"now\": {}, \"get_weather\": {}}]",
          "<|tools_prefix|>[{\"now\": {}, \"get_weather\": {}}]"}});
}

TEST(AnswerFormats, Jamba) {
  Check(PlanFor("jamba"),
        {{"<tool_calls>[\n    {\"name\": \"get_weather\", \"arguments\": {\"city\": "
          "\"Oslo\"}},\n    {\"name\": \"now\", \"arguments\": {}}\n]</tool_calls>",
          "@get_weather{\"city\": \"Oslo\"}@now{}"}});
}

TEST(AnswerFormats, Cohere) {
  Check(PlanFor("cohere"),
        {{"<|START_ACTION|>[\n    {\"tool_call_id\": \"0\", \"tool_name\": \"get_weather\", "
          "\"parameters\": {\"city\": \"Oslo\"}},\n    {\"tool_call_id\": \"1\", \"tool_name\": "
          "\"now\", \"parameters\": {}}\n]<|END_ACTION|>",
          "@get_weather{\"city\": \"Oslo\"}@now{}"}});
  Check(Thinking("cohere", "cohere"),
        {{"<|START_THINKING|>Hm.<|END_THINKING|><|START_RESPONSE|>Yes.<|END_RESPONSE|>",
          "((Hm.))Yes."},
         {"<|START_THINKING|>Hm.<|END_THINKING|><|START_ACTION|>[{\"tool_call_id\": \"0\", "
          "\"tool_name\": \"now\", \"parameters\": {}}]<|END_ACTION|>",
          "((Hm.))@now{}"}});
  Check(PlanFor("command_r"),
        {{"Action: ```json\n[\n    {\n        \"tool_name\": \"now\",\n        \"parameters\": {}\n"
          "    }\n]```",
          "@now{}"},
         {"Action: none", "Action: none"}});
}

TEST(AnswerFormats, LFM2) {
  Check(PlanFor("lfm2"),
        {{"<|tool_call_start|>[get_weather(city=\"Oslo\", days=2), now()]<|tool_call_end|>I look.",
          "@get_weather{\"city\":\"Oslo\",\"days\":2}@now{}I look."},
         {"[now()]", "[now()]"}});
}

TEST(AnswerFormats, Pythonic) {
  Check(PlanFor("pythonic"),
        {{"[get_weather(city='It\\'s \"Rome\"', days=3), now()]",
          "@get_weather{\"city\":\"It's \\\"Rome\\\"\",\"days\":3}@now{}"},
         {"<|python_start|>[now(a=[1, -2.5, None], b={'k': (True, False)})]<|python_end|>",
          "@now{\"a\":[1,-2.5,null],\"b\":{\"k\":[true,false]}}"},
         {"[now(\"positional\")]", "[now(\"positional\")]"},
         {"[now(a=b)]", "[now(a=b)]"},
         {"[now(a=1", "[now(a=1"},
         {"[now(a=')')]", "@now{\"a\":\")\"}"},
         {"[1, 2, 3] is a list", "[1, 2, 3] is a list"},
         {"[other()]", "[other()]"}});
}

TEST(AnswerFormats, OLMo3) {
  Check(
      PlanFor("olmo3"),
      {{"<function_calls>get_weather(city=\"Oslo\", days=2)\nnow()</function_calls>",
        "@get_weather{\"city\":\"Oslo\",\"days\":2}@now{}"},
       {"I look.\n<function_calls>\nnow(a=null, b=[true, false], c='x')\n</function_calls>\nDone.",
        "I look.@now{\"a\":null,\"b\":[true,false],\"c\":\"x\"}Done."},
       {"<function_calls>now()</function_calls>now() is a call", "@now{}now() is a call"},
       {"<function_calls>now(a=\"\\ud83d\\ude00\\ud83d!\")</function_calls>",
        "@now{\"a\":\"😀\uFFFD!\"}"},
       {"<function_calls>other()</function_calls>", "<function_calls>other()</function_calls>"},
       {"<function_calls>now()\nother()</function_calls>", "@now{}other()</function_calls>"},
       {"now()", "now()"}});
}

TEST(AnswerFormats, MiniCPM3) {
  Check(Thinking("minicpm3", "minicpm3"),
        {{"<|thought_start|>\nI look.\n<|thought_end|>\n<|tool_call_start|>\n```python\n"
          "get_weather(city=\"Oslo\",days=2)\nnow()\n```\n<|tool_call_end|>\nWait.",
          "((I look.))@get_weather{\"city\":\"Oslo\",\"days\":2}@now{}Wait."},
         {"<|thought_start|>Easy.<|thought_end|>\nPi.", "((Easy.))Pi."},
         {"<|tool_call_start|>now()<|tool_call_end|>", "@now{}"},
         {"```python\nnow()\n```", "```python\nnow()\n```"},
         {"<|tool_call_start|>\n```python\nx = 1\n```",
          "<|tool_call_start|>\n```python\nx = 1\n```"}});
}

TEST(AnswerFormats, Hunyuan) {
  Check(Thinking("hunyuan", "hunyuan"),
        {{"<think>\nI look.\n</think>\n<tool_calls><tool_call>get_weather\n```json\n{\"city\": "
          "\"Oslo\"}\n```</tool_call>\n<tool_call>now\n```json\n{}\n```</tool_call></tool_calls>",
          "((I look.))@get_weather{\"city\": \"Oslo\"}@now{}"},
         {"<think>\n\n</think>\n<answer>\nParis.\n</answer>", "Paris."},
         {"<answer>\n1 < 2\n\nYes", "1 < 2\n\nYes"},
         // As the A13B writes calls.
         {"<tool_calls>[{\"name\": \"now\", \"arguments\": {\"a\": 1}}]</tool_calls>",
          "@now{\"a\": 1}"},
         {"<tool_calls><tool_call>other\n```json\n{}\n```</tool_call></tool_calls>",
          "<tool_calls><tool_call>other\n```json\n{}\n```</tool_call></tool_calls>"}});
  Check(PlanFor("hunyuan_a13b"),
        {{"<tool_calls>[{\"name\": \"now\", \"arguments\": {}}, {\"name\": \"now\", \"arguments\": "
          "{\"a\": 1}}]</tool_calls>",
          "@now{}@now{\"a\": 1}"}});
}

TEST(AnswerFormats, MiniMaxM1) {
  Check(
      PlanFor("minimax_m1"),
      {{"I look.\n<tool_calls>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Oslo\"}}\n"
        "{\"name\": \"now\", \"arguments\": {}}\n</tool_calls>",
        "I look.@get_weather{\"city\": \"Oslo\"}@now{}"},
       {"<tool_calls>\n{\"name\": \"now\", \"arguments\": {}}\n</tool_calls>{\"name\": \"now\"}",
        "@now{}{\"name\": \"now\"}"},
       {"<tool_calls>\nnone\n</tool_calls>", "<tool_calls>\nnone\n</tool_calls>"}});
}

TEST(AnswerFormats, GLM4) {
  Check(PlanFor("glm4"),
        {{"get_weather\n{\"city\": \"Oslo\"}", "@get_weather{\"city\": \"Oslo\"}"},
         {"\nnow\n{}<|observation|>", "@now{}"},
         {"now\n{}<|assistant|>get_weather\n{\"days\": 2}", "@now{}@get_weather{\"days\": 2}"},
         {"\nI look.<|assistant|>now\n{}", "\nI look.@now{}"},
         {"now\nis the time: {}", "now\nis the time: {}"},
         {"nowhere\n{}", "nowhere\n{}"},
         {"Right now\n{}", "Right now\n{}"},
         {"other\n{}", "other\n{}"}});
  AnswerParser parser(std::make_shared<const AnswerPlan>(PlanFor("glm4")));
  EXPECT_FALSE(parser.Put("now\nis").empty()) << "a second word: this is no call";
  AnswerPlan thinks = Thinking("think", "glm4");
  thinks.begins_in_thoughts = true;
  EXPECT_EQ(Parse(thinks, "Hm.\n</think>\nnow\n{}"), "((Hm.))@now{}");
}

TEST(AnswerFormats, TheGenericFormat) {
  Check(PlanFor("json"), {{"<tool_call>{\"name\": \"now\"}</tool_call>", "@now{}"},
                          {"{\"name\": \"now\", \"arguments\": {}}", "@now{}"},
                          {"```json\n[{\"name\": \"now\", \"arguments\": {}}]\n```", "@now{}"}});
}

TEST(AnswerFormats, Harmony) {
  AnswerPlan plan = Thinking("harmony", "harmony");
  Check(
      plan,
      {{"<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>final<|message|>Hi!",
        "((Hm.))Hi!"},
       {"<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>commentary "
        "to=functions.get_weather <|constrain|>json<|message|>{\"city\": \"Paris\"}",
        "((Hm.))@get_weather{\"city\": \"Paris\"}"},
       {"<|channel|>commentary<|message|>First.<|end|><|start|>assistant<|channel|>analysis"
        "<|message|>b<|end|><|start|>assistant to=functions.now<|channel|>commentary json"
        "<|message|>{}<|call|>",
        "First.((b))@now{}"}});
}

}  // namespace
}  // namespace mlc
