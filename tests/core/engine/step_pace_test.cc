#include "engine/step_pace.h"

#include <gtest/gtest.h>

namespace mlc {
namespace {

TEST(StepPace, TheFirstStepShowsTheSpeed) {
  StepPace pace;
  EXPECT_EQ(pace.Next().beside_decodes, 256);
  EXPECT_EQ(pace.Next().alone, 256);
  pace.Add(256, 0, 0.256);  // 1 ms a row
  EXPECT_EQ(pace.Next().beside_decodes, 192);
  EXPECT_EQ(pace.Next().alone, 480);
}

TEST(StepPace, AFastDeviceHasNoLimit) {
  StepPace pace;
  pace.Add(256, 0, 1e-9);
  EXPECT_GE(pace.Next().beside_decodes, 100000);
}

TEST(StepPace, ASlowDeviceStillReadsItsWeightsForManyRows) {
  StepPace pace;
  pace.Add(256, 0, 60);
  EXPECT_EQ(pace.Next().beside_decodes, 64);
  EXPECT_EQ(pace.Next().alone, 256);
}

TEST(StepPace, OneSlowStepDecidesNothing) {
  StepPace pace;
  pace.Add(256, 0, 0.256);
  pace.Add(256, 0, 0.256 * 3);  // it waited for a file
  EXPECT_EQ(pace.Next().alone, 256);
  pace.Add(256, 0, 0.256);
  EXPECT_EQ(pace.Next().alone, 480);
}

TEST(StepPace, FewRowsSayNothing) {
  StepPace pace;
  pace.Add(256, 0, 0.256);
  pace.Add(15, 0, 10);
  pace.Add(0, 0, 10);
  pace.Add(0, 3, 10);
  EXPECT_EQ(pace.Next().alone, 480);
}

TEST(StepPace, DecodesHaveTheirOwnTime) {
  StepPace pace;
  pace.Add(0, 2, 0.1);
  pace.Add(64, 2, 0.1 + 0.064);  // 1 ms a row beside them
  EXPECT_EQ(pace.Next().beside_decodes, 192);
  EXPECT_EQ(pace.Next().alone, 480);
}

TEST(StepPace, AStepThatNobodyWaitedForIsPartOfTheNext) {
  StepPace pace;
  pace.Add(256, 0, 1e-4, /*is_done=*/false);  // launched on a GPU
  EXPECT_EQ(pace.Next().alone, 256);
  pace.Add(256, 0, 0.512);
  EXPECT_EQ(pace.Next().alone, 480);
}

}  // namespace
}  // namespace mlc
