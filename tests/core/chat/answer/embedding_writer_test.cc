#include "chat/answer/embedding_writer.h"

#include <gtest/gtest.h>

#include <cmath>

namespace mlc {
namespace {

protocol::EmbeddingRequest Parse(const std::string& text) {
  return *protocol::EmbeddingRequest::Parse(*Json::Parse(text));
}

RequestEvent Finished(std::vector<double> embedding, int tokens) {
  RequestEvent event;
  event.finished = true;
  event.embedding = std::move(embedding);
  event.usage.prompt_tokens = tokens;
  return event;
}

TEST(EmbeddingWriter, VectorsAreOfLengthOne) {
  EXPECT_EQ(FinishVector({3, 4}, 0, true), (std::vector<float>{0.6f, 0.8f}));
  EXPECT_EQ(FinishVector({3, 4, 12}, 2, true), (std::vector<float>{0.6f, 0.8f}))
      << "after shortening";
  EXPECT_EQ(FinishVector({0, 0}, 0, true), (std::vector<float>{0, 0}));
  EXPECT_EQ(FinishVector({3e-200, 4e-200}, 0, true).size(), 2u);
}

TEST(EmbeddingWriter, AVectorKeepsItsLengthIfTheModelSaysSo) {
  EXPECT_EQ(FinishVector({3, 4, 12}, 2, false), (std::vector<float>{3, 4}));
}

TEST(EmbeddingWriter, TextsKeepTheirOrder) {
  EmbeddingWriter writer(Parse(R"({"input": ["a", "b"]})"), 2, "m", true);
  writer.Collect(1, Finished({0, -2}, 3));
  EXPECT_FALSE(writer.finished());
  writer.Collect(0, Finished({3, 4}, 4));
  ASSERT_TRUE(writer.finished());
  EXPECT_EQ(writer.Whole().ToJson().Dump(),
            R"({"object":"list","data":[)"
            R"({"index":0,"object":"embedding","embedding":[0.600000024,0.800000012]},)"
            R"({"index":1,"object":"embedding","embedding":[0.0,-1.0]}],)"
            R"("model":"m","usage":{"prompt_tokens":7,"total_tokens":7}})");
}

TEST(EmbeddingWriter, Base64IsLittleEndian) {
  EmbeddingWriter writer(Parse(R"({"input": "a", "encoding_format": "base64"})"), 1, "m", true);
  writer.Collect(0, Finished({1, 0}, 1));
  EXPECT_EQ(*writer.Whole().data[0].embedding.base64(), "AACAPwAAAAA=");  // 00 00 80 3f, zeros
}

// What nine digits say is the float32 itself.
TEST(EmbeddingWriter, NumbersReadBackExactly) {
  std::vector<double> vector;
  for (int i = 1; i < 500; ++i) vector.push_back(std::sin(i) * std::pow(10, i % 9 - 4));
  std::vector<float> unit = FinishVector(vector, 0, true);
  EmbeddingWriter writer(Parse(R"({"input": "a"})"), 1, "m", true);
  writer.Collect(0, Finished(vector, 1));
  Json json = *Json::Parse(writer.Whole().ToJson().Dump());
  const auto& numbers = json.Find("data")->as_array()[0].Find("embedding")->as_array();
  ASSERT_EQ(numbers.size(), unit.size());
  for (size_t i = 0; i < unit.size(); ++i) {
    EXPECT_EQ(static_cast<float>(numbers[i].as_double()), unit[i]);
  }
}

}  // namespace
}  // namespace mlc
