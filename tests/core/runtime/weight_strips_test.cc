#include "runtime/weight_strips.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "runtime/weights.h"
#include "support/temp_folder.h"
#include "support/weight_files.h"

namespace mlc {
namespace {

using testing::BytesOf;
using testing::Index;
using testing::Record;
using testing::Shard;
using testing::TempFolder;
using testing::ValuesOf;

Result<std::vector<Tensor>> Load(const TempFolder& folder, const std::vector<ParamSpec>& wanted) {
  MLC_ASSIGN_OR_RETURN(Weights weights,
                       Weights::Load(FolderSource(folder.path()), wanted, Device{}, nullptr));
  return weights.tensors();
}

// A shard "s.bin" with a matrix [18, 2] whose element (row, column) is 10 row + column, the same
// matrix transposed, and a stack [2, 16, 1].
void WriteMatrices(const TempFolder& folder) {
  std::vector<uint16_t> rows, columns(36), stack;
  for (int i = 0; i < 36; ++i) {
    rows.push_back(static_cast<uint16_t>(i / 2 * 10 + i % 2));
    columns[static_cast<size_t>(i % 2 * 18 + i / 2)] = rows.back();
  }
  for (int i = 0; i < 32; ++i) stack.push_back(static_cast<uint16_t>(i));
  std::string pad(128 - 72, '\0');
  folder.Write("s.bin", BytesOf(rows) + pad + BytesOf(columns) + pad + BytesOf(stack));
  folder.Write("tensor-cache.json",
               Index({Shard("s.bin", {Record("rows", "float16", "raw", {18, 2}, 0, 72),
                                      Record("columns", "float16", "raw", {2, 18}, 128, 72),
                                      Record("stack", "float16", "raw", {2, 16, 1}, 256, 64)})}));
}

ParamSpec InStrips(const std::string& name, Shape shape, int64_t outputs, int axis) {
  ParamSpec spec{name, std::move(shape), DType::kFloat16};
  spec.strips = Strips{outputs, axis};
  return spec;
}

// The strips of the matrix of WriteMatrices: rows from `first` on, padded with zeros.
std::vector<uint16_t> StripsOfRows(int first, int num_rows) {
  std::vector<uint16_t> found;
  for (int strip = first; strip < first + num_rows; strip += 16) {
    for (int column = 0; column < 2; ++column) {
      for (int row = strip; row < strip + 16; ++row) {
        found.push_back(static_cast<uint16_t>(row < first + num_rows ? 10 * row + column : 0));
      }
    }
  }
  return found;
}

TEST(Strips, MatricesAreLaidOut) {
  TempFolder folder;
  WriteMatrices(folder);
  ParamSpec part = InStrips("rows", {1, 2, 16}, 5, 0),
            joined = InStrips("joined", {3, 2, 16}, 36, 0);
  part.first = 3, part.extent = 18;
  StoredPart rows{"rows", {18, 2}, DType::kFloat16, {}, ""};
  joined.parts = StoredParts{{rows, rows}};
  Result<std::vector<Tensor>> loaded =
      Load(folder, {InStrips("rows", {2, 2, 16}, 18, 0), InStrips("columns", {2, 2, 16}, 18, 1),
                    InStrips("stack", {2, 1, 1, 16}, 16, 0), part, joined});
  ASSERT_TRUE(loaded.ok()) << loaded.status().message();
  EXPECT_EQ((*loaded)[0].shape(), (Shape{2, 2, 16}));
  EXPECT_EQ(ValuesOf<uint16_t>((*loaded)[0]), StripsOfRows(0, 18));
  EXPECT_EQ(ValuesOf<uint16_t>((*loaded)[1]), StripsOfRows(0, 18));
  EXPECT_EQ(ValuesOf<uint16_t>((*loaded)[2])[31], 31);
  EXPECT_EQ(ValuesOf<uint16_t>((*loaded)[3]), StripsOfRows(3, 5));
  EXPECT_EQ(ValuesOf<uint16_t>((*loaded)[4])[2 * 16 + 2], 0) << "row 18 is row 0 again";
  EXPECT_EQ(ValuesOf<uint16_t>((*loaded)[4])[2 * 16 + 3], 10);
  EXPECT_EQ(Load(folder, {InStrips("rows", {1, 2, 16}, 16, 0)}).status().param(), "model_lib");
}

// MLC-LLM's words have ten codes of 3 bits. Code i of row r is (3 i + r) % 8 here.
TEST(Strips, BytesHaveTheCodesOf3Bits) {
  auto code = [](int i, int row) { return static_cast<uint32_t>(3 * i + row) % 8; };
  std::vector<uint32_t> words;
  for (int row = 0; row < 17; ++row) {
    for (int word = 0; word < 8; ++word) {
      uint32_t bits = 0;
      for (int i = 0; i < 10; ++i) bits |= code(10 * word + i, row) << (3 * i);
      words.push_back(bits);
    }
  }
  TempFolder folder;
  folder.Write("s.bin", BytesOf(words));
  folder.Write("tensor-cache.json",
               Index({Shard("s.bin", {Record("w", "uint32", "raw", {17, 8}, 0, 17 * 32)})}));
  ParamSpec spec{"w", {2, 8, 16}, DType::kUInt32};
  spec.strips = Strips{17, 0, Strips::Change::kThrees};
  Result<std::vector<Tensor>> loaded = Load(folder, {spec});
  ASSERT_TRUE(loaded.ok()) << loaded.status().message();
  std::vector<uint32_t> found = ValuesOf<uint32_t>((*loaded)[0]);
  for (int row = 0; row < 17; ++row) {
    for (int i = 0; i < 80; ++i) {
      int word = i / 40 * 4, place = i % 40, quad = place / 4, shift = place % 4 * 8;
      auto bits = [&](int of_group, int from) {
        return found[static_cast<size_t>((row / 16 * 8 + word + of_group) * 16 + row % 16)] >>
               (shift + from);
      };
      uint32_t read = quad < 8 ? bits(quad % 4, quad / 4 * 3) & 7
                               : (bits(quad - 8, 6) & 3) | (bits(quad - 6, 6) & 1) << 2;
      ASSERT_EQ(read, code(i, row)) << "row " << row << ", code " << i;
    }
  }
}

// A shard "s.bin" with a matrix "w" [18, 2] of float32.
void WriteFloats(const TempFolder& folder, std::vector<float> numbers) {
  numbers.resize(36);
  folder.Write("s.bin", BytesOf(numbers));
  folder.Write("tensor-cache.json",
               Index({Shard("s.bin", {Record("w", "float32", "raw", {18, 2}, 0, 144)})}));
}

TEST(Strips, Float32IsRoundedToFloat16) {
  TempFolder folder;
  WriteFloats(folder, {1, -2, 1.0f / 3, 0x1p-24f, 65519});
  ParamSpec whole = InStrips("w", {2, 2, 16}, 18, 0), part = InStrips("w", {1, 2, 16}, 3, 0),
            joined = InStrips("joined", {3, 2, 16}, 36, 0);
  whole.strips->change = part.strips->change = joined.strips->change = Strips::Change::kHalves;
  part.first = 1, part.extent = 18;
  StoredPart rows{"w", {18, 2}, DType::kFloat32, {}, ""};
  joined.parts = StoredParts{{rows, rows}};
  Result<std::vector<Tensor>> loaded = Load(folder, {whole, part, joined});
  ASSERT_TRUE(loaded.ok()) << loaded.status().message();
  EXPECT_EQ((*loaded)[0].dtype(), DType::kFloat16);
  std::vector<uint16_t> found = ValuesOf<uint16_t>((*loaded)[0]);
  EXPECT_EQ((std::vector<uint16_t>{found[0], found[1], found[2], found[3]}),
            (std::vector<uint16_t>{0x3C00, 0x3555, 0x7BFF, 0}));
  EXPECT_EQ((std::vector<uint16_t>{found[16], found[17]}), (std::vector<uint16_t>{0xC000, 1}));
  EXPECT_EQ(ValuesOf<uint16_t>((*loaded)[1])[0], 0x3555);
  EXPECT_EQ(ValuesOf<uint16_t>((*loaded)[2])[2 * 16 + 3], 0x3555) << "row 19 is row 1 again";
}

TEST(Strips, RoundedNumbersAreKeptAndLaidOutAgain) {
  TempFolder folder, kept;
  WriteFloats(folder, {1, -2, 1.0f / 3});
  ParamSpec spec = InStrips("w", {2, 2, 16}, 18, 0);
  spec.strips->change = Strips::Change::kHalves;
  for (const std::string& prefix : {std::string(), kept.path() + "/lib", kept.path() + "/lib"}) {
    Result<Weights> weights =
        Weights::Load(FolderSource(folder.path()), {spec}, Device{}, nullptr, prefix);
    ASSERT_TRUE(weights.ok()) << weights.status().message();
    for (int turn = 0; turn < 2; ++turn) {
      EXPECT_EQ(ValuesOf<uint16_t>(weights->tensors()[0])[1], 0x3555) << prefix;
      weights->Drop();
      weights->Restore();
    }
  }
}

TEST(Strips, ANumberThatFloat16DoesNotHoldIsAnError) {
  for (float number : {65520.0f, -1e30f, std::numeric_limits<float>::quiet_NaN()}) {
    TempFolder folder;
    WriteFloats(folder, {1, number});
    ParamSpec spec = InStrips("w", {2, 2, 16}, 18, 0);
    spec.strips->change = Strips::Change::kHalves;
    Status status = Load(folder, {spec}).status();
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << number;
    EXPECT_EQ(status.param(), "model_lib") << number;
    EXPECT_NE(status.message().find("'w'"), std::string::npos) << status.message();
  }
}

TEST(Strips, AreLaidOutAgainAfterADrop) {
  TempFolder folder;
  std::vector<uint16_t> numbers(1 << 16);
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<uint16_t>(i * 31);
  folder.Write("s.bin", BytesOf(numbers) + BytesOf<float>({1}));
  folder.Write("tensor-cache.json",
               Index({Shard("s.bin", {Record("w", "float16", "raw", {64, 1024}, 0, 1 << 17),
                                      Record("v", "float32", "raw", {1}, 1 << 17, 4)})}));
  ParamSpec strips = InStrips("w", {4, 1024, 16}, 64, 0);
  Result<Weights> weights =
      Weights::Load(FolderSource(folder.path()), {strips, {"v", {1}, DType::kFloat32}, strips},
                    Device{}, /*progress=*/nullptr);
  ASSERT_TRUE(weights.ok()) << weights.status().message();
  const Tensor &tensor = weights->tensors()[0], &next = weights->tensors()[2];
  std::vector<uint16_t> before = ValuesOf<uint16_t>(tensor);
  EXPECT_EQ(before[1], numbers[1024]);
  EXPECT_EQ(ValuesOf<uint16_t>(next), before);
  EXPECT_EQ(static_cast<char*>(next.data()) - static_cast<char*>(tensor.data()), tensor.bytes());
  EXPECT_EQ(weights->Drop(), (2 << 17) + 4);
#if defined(__linux__)
  EXPECT_EQ(ValuesOf<uint16_t>(tensor)[1 << 15], 0) << "the memory was not given back";
  EXPECT_EQ(ValuesOf<uint16_t>(tensor).back(), 0) << "the page between both was not given back";
#endif
  weights->Restore();
  EXPECT_EQ(ValuesOf<uint16_t>(tensor), before);
  weights->Drop();
  EXPECT_EQ(weights->Touch(), (2 << 17) + 4);
  EXPECT_EQ(ValuesOf<uint16_t>(tensor), before);
  EXPECT_EQ(ValuesOf<uint16_t>(next), before);
}

TEST(Strips, AreKeptInAFile) {
  TempFolder folder, kept;
  WriteMatrices(folder);
  const std::vector<ParamSpec> wanted = {InStrips("rows", {2, 2, 16}, 18, 0),
                                         {"columns", {2, 18}, DType::kFloat16},
                                         InStrips("stack", {2, 1, 1, 16}, 16, 0)};
  const std::string prefix = kept.path() + "/lib";
  auto load = [&](const std::vector<ParamSpec>& specs) {
    Result<Weights> weights =
        Weights::Load(FolderSource(folder.path()), specs, Device{}, nullptr, prefix);
    EXPECT_TRUE(weights.ok()) << weights.status().message();
    return std::move(weights).value();
  };
  auto files = [&] {
    std::vector<std::string> found;
    for (const auto& entry : std::filesystem::directory_iterator(kept.path())) {
      found.push_back(entry.path().string());
    }
    return found;
  };
  auto check = [&](Weights weights, int64_t mapped_shard_bytes) {
    EXPECT_EQ(ValuesOf<uint16_t>(weights.tensors()[0]), StripsOfRows(0, 18));
    EXPECT_EQ(ValuesOf<uint16_t>(weights.tensors()[1])[18], 1);
    EXPECT_EQ(ValuesOf<uint16_t>(weights.tensors()[2])[31], 31);
    EXPECT_EQ(weights.Drop(), 128 + 64 + mapped_shard_bytes);
    weights.Restore();
    EXPECT_EQ(ValuesOf<uint16_t>(weights.tensors()[0]), StripsOfRows(0, 18));
  };
  check(load(wanted), 72);
  ASSERT_EQ(files().size(), 1u);
  const std::string file = files()[0];
  auto written = std::filesystem::last_write_time(file);
  check(load(wanted), 0);  // a small tensor does not keep the shard mapped
  EXPECT_EQ(std::filesystem::last_write_time(file), written) << "it was not mapped";
  std::filesystem::resize_file(file, 200);
  check(load(wanted), 72);
  EXPECT_EQ(std::filesystem::file_size(file), 128 + 64 + 24u)
      << "a file that is not whole is written again";
  load({wanted[0]});
  EXPECT_EQ(files().size(), 2u) << "another library has other strips";
  std::filesystem::remove_all(kept.path());  // nothing can be written
  check(load(wanted), 72);
}

TEST(Strips, OnlySmallTensorsAreCopiedBesideTheirFile) {
  TempFolder folder, kept;
  const int64_t count = 40000, bytes = 2 * count;
  folder.Write("s.bin", BytesOf(std::vector<uint16_t>(64 + count, 7)));
  folder.Write("tensor-cache.json",
               Index({Shard("s.bin", {Record("rows", "float16", "raw", {18, 2}, 0, 72),
                                      Record("table", "float16", "raw", {count}, 128, bytes)})}));
  const std::vector<ParamSpec> wanted = {InStrips("rows", {2, 2, 16}, 18, 0),
                                         {"table", {count}, DType::kFloat16}};
  for (int round = 0; round < 2; ++round) {
    Result<Weights> weights =
        Weights::Load(FolderSource(folder.path()), wanted, Device{}, nullptr, kept.path() + "/lib");
    ASSERT_TRUE(weights.ok()) << weights.status().message();
    EXPECT_EQ(ValuesOf<uint16_t>(weights->tensors()[1])[1], 7);
    EXPECT_EQ(weights->Drop(), 128 + bytes) << "a large tensor stays in its shard";
  }
}

}  // namespace
}  // namespace mlc
