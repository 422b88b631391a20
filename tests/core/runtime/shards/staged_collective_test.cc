// The CPU is the device here: its memory is copied as that of a GPU is.
#include "runtime/shards/staged_collective.h"

#include <gtest/gtest.h>

#include "runtime/shards/shard_threads.h"

namespace mlc {
namespace {

TEST(StagedCollective, TheHostAddsAndJoins) {
  constexpr int kShards = 2, kRows = 2;
  StagedCollective group{std::vector<Device>(kShards)};
  std::unique_ptr<ShardThreads> threads = std::move(ShardThreads::Make(kShards, false)).value();
  std::vector<std::vector<float>> sums(kShards, std::vector<float>(kRows));
  std::vector<float> joined(kShards * kRows);
  for (float factor : {1.0f, 2.0f}) {  // the second time in the memory of the first one
    threads->Run([&](int rank) {
      auto index = static_cast<size_t>(rank);
      std::vector<float> x = {factor * static_cast<float>(rank + 1), 10};
      Collective* shard = group.shard(rank);
      EXPECT_EQ(shard->rank(), rank);
      EXPECT_TRUE(shard->Sum(x.data(), kRows, sums[index].data()).ok());
      EXPECT_TRUE(shard->Join(x.data(), kRows, 1, rank == 0 ? joined.data() : nullptr).ok());
    });
    EXPECT_EQ(sums, std::vector<std::vector<float>>(kShards, {3 * factor, 20}));
    EXPECT_EQ(joined, (std::vector<float>{factor, 2 * factor, 10, 10}));
  }
}

TEST(StagedCollective, AShardThatFailsEndsTheWaitOfTheOthers) {
  StagedCollective group{std::vector<Device>(2)};
  std::unique_ptr<ShardThreads> threads = std::move(ShardThreads::Make(2, false)).value();
  float x = 1, sum = 0;
  threads->Run([&](int rank) {
    if (rank == 1) return group.Fail(rank);
    EXPECT_EQ(group.shard(0)->Sum(&x, 1, &sum).message(), "shard 1 has failed");
  });
  EXPECT_EQ(group.failed(), 1);
  EXPECT_TRUE(group.Reset().ok());
  threads->Run([&](int rank) {
    float own = 0;
    EXPECT_TRUE(group.shard(rank)->Sum(&x, 1, &own).ok());
    EXPECT_EQ(own, 2);
  });
}

}  // namespace
}  // namespace mlc
