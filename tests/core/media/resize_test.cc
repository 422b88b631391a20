#include "media/resize.h"

#include <gtest/gtest.h>

namespace mlc {
namespace {

// A row of grey pixels.
Picture Row(std::vector<int> greys) {
  Picture picture{static_cast<int>(greys.size()), 1, {}};
  for (int grey : greys) picture.rgb.insert(picture.rgb.end(), 3, static_cast<uint8_t>(grey));
  return picture;
}

std::vector<int> Greys(const Picture& picture) {
  std::vector<int> greys;
  for (size_t i = 0; i < picture.rgb.size(); i += 3) greys.push_back(picture.rgb[i]);
  return greys;
}

// tests/python/media compares with the packages whose rules these are.
TEST(Resize, TheSameSizeIsTheSamePicture) {
  Picture row = Row({1, 200, 3});
  EXPECT_EQ(Resize(row, 3, 1, {ResizeFilter::kLanczos}).rgb, row.rgb);
}

TEST(Resize, BilinearWeightsByHand) {
  // Halved: weights 1/8, 3/8, 3/8, 1/8, and at the ends 3/7, 3/7, 1/7.
  EXPECT_EQ(Greys(Resize(Row({0, 0, 80, 80}), 2, 1, {})), (std::vector<int>{11, 69}));
  // Doubled: a quarter of the neighbour.
  EXPECT_EQ(Greys(Resize(Row({0, 100}), 4, 1, {})), (std::vector<int>{0, 25, 75, 100}));
}

TEST(Resize, WhatOvershootsIsCut) {
  std::vector<int> greys = Greys(Resize(Row({0, 0, 255, 255}), 8, 1, {ResizeFilter::kBicubic}));
  EXPECT_EQ(greys.front(), 0);
  EXPECT_EQ(greys.back(), 255);
  for (size_t i = 1; i < greys.size(); ++i) EXPECT_LE(greys[i - 1], greys[i]);
}

TEST(Resize, OneColourStaysUnderEveryRule) {
  Picture plain{31, 17, std::vector<uint8_t>(3 * 31 * 17, 201)};
  for (auto filter : {ResizeFilter::kBilinear, ResizeFilter::kBicubic, ResizeFilter::kLanczos}) {
    for (auto weights : {ResizeWeights::kTorch, ResizeWeights::kPillow}) {
      for (auto order : {ResizeOrder::kWidthFirst, ResizeOrder::kTallHeightsFirst}) {
        for (auto [width, height] : {std::pair{1, 1}, {64, 5}, {7, 90}, {31, 16}}) {
          Picture out = Resize(plain, width, height, {filter, weights, order});
          EXPECT_EQ(out.width, width);
          EXPECT_EQ(out.rgb, std::vector<uint8_t>(size_t{3} * width * height, 201));
        }
      }
    }
  }
}

// Weights of a place between two pixels: -3/32, 19/32, 19/32, -3/32. The first and the last pixel
// count for those outside.
TEST(Interpolate, FourPixelsCountAndNothingIsCut) {
  std::vector<float> made = Interpolate(Row({0, 0, 255, 255}), 2, 1);
  ASSERT_EQ(made.size(), 6u);
  for (size_t c = 0; c < 3; ++c) {
    EXPECT_FLOAT_EQ(made[c], -255 * 3 / 32.F);
    EXPECT_FLOAT_EQ(made[3 + c], 255 + 255 * 3 / 32.F);
  }
}

}  // namespace
}  // namespace mlc
