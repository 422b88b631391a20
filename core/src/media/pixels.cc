#include "media/pixels.h"

#include <algorithm>

namespace mlc {

Picture Look(const Picture& picture, const PictureWindow& window,
             const std::array<uint8_t, 3>& fill) {
  size_t row_bytes = size_t{3} * window.width;
  Picture out{window.width, window.height, std::vector<uint8_t>(row_bytes * window.height)};
  for (size_t i = 0; i < out.rgb.size(); ++i) out.rgb[i] = fill[i % 3];
  int64_t right = std::min<int64_t>(picture.width, int64_t{window.left} + window.width);
  int64_t bottom = std::min<int64_t>(picture.height, int64_t{window.top} + window.height);
  int64_t left = std::max(window.left, 0), top = std::max(window.top, 0);
  for (int64_t y = top; left < right && y < bottom; ++y) {
    auto from = picture.rgb.begin() + 3 * (y * picture.width + left);
    auto to = out.rgb.begin() + 3 * ((y - window.top) * window.width + left - window.left);
    std::copy(from, from + 3 * (right - left), to);
  }
  return out;
}

PictureWindow Centre(const Picture& picture, int width, int height) {
  // Rounded towards minus infinity, also where the picture is smaller.
  return {(picture.width - width) >> 1, (picture.height - height) >> 1, width, height};
}

std::vector<float> Normalize(const Picture& picture, const Normalization& normalization) {
  size_t pixels = picture.rgb.size() / 3;
  std::vector<float> out(picture.rgb.size());
  for (size_t c = 0; c < 3; ++c) {
    float mean = normalization.mean[c] * 255, std = normalization.std[c] * 255;
    std::array<float, 256> value{};
    for (int i = 0; i < 256; ++i) value[i] = (static_cast<float>(i) - mean) / std;
    for (size_t i = 0; i < pixels; ++i) out[c * pixels + i] = value[picture.rgb[3 * i + c]];
  }
  return out;
}

}  // namespace mlc
