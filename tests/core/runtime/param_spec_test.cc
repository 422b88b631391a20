#include "runtime/param_spec.h"

#include <gtest/gtest.h>

namespace mlc {
namespace {

ParamSpec Of(Shape shape, int axis, std::vector<Shares::Run> runs) {
  ParamSpec spec;
  spec.name = "w";
  spec.shape = std::move(shape);
  spec.dtype = DType::kFloat32;
  spec.shares = Shares{2, axis, std::move(runs)};
  return spec;
}

ParamSpec PartOf(const ParamSpec& spec, int rank) {
  Result<std::vector<ParamSpec>> found = ParamsOfShard({spec}, rank);
  EXPECT_TRUE(found.ok()) << found.status().message();
  return found.ok() ? found->front() : ParamSpec();
}

TEST(ParamsOfShard, APartInOnePieceIsRowsOrColumnsOfTheTensor) {
  ParamSpec rows = PartOf(Of({4, 6}, 0, {{0, 4}}), 1);
  EXPECT_EQ(std::tuple(rows.first, rows.extent, rows.axis), std::tuple(4, 8, 0));
  EXPECT_EQ(StoredShape(rows), (Shape{8, 6}));
  ParamSpec columns = PartOf(Of({4, 3}, 1, {{0, 3}}), 1);
  EXPECT_EQ(std::tuple(columns.first, columns.extent, columns.axis), std::tuple(3, 6, 1));
}

TEST(ParamsOfShard, EachPieceOfAJoinedTensorIsDivided) {
  // 8 rows of queries, 2 of keys and 2 of values
  for (int rank : {0, 1}) {
    ParamSpec spec = PartOf(Of({6, 5}, 0, {{0, 4}, {8, 1}, {10, 1}}), rank);
    ASSERT_TRUE(spec.parts.has_value());
    const StoredPart& part = spec.parts->parts.front();
    EXPECT_EQ(part.shape, (Shape{12, 5}));
    std::vector<int64_t> first;
    for (const RowRun& run : part.rows) first.push_back(run.first);
    EXPECT_EQ(first, (std::vector<int64_t>{4 * rank, 8 + rank, 10 + rank}));
  }
}

TEST(ParamsOfShard, PiecesThatAreRoundedInStripsHaveTheTypeOfTheTensor) {
  ParamSpec spec = Of({1, 5, 16}, 0, {{0, 8}, {16, 4}, {24, 4}});
  spec.dtype = DType::kFloat16;
  spec.strips = Strips{16, 0, Strips::Change::kHalves};
  ParamSpec part = PartOf(spec, 1);
  ASSERT_TRUE(part.parts.has_value());
  EXPECT_EQ(part.parts->parts.front().dtype, DType::kFloat32);
  EXPECT_EQ(part.parts->parts.front().shape, (Shape{32, 5}));
  EXPECT_EQ(std::tuple(StoredDType(part), part.dtype),
            std::tuple(DType::kFloat32, DType::kFloat16));
}

TEST(ParamsOfShard, APieceMayBeOnAllShards) {
  for (int rank : {0, 1}) {
    ParamSpec spec = PartOf(Of({5, 7}, 0, {{0, 3}, {6, 2, true}}), rank);
    ASSERT_TRUE(spec.parts.has_value());
    const StoredPart& part = spec.parts->parts.front();
    EXPECT_EQ(part.shape, (Shape{8, 7}));
    EXPECT_EQ(std::tuple(part.rows[0].first, part.rows[1].first), std::tuple(3 * rank, 6));
  }
}

TEST(ParamsOfShard, OnlyTheFirstShardHasWhatIsAddedOnce) {
  EXPECT_FALSE(PartOf(Of({6}, 0, {}), 0).is_zero);
  EXPECT_TRUE(PartOf(Of({6}, 0, {}), 1).is_zero);
}

TEST(ParamsOfShard, APartMayBeATensorOfItsOwnAsMlcLlmNamesIt) {
  ParamSpec spec = PartOf(Of({6, 5}, 0, {{0, 4}, {8, 2}}), 1);
  EXPECT_EQ(std::tuple(spec.own_name, spec.num_shards), std::tuple("w_shard-1", 2));
  EXPECT_EQ(PartOf(Of({6}, 0, {}), 0).own_name, "");  // the first shard has it whole
}

TEST(ParamsOfShard, WhatIsMadeOfOtherTensorsIsNotDividedByPieces) {
  ParamSpec spec = Of({6, 5}, 0, {{0, 4}, {8, 2}});
  StoredPart part;
  part.name = "a";
  part.shape = {12, 5};
  spec.parts.emplace().parts = {part};
  Status status = ParamsOfShard({spec}, 0).status();
  EXPECT_EQ(status.code(), StatusCode::kUnsupported);
  EXPECT_EQ(status.param(), "tensor_parallel_shards");
}

}  // namespace
}  // namespace mlc
