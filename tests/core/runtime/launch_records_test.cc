#include "runtime/launch_records.h"

#include <gtest/gtest.h>

namespace mlc {
namespace {

namespace ffi = tvm::ffi;

// A device of this type is no backend's: its recorder calls `act`, and counts what is replayed.
constexpr Device kDevice{97, 3};

struct Counts {
  int recorded = 0, replayed = 0, launched = 0;
  bool refuses = false;
};

class LaunchRecordsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto record = [this](int index, const ffi::Function& act) {
      EXPECT_EQ(index, 3);
      if (counts_.refuses) TVM_FFI_THROW(RuntimeError) << "not here";
      act();
      ++counts_.recorded;
      return ffi::Function::FromTyped([this] { ++counts_.replayed; });
    };
    ffi::Function::SetGlobal("mlc.device97.record", ffi::Function::FromTyped(record), true);
  }
  void TearDown() override { ffi::Function::RemoveGlobal("mlc.device97.record"); }

  bool Replay(LaunchRecords* records, std::vector<int64_t> sizes, int64_t memory = 1) {
    return records->Replay(sizes, memory, [this] { ++counts_.launched; });
  }

  Counts counts_;
};

TEST_F(LaunchRecordsTest, SizesAreRecordedWhenTheyComeAgain) {
  LaunchRecords records(kDevice);
  EXPECT_FALSE(Replay(&records, {4, 16}));
  EXPECT_FALSE(Replay(&records, {5, 16}));
  EXPECT_EQ(counts_.recorded, 0);
  for (int run = 0; run < 3; ++run) EXPECT_TRUE(Replay(&records, {4, 16}));
  EXPECT_TRUE(Replay(&records, {5, 16}));
  EXPECT_EQ(counts_.recorded, 2);
  EXPECT_EQ(counts_.launched, 2);  // to be recorded
  EXPECT_EQ(counts_.replayed, 4);
  EXPECT_EQ(records.num_replays(), 4);
}

TEST_F(LaunchRecordsTest, OtherMemoryIsOtherAddresses) {
  LaunchRecords records(kDevice);
  Replay(&records, {4});
  EXPECT_TRUE(Replay(&records, {4}));
  EXPECT_FALSE(Replay(&records, {4}, 2));
  EXPECT_TRUE(Replay(&records, {4}, 2));
  records.Clear();
  EXPECT_FALSE(Replay(&records, {4}, 2));
}

TEST_F(LaunchRecordsTest, TheyDoNotGrowWithoutEnd) {
  LaunchRecords records(kDevice);
  Replay(&records, {1});
  for (int64_t size = 2; size < 200; ++size) EXPECT_FALSE(Replay(&records, {size}));
  EXPECT_FALSE(Replay(&records, {1}));
}

TEST_F(LaunchRecordsTest, WhatIsUsedStaysWhileOthersComeAndGo) {
  LaunchRecords records(kDevice);
  Replay(&records, {1});
  for (int64_t size = 2; size < 200; ++size) {
    EXPECT_FALSE(Replay(&records, {size}));
    EXPECT_TRUE(Replay(&records, {1})) << size;
  }
  EXPECT_EQ(counts_.recorded, 1);
  EXPECT_TRUE(Replay(&records, {150}));
  EXPECT_FALSE(Replay(&records, {2}));  // was not used for the longest time
}

TEST_F(LaunchRecordsTest, WhatCannotBeRecordedIsLeftToTheCaller) {
  LaunchRecords records(kDevice);
  Replay(&records, {4});
  counts_.refuses = true;
  EXPECT_FALSE(Replay(&records, {4}));
  counts_.refuses = false;
  EXPECT_FALSE(Replay(&records, {4}));  // it is not tried again
  EXPECT_EQ(counts_.recorded, 0);
  LaunchRecords none(Device{98, 0});  // nobody records there
  for (int run = 0; run < 3; ++run) EXPECT_FALSE(Replay(&none, {4}));
}

}  // namespace
}  // namespace mlc
