// Resizes a picture as the packages do with which vision models were trained, byte by byte.
//
//   Picture small = Resize(picture, 448, 336, {ResizeFilter::kBicubic});
//
// Each side is one pass, in which every new pixel is a weighted sum of old ones; between the passes
// pixels are rounded to bytes. A filter is widened by the ratio when a side shrinks (antialiasing).
#pragma once

#include "media/picture.h"

namespace mlc {

enum class ResizeFilter { kBilinear, kBicubic, kLanczos };

// How a pass rounds its weights to whole numbers.
enum class ResizeWeights {
  kTorch,   // torch on bytes: 16 bits, as many behind the point as the largest weight allows
  kPillow,  // 22 bits behind the point
};

enum class ResizeOrder {
  kWidthFirst,        // torch, Pillow up to 12
  kTallHeightsFirst,  // Pillow 13: the height first when it shrinks by much more than the width
  kHeightFirst,       // a picture that is turned before it is resized, and back behind that
};

struct ResizeRule {
  ResizeFilter filter = ResizeFilter::kBilinear;
  ResizeWeights weights = ResizeWeights::kTorch;
  ResizeOrder order = ResizeOrder::kWidthFirst;
};

// `width`, `height`: above 0.
Picture Resize(const Picture& picture, int width, int height, const ResizeRule& rule);

// torch's `interpolate` with mode "bicubic": four pixels a side, whatever the ratio (no
// antialiasing), and numbers that are not rounded and may leave 0 to 255. [height, width, 3].
std::vector<float> Interpolate(const Picture& picture, int width, int height);

}  // namespace mlc
