#include "model/param_specs.h"

#include <gtest/gtest.h>

#include "model/good_config.h"
#include "model/model_config.h"
#include "support/temp_folder.h"
#include "support/weight_files.h"

namespace mlc {
namespace {

TEST(ParseLibraryMetadata, AParameterMayBeTakenAsAnotherType) {
  auto parse = [](const std::string& stored) {
    std::string param = R"([{"name": "w", "shape": [2, 3], "dtype": "uint32", "stored_dtype": ")";
    return ParseLibraryMetadata(With(GoodMetadata(), "params", param + stored + R"("}])").Dump(),
                                "l");
  };
  Result<LibraryMetadata> metadata = parse("float16");
  ASSERT_TRUE(metadata.ok()) << metadata.status().message();
  EXPECT_EQ(metadata->params[0].stored_dtype, DType::kFloat16);
  for (const char* stored : {"int64", "complex7", ""}) {
    EXPECT_EQ(parse(stored).status().code(), StatusCode::kCorrupt) << stored;
  }
}

// Tables of which steps read single rows are no memory only if a file has them as they are read.
TEST(ParseLibraryMetadata, TablesThatAreMadeInMemoryAreWeights) {
  using testing::Record;
  const std::string params = R"([
      {"name": "raw", "shape": [8, 4], "dtype": "float32", "by_rows": true},
      {"name": "wide", "shape": [4, 4], "dtype": "float32", "by_rows": true},
      {"name": "made", "shape": [2, 4], "dtype": "float32", "by_rows": true, "from":
       {"parts": [{"name": "a", "shape": [2, 4], "dtype": "float16"}]}},
      {"name": "w", "shape": [4], "dtype": "float32"}])";
  Result<LibraryMetadata> metadata =
      ParseLibraryMetadata(With(GoodMetadata(), "params", params).Dump(), "l");
  ASSERT_TRUE(metadata.ok()) << metadata.status().message();
  ModelInfo info = metadata->info;
  EXPECT_EQ(info.table_bytes, 128 + 64);
  EXPECT_EQ(info.weight_bytes, 32 + 16);
  testing::TempFolder folder;
  CountWidenedTables(FolderSource(folder.path()), metadata->params, &info);
  EXPECT_EQ(info.table_bytes, 128 + 64) << "no weights are there yet";
  folder.Write("tensor-cache.json",
               testing::Index({testing::Shard(
                   "s.bin", {Record("raw", "float32", "raw", {8, 4}, 0, 128),
                             Record("wide", "float32", "f32-to-bf16", {4, 4}, 128, 32),
                             Record("a", "float16", "raw", {2, 4}, 160, 16),
                             Record("w", "float32", "f32-to-bf16", {4}, 176, 8)})}));
  CountWidenedTables(FolderSource(folder.path()), metadata->params, &info);
  EXPECT_EQ(info.table_bytes, 128);
  EXPECT_EQ(info.weight_bytes, 64 + 32 + 16);
}

// The whole tensor has 2^63 bytes and more, though each of its numbers and the part are small.
TEST(ParseLibraryMetadata, APartOfATensorThatIsTooLargeIsRefused) {
  for (const char* rest : {R"("shape": [8, 1], "columns": [0, 4611686018427387904])",
                           R"("shape": [1, 8], "rows": [0, 9223372036854775807])",
                           R"("shape": [4611686018427387904, 2])"}) {
    std::string param =
        std::string(R"([{"name": "w", "dtype": "uint32", "stored_dtype": "uint8", )") + rest +
        R"(, "from": {"parts": [{"name": "a", "shape": [4], "dtype": "uint8"}]}}])";
    Result<LibraryMetadata> metadata =
        ParseLibraryMetadata(With(GoodMetadata(), "params", param).Dump(), "l");
    EXPECT_EQ(metadata.status().code(), StatusCode::kCorrupt) << rest;
    EXPECT_EQ(metadata.status().param(), "params") << rest;
    EXPECT_NE(metadata.status().message().find("'w' is too large"), std::string::npos)
        << metadata.status().message();
  }
}

TEST(ParseLibraryMetadata, AParameterMayBeMadeOfOtherTensors) {
  const std::string param = R"([{"name": "w", "shape": [4], "dtype": "float16", "from": )";
  auto parse = [&](const std::string& from) {
    return ParseLibraryMetadata(With(GoodMetadata(), "params", param + from + "}]").Dump(), "l");
  };
  Result<LibraryMetadata> metadata = parse(
      R"({"parts": [{"name": "a", "shape": [3], "dtype": "float16", "rows": [[0, 2, 2], [1, 1, 1]]},
                    {"name": "b", "shape": [1], "dtype": "float16"}]})");
  ASSERT_TRUE(metadata.ok()) << metadata.status().message();
  const StoredParts& parts = *metadata->params[0].parts;
  EXPECT_EQ(parts.parts[0].rows[1].first, 1);
  EXPECT_EQ(parts.parts[0].rows[0].levels[0].step, 2);
  EXPECT_EQ(parts.parts[1].name, "b");
  metadata = parse(R"({"parts": [{"name": "a", "shape": [4], "dtype": "uint8", "scales": "s"}],
                       "change": "plus_one"})");
  EXPECT_EQ(metadata.status().param(), "params");  // a vector has no blocks of factors
  for (const char* from :
       {"{}", R"({"parts": []})", R"({"parts": [{"name": "a", "shape": [3], "dtype": "float16"}]})",
        R"({"parts": [{"name": "a", "shape": [4], "dtype": "float16", "rows": [[0, 4]]}]})",
        R"({"parts": [{"name": "a", "shape": [4], "dtype": "float16", "rows": 4}]})",
        R"({"parts": [{"name": "a", "shape": [4], "dtype": "float16", "rows": [[1, 4, 1]]}]})",
        R"({"parts": [{"name": "a", "shape": [4], "dtype": "float16"}], "axis": 2})"}) {
    Status status = parse(from).status();
    EXPECT_EQ(status.code(), StatusCode::kCorrupt) << from;
    EXPECT_EQ(status.param(), "params") << from;
  }
  metadata = parse(R"({"parts": [{"name": "a", "shape": [4], "dtype": "float16"}],
                       "change": "squared"})");
  EXPECT_EQ(metadata.status().code(), StatusCode::kUnsupported);
}

TEST(ParseLibraryMetadata, AParameterMayBeSharedByShards) {
  auto parse = [&](const std::string& shares, const char* rest = "") {
    std::string param = R"([{"name": "w", "shape": [6, 4], "dtype": "float32", "shares": )";
    Json metadata = With(GoodMetadata(), "params", param + shares + rest + "}]");
    return ParseLibraryMetadata(With(metadata, "tensor_parallel_shards", "2").Dump(), "l");
  };
  Result<LibraryMetadata> metadata = parse(R"({"axis": 0, "runs": [[0, 4], [8, 2]]})");
  ASSERT_TRUE(metadata.ok()) << metadata.status().message();
  EXPECT_EQ(StoredShape(metadata->params[0]), (Shape{12, 4}));
  EXPECT_EQ(metadata->info.num_shards, 2);
  EXPECT_EQ(metadata->info.weight_bytes, 2 * 6 * 4 * 4);  // of both shards
  EXPECT_TRUE(parse(R"({"axis": 0, "runs": []})").ok());
  metadata = parse(R"({"axis": 0, "runs": [[0, 4], [8, 2, 0]]})");
  ASSERT_TRUE(metadata.ok()) << metadata.status().message();
  EXPECT_EQ(StoredShape(metadata->params[0]), (Shape{10, 4}));
  for (const char* shares :
       {"3", R"({"axis": 2, "runs": [[0, 6]]})", R"({"axis": 0, "runs": [[0, 5]]})",
        R"({"axis": 0, "runs": [[0, 4], [9, 2]]})", R"({"axis": 0, "runs": [[-1, 6]]})",
        R"({"axis": 0, "runs": [[0, 4], [9, 2, 0]]})",
        R"({"axis": 0, "runs": [[0, 4], [8, 2, 1]]})", R"({"axis": 0, "runs": [[0, 0], [0, 6]]})",
        R"({"axis": 0, "runs": [[0]]})", R"({"axis": 0})"}) {
    Status status = parse(shares).status();
    EXPECT_EQ(status.code(), StatusCode::kCorrupt) << shares;
  }
  EXPECT_FALSE(parse(R"({"axis": 0, "runs": [[0, 6]]})", R"(, "rows": [0, 12])").ok());
  for (const char* count : {"2", "64"}) {  // 2^60 floats of each shard
    Json huge = With(GoodMetadata(), "params",
                     R"([{"name": "w", "shape": [1152921504606846976], "dtype": "float32",
                          "shares": {"axis": 0, "runs": [[0, 1152921504606846976]]}}])");
    Status status =
        ParseLibraryMetadata(With(huge, "tensor_parallel_shards", count).Dump(), "l").status();
    EXPECT_EQ(status.code(), StatusCode::kCorrupt) << count;
    EXPECT_EQ(status.param(), "params") << count;
  }
  for (const char* count : {"0", "65", "1.5"}) {
    Json bad = With(GoodMetadata(), "tensor_parallel_shards", count);
    EXPECT_EQ(ParseLibraryMetadata(bad.Dump(), "l").status().param(), "tensor_parallel_shards");
  }
}

TEST(ParseLibraryMetadata, AParameterMayBeInStrips) {
  auto parse = [&](const std::string& rest) {
    std::string param = R"([{"name": "w", "dtype": "uint32", )" + rest + "}]";
    return ParseLibraryMetadata(With(GoodMetadata(), "params", param).Dump(), "l");
  };
  Result<LibraryMetadata> metadata =
      parse(R"("shape": [2, 7, 16], "strips": [20, 1], "columns": [5, 40])");
  ASSERT_TRUE(metadata.ok()) << metadata.status().message();
  EXPECT_EQ(metadata->params[0].strips->outputs, 20);
  EXPECT_EQ(StoredShape(metadata->params[0]), (Shape{7, 40}));
  metadata = parse(R"("shape": [3, 2, 7, 16], "strips": [32, 0])");
  ASSERT_TRUE(metadata.ok()) << metadata.status().message();
  EXPECT_EQ(StoredShape(metadata->params[0]), (Shape{3, 32, 7}));
  metadata = parse(R"("shape": [2, 8, 16], "strips": [20, 0, 3])");
  ASSERT_TRUE(metadata.ok()) << metadata.status().message();
  EXPECT_EQ(metadata->params[0].strips->change, Strips::Change::kThrees);
  metadata = parse(R"("shape": [2, 7, 16], "dtype": "float16", "strips": [20, 0, 16])");
  ASSERT_TRUE(metadata.ok()) << metadata.status().message();
  EXPECT_EQ(metadata->params[0].strips->change, Strips::Change::kHalves);
  EXPECT_EQ(StoredDType(metadata->params[0]), DType::kFloat32);
  for (const char* rest :
       {R"("shape": [2, 7, 16], "strips": [33, 0])", R"("shape": [2, 7, 16], "strips": [16, 0])",
        R"("shape": [2, 7, 8], "strips": [16, 0])", R"("shape": [2, 16], "strips": [2, 0])",
        R"("shape": [2, 7, 16], "strips": [20, 2])", R"("shape": [2, 7, 16], "strips": [20])",
        R"("shape": [2, 8, 16], "strips": [20, 0, 4])",
        R"("shape": [2, 7, 16], "strips": [20, 0, 3])",
        R"("shape": [2, 7, 16], "strips": [20, 0, 16])",
        R"("shape": [2, 7, 16], "dtype": "float16", "stored_dtype": "uint8",
           "strips": [20, 0, 16])",
        R"("shape": [2, 8, 16], "dtype": "float16", "strips": [20, 0, 3])",
        R"("shape": [2, 7, 16], "strips": 20)", R"("shape": [2, 7, 16], "strips": [-20, 0])"}) {
    metadata = parse(rest);
    EXPECT_EQ(metadata.status().code(), StatusCode::kCorrupt) << rest;
    EXPECT_EQ(metadata.status().param(), "params") << rest;
  }
}

}  // namespace
}  // namespace mlc
