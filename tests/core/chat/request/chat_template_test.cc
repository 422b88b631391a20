#include "chat/request/chat_template.h"

#include <gtest/gtest.h>

namespace mlc {
namespace {

constexpr char kChatMl[] =
    "{% for m in messages %}{{ '<|im_start|>' + m['role'] + '\n' + m['content'] + '<|im_end|>\n' }}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}";

ChatTemplate Parse(const std::string& source) {
  Result<ChatTemplate> chat = ChatTemplate::Parse(source, "<s>", "</s>");
  EXPECT_TRUE(chat.ok()) << chat.status().message();
  return *chat;
}

Result<std::string> TryRender(const std::string& source, const std::string& messages,
                              const std::string& tools = "null",
                              const std::string& context = "{}") {
  return Parse(source).Render(*Json::Parse(messages), *Json::Parse(tools), true,
                              *Json::Parse(context));
}

// The text, or the error's message.
std::string Render(const std::string& source, const std::string& messages,
                   const std::string& tools = "null", const std::string& context = "{}") {
  Result<std::string> text = TryRender(source, messages, tools, context);
  return text.ok() ? *text : text.status().message();
}

TEST(ChatTemplate, RendersChatMl) {
  EXPECT_EQ(Render(kChatMl, R"([{"role":"user","content":"hi"}])"),
            "<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n");
}

TEST(ChatTemplate, GivesTheTokensToolsAndExtraContext) {
  EXPECT_EQ(Render("{{ bos_token }}{{ eos_token }}{{ tools | length }}{{ documents }}{{ x }}", "[]",
                   "[1, 2]", R"({"x": false, "eos_token": "E"})"),
            "<s>E2NoneFalse");
}

TEST(ChatTemplate, KnowsTheNamesItReads) {
  ChatTemplate chat = Parse("{% for t in tools %}{{ t | tojson if enable_thinking }}{% endfor %}");
  EXPECT_TRUE(chat.UsesTools());
  EXPECT_TRUE(chat.Uses("enable_thinking"));
  EXPECT_FALSE(chat.Uses("messages"));
}

TEST(ChatTemplate, JoinsPartsWhereOnlyStringsAreTaken) {
  const char* messages = R"([{"role":"user","content":[{"type":"text","text":"a"},
                              {"type":"text","text":"b"}]}])";
  EXPECT_FALSE(Parse(kChatMl).TakesContentParts());
  EXPECT_EQ(Render(kChatMl, messages), "<|im_start|>user\na\nb<|im_end|>\n<|im_start|>assistant\n");
  // A template that prints a list as it stands.
  EXPECT_EQ(Render("{% for m in messages %}{{ m.content }}{% endfor %}", messages), "a\nb");
}

TEST(ChatTemplate, LeavesPartsWhereTheyAreTaken) {
  const char* source =
      "{% for m in messages %}{% if m.content is string %}{{ m.content }}{% else %}"
      "{% for p in m.content %}<{{ p.text if p.type == 'text' else p.type }}>{% endfor %}"
      "{% endif %}{% endfor %}";
  EXPECT_TRUE(Parse(source).TakesContentParts());
  EXPECT_EQ(Render(source, R"([{"role":"user","content":[{"type":"image"},
                              {"type":"text","text":"b"}]}, {"role":"user","content":"c"}])"),
            "<image><b>c");
}

TEST(ChatTemplate, MakesPartsWhereOnlyPartsAreTaken) {
  const char* source =
      "{% for m in messages %}{% for p in m.content %}{{ p.text | upper }}"
      "{{ p.type.nope.nope if p.type is undefined }}{% endfor %}{% endfor %}";
  EXPECT_EQ(Render(source, R"([{"role":"user","content":"abc"}])"), "ABC");
}

TEST(ChatTemplate, RefusesImagesWhereOnlyStringsAreTaken) {
  Result<std::string> text = TryRender(kChatMl, R"([{"role":"user","content":"a"},
                          {"role":"user","content":[{"type":"image_url","image_url":{}}]}])");
  ASSERT_FALSE(text.ok());
  EXPECT_EQ(text.status().code(), StatusCode::kUnsupported);
  EXPECT_EQ(text.status().param(), "messages[1].content");
}

// What a template takes is asked with five exchanges, of which none may cost a whole render.
TEST(ChatTemplate, ADearTemplateIsNotAskedForLong) {
  const std::string parts = "{% for m in messages %}{{ m.content[0].text }}{% endfor %}";
  EXPECT_TRUE(Parse(parts).TakesContentParts());
  const std::string dear = "{% set big = 'ab' * 10000000 %}" + parts;
  EXPECT_FALSE(Parse(dear).TakesContentParts());
  EXPECT_TRUE(TryRender("{% set big = 'ab' * 10000000 %}{{ messages[0].content }}",
                        R"([{"role": "user", "content": "hi"}])")
                  .ok());
}

TEST(ChatTemplate, NullContentIsNeverPrinted) {
  const char* messages = R"([{"role":"assistant","content":null}, {"role":"assistant"}])";
  EXPECT_EQ(Render("{% for m in messages %}[{{ m.content }}]{% endfor %}", messages), "[][]");
  EXPECT_EQ(Render("{% for m in messages %}[{{ m.content is none }}]{% endfor %}", messages),
            "[True][False]");
}

TEST(ChatTemplate, ReadsArgumentsFromJsonText) {
  const char* source =
      "{% for m in messages %}{% for c in m.tool_calls or [] %}"
      "{{ c.function.arguments | tojson }};{% endfor %}{% endfor %}";
  EXPECT_EQ(Render(source, R"([{"role":"assistant","content":null,"tool_calls":[
      {"function":{"name":"f","arguments":"{\"b\": 1, \"a\": [2]}"}},
      {"function":{"name":"f","arguments":{"c": 3}}},
      {"function":{"name":"f","arguments":"not json"}},
      {"function":{"name":"f","arguments":"[1]"}}]}])"),
            "{\"b\": 1, \"a\": [2]};{\"c\": 3};\"not json\";\"[1]\";");
}

TEST(ChatTemplate, UsesTheClockItIsGiven) {
  auto clock = [] {
    std::tm time{};
    time.tm_year = 124;
    time.tm_mday = 9;
    return time;
  };
  ChatTemplate chat = Parse("{{ strftime_now('%d %B %Y') }}");
  EXPECT_EQ(*chat.Render(Json::MakeArray(), nullptr, false, nullptr, clock), "09 January 2024");
}

TEST(ChatTemplate, RefusesWhatIsNoConversation) {
  ChatTemplate chat = Parse("x");
  EXPECT_EQ(chat.Render(Json::MakeObject(), nullptr, true).status().param(), "messages");
  EXPECT_EQ(chat.Render(Json::MakeArray(), "x", true).status().param(), "tools");
  EXPECT_EQ(chat.Render(*Json::Parse("[1]"), nullptr, true).status().param(), "messages[0]");
}

TEST(ChatTemplate, AnErrorInTheTemplateNamesTheLine) {
  EXPECT_EQ(ChatTemplate::Parse("a\n{% if %}", "", "").status().message(),
            "chat template, line 2: expected an expression, got '%}'");
  Result<std::string> text =
      TryRender("\n{{ messages[0].content.nope() }}", R"([{"role":"user","content":"a"}])");
  EXPECT_EQ(text.status().message(), "chat template, line 2: 'str' object has no attribute 'nope'");
}

}  // namespace
}  // namespace mlc
