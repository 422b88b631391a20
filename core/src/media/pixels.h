// What stands between a resized picture and a tower: crops, pads, tiles, numbers.
#pragma once

#include <array>
#include <vector>

#include "media/picture.h"

namespace mlc {

// What a window over the picture shows, `fill` (RGB) where the picture ends: a window that is
// smaller crops, one that is larger pads, those of a grid are tiles. `left`, `top`: of the window,
// in the picture; below 0 outside. `width`, `height`: above 0.
struct PictureWindow {
  int left = 0, top = 0, width = 0, height = 0;
};
Picture Look(const Picture& picture, const PictureWindow& window,
             const std::array<uint8_t, 3>& fill = {0, 0, 0});

// The window of this size in the middle, as Hugging Face's processors crop.
PictureWindow Centre(const Picture& picture, int width, int height);

// mean 0, std 1: from 0 to 1.
struct Normalization {
  std::array<float, 3> mean = {0, 0, 0}, std = {1, 1, 1};
};
// (x / 255 - mean) / std, [3, height, width]. No std is 0.
std::vector<float> Normalize(const Picture& picture, const Normalization& normalization);

}  // namespace mlc
