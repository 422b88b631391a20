#include "model/picture_lines.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

namespace mlc {
namespace {

constexpr int32_t kEndOfLine = -1, kBeforeWhole = -2;  // learned rows

// Appends the tiles of a grid over a picture with `left` and `top` pixels of padding before it.
void AppendTiles(int tile, PictureSize grid, int left, int top, std::vector<PictureView>* views) {
  for (int row = 0; row < grid.height; ++row) {
    for (int column = 0; column < grid.width; ++column) {
      PictureWindow window{column * tile - left, row * tile - top, tile, tile};
      views->push_back({false, window, Square(tile)});
    }
  }
}

// Appends the rows of a grid of square views line by line, from line `top` and column `left` on up
// to as many before its ends. A learned row ends each line. `first`: the first view's first row.
void AppendLines(int32_t first, int side, PictureSize grid, int top, int left,
                 std::vector<int32_t>* order) {
  for (int line = top; line < grid.height * side - top; ++line) {
    for (int column = left; column < grid.width * side - left; ++column) {
      int view = line / side * grid.width + column / side;
      order->push_back(first + (view * side + line % side) * side + column % side);
    }
    order->push_back(kEndOfLine);
  }
}

// transformers' select_best_resolution: the one in which most of the picture's pixels stay; of
// equal ones the smallest. Then get_patch_output_size.
struct Fitted {
  PictureSize whole, picture;
};

Fitted BestFit(const std::vector<PictureSize>& sizes, PictureSize picture) {
  int64_t most = -1, least_wasted = 0;
  Fitted best;
  for (PictureSize size : sizes) {
    double over = static_cast<double>(size.width) / picture.width;
    double down = static_cast<double>(size.height) / picture.height, scale = std::min(over, down);
    auto scaled = [&](int side) { return static_cast<int64_t>(side * scale); };
    int64_t kept = std::min(scaled(picture.width) * scaled(picture.height), Area(picture));
    int64_t wasted = Area(size) - kept;
    if (kept < most || (kept == most && wasted >= least_wasted)) continue;
    most = kept, least_wasted = wasted;
    auto up = [&](int side) { return static_cast<int>(std::ceil(side * scale)); };
    best.whole = size;
    best.picture = over < down ? PictureSize{size.width, std::min(up(picture.height), size.height)}
                               : PictureSize{std::min(up(picture.width), size.width), size.height};
  }
  return best;
}

// Lines and columns of rows that are padding alone, at each side: unpad_image of LLaVA 1.6.
PictureSize Padding(PictureSize rows, PictureSize picture) {
  double ratio = static_cast<double>(picture.width) / picture.height;
  auto half = [](int all, double kept) { return (all - static_cast<int>(kept + 5e-8)) >> 1; };
  if (ratio > static_cast<double>(rows.width) / rows.height) {
    double scale = static_cast<double>(rows.width) / picture.width;
    return {0, half(rows.height, picture.height * scale)};
  }
  double scale = static_cast<double>(rows.height) / picture.height;
  return {half(rows.width, picture.width * scale), 0};
}

}  // namespace

// LlavaNextImageProcessor: the whole picture, squeezed, then tiles of it with black around.
PictureLayout AnyResolution(const PictureSettings& settings, PictureSize size, bool is_low) {
  PictureLayout layout;
  layout.rule = {settings.filter};
  const int tile = settings.tile, side = tile / settings.block();
  layout.views.push_back({true, All(size), Square(tile)});
  layout.order.resize(static_cast<size_t>(side) * side);
  std::iota(layout.order.begin(), layout.order.end(), 0);
  if (is_low) {
    layout.order.push_back(kEndOfLine);
    return layout;
  }
  auto [whole, fitted] = BestFit(settings.grids, size);
  PictureSize grid{whole.width / tile, whole.height / tile};
  layout.resizes.push_back(fitted);
  int left = (whole.width - fitted.width) / 2, top = (whole.height - fitted.height) / 2;
  AppendTiles(tile, grid, left, top, &layout.views);
  PictureSize cut = Padding({grid.width * side, grid.height * side}, size);
  AppendLines(side * side, side, grid, cut.height, cut.width, &layout.order);
  return layout;
}

// The authors' HD_transform (image_processing_phi3_v.py): as many tiles as fit along the longer
// side, white above and below; then all of it in one view. A tall picture is turned for it.
PictureLayout HighDefinition(const PictureSettings& settings, PictureSize size, bool is_low) {
  PictureLayout layout;
  const int tile = settings.tile, side = tile / settings.block();
  const int most = is_low ? 1 : settings.max_tiles;
  bool is_tall = size.width < size.height;
  double ratio =
      static_cast<double>(std::max(size.width, size.height)) / std::min(size.width, size.height);
  int tiles = 1;
  while ((tiles + 1) * std::ceil((tiles + 1) / ratio) <= most) ++tiles;
  int longer = tiles * tile, shorter = std::max(static_cast<int>(longer / ratio), 1);
  int padded = UpTo(shorter, tile), before = (padded - shorter) / 2;
  auto turned = [&](int along, int across) {
    return is_tall ? PictureSize{across, along} : PictureSize{along, across};
  };
  layout.rule = {settings.filter, ResizeWeights::kPillow,
                 is_tall ? ResizeOrder::kHeightFirst : ResizeOrder::kWidthFirst};
  layout.fill = {255, 255, 255};
  layout.resizes.push_back(turned(longer, shorter));
  auto [left, top] = turned(0, before);
  PictureSize whole = turned(longer, padded), grid{whole.width / tile, whole.height / tile};
  AppendTiles(tile, grid, left, top, &layout.views);
  layout.views.push_back({false, {-left, -top, whole.width, whole.height}, Square(tile), true});
  AppendLines(0, side, grid, 0, 0, &layout.order);
  layout.order.push_back(kBeforeWhole);
  AppendLines(static_cast<int32_t>(Area(grid)) * side * side, side, Square(1), 0, 0, &layout.order);
  return layout;
}

}  // namespace mlc
