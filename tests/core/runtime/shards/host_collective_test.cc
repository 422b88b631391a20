#include "runtime/shards/host_collective.h"

#include <gtest/gtest.h>

#include <functional>
#include <numeric>
#include <thread>
#include <vector>

#include "runtime/shards/shard_threads.h"

namespace mlc {
namespace {

std::vector<float> Values(uint64_t seed, int size) {
  std::vector<float> values(static_cast<size_t>(size));
  for (float& value : values) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    value = static_cast<float>(static_cast<int64_t>(seed) >> 40) * 1e-3f;
  }
  return values;
}

TEST(HostCollective, EveryShardGetsTheSumInTheOrderOfTheShards) {
  for (int count : {1, 2, 3, 4}) {
    HostCollective group(count);
    std::unique_ptr<ShardThreads> threads = std::move(ShardThreads::Make(count, true)).value();
    for (int size : {1, 15, 64, 2048, 100003}) {
      std::vector<std::vector<float>> given, made(static_cast<size_t>(count));
      std::vector<float> expected(static_cast<size_t>(size));
      for (int rank = 0; rank < count; ++rank) {
        given.push_back(Values(static_cast<uint64_t>(rank) + 3, size));
        for (size_t i = 0; i < expected.size(); ++i) {
          expected[i] = rank == 0 ? given[0][i] : expected[i] + given.back()[i];
        }
      }
      threads->Run([&](int rank) {
        auto index = static_cast<size_t>(rank);
        made[index].resize(static_cast<size_t>(size));
        Status status = group.shard(rank)->Sum(given[index].data(), size, made[index].data());
        EXPECT_TRUE(status.ok()) << status.message();
      });
      for (const std::vector<float>& one : made) EXPECT_EQ(one, expected) << count << " " << size;
    }
  }
}

TEST(HostCollective, TheFirstShardGetsAllRowsSideBySide) {
  constexpr int kShards = 3, kRows = 2, kWidth = 2;
  HostCollective group(kShards);
  std::unique_ptr<ShardThreads> threads = std::move(ShardThreads::Make(kShards, true)).value();
  std::vector<float> joined(kShards * kRows * kWidth), untouched(joined.size(), 7.0f);
  threads->Run([&](int rank) {
    std::vector<float> own(kRows * kWidth);
    std::iota(own.begin(), own.end(), static_cast<float>(10 * rank));
    float* to = rank == 0 ? joined.data() : untouched.data();
    EXPECT_TRUE(group.shard(rank)->Join(own.data(), kRows, kWidth, to).ok());
  });
  EXPECT_EQ(joined, (std::vector<float>{0, 1, 10, 11, 20, 21, 2, 3, 12, 13, 22, 23}));
  EXPECT_EQ(untouched, std::vector<float>(joined.size(), 7.0f));
}

TEST(HostCollective, AShardThatFailsEndsTheWaitOfTheOthers) {
  constexpr int kShards = 3;
  HostCollective group(kShards);
  std::unique_ptr<ShardThreads> threads = std::move(ShardThreads::Make(kShards, true)).value();
  for (int round = 0; round < 20; ++round) {
    std::vector<Status> found(kShards);
    float x = 1, sum = 0;
    std::vector<float> sums(kShards);
    threads->Run([&](int rank) {
      auto index = static_cast<size_t>(rank);
      if (rank == 1) return group.Fail(rank);
      found[index] = group.shard(rank)->Sum(&x, 1, &sums[index]);
    });
    EXPECT_EQ(group.failed(), 1);
    for (size_t rank : {0, 2}) {
      EXPECT_NE(found[rank].message().find("shard 1 has failed"), std::string::npos);
    }
    EXPECT_TRUE(group.Reset().ok());
    threads->Run([&](int rank) {
      EXPECT_TRUE(group.shard(rank)->Sum(&x, 1, &sums[static_cast<size_t>(rank)]).ok());
    });
    sum = std::accumulate(sums.begin(), sums.end(), 0.0f);
    EXPECT_EQ(sum, kShards * kShards);
  }
}

}  // namespace
}  // namespace mlc
