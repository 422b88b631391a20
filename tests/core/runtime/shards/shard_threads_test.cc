#include "runtime/shards/shard_threads.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <set>
#include <string>

#include "platform/cores.h"
#include "runtime/parallel.h"
#include "support/temp_folder.h"

namespace mlc {
namespace {

std::unique_ptr<ShardThreads> Threads(int count) {
  return std::move(ShardThreads::Make(count, true)).value();
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

// The CPUs that each shard's threads report: those of its loops too.
std::vector<std::set<Cpus>> CpusOfShards(ShardThreads* threads, int count) {
  std::vector<std::set<Cpus>> found(static_cast<size_t>(count));
  std::mutex mutex;
  threads->Run([&](int rank) {
    ParallelFor(64 * MaxWorkers(), [&](int, int) {
      std::this_thread::sleep_for(std::chrono::microseconds(50));  // so that each has its turn
      std::lock_guard<std::mutex> lock(mutex);
      found[static_cast<size_t>(rank)].insert(ThreadCpus());
    });
  });
  return found;
}

// A machine of two NUMA nodes, which share the CPUs of this one.
class ShardThreadsOnCores : public ::testing::Test {
 protected:
  void SetUp() override {
    if (before_.size() < 2) GTEST_SKIP() << "needs two CPUs, and a system that binds threads";
    SetComputeThreads(static_cast<int>(before_.size()));
    std::string second = std::to_string(before_[1]) + "-" + std::to_string(before_.back());
    WriteNode(0, std::to_string(before_[0]));
    WriteNode(1, second);
  }
  void WriteNode(int node, const std::string& cpus) {
    std::filesystem::path folder = folder_.Path("node/node" + std::to_string(node));
    std::filesystem::create_directories(folder);
    std::ofstream(folder / "cpulist") << cpus << "\n";
  }
  std::unique_ptr<ShardThreads> Shards() {
    return std::move(ShardThreads::Make(2, true, folder_.path())).value();
  }
  const Cpus before_ = ThreadCpus();
  testing::TempFolder folder_;
};

TEST_F(ShardThreadsOnCores, EachShardHasItsOwnAndTheCallersThreadKeepsAll) {
  std::unique_ptr<ShardThreads> threads = Shards();
  std::vector<std::set<Cpus>> found = CpusOfShards(threads.get(), 2);
  ASSERT_EQ(found[0].size(), 1u);
  ASSERT_EQ(found[1].size(), 1u);
  Cpus all = *found[0].begin();
  all.insert(all.end(), found[1].begin()->begin(), found[1].begin()->end());
  std::sort(all.begin(), all.end());
  EXPECT_EQ(all, before_);  // so none is of both
  EXPECT_EQ(ThreadCpus(), before_);
  std::set<Cpus> of_callers_loops;
  std::mutex mutex;
  ParallelFor(64, [&](int, int) {
    std::lock_guard<std::mutex> lock(mutex);
    of_callers_loops.insert(ThreadCpus());
  });
  EXPECT_EQ(of_callers_loops, std::set<Cpus>{before_});
}

TEST_F(ShardThreadsOnCores, WhatIsLoadedIsLoadedThere) {
  std::unique_ptr<ShardThreads> threads = Shards();
  std::vector<std::set<Cpus>> loaded(2);
  int watched = 0;
  threads->RunApart([&](int rank) { loaded[static_cast<size_t>(rank)] = {ThreadCpus()}; },
                    [&] { ++watched; });
  EXPECT_EQ(loaded, CpusOfShards(threads.get(), 2));
  EXPECT_GE(watched, 1);
  EXPECT_EQ(ThreadCpus(), before_);
}

TEST_F(ShardThreadsOnCores, AThreadIsNotBoundWhereItWouldWaitForAnother) {
  const std::vector<std::set<Cpus>> anywhere(2, {before_});
  {
    std::unique_ptr<ShardThreads> first = Shards(), second = Shards();
    EXPECT_NE(CpusOfShards(first.get(), 2), anywhere);
    EXPECT_EQ(CpusOfShards(second.get(), 2), anywhere) << "another model has all cores";
  }
  EXPECT_NE(CpusOfShards(Shards().get(), 2), anywhere) << "that model is gone";
  SetComputeThreads(static_cast<int>(before_.size()) + 1);
  EXPECT_EQ(CpusOfShards(Shards().get(), 2), anywhere) << "more threads than cores";
}

TEST_F(ShardThreadsOnCores, AThreadIsNotBoundOnOneNode) {
  const std::vector<std::set<Cpus>> anywhere(2, {before_});
  WriteNode(1, "");
  WriteNode(0, std::to_string(before_.front()) + "-" + std::to_string(before_.back()));
  EXPECT_EQ(CpusOfShards(Shards().get(), 2), anywhere);
}

TEST(ShardThreads, ShardsOnDevicesAreNotBound) {
  std::unique_ptr<ShardThreads> threads = std::move(ShardThreads::Make(2, false)).value();
  EXPECT_EQ(CpusOfShards(threads.get(), 2), std::vector<std::set<Cpus>>(2, {ThreadCpus()}));
}

}  // namespace
}  // namespace mlc
