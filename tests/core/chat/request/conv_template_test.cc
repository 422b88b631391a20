#include "chat/request/conv_template.h"

#include <gtest/gtest.h>

#include "chat/request/chat_template.h"

namespace mlc {
namespace {

// Templates in the manner of MLC-LLM's; the expected texts follow from its rules.
constexpr char kLlama3[] = R"({"name": "llama-3",
  "system_template": "<|start_header_id|>system<|end_header_id|>\n\n{system_message}<|eot_id|>",
  "system_message": "You are kind.",
  "roles": {"user": "<|start_header_id|>user", "assistant": "<|start_header_id|>assistant"},
  "seps": ["<|eot_id|>"], "role_content_sep": "<|end_header_id|>\n\n",
  "role_empty_sep": "<|end_header_id|>\n\n", "stop_str": ["<|eot_id|>"],
  "stop_token_ids": [128001, 128009], "system_prefix_token_ids": [128000],
  "add_role_after_system_message": true})";
constexpr char kLlama2[] = R"({"name": "llama-2",
  "system_template": "[INST] <<SYS>>\n{system_message}\n<</SYS>>\n\n", "system_message": "Sys.",
  "roles": {"user": "<s>[INST]", "assistant": "[/INST]", "tool": "[INST]"},
  "seps": [" ", " </s>"], "role_content_sep": " ", "role_empty_sep": " ",
  "stop_str": ["[INST]"], "stop_token_ids": [2], "system_prefix_token_ids": [1],
  "add_role_after_system_message": false})";
constexpr char kChatMl[] = R"({"name": "chatml",
  "system_template": "<|im_start|>system\n{system_message}<|im_end|>\n",
  "system_message": "It's a \"conversation\" \\ between %} {{ two }}.",
  "roles": {"user": "<|im_start|>user", "assistant": "<|im_start|>assistant"},
  "seps": ["<|im_end|>\n"], "role_content_sep": "\n", "role_empty_sep": "\n"})";
constexpr char kMistral[] = R"({"name": "mistral_default",
  "system_template": "[INST] {system_message}", "system_message": "Helpful.",
  "roles": {"user": "[INST]", "assistant": "[/INST]", "tool": "[INST]"},
  "seps": [" "], "role_content_sep": " ", "role_empty_sep": "",
  "add_role_after_system_message": false})";
constexpr char kGemma[] = R"({"name": "gemma_instruction",
  "system_template": "{system_message}", "system_message": "",
  "roles": {"user": "<start_of_turn>user", "assistant": "<start_of_turn>model"},
  "seps": ["<end_of_turn>\n"], "role_content_sep": "\n", "role_empty_sep": "\n"})";
constexpr char kPhi3[] = R"({"name": "phi-3",
  "system_template": "<|system|>\n{system_message}", "system_message": "Be brief.",
  "roles": {"user": "<|user|>", "assistant": "<|assistant|>"},
  "role_templates": {"user": "<<{user_message}>>"},
  "seps": ["<|end|>\n"], "role_content_sep": "\n", "role_empty_sep": "\n"})";
constexpr char kFunctions[] = R"({"name": "gorilla", "system_template": "{system_message}",
  "system_message": "S",
  "role_templates": {"user": "<<question>> {user_message} <<function>> {function_string}"},
  "roles": {"user": "USER", "assistant": "ASSISTANT", "tool": "USER"},
  "seps": ["\n", "</s>"], "role_content_sep": ": ", "role_empty_sep": ":"})";

constexpr char kSingle[] = R"([{"role": "user", "content": "Hi"}])";
constexpr char kMulti[] = R"([{"role": "system", "content": "S"}, {"role": "user", "content": "a"},
  {"role": "assistant", "content": "b"}, {"role": "user", "content": "c"}])";

std::string Render(const char* conv, const char* messages, const char* tools = "null") {
  Result<ConvTemplate> parsed = ParseConvTemplate(*Json::Parse(conv));
  if (!parsed.ok()) return parsed.status().message();
  Result<ChatTemplate> chat = ChatTemplate::Parse(parsed->jinja_source, "", "");
  if (!chat.ok()) return chat.status().message();
  Result<std::string> text = chat->Render(*Json::Parse(messages), *Json::Parse(tools), true);
  return text.ok() ? *text : text.status().message();
}

TEST(ConvTemplate, RendersAsMlcLlm) {
  struct Case {
    const char *conv, *messages, *expected;
  };
  const Case cases[] = {
      {kLlama3, kSingle,
       "<|start_header_id|>system<|end_header_id|>\n\nYou are kind.<|eot_id|>"
       "<|start_header_id|>user<|end_header_id|>\n\nHi<|eot_id|>"
       "<|start_header_id|>assistant<|end_header_id|>\n\n"},
      {kLlama3, kMulti,
       "<|start_header_id|>system<|end_header_id|>\n\nS<|eot_id|>"
       "<|start_header_id|>user<|end_header_id|>\n\na<|eot_id|>"
       "<|start_header_id|>assistant<|end_header_id|>\n\nb<|eot_id|>"
       "<|start_header_id|>user<|end_header_id|>\n\nc<|eot_id|>"
       "<|start_header_id|>assistant<|end_header_id|>\n\n"},
      {kLlama2, kSingle, "[INST] <<SYS>>\nSys.\n<</SYS>>\n\nHi [/INST] "},
      {kLlama2, kMulti, "[INST] <<SYS>>\nS\n<</SYS>>\n\na [/INST] b </s><s>[INST] c [/INST] "},
      {kChatMl, kSingle,
       "<|im_start|>system\nIt's a \"conversation\" \\ between %} {{ two }}.<|im_end|>\n"
       "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n"},
      {kMistral, kSingle, "[INST] Helpful.Hi [/INST]"},
      {kMistral, kMulti, "[INST] Sa [/INST] b [INST] c [/INST]"},
      {kGemma, kSingle, "<start_of_turn>user\nHi<end_of_turn>\n<start_of_turn>model\n"},
      {kGemma, kMulti,
       "S<start_of_turn>user\na<end_of_turn>\n<start_of_turn>model\nb<end_of_turn>\n"
       "<start_of_turn>user\nc<end_of_turn>\n<start_of_turn>model\n"},
      {kPhi3, kSingle, "<|system|>\nBe brief.<|user|>\n<<Hi>><|end|>\n<|assistant|>\n"},
  };
  for (const Case& c : cases) EXPECT_EQ(Render(c.conv, c.messages), c.expected) << c.conv;
}

TEST(ConvTemplate, LastPlaceGetsTheFunctions) {
  const char* tools = R"([{"type": "function", "function":
      {"name": "f", "parameters": {"type": "object"}, "description": "dé"}}])";
  EXPECT_EQ(Render(kFunctions, kMulti, tools),
            "SUSER: <<question>> a <<function>> \nASSISTANT: b</s>USER: <<question>> c "
            "<<function>> [{\"description\": \"d\\u00e9\", \"name\": \"f\", "
            "\"parameters\": {\"type\": \"object\"}}]\nASSISTANT:");
  EXPECT_EQ(Render(kFunctions, kSingle), "SUSER: <<question>> Hi <<function>> \nASSISTANT:");
}

TEST(ConvTemplate, MessagesAreNoTemplates) {
  EXPECT_EQ(
      Render(kGemma, R"([{"role": "user", "content": "{{ 1 }} {user_message} {system_message}"}])"),
      "<start_of_turn>user\n{{ 1 }} {user_message} {system_message}<end_of_turn>\n"
      "<start_of_turn>model\n");
}

TEST(ConvTemplate, PartsAndMissingContent) {
  EXPECT_EQ(Render(kPhi3, R"([{"role": "user", "content": [{"type": "text", "text": "a"},
                               {"type": "text", "text": "b"}]}])"),
            "<|system|>\nBe brief.<|user|>\n<<a>><<b>><|end|>\n<|assistant|>\n");
  EXPECT_EQ(Render(kGemma, R"([{"role": "assistant", "content": null}])"),
            "<start_of_turn>model\n<start_of_turn>model\n");
  EXPECT_EQ(Render(kGemma, R"([{"role": "user", "content": [{"type": "image_url"}]}])"),
            "This model takes only text content.");
  EXPECT_EQ(Render(kPhi3, R"([{"role": "user", "content": [{"type": "image", "marker": "<i>"},
                               {"type": "text", "text": "a"}]}])"),
            "<|system|>\nBe brief.<|user|>\n<i>\n<<a>><|end|>\n<|assistant|>\n")
      << "a picture stands on a line of its own, as in MLC-LLM";
}

TEST(ConvTemplate, RefusesRolesItDoesNotKnow) {
  EXPECT_EQ(Render(kGemma, R"([{"role": "tool", "content": "x"}])"),
            "Role \"tool\" is not a supported role in ['user', 'assistant']");
  EXPECT_EQ(
      Render(kGemma, R"([{"role": "user", "content": "x"}, {"role": "system", "content": ""}])"),
      "A system message is only allowed as the first message.");
}

TEST(ConvTemplate, HandsOverIdsAndStops) {
  Result<ConvTemplate> conv = ParseConvTemplate(*Json::Parse(kLlama3));
  ASSERT_TRUE(conv.ok());
  EXPECT_EQ(conv->system_prefix_token_ids, std::vector<int32_t>{128000});
  EXPECT_EQ(conv->stop_token_ids, (std::vector<int32_t>{128001, 128009}));
  EXPECT_EQ(conv->stop_strings, std::vector<std::string>{"<|eot_id|>"});
}

TEST(ConvTemplate, ErrorsNameTheField) {
  struct Case {
    const char *conv, *param;
  };
  const Case cases[] = {
      {"[]", "conv_template"},
      {R"({"seps": [""]})", "roles"},
      {R"({"roles": {"user": "u"}, "seps": [""]})", "roles"},
      {R"({"roles": {"assistant": "a"}})", "seps"},
      {R"({"roles": {"assistant": "a"}, "seps": ["", "", ""]})", "seps"},
      {R"({"roles": {"assistant": 1}, "seps": [""]})", "roles.assistant"},
      {R"({"roles": {"assistant": "a"}, "seps": [1]})", "seps"},
      {R"({"roles": {"assistant": "a"}, "seps": [""], "stop_token_ids": [-1]})", "stop_token_ids"},
      {R"({"roles": {"assistant": "a"}, "seps": [""], "stop_str": "x"})", "stop_str"},
      {R"({"roles": {"assistant": "a"}, "seps": [""], "system_message": 5})", "system_message"},
  };
  for (const Case& c : cases)
    EXPECT_EQ(ParseConvTemplate(*Json::Parse(c.conv)).status().param(), c.param) << c.conv;
}

}  // namespace
}  // namespace mlc
