#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <string>
#include <unordered_map>

#include "runtime/weights.h"
#include "support/weight_files.h"

namespace mlc {
namespace {

using testing::BytesOf;
using testing::Index;
using testing::Record;
using testing::Shard;

// Files that are strings.
class MemorySource : public ByteSource {
 public:
  std::unordered_map<std::string, std::string> files;

  Result<Bytes> Open(std::string_view name) const override {
    auto found = files.find(std::string(name));
    if (found == files.end()) return NotFound("no file " + std::string(name));
    auto copy = std::make_shared<std::string>(found->second);
    return Bytes{reinterpret_cast<const uint8_t*>(copy->data()), static_cast<int64_t>(copy->size()),
                 copy};
  }
  bool Has(std::string_view name) const override { return files.count(std::string(name)) > 0; }
  std::string Describe(std::string_view name) const override { return std::string(name); }
};

// Damage anywhere in the index: an error or, where it does not matter, the right tensors.
TEST(LoadWeights, RandomDamageOfTheIndexNeverCrashes) {
  MemorySource source;
  source.files["s.bin"] = BytesOf<float>({1, 2, 3, 4});
  const std::string index =
      Index({Shard("s.bin", {Record("a", "float32", "raw", {2}, 0, 8),
                             Record("b", "float32", "f32-to-bf16", {4}, 8, 8)})});
  const std::string likely = "0123456789-\"[]{},.eE/\\";
  std::mt19937 random(7);
  int failures = 0;
  for (int round = 0; round < 1000; ++round) {
    std::string damaged = index;
    for (uint32_t flips = 1 + random() % 4; flips > 0; --flips) {
      char& byte = damaged[random() % damaged.size()];
      byte = random() % 2 ? static_cast<char>(byte ^ (1 << random() % 8))
                          : likely[random() % likely.size()];
    }
    source.files["tensor-cache.json"] = damaged;
    Result<Weights> loaded =
        Weights::Load(source, {{"a", {2}, DType::kFloat32}, {"b", {4}, DType::kFloat32}}, Device{},
                      /*progress=*/nullptr);
    if (loaded.ok()) {
      ASSERT_EQ(loaded->tensors()[1].bytes(), 16);
    } else {
      ++failures;
      ASSERT_FALSE(loaded.status().message().empty());
    }
  }
  EXPECT_GT(failures, 500);
}

TEST(LoadWeights, TensorsThatShareBytesAreRefused) {
  for (int64_t offset : {0, 4, 8}) {
    MemorySource source;
    source.files["s.bin"] = BytesOf<float>({1, 2, 3, 4});
    source.files["tensor-cache.json"] =
        Index({Shard("s.bin", {Record("b", "float32", "raw", {2}, offset, 8),
                               Record("a", "float32", "raw", {2}, 0, 8)})});
    Status status =
        Weights::Load(source, {{"a", {2}, DType::kFloat32}}, Device{}, /*progress=*/nullptr)
            .status();
    EXPECT_EQ(status.ok(), offset == 8) << offset;
    if (status.ok()) continue;
    EXPECT_EQ(status.code(), StatusCode::kCorrupt);
    EXPECT_NE(status.message().find("'a' and 'b' share bytes"), std::string::npos)
        << status.message();
  }
}

}  // namespace
}  // namespace mlc
