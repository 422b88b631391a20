#include "engine/step_pace.h"

#include <gtest/gtest.h>

namespace mlc {
namespace {

TEST(StepPace, TheFirstStepShowsTheSpeed) {
  StepPace pace;
  EXPECT_EQ(pace.Next().beside_decodes, 256);
  EXPECT_EQ(pace.Next().alone, 256);
  pace.Add(256, 0.256);  // 1 ms a row
  EXPECT_EQ(pace.Next().beside_decodes, 192);
  EXPECT_EQ(pace.Next().alone, 992);
}

TEST(StepPace, AFastDeviceHasNoLimit) {
  StepPace pace;
  pace.Add(256, 1e-9);
  EXPECT_GE(pace.Next().beside_decodes, 100000);
}

TEST(StepPace, ASlowDeviceStillReadsItsWeightsForManyRows) {
  StepPace pace;
  pace.Add(256, 60);
  EXPECT_EQ(pace.Next().beside_decodes, 64);
  EXPECT_EQ(pace.Next().alone, 256);
}

TEST(StepPace, OneSlowStepDecidesNothing) {
  StepPace pace;
  pace.Add(256, 0.256);
  pace.Add(256, 0.256 * 3);  // it waited for a file
  EXPECT_EQ(pace.Next().alone, 480);
  pace.Add(256, 0.256);
  EXPECT_EQ(pace.Next().alone, 992);
}

TEST(StepPace, FewRowsSayNothing) {
  StepPace pace;
  pace.Add(256, 0.256);
  pace.Add(15, 10);
  pace.Add(0, 10);
  EXPECT_EQ(pace.Next().alone, 992);
}

}  // namespace
}  // namespace mlc
