#include "runtime/tensor.h"

#include <gtest/gtest.h>

#include <cstring>

namespace mlc {
namespace {

TEST(DType, NamesRoundTrip) {
  const std::pair<const char*, int64_t> known[] = {{"float32", 4}, {"float16", 2}, {"bfloat16", 2},
                                                   {"int32", 4},   {"int64", 8},   {"uint32", 4},
                                                   {"int8", 1},    {"uint8", 1}};
  for (const auto& [name, bytes] : known) {
    std::optional<DType> dtype = ParseDType(name);
    ASSERT_TRUE(dtype.has_value()) << name;
    EXPECT_STREQ(DTypeName(*dtype), name);
    EXPECT_EQ(DTypeBytes(*dtype), bytes);
  }
  for (const char* unknown : {"", "float", "Float32", "float8_e4m3", "bool", "float32 "}) {
    EXPECT_FALSE(ParseDType(unknown).has_value()) << unknown;
  }
}

TEST(TensorBytes, OrNothingWhenItOverflows) {
  EXPECT_EQ(TensorBytes({}, DType::kFloat32), 4);
  EXPECT_EQ(TensorBytes({2, 3}, DType::kFloat16), 12);
  EXPECT_EQ(TensorBytes({0, 5}, DType::kInt8), 0);
  EXPECT_EQ(TensorBytes({-1}, DType::kInt8), std::nullopt);
  EXPECT_EQ(TensorBytes({INT64_MAX}, DType::kInt8), INT64_MAX);
  EXPECT_EQ(TensorBytes({INT64_MAX}, DType::kFloat16), std::nullopt);
  EXPECT_EQ(TensorBytes({1ll << 32, 1ll << 32}, DType::kInt8), std::nullopt);
}

TEST(ShapeText, LooksLikeAList) {
  EXPECT_EQ(ShapeText({}), "[]");
  EXPECT_EQ(ShapeText({2, 3}), "[2, 3]");
}

TEST(Tensor, EmptyIsAlignedMemoryOfItsOwn) {
  Result<Tensor> tensor = Tensor::Empty({3, 5}, DType::kFloat32, Device{});
  ASSERT_TRUE(tensor.ok()) << tensor.status().message();
  EXPECT_EQ(tensor->shape(), (Shape{3, 5}));
  EXPECT_EQ(tensor->dtype(), DType::kFloat32);
  EXPECT_EQ(tensor->bytes(), 60);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(tensor->data()) % 64, 0u);
  std::memset(tensor->data(), 1, 60);  // a sanitizer sees when it is less
  Tensor copy = *tensor;
  EXPECT_EQ(copy.data(), tensor->data());
  EXPECT_FALSE(Tensor().defined());
}

TEST(Tensor, NoElementsAreATensorToo) {
  Result<Tensor> tensor = Tensor::Empty({0, 7}, DType::kInt32, Device{});
  ASSERT_TRUE(tensor.ok()) << tensor.status().message();
  EXPECT_EQ(tensor->bytes(), 0);
}

TEST(Tensor, IsWrittenAndReadInParts) {
  Result<Tensor> made = Tensor::Empty({4}, DType::kInt32, Device{});
  ASSERT_TRUE(made.ok()) << made.status().message();
  Tensor tensor = *made;
  const int32_t values[] = {1, 2, 3, 4};
  ASSERT_TRUE(tensor.Write(0, values, 16).ok());
  ASSERT_TRUE(tensor.Write(4, values, 8).ok());
  int32_t read[3] = {};
  ASSERT_TRUE(tensor.Read(4, read, 12).ok());
  EXPECT_EQ(read[0], 1);
  EXPECT_EQ(read[1], 2);
  EXPECT_EQ(read[2], 4);
  EXPECT_EQ(tensor.OnHost()->data(), tensor.data());
  for (auto [offset, bytes] : {std::pair<int64_t, int64_t>{0, 17}, {16, 1}, {-1, 1}, {0, -1}}) {
    EXPECT_EQ(tensor.Read(offset, read, bytes).code(), StatusCode::kInvalidArgument);
    EXPECT_EQ(tensor.Write(offset, values, bytes).code(), StatusCode::kInvalidArgument);
  }
}

TEST(Tensor, ErrorsAreValues) {
  EXPECT_EQ(Tensor::Empty({-1}, DType::kInt8, Device{}).status().code(),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(Tensor::Empty({INT64_MAX, 2}, DType::kInt8, Device{}).status().code(),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(Tensor::Empty({1}, DType::kInt8, Device{2, 0}).status().code(),
            StatusCode::kUnsupported);
}

TEST(Tensor, AViewKeepsItsOwnerAlive) {
  struct alignas(64) Block {
    float values[16];
  };
  auto owner = std::make_shared<Block>();
  std::weak_ptr<Block> watch = owner;
  Tensor view = Tensor::View(owner->values, {16}, DType::kFloat32, owner);
  EXPECT_EQ(view.data(), owner->values);
  owner.reset();
  EXPECT_FALSE(watch.expired());
  view = Tensor();
  EXPECT_TRUE(watch.expired());
}

}  // namespace
}  // namespace mlc
