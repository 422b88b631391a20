#include "chat/tools/formats.h"

#include <gtest/gtest.h>

#include <fstream>
#include <set>

#include "fixture_paths.h"

namespace mlc {
namespace {

struct Choice {
  const char* chat_template;  // what tells the format in the family's own template
  const char* tools;
  const char* reasoning;  // "": none
};

TEST(Formats, AreChosenByTheTemplatesMarks) {
  for (const Choice& choice : std::initializer_list<Choice>{
           {"{{ '<tool_call>\\n{\"name\": \"' }}", "hermes", ""},
           {"<tool_call> </think>", "hermes", "think"},
           {"<|im_start|>", "json", ""},
           {"", "json", ""},
           {"<|start_header_id|> {{ '\"parameters\": ' }}", "llama3", ""},
           {"<|start_header_id|>", "json", ""},  // Llama 3.0 knows no tools
           {"<|header_start|>", "pythonic", ""},
           {"[AVAILABLE_TOOLS] [TOOL_CALLS]", "mistral_v3", ""},
           {"[TOOL_CALLS] [ARGS] [THINK]", "mistral", "magistral"},
           {"<｜tool▁sep｜> ```json </think>", "deepseek_v3", "think"},
           {"<｜tool▁sep｜> </think>", "deepseek_v31", "think"},
           {"<|tool_calls_section_begin|>", "kimi_k2", ""},
           {"{% set mark = '｜DSML｜' %} '<' ~ mark ~ 'function_calls>' <think>", "deepseek_v32",
            "think"},
           {"<tool_call> <function= <parameter=", "qwen3_coder", ""},
           {"<tool_call> <arg_key> </think>", "glm", "think"},
           {"<minimax:tool_call> <invoke </think>", "minimax", "think"},
           {"<|START_OF_TURN_TOKEN|> <|START_THINKING|> <|START_ACTION|>", "cohere", "cohere"},
           {"<|START_OF_TURN_TOKEN|> {{ 'Action: ```json' }}", "command_r", ""},
           {"<|START_OF_TURN_TOKEN|>", "json", ""},
           {"<|im_start|> <|tool_list_start|>", "lfm2", ""},
           {"<|tool|> <|/tool|>", "phi4", ""},
           {"<|tools_prefix|> <|inner_prefix|>", "apertus", "apertus"},
           {"<|bom|><|assistant|> <tool_calls>[", "jamba", ""},
           {"<start_of_turn>", "gemma", ""},
           {"<start_of_turn> <start_function_call>call:", "functiongemma", ""},
           {"<|turn> <|tool_call>call: <|channel>thought", "gemma4", "gemma4"},
           {"<|start_of_role|> <|tool_call|> Here is my thought process:", "granite", "granite"},
           {"<|start_of_role|> <tool_call>", "hermes", ""},  // Granite 4
           {"<|start_of_role|>", "json", ""},
           {"<|channel|>", "harmony", "harmony"},
           {"<TOOLCALL> <think></think>", "nemotron", "think"},
           {"<|im_start|> <|action_start|><|plugin|>", "internlm2", ""},
           {"<seed:think>", "json", "seed_oss"},
           {"<|im_start|> <functions> <function_calls>", "olmo3", ""},
           {"<|im_start|> <function_calls> <think>", "olmo3", "think"},
           {"<|im_start|> <|thought_start|> <|tool_call_start|>\\n```python", "minicpm3",
            "minicpm3"},
           {"<tool_calls><tool_call>NAME ```json {{ '<answer>' }} <think>", "hunyuan", "hunyuan"},
           {"<tool_calls>[{\"name\": <think>", "hunyuan_a13b", "think"},
           {"<beginning_of_sentence> <tool_calls>\\n{\"name\"", "minimax_m1", ""},
           {"[gMASK]<sop> message.get(\"metadata\", \"\") <|observation|>", "glm4", ""},
           {"[gMASK]<sop> metadata <think>", "glm4", "think"},
           {"[gMASK]<sop> <tool_call> <arg_key> <|observation|>", "glm", ""},
       }) {
    EXPECT_EQ(ChooseToolFormat(choice.chat_template).name, choice.tools) << choice.chat_template;
    const ReasoningFormat* reasoning = ChooseReasoningFormat(choice.chat_template);
    EXPECT_EQ(reasoning != nullptr ? reasoning->name : "", choice.reasoning)
        << choice.chat_template;
  }
}

// `tests/fixtures/templates`, in the manner of the families' own.
TEST(Formats, AreChosenForTheTemplatesOfTheFixtures) {
  for (const Choice& choice : std::initializer_list<Choice>{
           {"apertus", "apertus", "apertus"},
           {"baichuan_2", "json", ""},
           {"chatml", "json", ""},
           {"command_a", "cohere", "cohere"},
           {"command_r", "json", ""},
           {"deepseek_r1", "json", "think"},
           {"deepseek_v31", "deepseek_v31", "think"},
           {"deepseek_v32", "deepseek_v32", "think"},
           {"exaone_4", "hermes", "think"},
           {"gemma_3", "gemma", ""},
           {"gemma_4", "gemma4", ""},
           {"glm", "glm", "think"},
           {"glm_4", "glm4", ""},
           {"granite", "json", ""},
           {"granite_4", "hermes", ""},
           {"harmony", "harmony", "harmony"},
           {"hermes_tools", "hermes", ""},
           {"hunyuan", "hunyuan", "hunyuan"},
           {"jamba", "jamba", ""},
           {"kimi_k2", "kimi_k2", "think"},
           {"lfm2", "lfm2", ""},
           {"llama_3_1", "llama3", ""},
           {"llama_3_2_vision", "json", ""},
           {"llama_4", "pythonic", ""},
           {"minicpm", "json", ""},
           {"minicpm_3", "minicpm3", "minicpm3"},
           {"minimax", "minimax", "think"},
           {"minimax_m1", "minimax_m1", ""},
           {"ministral_3", "mistral", "magistral"},
           {"mistral_7b", "json", ""},
           {"mistral_tools", "mistral_v3", ""},
           {"nemotron", "nemotron", "think"},
           {"olmo_3", "olmo3", "think"},
           {"orion", "json", ""},
           {"phi_3", "json", ""},
           {"phi_4", "phi4", ""},
           {"qwen_2_5", "hermes", ""},
           {"qwen_3", "hermes", "think"},
           {"qwen_3_5", "qwen3_coder", "think"},
           {"rwkv_world", "json", ""},
           {"smollm3", "json", "think"},
           {"stablelm_2", "json", ""},
       }) {
    const std::string path =
        std::string(MLC_FAKE_MODEL_FOLDER) + "/../templates/" + choice.chat_template + ".jinja";
    std::ifstream file(path);
    const std::string source{std::istreambuf_iterator<char>(file), {}};
    ASSERT_FALSE(source.empty()) << path;
    EXPECT_EQ(ChooseToolFormat(source).name, choice.tools) << choice.chat_template;
    const ReasoningFormat* reasoning = ChooseReasoningFormat(source);
    EXPECT_EQ(reasoning != nullptr ? reasoning->name : "", choice.reasoning) << path;
  }
}

TEST(Formats, HaveNamesOfTheirOwn) {
  std::set<std::string> names;
  for (const ToolFormat& format : ToolFormats()) {
    EXPECT_TRUE(names.insert(format.name).second) << format.name;
    EXPECT_EQ(FindToolFormat(format.name), &format);
    EXPECT_FALSE(format.openers.empty()) << format.name;
  }
  for (const ReasoningFormat& format : ReasoningFormats()) {
    EXPECT_EQ(FindReasoningFormat(format.name), &format);
    EXPECT_FALSE(format.begin.empty() || format.end.empty()) << format.name;
  }
  EXPECT_EQ(FindToolFormat("none"), nullptr);
  EXPECT_EQ(FindToolFormat(""), nullptr);
}

// What a grammar writes begins with the first opener, by which the parser knows it.
TEST(Formats, BeginWithTheirFirstOpener) {
  for (const ToolFormat& format : ToolFormats()) {
    std::string begin = format.section_begin + format.call_begin;
    if (begin.empty() || format.style == CallStyle::kPython) continue;
    EXPECT_EQ(begin.rfind(format.openers.front(), 0), 0u) << format.name;
  }
}

TEST(WriteCalls, AsTheFamiliesWriteThem) {
  const std::vector<WrittenCall> calls = {{"f", R"({"a": "x", "b": [1, null]})"}, {"g", "{}"}};
  auto write = [&](const char* name) { return WriteCalls(*FindToolFormat(name), calls); };
  EXPECT_EQ(write("hermes"),
            "<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": \"x\", \"b\": [1, null]}}\n"
            "</tool_call>\n<tool_call>\n{\"name\": \"g\", \"arguments\": {}}\n</tool_call>");
  EXPECT_EQ(write("llama3"),
            "{\"name\": \"f\", \"parameters\": {\"a\": \"x\", \"b\": [1, null]}}; "
            "{\"name\": \"g\", \"parameters\": {}}");
  EXPECT_EQ(write("mistral_v3"),
            "[TOOL_CALLS] [{\"name\": \"f\", \"arguments\": {\"a\": \"x\", \"b\": [1, null]}}, "
            "{\"name\": \"g\", \"arguments\": {}}]");
  EXPECT_EQ(write("mistral"),
            "[TOOL_CALLS]f[ARGS]{\"a\": \"x\", \"b\": [1, null]}[TOOL_CALLS]g[ARGS]{}");
  EXPECT_EQ(write("functiongemma"),
            "<start_function_call>call:f{a:<escape>x<escape>,b:[1,null]}<end_function_call>"
            "<start_function_call>call:g{}<end_function_call>");
  EXPECT_EQ(write("gemma4"),
            "<|tool_call>call:f{a:<|\"|>x<|\"|>,b:[1,null]}<tool_call|>"
            "<|tool_call>call:g{}<tool_call|>");
  EXPECT_EQ(write("glm"),
            "<tool_call>f\n<arg_key>a</arg_key>\n<arg_value>x</arg_value>\n<arg_key>b</arg_key>\n"
            "<arg_value>[1,null]</arg_value>\n</tool_call>\n<tool_call>g\n\n</tool_call>");
  EXPECT_EQ(write("minimax"),
            "<minimax:tool_call>\n<invoke name=\"f\">\n<parameter name=\"a\">x</parameter>\n"
            "<parameter name=\"b\">[1,null]</parameter>\n</invoke>\n<invoke name=\"g\">\n\n"
            "</invoke>\n</minimax:tool_call>");
  EXPECT_EQ(write("deepseek_v32"),
            "<｜DSML｜function_calls>\n<｜DSML｜invoke name=\"f\">\n<｜DSML｜parameter name=\"a\" "
            "string=\"true\">x</｜DSML｜parameter>\n<｜DSML｜parameter name=\"b\" "
            "string=\"false\">[1,null]</｜DSML｜parameter>\n</｜DSML｜invoke>\n"
            "<｜DSML｜invoke name=\"g\">\n\n</｜DSML｜invoke>\n</｜DSML｜function_calls>");
  EXPECT_EQ(write("apertus"),
            "<|tools_prefix|>[{\"f\": {\"a\": \"x\", \"b\": [1, null]}}, {\"g\": {}}]"
            "<|tools_suffix|>");
  EXPECT_EQ(write("jamba"),
            "<tool_calls>[{\"name\": \"f\", \"arguments\": {\"a\": \"x\", \"b\": [1, null]}}, "
            "{\"name\": \"g\", \"arguments\": {}}]</tool_calls>");
  EXPECT_EQ(write("cohere"),
            "<|START_ACTION|>[{\"tool_name\": \"f\", \"parameters\": {\"a\": \"x\", \"b\": [1, "
            "null]}}, {\"tool_name\": \"g\", \"parameters\": {}}]<|END_ACTION|>");
  EXPECT_EQ(write("nemotron"),
            "<TOOLCALL>[{\"name\": \"f\", \"arguments\": {\"a\": \"x\", \"b\": [1, null]}}, "
            "{\"name\": \"g\", \"arguments\": {}}]</TOOLCALL>");
  EXPECT_EQ(write("lfm2"), "<|tool_call_start|>[f(a=\"x\", b=[1, None]), g()]<|tool_call_end|>");
  EXPECT_EQ(write("hunyuan"),
            "<tool_calls><tool_call>f\n```json\n{\"a\": \"x\", \"b\": [1, null]}\n```</tool_call>\n"
            "<tool_call>g\n```json\n{}\n```</tool_call></tool_calls>");
  EXPECT_EQ(write("hunyuan_a13b"),
            "<tool_calls>[{\"name\": \"f\", \"arguments\": {\"a\": \"x\", \"b\": [1, null]}}, "
            "{\"name\": \"g\", \"arguments\": {}}]</tool_calls>");
  EXPECT_EQ(write("minimax_m1"),
            "<tool_calls>\n{\"name\": \"f\", \"arguments\": {\"a\": \"x\", \"b\": [1, null]}}\n"
            "{\"name\": \"g\", \"arguments\": {}}\n</tool_calls>");
  EXPECT_EQ(write("glm4"), "f\n{\"a\": \"x\", \"b\": [1, null]}<|assistant|>g\n{}");
  EXPECT_EQ(write("olmo3"), "<function_calls>f(a=\"x\", b=[1, None])\ng()</function_calls>");
  EXPECT_EQ(write("minicpm3"),
            "<|tool_call_start|>\n```python\nf(a=\"x\", b=[1, None])\ng()\n```\n<|tool_call_end|>");
  EXPECT_EQ(write("pythonic"), "[f(a=\"x\", b=[1, None]), g()]");
  EXPECT_EQ(write("qwen3_coder"),
            "<tool_call>\n<function=f>\n<parameter=a>\nx\n</parameter>\n<parameter=b>\n[1,null]\n"
            "</parameter>\n</function>\n</tool_call>\n<tool_call>\n<function=g>\n\n</function>\n"
            "</tool_call>");
}

}  // namespace
}  // namespace mlc
