#include "chat/tools/formats.h"

#include "base/json.h"
#include "chat/tools/choose_format.h"

namespace mlc {
namespace {

// Each entry has the form of the model's own template and model card. The openers, closers and
// fillers accept more: forms that such models are known to write.
std::vector<ToolFormat> MakeToolFormats() {
  std::vector<ToolFormat> formats;
  auto add = [&](const char* name, CallStyle style, std::vector<std::string> marks) -> ToolFormat& {
    formats.emplace_back();
    formats.back().name = name;
    formats.back().style = style;
    formats.back().template_marks = std::move(marks);
    return formats.back();
  };
  // A JSON list of calls, also of one.
  auto add_list = [&](const char* name, std::vector<std::string> marks, const std::string& begin,
                      const std::string& end) -> ToolFormat& {
    ToolFormat& format = add(name, CallStyle::kJson, std::move(marks));
    format.section_begin = begin + "[";
    format.separator = ", ";
    format.section_end = "]" + end;
    format.openers = {begin};
    if (!end.empty()) format.closers = {end};
    return format;
  };

  // gpt-oss. The call ends with <|call|>, a stop token.
  ToolFormat& harmony = add("harmony", CallStyle::kNamed, {"<|channel|>"});
  harmony.call_begin = "<|channel|>commentary to=functions.";
  harmony.name_end = " <|constrain|>json<|message|>";
  harmony.openers = {"<|channel|>commentary to=functions.", "<|channel|>analysis to=functions.",
                     "to=functions."};
  harmony.fillers = {"<|channel|>commentary", "<|channel|>analysis", "<|constrain|>json",
                     "<|message|>"};
  harmony.closers = {"<|call|>"};
  harmony.ends_with_call = true;

  // DeepSeek V3.2: its marker stands in all tags, and a tag of an argument says whether the value
  // is a text (deepseek-ai/DeepSeek-V3.2, encoding/encoding_dsv32.py).
  ToolFormat& deepseek_v32 = add("deepseek_v32", CallStyle::kXml, {"｜DSML｜", "function_calls"});
  deepseek_v32.section_begin = "<｜DSML｜function_calls>\n";
  deepseek_v32.separator = "\n";
  deepseek_v32.section_end = "\n</｜DSML｜function_calls>";
  deepseek_v32.xml = {"<｜DSML｜invoke name=\"",
                      "\">",
                      "<｜DSML｜parameter name=\"",
                      "\">",
                      "",
                      "</｜DSML｜parameter>",
                      "</｜DSML｜invoke>",
                      "deepseek_xml",
                      "\" string=\""};
  deepseek_v32.openers = {"<｜DSML｜function_calls>", "<｜DSML｜invoke name=\""};
  deepseek_v32.closers = {"</｜DSML｜function_calls>"};

  // DeepSeek V3 and R1.
  ToolFormat& deepseek_v3 = add("deepseek_v3", CallStyle::kNamed, {"<｜tool▁sep｜>", "```json"});
  deepseek_v3.section_begin = "<｜tool▁calls▁begin｜>";
  deepseek_v3.call_begin = "<｜tool▁call▁begin｜>function<｜tool▁sep｜>";
  deepseek_v3.name_end = "\n```json\n";
  deepseek_v3.call_end = "\n```<｜tool▁call▁end｜>";
  deepseek_v3.separator = "\n";
  deepseek_v3.section_end = "<｜tool▁calls▁end｜>";
  deepseek_v3.openers = {"<｜tool▁calls▁begin｜>", "<｜tool▁call▁begin｜>"};
  deepseek_v3.fillers = {"<｜tool▁call▁begin｜>", "function<｜tool▁sep｜>", "<｜tool▁sep｜>",
                         "```json"};
  deepseek_v3.closers = {"```", "<｜tool▁call▁end｜>", "<｜tool▁calls▁end｜>"};

  // DeepSeek V3.1.
  ToolFormat deepseek_v31 = deepseek_v3;
  deepseek_v31.name = "deepseek_v31";
  deepseek_v31.template_marks = {"<｜tool▁sep｜>"};
  deepseek_v31.call_begin = "<｜tool▁call▁begin｜>";
  deepseek_v31.name_end = "<｜tool▁sep｜>";
  deepseek_v31.call_end = "<｜tool▁call▁end｜>";
  deepseek_v31.separator = "";
  formats.push_back(deepseek_v31);

  ToolFormat& kimi = add("kimi_k2", CallStyle::kNamed, {"<|tool_calls_section_begin|>"});
  kimi.section_begin = "<|tool_calls_section_begin|>";
  kimi.call_begin = "<|tool_call_begin|>functions.";
  kimi.name_end = ":0<|tool_call_argument_begin|>";
  kimi.call_end = "<|tool_call_end|>";
  kimi.section_end = "<|tool_calls_section_end|>";
  kimi.openers = {"<|tool_calls_section_begin|>", "<|tool_call_begin|>"};
  kimi.fillers = {"<|tool_call_begin|>", "functions.", "<|tool_call_argument_begin|>"};
  kimi.closers = {"<|tool_call_end|>", "<|tool_calls_section_end|>"};
  kimi.named_ids = true;

  // Mistral since its tokenizer v11. Its templates, and older ones, need ids of nine characters.
  ToolFormat& mistral = add("mistral", CallStyle::kNamed, {"[TOOL_CALLS]", "[ARGS]"});
  mistral.call_begin = "[TOOL_CALLS]";
  mistral.name_end = "[ARGS]";
  mistral.openers = {"[TOOL_CALLS]"};
  mistral.fillers = {"[CALL_ID]", "[ARGS]"};
  mistral.short_ids = true;

  ToolFormat& mistral_v3 = add("mistral_v3", CallStyle::kJson, {"[TOOL_CALLS]"});
  mistral_v3.section_begin = "[TOOL_CALLS] [";
  mistral_v3.separator = ", ";
  mistral_v3.section_end = "]";
  mistral_v3.openers = {"[TOOL_CALLS]"};
  mistral_v3.short_ids = true;

  ToolFormat& qwen3_coder = add("qwen3_coder", CallStyle::kXml, {"<function=", "<parameter="});
  qwen3_coder.call_begin = "<tool_call>\n";
  qwen3_coder.call_end = "\n</tool_call>";
  qwen3_coder.separator = "\n";
  qwen3_coder.xml = {"<function=",     ">",           "<parameter=", ">", "\n",
                     "\n</parameter>", "</function>", "qwen_xml"};
  qwen3_coder.openers = {"<tool_call>", "<function="};
  qwen3_coder.closers = {"</tool_call>"};

  // GLM 4.5 to 4.7.
  ToolFormat& glm = add("glm", CallStyle::kXml, {"<arg_key>"});
  glm.call_begin = "<tool_call>";
  glm.separator = "\n";
  glm.xml = {
      "",       "", "<arg_key>", "</arg_key>", "\n<arg_value>", "</arg_value>", "</tool_call>",
      "glm_xml"};
  glm.openers = {"<tool_call>"};
  glm.closers = {"</tool_call>"};

  // MiniMax M2.
  ToolFormat& minimax = add("minimax", CallStyle::kXml, {"<minimax:tool_call>"});
  minimax.section_begin = "<minimax:tool_call>\n";
  minimax.separator = "\n";
  minimax.section_end = "\n</minimax:tool_call>";
  minimax.xml = {"<invoke name=\"", "\">",       "<parameter name=\"", "\">", "",
                 "</parameter>",    "</invoke>", "minimax_xml"};
  minimax.openers = {"<minimax:tool_call>", "<invoke name=\""};
  minimax.closers = {"</minimax:tool_call>"};

  // Command A, Command R7B and later: a list, also of one call. They number their calls.
  ToolFormat& cohere =
      add_list("cohere", {"<|START_ACTION|>"}, "<|START_ACTION|>", "<|END_ACTION|>");
  cohere.name_key = "tool_name";
  cohere.arguments_key = "parameters";

  // Command R and R+.
  ToolFormat command_r = cohere;
  command_r.name = "command_r";
  command_r.template_marks = {"<|START_OF_TURN_TOKEN|>", "Action:"};
  command_r.section_begin = "Action: ```json\n[";
  command_r.section_end = "]\n```";
  command_r.openers = {"Action: ```json", "Action:```json"};
  command_r.closers = {"```"};
  formats.push_back(command_r);

  // LFM2: as Llama 4, between marks.
  ToolFormat& lfm2 = add("lfm2", CallStyle::kPython, {"<|tool_list_start|>"});
  lfm2.section_begin = "<|tool_call_start|>[";
  lfm2.separator = ", ";
  lfm2.section_end = "]<|tool_call_end|>";
  lfm2.openers = {"<|tool_call_start|>"};
  lfm2.closers = {"<|tool_call_end|>"};

  // Phi-4-mini. It is known to write "functools", or the plural of the marker, instead of the
  // marker (github.com/vllm-project/vllm/issues/14682).
  ToolFormat& phi4 = add_list("phi4", {"<|/tool|>"}, "<|tool_call|>", "<|/tool_call|>");
  phi4.openers = {"<|tool_call|>", "<|tool_calls|>", "functools"};
  phi4.closers = {"<|/tool_call|>", "<|/tool_calls|>"};
  phi4.tools_in_system = true;

  // Granite 3: its template asks for "<|tool_call|> followed by a JSON list". Granite 4 has the
  // same roles but writes calls as Hermes does.
  ToolFormat& granite =
      add_list("granite", {"<|start_of_role|>", "<|tool_call|>"}, "<|tool_call|>", "");
  granite.openers = {"<|tool_call|>", "<tool_call>"};
  granite.closers = {"</tool_call>"};

  // Nemotron Nano 2, and Llama models that NVIDIA trained on.
  add_list("nemotron", {"<TOOLCALL>"}, "<TOOLCALL>", "</TOOLCALL>");

  // Apertus: the name of a function is the key of its arguments.
  ToolFormat& apertus =
      add_list("apertus", {"<|tools_prefix|>"}, "<|tools_prefix|>", "<|tools_suffix|>");
  apertus.name_key = apertus.arguments_key = "";

  // Jamba 1.5 and later.
  add_list("jamba", {"<|bom|>", "<tool_calls>"}, "<tool_calls>", "</tool_calls>");

  // Hunyuan's dense models, and the A13B by its later template: arguments are fenced. The earlier
  // template asks for a list (vllm-project/vllm, examples/tool_chat_template_hunyuan_a13b.jinja),
  // which the parser of the former reads too.
  ToolFormat& hunyuan =
      add("hunyuan", CallStyle::kNamed, {"<tool_calls>", "<tool_call>", "```json"});
  hunyuan.section_begin = "<tool_calls>";
  hunyuan.call_begin = "<tool_call>";
  hunyuan.name_end = "\n```json\n";
  hunyuan.call_end = "\n```</tool_call>";
  hunyuan.separator = "\n";
  hunyuan.section_end = "</tool_calls>";
  hunyuan.openers = {"<tool_calls>", "<tool_call>"};
  hunyuan.fillers = {"<tool_call>", "```json", "```"};
  hunyuan.closers = {"```", "</tool_call>", "</tool_calls>"};
  add_list("hunyuan_a13b", {"<tool_calls>[{"}, "<tool_calls>", "</tool_calls>");

  // MiniMax M1: one object on each line (docs/function_call_guide.md of its repositories).
  ToolFormat& minimax_m1 =
      add("minimax_m1", CallStyle::kJson, {"<tool_calls>", "<beginning_of_sentence>"});
  minimax_m1.section_begin = "<tool_calls>\n";
  minimax_m1.separator = "\n";
  minimax_m1.section_end = "\n</tool_calls>";
  minimax_m1.openers = {"<tool_calls>"};
  minimax_m1.closers = {"</tool_calls>"};
  minimax_m1.lines = true;

  // InternLM 2 and 2.5. Their own templates do not show calls, so configs must name this format.
  ToolFormat& internlm2 = add("internlm2", CallStyle::kJson, {"<|action_start|>", "<|plugin|>"});
  internlm2.call_begin = "<|action_start|><|plugin|>\n";
  internlm2.call_end = "<|action_end|>";
  internlm2.separator = "\n";
  internlm2.arguments_key = "parameters";
  internlm2.openers = {"<|action_start|><|plugin|>"};
  internlm2.closers = {"<|action_end|>"};

  // OLMo 3: as Llama 4, but one call on each line. Values may be JSON's (vllm-project/vllm,
  // olmo3_tool_parser.py).
  ToolFormat& olmo3 = add("olmo3", CallStyle::kPython, {"<function_calls>"});
  olmo3.section_begin = "<function_calls>";
  olmo3.separator = "\n";
  olmo3.section_end = "</function_calls>";
  olmo3.openers = {"<function_calls>"};
  olmo3.closers = {"</function_calls>"};
  olmo3.lines = true;

  // MiniCPM 3: the same as a block of Python (its repository's chat template).
  ToolFormat& minicpm3 = add("minicpm3", CallStyle::kPython, {"<|tool_call_start|>", "```python"});
  minicpm3.section_begin = "<|tool_call_start|>\n```python\n";
  minicpm3.separator = "\n";
  minicpm3.section_end = "\n```\n<|tool_call_end|>";
  minicpm3.openers = {"<|tool_call_start|>", "<|tool_call_start|>```python",
                      "<|tool_call_start|>\n```python"};
  minicpm3.closers = {"```", "<|tool_call_end|>"};
  minicpm3.lines = true;

  // Llama 4, and smaller Llama models that are told to use this format.
  ToolFormat& pythonic = add("pythonic", CallStyle::kPython, {"<|header_start|>"});
  pythonic.section_begin = "[";
  pythonic.separator = ", ";
  pythonic.section_end = "]";
  pythonic.openers = {"<|python_start|>"};
  pythonic.closers = {"<|python_end|>"};
  pythonic.bare = true;

  // Llama 3.1 to 3.3.
  ToolFormat& llama3 = add("llama3", CallStyle::kJson, {"<|start_header_id|>", "parameters"});
  llama3.separator = "; ";
  llama3.arguments_key = "parameters";
  llama3.openers = {"<|python_tag|>"};
  llama3.bare = true;
  llama3.one_call = true;

  // FunctionGemma (ai.google.dev/gemma/docs/functiongemma/formatting-and-best-practices). The text
  // behind a call begins its result, and is a stop token.
  ToolFormat& functiongemma = add("functiongemma", CallStyle::kQuoted, {"<start_function_call>"});
  functiongemma.call_begin = "<start_function_call>";
  functiongemma.call_end = "<end_function_call>";
  functiongemma.quote = "<escape>";
  functiongemma.openers = {"<start_function_call>"};
  functiongemma.closers = {"<end_function_call>", "<start_function_response>"};

  // Gemma 4's own template: the same format with other marks.
  ToolFormat& gemma4 = add("gemma4", CallStyle::kQuoted, {"<|tool_call>"});
  gemma4.call_begin = "<|tool_call>";
  gemma4.call_end = "<tool_call|>";
  gemma4.quote = "<|\"|>";
  gemma4.openers = {"<|tool_call>"};
  gemma4.closers = {"<tool_call|>", "<|tool_response>"};

  ToolFormat& gemma = add("gemma", CallStyle::kJson, {"<start_of_turn>"});
  gemma.call_begin = "```tool_call\n";
  gemma.call_end = "\n```";
  gemma.separator = "\n";
  gemma.arguments_key = "parameters";
  gemma.openers = {"```tool_call", "```tool_code", "```json"};
  gemma.closers = {"```"};
  gemma.bare = true;

  // Hermes, Qwen 2.5 and 3, SmolLM3, Granite 4.
  ToolFormat& hermes = add("hermes", CallStyle::kJson, {"<tool_call>"});
  hermes.call_begin = "<tool_call>\n";
  hermes.call_end = "\n</tool_call>";
  hermes.separator = "\n";
  hermes.openers = {"<tool_call>"};
  hermes.closers = {"</tool_call>"};

  // For every other model: the last format.
  ToolFormat json = hermes;
  json.name = "json";
  json.template_marks = {};
  json.openers = {"<tool_call>", "```json"};
  json.closers = {"</tool_call>", "```"};
  json.bare = true;

  // GLM 4 (0414): a name, a line break, the arguments; a stop token follows. The role's mark stands
  // before another call.
  ToolFormat& glm4 = add("glm4", CallStyle::kNamed, {"[gMASK]", "metadata"});
  glm4.name_end = "\n";
  glm4.separator = "<|assistant|>";
  glm4.openers = {"<|assistant|>"};
  glm4.closers = {"<|observation|>"};
  glm4.bare = true;
  glm4.calls_in_metadata = true;

  formats.push_back(json);
  return formats;
}

}  // namespace

const std::vector<ToolFormat>& ToolFormats() {
  static const std::vector<ToolFormat> formats = MakeToolFormats();
  return formats;
}

const ToolFormat* FindToolFormat(std::string_view name) { return Find(ToolFormats(), name); }

const ToolFormat& ChooseToolFormat(std::string_view chat_template) {
  const ToolFormat* chosen = Choose(ToolFormats(), chat_template);
  return chosen != nullptr ? *chosen : ToolFormats().back();
}

}  // namespace mlc
