#include "chat/tools/answer_planner.h"

#include <gtest/gtest.h>

#include "chat/request/request_builder.h"
#include "chat/test_model.h"

namespace mlc {
namespace {

using testing::ChatBundle;
using testing::HiJson;
using testing::ParseRequest;

std::string Tool(const std::string& name, const std::string& more = "") {
  return R"({"type": "function", "function": {"name": ")" + name + "\"" + more + "}}";
}

ModelBundle BundleWith(const std::string& chat_template) { return ChatBundle(chat_template); }

struct Fault {
  std::string members;
  const char* param;
};

TEST(CheckTools, NamesTheFieldThatIsWrong) {
  const std::string one = R"("tools": [)" + Tool("f") + "]";
  for (const Fault& fault : std::initializer_list<Fault>{
           {R"("tools": [)" + Tool("f") + "," + Tool("g") + "," + Tool("f") + "]",
            "tools[2].function.name"},
           {R"("tools": [)" + Tool("f g") + "]", "tools[0].function.name"},
           {R"("tools": [)" + Tool("né") + "]", "tools[0].function.name"},
           {R"("tools": [)" + Tool(std::string(65, 'f')) + "]", "tools[0].function.name"},
           {R"("tools": [)" + Tool("f", R"(, "parameters": {"type": "string"})") + "]",
            "tools[0].function.parameters"},
           {R"("tools": [)" + Tool("f", R"(, "parameters": {"properties": []})") + "]",
            "tools[0].function.parameters"},
           {R"("tools": [)" + Tool("f", R"(, "parameters": {"required": "a"})") + "]",
            "tools[0].function.parameters"},
           {R"("tool_choice": "required")", "tool_choice"},
           {R"("tools": [], "tool_choice": "auto")", "tool_choice"},
           {one + R"(, "tool_choice": {"type": "function", "function": {"name": "g"}})",
            "tool_choice.function.name"},
       }) {
    Status status = CheckTools(ParseRequest(HiJson(fault.members)));
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << fault.members;
    EXPECT_EQ(status.param(), fault.param) << status.message();
  }
  for (const std::string& good :
       {one, one + R"(, "tool_choice": "none")", std::string(R"("tool_choice": "none")"),
        std::string(R"("tools": [])"), R"("tools": [)" + Tool(std::string(64, 'f')) + "]"}) {
    EXPECT_TRUE(CheckTools(ParseRequest(HiJson(good))).ok()) << good;
  }
}

TEST(CheckTools, TheProtocolTakesAtMost128) {
  std::string tools;
  for (int i = 0; i < 129; ++i) tools += (i > 0 ? "," : "") + Tool("f" + std::to_string(i));
  Result<Json> json = Json::Parse(HiJson("\"tools\": [" + tools + "]"));
  ASSERT_TRUE(json.ok());
  EXPECT_EQ(protocol::ChatCompletionRequest::Parse(*json).status().param(), "tools");
}

AnswerPlan PlanOf(const std::string& members, const ModelBundle& model,
                  const std::string& prompt = "") {
  return PlanAnswer(model, ParseRequest(HiJson(members)), prompt);
}

TEST(PlanAnswer, CallsAreGuidedWhereTheyMustHold) {
  ModelBundle model = ChatBundle();
  const std::string tools = R"("tools": [)" + Tool("f") + "," + Tool("g") + "]";
  EXPECT_TRUE(PlanOf("", model).IsPlain());
  EXPECT_TRUE(PlanOf(tools + R"(, "tool_choice": "none")", model).IsPlain());
  AnswerPlan plan = PlanOf(tools, model);
  EXPECT_EQ(plan.tools->name, "json");
  EXPECT_EQ(plan.offered.size(), 2u);
  EXPECT_FALSE(plan.is_guided);
  EXPECT_TRUE(PlanOf(tools + R"(, "tool_choice": "required")", model).is_guided);
  EXPECT_TRUE(PlanOf(tools + R"(, "parallel_tool_calls": false)", model).is_guided);
  EXPECT_TRUE(PlanOf(tools + R"(, "response_format": {"type": "json_object"})", model).is_guided);
  EXPECT_TRUE(PlanOf(R"("tools": [)" + Tool("f", R"(, "strict": true)") + "]", model).is_guided);
  plan =
      PlanOf(tools + R"(, "tool_choice": {"type": "function", "function": {"name": "g"}})", model);
  ASSERT_EQ(plan.offered.size(), 1u);
  EXPECT_EQ(plan.offered[0].name, "g");
}

TEST(PlanAnswer, TheConfigNamesAnotherFormat) {
  ModelBundle model = BundleWith("<tool_call> </think>");
  EXPECT_EQ(ToolFormatOf(model).name, "hermes");
  EXPECT_EQ(ReasoningFormatOf(model)->name, "think");
  model.config.tool_call_format = "llama3";
  model.config.reasoning_format = "none";
  EXPECT_TRUE(CheckFormats(model.config).ok());
  EXPECT_EQ(ToolFormatOf(model).name, "llama3");
  EXPECT_EQ(ReasoningFormatOf(model), nullptr);
  model.config.tool_call_format = "nonsense";
  EXPECT_EQ(CheckFormats(model.config).param(), "tool_call_format");
}

TEST(PlanAnswer, ThoughtsThatThePromptOpens) {
  ModelBundle model = BundleWith("</think>");
  EXPECT_FALSE(PlanOf("", model, "Hi <|assistant|>").begins_in_thoughts);
  EXPECT_TRUE(PlanOf("", model, "Hi <|assistant|><think>\n").begins_in_thoughts);
  EXPECT_FALSE(PlanOf("", model, "<|assistant|><think>\n\n</think>\n\n").begins_in_thoughts);
}

TEST(PlanRequest, ThinkingOnAndOff) {
  auto prompt = [](const ModelBundle& model, const char* members) {
    return *RenderPrompt(model, ParseRequest(HiJson(members)));
  };
  ModelBundle knows = BundleWith("{{ enable_thinking }} {{ thinking }} {{ reasoning_effort }}");
  EXPECT_EQ(prompt(knows, R"("reasoning_effort": "none")"), "False False none");
  EXPECT_EQ(prompt(knows, R"("reasoning_effort": "low")"), "True True low");
  EXPECT_EQ(prompt(knows, R"("reasoning_effort": "low",
                             "chat_template_kwargs": {"enable_thinking": false})"),
            "False True low");
  // Where the template has no switch, a limit of no tokens is one.
  ModelBundle plain = BundleWith("{{ messages[-1].content }}<think>");
  Result<PlannedRequest> planned =
      PlanRequest(plain, ParseRequest(HiJson(R"("reasoning_effort": "none")")));
  ASSERT_TRUE(planned.ok());
  EXPECT_EQ(planned->request.thinking->max_tokens, 0);
  planned = PlanRequest(plain, ParseRequest(HiJson(R"("reasoning_budget": 7)")));
  ASSERT_TRUE(planned.ok());
  EXPECT_EQ(planned->request.thinking->max_tokens, 7);
  EXPECT_EQ(planned->request.thinking->end_tokens, testing::Bytes("</think>"));
}

}  // namespace
}  // namespace mlc
