#include "runtime/shards/shard_threads.h"

#include <gtest/gtest.h>

#include <set>

#include "runtime/parallel.h"

namespace mlc {
namespace {

std::unique_ptr<ShardThreads> Threads(int count) {
  return std::move(ShardThreads::Make(count)).value();
}

TEST(ShardThreads, EachShardHasItsThreadAndItsPartOfTheCallersWorkers) {
  std::unique_ptr<ShardThreads> threads = Threads(3);
  std::vector<std::thread::id> ids(3);
  struct Case {
    int workers;
    std::vector<int> parts;
  };
  for (const auto& [workers, parts] : {Case{7, {3, 2, 2}}, {2, {1, 1, 1}}, {6, {2, 2, 2}}}) {
    SetComputeThreads(workers);
    std::vector<int> found(3);
    threads->Run([&](int rank) {
      auto index = static_cast<size_t>(rank);
      if (ids[index] == std::thread::id()) ids[index] = std::this_thread::get_id();
      EXPECT_EQ(ids[index], std::this_thread::get_id());  // in every run
      found[index] = MaxWorkers();
    });
    EXPECT_EQ(found, parts);
    EXPECT_EQ(MaxWorkers(), workers);  // of the caller, whose other loops have all of them
  }
  EXPECT_EQ(ids[0], std::this_thread::get_id());
  EXPECT_EQ(std::set<std::thread::id>(ids.begin(), ids.end()).size(), 3u);
}

TEST(ShardThreads, ThreadsThatSleepAreWoken) {
  std::unique_ptr<ShardThreads> threads = Threads(2);
  for (int round = 0; round < 3; ++round) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));  // longer than they spin
    std::atomic<int> calls{0};
    threads->Run([&](int) { ++calls; });
    EXPECT_EQ(calls, 2);
  }
}

}  // namespace
}  // namespace mlc
