#include <gtest/gtest.h>

#include "model/good_config.h"
#include "model/model_config.h"

namespace mlc {
namespace {

TEST(ParseChatConfig, ReadsTheFieldsOfTheFolder) {
  Result<ChatConfig> config = ParseChatConfig(GoodConfig().Dump(), "c.json");
  ASSERT_TRUE(config.ok()) << config.status().message();
  EXPECT_EQ(config->model_type, "llama");
  EXPECT_EQ(config->quantization, "q4f32_1");
  EXPECT_EQ(config->context_window_size, 2048);
  EXPECT_EQ(config->sliding_window_size, -1);
  EXPECT_EQ(config->vocab_size, 49152);
  EXPECT_EQ(config->eos_token_ids, std::vector<int32_t>{2});
  EXPECT_EQ(config->bos_token_id, 1);
  EXPECT_TRUE(config->conv_template.is_null());
}

TEST(ParseChatConfig, TokenIdsAreOneOrAList) {
  auto ids = [](const char* value) {
    return ParseChatConfig(With(GoodConfig(), "eos_token_id", value).Dump(), "c")->eos_token_ids;
  };
  EXPECT_EQ(ids("[2, 32000]"), (std::vector<int32_t>{2, 32000}));
  EXPECT_EQ(ids("[]"), std::vector<int32_t>());
  EXPECT_EQ(ids("null"), std::vector<int32_t>());
  EXPECT_EQ(ids("absent"), std::vector<int32_t>());
}

TEST(ParseChatConfig, EveryFaultNamesItsFieldAndFile) {
  const Fault faults[] = {{"model_type", "absent"},
                          {"model_type", "3"},
                          {"quantization", "null"},
                          {"context_window_size", "absent"},
                          {"context_window_size", "-2"},
                          {"context_window_size", "1e3"},
                          {"context_window_size", "99999999999"},
                          {"vocab_size", "0"},
                          {"vocab_size", "-5"},
                          {"vocab_size", "\"many\""},
                          {"vocab_size", "9223372036854775807"},
                          {"eos_token_id", "-1"},
                          {"eos_token_id", "[1, \"x\"]"},
                          {"eos_token_id", "4294967296"},
                          {"bos_token_id", "{}"}};
  for (const Fault& fault : faults) {
    Status status =
        ParseChatConfig(With(GoodConfig(), fault.key, fault.value).Dump(), "m/c.json").status();
    ASSERT_EQ(status.code(), StatusCode::kCorrupt) << fault.key << " = " << fault.value;
    EXPECT_EQ(status.param(), fault.key) << status.message();
    EXPECT_EQ(status.message().rfind("m/c.json: ", 0), 0u) << status.message();
    EXPECT_NE(status.message().find(fault.key), std::string::npos) << status.message();
  }
}

TEST(ParseChatConfig, WhatIsNoObjectIsCorrupt) {
  for (const char* text : {"", "[]", "null", "{", "\"x\""}) {
    EXPECT_EQ(ParseChatConfig(text, "c.json").status().code(), StatusCode::kCorrupt) << text;
  }
}

}  // namespace
}  // namespace mlc
