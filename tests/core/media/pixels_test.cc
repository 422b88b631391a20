#include "media/pixels.h"

#include <gtest/gtest.h>

namespace mlc {
namespace {

const Picture kTwo{2, 1, {10, 20, 30, 40, 50, 60}};

TEST(Pixels, AWindowCropsPadsAndMayMissThePicture) {
  EXPECT_EQ(Look(kTwo, {1, 0, 1, 1}).rgb, (std::vector<uint8_t>{40, 50, 60}));
  EXPECT_EQ(Look(kTwo, {-1, 0, 2, 1}, {1, 2, 3}).rgb, (std::vector<uint8_t>{1, 2, 3, 10, 20, 30}));
  EXPECT_EQ(Look(kTwo, {0, -1, 1, 3}, {9, 9, 9}).rgb,
            (std::vector<uint8_t>{9, 9, 9, 10, 20, 30, 9, 9, 9}));
  EXPECT_EQ(Look(kTwo, {50, 50, 1, 1}, {7, 7, 7}).rgb, (std::vector<uint8_t>{7, 7, 7}));
  EXPECT_EQ(Look(kTwo, {-2147483647, 0, 2, 1}, {7, 7, 7}).rgb, std::vector<uint8_t>(6, 7));
}

TEST(Pixels, TheMiddleIsRoundedDown) {
  EXPECT_EQ(Centre(kTwo, 1, 1).left, 0);
  EXPECT_EQ(Centre(kTwo, 5, 1).left, -2);
}

TEST(Pixels, ChannelsAreApartAndNormal) {
  std::vector<float> values = Normalize(kTwo, {{0.5f, 0, 0}, {0.5f, 1, 2}});
  const float expected[] = {10 / 127.5f - 1, 40 / 127.5f - 1, 20 / 255.f,
                            50 / 255.f,      30 / 510.f,      60 / 510.f};
  ASSERT_EQ(values.size(), 6u);
  for (size_t i = 0; i < values.size(); ++i) EXPECT_NEAR(values[i], expected[i], 1e-6f);
}

}  // namespace
}  // namespace mlc
