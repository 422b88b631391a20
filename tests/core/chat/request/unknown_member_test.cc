#include "chat/request/unknown_member.h"

#include <gtest/gtest.h>

#include "chat/protocol/protocol.gen.h"

namespace mlc {
namespace {

std::string UnknownIn(const std::string& members) {
  Json json = *Json::Parse(R"({"messages": [{"role": "user", "content": "Hi"}])" + members + "}");
  auto request = protocol::ChatCompletionRequest::Parse(json);
  EXPECT_TRUE(request.ok()) << request.status().message();
  Status status = CheckNoUnknownMember(json, request->ToJson());
  if (!status.ok()) {
    EXPECT_TRUE(status.Is(Reason::kUnknownParameter));
    EXPECT_NE(status.message().find(status.param()), std::string::npos);
  }
  return status.param();
}

TEST(UnknownMember, NamesTheFirstOneWithItsPath) {
  for (const auto& [members, expected] : std::vector<std::pair<std::string, std::string>>{
           {"", ""},
           {R"(, "max_tokens": 5, "n": 2, "stop": "x", "logit_bias": {"3": 1})", ""},
           {R"(, "max_token": 5)", "max_token"},
           {R"(, "max_token": null)", ""},
           {R"(, "stream_options": {"include": true})", "stream_options.include"},
           {R"(, "tools": [{"type": "function", "function": {"name": "f", "parameter": {}}}])",
            "tools[0].function.parameter"},
           {R"(, "tools": [{"type": "function", "function": {"name": "f", "parameters":
               {"type": "object", "any": [{"member": 1}]}}}], "tool_choice": "auto")",
            ""},
           {R"(, "response_format": {"type": "json_object", "shema": {}})",
            "response_format.shema"}}) {
    EXPECT_EQ(UnknownIn(members), expected) << members;
  }
}

}  // namespace
}  // namespace mlc
