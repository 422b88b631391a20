#include "runtime/weights.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <limits>
#include <string>

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

Result<std::vector<Tensor>> Load(const TempFolder& folder, const std::vector<ParamSpec>& wanted,
                                 const LoadProgress& progress = nullptr) {
  MLC_ASSIGN_OR_RETURN(Weights weights,
                       Weights::Load(FolderSource(folder.path()), wanted, Device{}, progress));
  return weights.tensors();
}

Status StatusOf(const Result<std::vector<Tensor>>& result) {
  return result.ok() ? Status() : result.status();
}

// One float32 tensor "w" of two elements, described by `record` in shard "s.bin".
Status LoadOne(const Json& record, const std::string& path = "s.bin") {
  TempFolder folder;
  folder.Write("s.bin", BytesOf<float>({1, 2}));
  folder.Write("tensor-cache.json", Index({Shard(path, {record})}));
  return StatusOf(Load(folder, {{"w", {2}, DType::kFloat32}}));
}

TEST(LoadWeights, RawTensorsInTheOrderAsked) {
  TempFolder folder;
  folder.Write("params_shard_0.bin", BytesOf<float>({1, 2, 3, 4}) + BytesOf<uint32_t>({7}));
  folder.Write("params_shard_1.bin", BytesOf<uint16_t>({0x3c00, 0x4000}));
  folder.Write("tensor-cache.json",
               Index({Shard("params_shard_0.bin", {Record("a", "float32", "raw", {2, 2}, 0, 16),
                                                   Record("b", "uint32", "raw", {1}, 16, 4)}),
                      Shard("params_shard_1.bin", {Record("c", "float16", "raw", {2}, 0, 4)})}));
  Result<std::vector<Tensor>> loaded = Load(
      folder,
      {{"c", {2}, DType::kFloat16}, {"a", {2, 2}, DType::kFloat32}, {"b", {1}, DType::kUInt32}});
  ASSERT_TRUE(loaded.ok()) << loaded.status().message();
  EXPECT_EQ(ValuesOf<uint16_t>((*loaded)[0]), (std::vector<uint16_t>{0x3c00, 0x4000}));
  EXPECT_EQ(ValuesOf<float>((*loaded)[1]), (std::vector<float>{1, 2, 3, 4}));
  EXPECT_EQ((*loaded)[1].shape(), (Shape{2, 2}));
  EXPECT_EQ(ValuesOf<uint32_t>((*loaded)[2]), (std::vector<uint32_t>{7}));
}

TEST(LoadWeights, TablesThatAreReadByRowsStayInTheirFile) {
  TempFolder folder;
  folder.Write("s.bin", BytesOf<float>(std::vector<float>(32, 1.0f)));
  folder.Write("tensor-cache.json",
               Index({Shard("s.bin", {Record("table", "float32", "raw", {4, 4}, 0, 64),
                                      Record("w", "float32", "raw", {16}, 64, 64)})}));
  ParamSpec table{"table", {4, 4}, DType::kFloat32};
  table.by_rows = true;
  std::vector<ParamSpec> wanted = {table, {"w", {16}, DType::kFloat32}};
  Result<Weights> weights = Weights::Load(FolderSource(folder.path()), wanted, Device{}, nullptr);
  ASSERT_TRUE(weights.ok()) << weights.status().message();
  EXPECT_EQ(ValuesOf<float>(weights->tensors()[0])[15], 1.0f);
  EXPECT_EQ(weights->Touch(), 64) << "of the other tensor";
  EXPECT_EQ(weights->Drop(), 128);
}

TEST(LoadWeights, SmallNumbersMayBeTakenAsWords) {
  TempFolder folder;
  folder.Write("s.bin", BytesOf<uint16_t>({1, 2, 3, 4, 5, 6, 7, 8}));
  folder.Write("tensor-cache.json",
               Index({Shard("s.bin", {Record("w", "float16", "raw", {2, 4}, 0, 16)})}));
  ParamSpec words{"w", {2, 2}, DType::kUInt32};
  words.stored_dtype = DType::kFloat16;
  Result<std::vector<Tensor>> loaded = Load(folder, {words});
  ASSERT_TRUE(loaded.ok()) << loaded.status().message();
  EXPECT_EQ((*loaded)[0].shape(), (Shape{2, 2}));
  EXPECT_EQ((*loaded)[0].dtype(), DType::kUInt32);
  EXPECT_EQ(ValuesOf<uint32_t>((*loaded)[0]),
            (std::vector<uint32_t>{0x20001, 0x40003, 0x60005, 0x80007}));
  ParamSpec row{"w", {1, 2}, DType::kUInt32, 1, 2};
  row.stored_dtype = DType::kFloat16;
  loaded = Load(folder, {row});
  ASSERT_TRUE(loaded.ok()) << loaded.status().message();
  EXPECT_EQ(ValuesOf<uint32_t>((*loaded)[0]), (std::vector<uint32_t>{0x60005, 0x80007}));
  words.stored_dtype = DType::kInt8;  // the weights have other numbers
  EXPECT_EQ(StatusOf(Load(folder, {words})).param(), "model_lib");
}

TEST(LoadWeights, ATensorWithoutANameIsNoParameter) {
  TempFolder folder;
  folder.Write("s.bin", BytesOf<float>({1}));
  folder.Write("tensor-cache.json",
               Index({Shard("s.bin", {Record("", "float32", "raw", {1}, 0, 4)})}));
  Status status = StatusOf(Load(folder, {{"w", {1}, DType::kFloat32}}));
  EXPECT_EQ(status.param(), "model_lib");
  EXPECT_NE(status.message().find("'w'"), std::string::npos) << status.message();
}

TEST(LoadWeights, FloatsOfEightBitsAreBytes) {
  TempFolder folder;
  folder.Write("s.bin", BytesOf<uint8_t>({1, 2, 3, 4}));
  folder.Write("tensor-cache.json",
               Index({Shard("s.bin", {Record("w", "float8_e4m3fn", "raw", {1, 4}, 0, 4)})}));
  Result<std::vector<Tensor>> loaded = Load(folder, {{"w", {1, 4}, DType::kUInt8}});
  ASSERT_TRUE(loaded.ok()) << loaded.status().message();
  EXPECT_EQ(ValuesOf<uint8_t>((*loaded)[0]), (std::vector<uint8_t>{1, 2, 3, 4}));
}

TEST(LoadWeights, TensorsThatAreStoredApartAreJoined) {
  TempFolder folder;
  folder.Write("s.bin", BytesOf<uint16_t>({0x3f80, 0xc000, 0x4000}) + BytesOf<float>({9}));
  folder.Write("tensor-cache.json",
               Index({Shard("s.bin", {Record("gate", "float32", "f32-to-bf16", {2, 1}, 0, 4),
                                      Record("up", "float32", "f32-to-bf16", {1, 1}, 4, 2)})}));
  ParamSpec both{"gate_up", {3, 1}, DType::kFloat32};
  both.parts = StoredParts{{{"gate", {2, 1}}, {"up", {1, 1}}}};
  Result<std::vector<Tensor>> loaded = Load(folder, {both});
  ASSERT_TRUE(loaded.ok()) << loaded.status().message();
  EXPECT_EQ(ValuesOf<float>((*loaded)[0]), (std::vector<float>{1, -2, 2}));
  ParamSpec last{"gate_up", {1, 1}, DType::kFloat32, 2, 3};
  last.parts = both.parts;
  loaded = Load(folder, {last});
  ASSERT_TRUE(loaded.ok()) << loaded.status().message();
  EXPECT_EQ(ValuesOf<float>((*loaded)[0]), (std::vector<float>{2}));
  both.parts->parts[1].name = "down";
  Status missing = StatusOf(Load(folder, {both}));
  EXPECT_EQ(missing.param(), "model_lib");
  EXPECT_NE(missing.message().find("'down'"), std::string::npos) << missing.message();
  both.parts->parts[1] = {"gate", {1, 1}};
  EXPECT_EQ(StatusOf(Load(folder, {both})).param(), "model_lib");
}

TEST(LoadWeights, EightBitFloatsHaveTheirFactors) {
  TempFolder folder;
  folder.Write("s.bin", BytesOf<uint8_t>({0x38, 0x40, 0xc0, 0}) + BytesOf<float>({0.5f}));
  folder.Write("tensor-cache.json",
               Index({Shard("s.bin", {Record("w_uk", "float8_e4m3fn", "raw", {1, 1, 3}, 0, 3),
                                      Record("scales", "float32", "raw", {1, 1, 1}, 4, 4)})}));
  ParamSpec floats{"w_uk", {1, 1, 3}, DType::kBFloat16};
  floats.parts = StoredParts{{{"w_uk", {1, 1, 3}, DType::kUInt8, {}, "scales"}}};
  Result<std::vector<Tensor>> loaded = Load(folder, {floats});
  ASSERT_TRUE(loaded.ok()) << loaded.status().message();
  EXPECT_EQ(ValuesOf<uint16_t>((*loaded)[0]), (std::vector<uint16_t>{0x3f00, 0x3f80, 0xbf80}));
}

TEST(LoadWeights, Bfloat16StorageWidensExactly) {
  TempFolder folder;
  folder.Write("s.bin", BytesOf<uint16_t>({0x3f80, 0xc000, 0x7f80, 0x0000}));
  folder.Write("tensor-cache.json",
               Index({Shard("s.bin", {Record("w", "float32", "f32-to-bf16", {4}, 0, 8)})}));
  Result<std::vector<Tensor>> loaded = Load(folder, {{"w", {4}, DType::kFloat32}});
  ASSERT_TRUE(loaded.ok()) << loaded.status().message();
  EXPECT_EQ(ValuesOf<float>(loaded->front()),
            (std::vector<float>{1, -2, std::numeric_limits<float>::infinity(), 0}));
}

TEST(LoadWeights, SomeRowsOfATensor) {
  TempFolder folder;
  folder.Write("s.bin", BytesOf<uint16_t>({1, 2, 3, 4, 5, 6, 0x3f80, 0xc000}));
  folder.Write("tensor-cache.json",
               Index({Shard("s.bin", {Record("a", "float16", "raw", {3, 2}, 0, 12),
                                      Record("w", "float32", "f32-to-bf16", {2, 1}, 12, 4)})}));
  Result<std::vector<Tensor>> loaded = Load(folder, {{"a", {1, 2}, DType::kFloat16, 0, 3},
                                                     {"a", {2, 2}, DType::kFloat16, 1, 3},
                                                     {"w", {1, 1}, DType::kFloat32, 1, 2}});
  ASSERT_TRUE(loaded.ok()) << loaded.status().message();
  EXPECT_EQ(ValuesOf<uint16_t>((*loaded)[0]), (std::vector<uint16_t>{1, 2}));
  EXPECT_EQ(ValuesOf<uint16_t>((*loaded)[1]), (std::vector<uint16_t>{3, 4, 5, 6}));
  EXPECT_EQ((*loaded)[1].shape(), (Shape{2, 2}));
  EXPECT_EQ(ValuesOf<float>((*loaded)[2]), (std::vector<float>{-2}));
  Status status = StatusOf(Load(folder, {{"a", {2, 2}, DType::kFloat16, 1, 4}}));
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_NE(status.message().find("tensor 'a'"), std::string::npos) << status.message();
}

TEST(LoadWeights, SomeColumnsOfATensor) {
  TempFolder folder;
  folder.Write("s.bin", BytesOf<uint16_t>({1, 2, 3, 4, 5, 6, 0x3f80, 0xc000}));
  folder.Write("tensor-cache.json",
               Index({Shard("s.bin", {Record("a", "float16", "raw", {2, 3}, 0, 12),
                                      Record("w", "float32", "f32-to-bf16", {1, 2}, 12, 4)})}));
  Result<std::vector<Tensor>> loaded = Load(folder, {{"a", {2, 1}, DType::kFloat16, 0, 3, 1},
                                                     {"a", {2, 2}, DType::kFloat16, 1, 3, 1},
                                                     {"w", {1, 1}, DType::kFloat32, 1, 2, 1}});
  ASSERT_TRUE(loaded.ok()) << loaded.status().message();
  EXPECT_EQ(ValuesOf<uint16_t>((*loaded)[0]), (std::vector<uint16_t>{1, 4}));
  EXPECT_EQ(ValuesOf<uint16_t>((*loaded)[1]), (std::vector<uint16_t>{2, 3, 5, 6}));
  EXPECT_EQ((*loaded)[1].shape(), (Shape{2, 2}));
  EXPECT_EQ(ValuesOf<float>((*loaded)[2]), (std::vector<float>{-2}));
  Status status = StatusOf(Load(folder, {{"a", {2, 2}, DType::kFloat16, 1, 4, 1}}));
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_NE(status.message().find("tensor 'a'"), std::string::npos) << status.message();
}

// The format speaks of float32 alone; MLC-LLM writes it on every record.
TEST(LoadWeights, OtherDtypesAreRawWhateverTheFormat) {
  TempFolder folder;
  folder.Write("s.bin", BytesOf<uint32_t>({1, 2}));
  folder.Write("tensor-cache.json",
               Index({Shard("s.bin", {Record("w", "uint32", "f32-to-bf16", {2}, 0, 8)})}));
  Result<std::vector<Tensor>> loaded = Load(folder, {{"w", {2}, DType::kUInt32}});
  ASSERT_TRUE(loaded.ok()) << loaded.status().message();
  EXPECT_EQ(ValuesOf<uint32_t>(loaded->front()), (std::vector<uint32_t>{1, 2}));
}

TEST(LoadWeights, TheOlderIndexNameIsReadToo) {
  TempFolder folder;
  folder.Write("s.bin", BytesOf<float>({5, 6}));
  folder.Write("ndarray-cache.json",
               Index({Shard("s.bin", {Record("w", "float32", "raw", {2}, 0, 8)})}));
  Result<std::vector<Tensor>> loaded = Load(folder, {{"w", {2}, DType::kFloat32}});
  ASSERT_TRUE(loaded.ok()) << loaded.status().message();
  EXPECT_EQ(ValuesOf<float>(loaded->front()), (std::vector<float>{5, 6}));
}

TEST(LoadWeights, AnyOffsetWorksAndTheTensorIsAligned) {
  TempFolder folder;
  std::string content(200, '\0');
  std::vector<Json> records;
  std::vector<ParamSpec> wanted;
  for (int i = 0; i < 12; ++i) {  // aligned ones and odd ones
    int64_t offset = i % 3 == 0 ? 64 * (i / 3) : 7 * i + 1;
    records.push_back(Record("w" + std::to_string(i), "uint8", "raw", {5}, offset, 5));
    wanted.push_back({"w" + std::to_string(i), {5}, DType::kUInt8});
  }
  for (size_t i = 0; i < content.size(); ++i) content[i] = static_cast<char>(i);
  folder.Write("s.bin", content);
  folder.Write("tensor-cache.json", Index({Shard("s.bin", records)}));
  Result<std::vector<Tensor>> loaded = Load(folder, wanted);
  ASSERT_TRUE(loaded.ok()) << loaded.status().message();
  for (size_t i = 0; i < loaded->size(); ++i) {
    uint8_t first = static_cast<uint8_t>(records[i].Find("byteOffset")->as_int());
    EXPECT_EQ(ValuesOf<uint8_t>((*loaded)[i]).front(), first) << i;
    EXPECT_EQ(reinterpret_cast<uintptr_t>((*loaded)[i].data()) % 64, 0u);
  }
}

#ifdef __linux__
// The file that is mapped at an address; "" where memory is anonymous.
std::string MappedAt(const void* data) {
  auto wanted = reinterpret_cast<uintptr_t>(data);
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    uintptr_t begin = 0, end = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx", &begin, &end) != 2) continue;
    size_t path = line.find('/');
    if (begin <= wanted && wanted < end && path != std::string::npos) return line.substr(path);
  }
  return "";
}

TEST(LoadWeights, AlignedTensorsLieInTheMappedFileAndOthersAreCopied) {
  TempFolder folder;
  folder.Write("s.bin", std::string(200, 'x'));
  folder.Write("tensor-cache.json",
               Index({Shard("s.bin", {Record("aligned", "uint8", "raw", {5}, 64, 5),
                                      Record("odd", "uint8", "raw", {5}, 130, 5)})}));
  Result<std::vector<Tensor>> loaded =
      Load(folder, {{"aligned", {5}, DType::kUInt8}, {"odd", {5}, DType::kUInt8}});
  ASSERT_TRUE(loaded.ok()) << loaded.status().message();
  EXPECT_NE(MappedAt((*loaded)[0].data()).find("s.bin"), std::string::npos);
  EXPECT_EQ(MappedAt((*loaded)[1].data()), "");
}
#endif

TEST(LoadWeights, TensorsOutliveTheirFiles) {
  Tensor tensor;
  {
    TempFolder folder;
    folder.Write("s.bin", BytesOf<float>({3, 4}));
    folder.Write("tensor-cache.json",
                 Index({Shard("s.bin", {Record("w", "float32", "raw", {2}, 0, 8)})}));
    tensor = (*Load(folder, {{"w", {2}, DType::kFloat32}})).front();
  }
  EXPECT_EQ(ValuesOf<float>(tensor), (std::vector<float>{3, 4}));
}

TEST(LoadWeights, AFolderWithoutAnIndexSaysHowToMakeOne) {
  TempFolder folder;
  Status status = Load(folder, {}).status();
  EXPECT_EQ(status.code(), StatusCode::kNotFound);
  EXPECT_TRUE(status.Is(Reason::kFileNotFound));
  EXPECT_NE(status.message().find("convert_weight"), std::string::npos);
}

struct Fault {
  const char* name;
  Json record;
  const char* path;
  StatusCode code;
  const char* message_part;
};

TEST(LoadWeights, EveryFaultOfARecordIsNamed) {
  auto record = [](std::vector<int64_t> shape, int64_t offset, int64_t bytes,
                   const char* dtype = "float32", const char* format = "raw") {
    return Record("w", dtype, format, shape, offset, bytes);
  };
  constexpr int64_t kHuge = INT64_MAX;
  const StatusCode corrupt = StatusCode::kCorrupt, wrong = StatusCode::kInvalidArgument;
  const Fault faults[] = {
      {"missing shard", record({2}, 0, 8), "other.bin", StatusCode::kNotFound, "other.bin"},
      {"parent path", record({2}, 0, 8), "../s.bin", corrupt, "../s.bin"},
      {"absolute path", record({2}, 0, 8), "/s.bin", corrupt, "/s.bin"},
      {"empty path", record({2}, 0, 8), "", corrupt, "folder"},
      {"truncated", record({2}, 4, 8), "s.bin", corrupt, "cut off"},
      {"begins behind the end", record({2}, 9, 8), "s.bin", corrupt, "cut off"},
      {"negative offset", record({2}, -8, 8), "s.bin", corrupt, "byteOffset"},
      {"huge offset", record({2}, kHuge, 8), "s.bin", corrupt, "cut off"},
      {"huge nbytes", record({2}, 0, kHuge), "s.bin", corrupt, "nbytes"},
      {"negative nbytes", record({2}, 0, -8), "s.bin", corrupt, "nbytes"},
      {"huge shape", record({kHuge, kHuge}, 0, 8), "s.bin", corrupt, "'w'"},
      {"negative extent", record({-2}, 0, 8), "s.bin", corrupt, "'w'"},
      {"nine extents", record({1, 1, 1, 1, 1, 1, 1, 1, 2}, 0, 8), "s.bin", corrupt, "'w'"},
      {"unknown dtype", record({2}, 0, 8, "float8"), "s.bin", corrupt, "float8"},
      {"unknown format", record({2}, 0, 8, "float32", "zip"), "s.bin", corrupt, "zip"},
      {"bf16 of raw size", record({2}, 0, 8, "float32", "f32-to-bf16"), "s.bin", corrupt, "nbytes"},
      {"another shape", record({1, 2}, 0, 8), "s.bin", wrong, "[1, 2]"},
      {"another dtype", record({2}, 0, 8, "int32"), "s.bin", wrong, "int32"},
      {"another name", record({2}, 0, 8).Set("name", "v"), "s.bin", wrong, "'w'"},
      {"no name", record({2}, 0, 8).Set("name", Json()), "s.bin", corrupt, "name"},
      {"shape is no list", record({2}, 0, 8).Set("shape", 2), "s.bin", corrupt, "shape"},
      {"offset is text", record({2}, 0, 8).Set("byteOffset", "0"), "s.bin", corrupt, "byteOffset"},
  };
  Status good = LoadOne(record({2}, 0, 8));
  ASSERT_TRUE(good.ok()) << good.message();
  for (const Fault& fault : faults) {
    Status status = LoadOne(fault.record, fault.path);
    ASSERT_FALSE(status.ok()) << fault.name;
    EXPECT_EQ(status.code(), fault.code) << fault.name << ": " << status.message();
    EXPECT_NE(status.message().find(fault.message_part), std::string::npos)
        << fault.name << ": " << status.message();
  }
}

TEST(LoadWeights, AnIndexThatIsNoIndexIsCorruptAndNamed) {
  for (const char* text : {"", "[]", "{}", "3", "{\"records\": {}}", "{\"records\": [3]}",
                           "{\"records\": [{\"dataPath\": \"s\"}]}", "{\"records\": [",
                           "{\"records\": [{\"dataPath\": \"s\", \"records\": [[]]}]}"}) {
    TempFolder folder;
    std::string path = folder.Write("tensor-cache.json", text);
    Status status = Load(folder, {{"w", {2}, DType::kFloat32}}).status();
    EXPECT_EQ(status.code(), StatusCode::kCorrupt) << text;
    EXPECT_NE(status.message().find(path), std::string::npos) << status.message();
  }
}

TEST(LoadWeights, ProgressRisesAndCancels) {
  TempFolder folder;
  folder.Write("s.bin", std::string(64, 'x'));
  std::vector<Json> records;
  std::vector<ParamSpec> wanted;
  for (int i = 0; i < 8; ++i) {
    records.push_back(Record("w" + std::to_string(i), "int8", "raw", {8}, 8 * i, 8));
    wanted.push_back({"w" + std::to_string(i), {8}, DType::kInt8});
  }
  folder.Write("tensor-cache.json", Index({Shard("s.bin", records)}));
  std::vector<double> seen;
  EXPECT_TRUE(Load(folder, wanted, [&](double f) { return seen.push_back(f), true; }).ok());
  ASSERT_EQ(seen.size(), 8u);
  EXPECT_EQ(seen.front(), 0.0);
  EXPECT_TRUE(std::is_sorted(seen.begin(), seen.end()));
  EXPECT_LE(seen.back(), 1.0);
  Status status = Load(folder, wanted, [](double f) { return f < 0.5; }).status();
  EXPECT_EQ(status.code(), StatusCode::kCancelled);
}

}  // namespace
}  // namespace mlc
