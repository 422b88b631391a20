#include "chat/load/model_bundle.h"

#include <gtest/gtest.h>

#include "platform/file.h"
#include "support/byte_tokenizer.h"
#include "support/temp_folder.h"

namespace mlc {
namespace {

using testing::TempFolder;

constexpr char kConfig[] =
    R"({"model_type": "llama", "quantization": "q0f32", "context_window_size": 64,
        "vocab_size": 258, "eos_token_id": [256]})";

void WriteModel(const TempFolder& folder) {
  folder.Write("mlc-chat-config.json", kConfig);
  folder.Write("tokenizer.json", testing::ByteTokenizerJson());
}

Result<ModelBundle> Load(const TempFolder& folder) {
  return LoadModelBundle(FolderSource(folder.path()));
}

std::string Rendered(const ModelBundle& bundle) {
  if (bundle.chat_template == nullptr) return "no template";
  Json messages = *Json::Parse(R"([{"role": "user", "content": "Hi"}])");
  Result<std::string> text = bundle.chat_template->Render(messages, Json(), true);
  return text.ok() ? *text : text.status().message();
}

TEST(LoadModelBundle, ReadsConfigTokenizerAndNoTemplate) {
  TempFolder folder;
  WriteModel(folder);
  Result<ModelBundle> bundle = Load(folder);
  ASSERT_TRUE(bundle.ok()) << bundle.status().message();
  EXPECT_EQ(bundle->config.model_type, "llama");
  EXPECT_EQ(bundle->tokenizer->vocab_size(), 258);
  EXPECT_EQ(bundle->stop_token_ids, std::vector<int32_t>{256});
  EXPECT_EQ(Rendered(*bundle), "no template");
}

struct Case {
  const char* tokenizer_config;
  const char* rendered;
};

TEST(LoadModelBundle, TheTemplateOfTheTokenizerConfig) {
  const Case cases[] = {
      {R"({"chat_template": "T {{ messages[0].content }}"})", "T Hi"},
      {R"({"chat_template": [{"name": "tool_use", "template": "U"},
                             {"name": "default", "template": "D"}]})",
       "D"},
      {R"({"chat_template": [{"name": "tool_use", "template": "U"}]})", "no template"},
      {R"({"chat_template": 7})", "no template"},
      {R"({"chat_template": "{{ bos_token }}|{{ eos_token }}", "bos_token": "<s>",
           "eos_token": {"content": "</s>", "lstrip": false}})",
       "<s>|</s>"},
      {R"({"chat_template": "{{ bos_token }}|", "bos_token": null})", "|"},
      {"[]", "no template"}};
  for (const Case& c : cases) {
    TempFolder folder;
    WriteModel(folder);
    folder.Write("tokenizer_config.json", c.tokenizer_config);
    Result<ModelBundle> bundle = Load(folder);
    ASSERT_TRUE(bundle.ok()) << c.tokenizer_config << bundle.status().message();
    EXPECT_EQ(Rendered(*bundle), c.rendered) << c.tokenizer_config;
  }
}

TEST(LoadModelBundle, TheTokensAroundAGap) {
  TempFolder folder;
  WriteModel(folder);
  EXPECT_FALSE(Load(folder)->fill_markers);
  const std::string named = R"({"fim_pre_token": "<start>", "fim_suf_token": {"content": "<end>"})";
  folder.Write("tokenizer_config.json", named + R"(, "fim_mid_token": "<end>"})");
  Result<ModelBundle> bundle = Load(folder);
  ASSERT_TRUE(bundle.ok() && bundle->fill_markers);
  EXPECT_EQ(bundle->fill_markers->prefix, "<start>");
  EXPECT_EQ(bundle->fill_markers->suffix, "<end>");
  folder.Write("tokenizer_config.json", named + R"(, "fim_mid_token": "no token"})");
  EXPECT_FALSE(Load(folder)->fill_markers);
}

TEST(LoadModelBundle, AFileOfItsOwnWins) {
  TempFolder folder;
  WriteModel(folder);
  folder.Write("tokenizer_config.json", R"({"chat_template": "T", "bos_token": "<s>"})");
  folder.Write("chat_template.jinja", "F {{ bos_token }}");
  EXPECT_EQ(Rendered(*Load(folder)), "F <s>");
}

TEST(LoadModelBundle, EveryFaultNamesItsFile) {
  const std::pair<const char*, const char*> faults[] = {
      {"mlc-chat-config.json", "{"},
      {"mlc-chat-config.json", R"({"model_type": 1})"},
      {"tokenizer.json", "[]"},
      {"tokenizer.json", "not JSON"},
      {"tokenizer_config.json", "{,}"},
      {"chat_template.jinja", "{% if %}"},
      {"tokenizer_config.json", R"({"chat_template": "{{"})"}};
  for (const auto& [file, content] : faults) {
    TempFolder folder;
    WriteModel(folder);
    std::string path = folder.Write(file, content);
    Result<ModelBundle> bundle = Load(folder);
    ASSERT_FALSE(bundle.ok()) << file;
    EXPECT_EQ(bundle.status().code(), StatusCode::kCorrupt) << bundle.status().message();
    EXPECT_EQ(bundle.status().message().rfind(path, 0), 0u) << bundle.status().message();
  }
}

TEST(LoadModelBundle, ReadsTheNumbersThatTheModelRecommends) {
  TempFolder folder;
  WriteModel(folder);
  Json config = *Json::Parse(kConfig);
  folder.Write("mlc-chat-config.json",
               config.Set("temperature", 0.6).Set("top_k", 40).Set("min_p", Json()).Dump());
  Result<ModelBundle> bundle = Load(folder);
  ASSERT_TRUE(bundle.ok()) << bundle.status().message();
  EXPECT_EQ(bundle->sampling_defaults.temperature, 0.6);
  EXPECT_EQ(bundle->sampling_defaults.top_k, 40);
  EXPECT_EQ(bundle->sampling_defaults.min_p, std::nullopt);
  EXPECT_EQ(bundle->sampling_defaults.repetition_penalty, std::nullopt);
}

TEST(LoadModelBundle, ASenselessRecommendationNamesItsFieldAndFile) {
  const std::pair<const char*, const char*> faults[] = {{"temperature", "\"hot\""},
                                                        {"temperature", "-0.1"},
                                                        {"top_k", "-2"},
                                                        {"min_p", "1.5"},
                                                        {"top_p", "[]"},
                                                        {"top_p", "-0.5"},
                                                        {"repetition_penalty", "0"},
                                                        {"repetition_penalty", "-1"},
                                                        {"frequency_penalty", "true"},
                                                        {"frequency_penalty", "1e300"},
                                                        {"presence_penalty", "-1e300"}};
  for (const auto& [field, value] : faults) {
    TempFolder folder;
    WriteModel(folder);
    Json config = *Json::Parse(kConfig);
    std::string path =
        folder.Write("mlc-chat-config.json", config.Set(field, *Json::Parse(value)).Dump());
    Status status = Load(folder).status();
    ASSERT_EQ(status.code(), StatusCode::kCorrupt) << field << " = " << value;
    EXPECT_EQ(status.param(), field) << status.message();
    EXPECT_EQ(status.message().rfind(path, 0), 0u) << status.message();
  }
}

TEST(LoadModelBundle, AMissingFileIsNotFound) {
  for (const char* missing : {"mlc-chat-config.json", "tokenizer.json"}) {
    TempFolder folder;
    WriteModel(folder);
    RemoveFile(folder.Path(missing));
    Result<ModelBundle> bundle = Load(folder);
    ASSERT_FALSE(bundle.ok());
    EXPECT_EQ(bundle.status().code(), StatusCode::kNotFound);
    EXPECT_NE(bundle.status().message().find(missing), std::string::npos);
  }
}

}  // namespace
}  // namespace mlc
