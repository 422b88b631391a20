// Over tests/fixtures/nccl-emulator, whose devices' memory is the host's.
#include "runtime/shards/nccl_collective.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <thread>

#include "fixture_paths.h"
#include "platform/shared_library.h"
#include "support/temp_folder.h"

namespace mlc {
namespace {

constexpr int kCuda = 2, kRocm = 10;  // DLPack's device types

class NcclCollectiveTest : public ::testing::Test {
 protected:
  void SetUp() override { setenv("MLC_NCCL_LIBRARY", MLC_NCCL_EMULATOR_LIBRARY, 1); }
  void TearDown() override {
    unsetenv("MLC_NCCL_LIBRARY");
    unsetenv("MLC_RCCL_LIBRARY");
    unsetenv("ROCM_PATH");
  }

  static std::unique_ptr<ShardGroup> Group(int count) {
    std::vector<Device> devices;
    for (int index = 0; index < count; ++index) devices.push_back({kCuda, index});
    Result<std::unique_ptr<ShardGroup>> group = MakeShardGroup(devices);
    EXPECT_TRUE(group.ok()) << group.status().message();
    return std::move(group).value();
  }

  // Calls act(rank, its side) on a thread for each shard.
  template <typename F>
  static void OnAll(ShardGroup* group, int count, F act) {
    std::vector<std::thread> threads;
    for (int rank = 0; rank < count; ++rank) {
      threads.emplace_back([=] { act(rank, group->shard(rank)); });
    }
    for (std::thread& thread : threads) thread.join();
  }

  template <typename F>
  static F Emulator(const char* name) {
    void* library = OpenLibrary(MLC_NCCL_EMULATOR_LIBRARY, LibraryScope::kLocal);
    return reinterpret_cast<F>(FindSymbol(library, name));
  }
};

TEST_F(NcclCollectiveTest, EveryShardGetsTheSumAndTheRowsOfAll) {
  constexpr int kShards = 3;
  std::unique_ptr<ShardGroup> group = Group(kShards);
  std::vector<std::vector<float>> sums(kShards), joined(kShards);
  OnAll(group.get(), kShards, [&](int rank, Collective* shard) {
    auto index = static_cast<size_t>(rank);
    std::vector<float> x = {1.0f + static_cast<float>(rank), 10};
    sums[index].resize(2);
    joined[index].resize(2 * kShards);
    EXPECT_EQ(shard->rank(), rank);
    EXPECT_EQ(shard->count(), kShards);
    EXPECT_TRUE(shard->Sum(x.data(), 2, sums[index].data()).ok());
    EXPECT_TRUE(shard->Join(x.data(), 1, 2, joined[index].data()).ok());
  });
  EXPECT_EQ(sums, std::vector<std::vector<float>>(kShards, {6, 30}));
  EXPECT_EQ(joined[0], (std::vector<float>{1, 10, 2, 10, 3, 10}));
}

TEST_F(NcclCollectiveTest, AFailedCallEndsTheWaitOfTheOthersAndTheNextStepConnectsAnew) {
  std::unique_ptr<ShardGroup> group = Group(2);
  auto aborts = Emulator<int (*)()>("emulated_nccl_aborts");
  for (int round = 0; round < 3; ++round) {
    int aborted = aborts();
    Emulator<void (*)(int, int)>("emulated_nccl_fail")(1, round);  // its call number `round`
    std::vector<Status> found(2);
    OnAll(group.get(), 2, [&](int rank, Collective* shard) {
      float x = 1, sum = 0;
      for (int call = 0; call < 4; ++call) {
        Status status = shard->Sum(&x, 1, &sum);
        if (status.ok()) continue;
        found[static_cast<size_t>(rank)] = status;
        return group->Fail(rank);
      }
    });
    EXPECT_EQ(group->failed(), 1);
    EXPECT_EQ(found[1].code(), StatusCode::kUnavailable);
    EXPECT_EQ(found[1].message(),
              "NCCL: ncclAllReduce failed: unhandled system error (told by the emulator)");
    EXPECT_EQ(found[0].message(), "shard 1 has failed");
    EXPECT_EQ(aborts(), aborted + 2);  // each communicator once
    ASSERT_TRUE(group->Reset().ok());
    EXPECT_EQ(group->failed(), -1);
    OnAll(group.get(), 2, [&](int, Collective* shard) {
      float x = 1, sum = 0;
      EXPECT_TRUE(shard->Sum(&x, 1, &sum).ok());
      EXPECT_EQ(sum, 2);
    });
  }
}

TEST_F(NcclCollectiveTest, AnAbortWaitsForACallThatUsesItsCommunicator) {
  std::unique_ptr<ShardGroup> group = Group(2);
  auto calls = Emulator<int (*)()>("emulated_nccl_calls");
  auto begin = Emulator<void (*)(int)>("emulated_nccl_begin");
  int called = calls();
  begin(20);
  OnAll(group.get(), 2, [&](int rank, Collective* shard) {
    float x = 1, sum = 0;
    if (rank == 0) {
      EXPECT_EQ(shard->Sum(&x, 1, &sum).message(), "shard 1 has failed");
      return;
    }
    while (calls() == called) std::this_thread::yield();
    group->Fail(rank);
  });
  begin(0);
  EXPECT_EQ(Emulator<int (*)()>("emulated_nccl_late_calls")(), 0);
}

TEST_F(NcclCollectiveTest, AMissingLibrarySaysWhatToInstall) {
  setenv("MLC_NCCL_LIBRARY", "/nowhere/libnccl.so.2", 1);
  setenv("MLC_RCCL_LIBRARY", "/nowhere/librccl.so.1", 1);
  struct Case {
    int type;
    const char* how;
  };
  for (auto [type, how] : {Case{kCuda, "pip install \"mlc-llm[nccl]\""}, {kRocm, "package rccl"}}) {
    Status status = NcclCollective::Check({type, 0});
    EXPECT_EQ(status.code(), StatusCode::kUnavailable);
    EXPECT_EQ(status.param(), "tensor_parallel_shards");
    EXPECT_NE(status.message().find(how), std::string::npos) << status.message();
    EXPECT_NE(status.message().find("/nowhere/lib"), std::string::npos) << status.message();
  }
}

TEST_F(NcclCollectiveTest, AnotherLibraryIsRefused) {
  setenv("MLC_NCCL_LIBRARY", MLC_TVM_LOOP_LIBRARY, 1);
  Status status = MakeShardGroup({{kCuda, 0}, {kCuda, 1}}).status();
  EXPECT_EQ(status.code(), StatusCode::kUnavailable);
  EXPECT_NE(status.message().find("has no nccl"), std::string::npos) << status.message();
}

TEST_F(NcclCollectiveTest, RcclIsFoundInTheFolderOfRocm) {
  testing::TempFolder folder;
  std::filesystem::create_directory(folder.Path("lib"));
  std::string place = folder.Write("lib/librccl.so.1", "no library");
  setenv("MLC_RCCL_LIBRARY", place.c_str(), 1);
  std::string problem = NcclCollective::Check({kRocm, 0}).message();
  EXPECT_NE(problem.find(place + ": file too short"), std::string::npos) << problem;
  std::filesystem::remove(place);
  std::filesystem::create_symlink(MLC_NCCL_EMULATOR_LIBRARY, place);
  unsetenv("MLC_RCCL_LIBRARY");
  setenv("ROCM_PATH", folder.path().c_str(), 1);
  EXPECT_TRUE(NcclCollective::Check({kRocm, 0}).ok());
}

TEST_F(NcclCollectiveTest, RcclIsTheSameUnderItsName) {
  setenv("MLC_RCCL_LIBRARY", MLC_NCCL_EMULATOR_LIBRARY, 1);
  EXPECT_TRUE(MakeShardGroup({{kRocm, 0}, {kRocm, 1}}).ok());
  Status status = MakeShardGroup({{kRocm, 0}, {kRocm, 0}}).status();
  EXPECT_EQ(status.code(), StatusCode::kUnavailable);
  EXPECT_EQ(status.message(), "RCCL: ncclCommInitAll failed: invalid (told by the emulator)");
}

}  // namespace
}  // namespace mlc
