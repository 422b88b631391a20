#include "chat/load/model_loader.h"

#include <gtest/gtest.h>

#include <map>

#include "base/base64.h"
#include "support/byte_tokenizer.h"
#include "support/tiny_pictures.h"

namespace mlc {
namespace {

// Files that are in no folder.
class Memory : public ByteSource {
 public:
  Result<Bytes> Open(std::string_view name) const override {
    auto found = files.find(std::string(name));
    if (found == files.end()) return NotFound(Describe(name) + ": no such file");
    const std::string& text = found->second;
    return Bytes{reinterpret_cast<const uint8_t*>(text.data()), static_cast<int64_t>(text.size()),
                 nullptr};
  }
  bool Has(std::string_view name) const override { return files.count(std::string(name)) > 0; }
  std::string Describe(std::string_view name) const override {
    return "memory:" + std::string(name);
  }
  std::map<std::string, std::string> files;
};

Memory Source(const std::string& members = "") {
  Memory source;
  source.files["mlc-chat-config.json"] =
      R"({"model_type": "fake", "quantization": "q0f32", "context_window_size": 64,
          "vocab_size": 258, "eos_token_id": 256)" +
      members + "}";
  source.files["tokenizer.json"] = testing::ByteTokenizerJson();
  return source;
}

ModelFiles Fake() {
  ModelFiles files;
  files.is_fake = true;
  return files;
}

TEST(LoadModelFrom, TakesAnySourceOfBytes) {
  Memory source = Source();
  Result<ModelAndBundle> loaded = LoadModelFrom(source, Fake(), nullptr, "weights");
  ASSERT_TRUE(loaded.ok()) << loaded.status().message();
  EXPECT_EQ(loaded->model->info().vocab_size, 258);
  EXPECT_EQ(loaded->bundle.tower, nullptr);
  EXPECT_EQ(InspectModelFrom(source, Fake())->info.context_window_size, 64);
  source.files.erase("tokenizer.json");
  Status missing = LoadModelFrom(source, Fake(), nullptr, "weights").status();
  EXPECT_NE(missing.message().find("memory:tokenizer.json"), std::string::npos)
      << missing.message();
}

TEST(InspectModelFrom, AModelWithATowerTakesPictures) {
  EXPECT_FALSE(InspectModelFrom(Source(), Fake())->takes_pictures);
  EXPECT_TRUE(InspectModelFrom(Source(R"(, "image_token_id": 35)"), Fake())->takes_pictures);
}

TEST(LoadModelFrom, AFakeModelWithAnImageTokenSees) {
  Memory source = Source(R"(, "image_token_id": 35)");
  Result<ModelAndBundle> loaded = LoadModelFrom(source, Fake(), nullptr, "weights");
  ASSERT_TRUE(loaded.ok()) << loaded.status().message();
  ASSERT_NE(loaded->bundle.tower, nullptr);
  EXPECT_EQ(loaded->bundle.tower->width(), loaded->model->info().embedding_size);
  std::string file = *DecodeBase64(testing::kTinyPictures[0].base64);
  EXPECT_TRUE(loaded->bundle.tower->Encode(file, PictureDetail::kAuto).ok());
}

}  // namespace
}  // namespace mlc
