#include "model/picture_sizes.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "model/picture_layout.h"

namespace mlc {
namespace {

// MiniCPMVImageProcessor.get_sliced_grid: of the numbers of slices around that which the pixels
// need, the grid whose ratio is closest; of equal ones the first.
PictureSize SliceGrid(const PictureSettings& settings, PictureSize size) {
  double view = static_cast<double>(settings.tile) * settings.tile;
  double ratio = std::log(static_cast<double>(size.width) / size.height), least = HUGE_VAL;
  double wanted = std::ceil(static_cast<double>(Area(size)) / view);
  int slices = static_cast<int>(std::min<double>(wanted, settings.max_tiles));
  PictureSize best{0, 0};
  for (int count = slices - 1; slices > 1 && count <= slices + 1; ++count) {
    if (count == 1 || count > settings.max_tiles) continue;
    for (int columns = 1; columns <= count; ++columns) {
      if (count % columns != 0) continue;
      double differs = std::abs(ratio - std::log(static_cast<double>(columns) / (count / columns)));
      if (differs < least) best = {columns, count / columns};
      least = std::min(least, differs);
    }
  }
  return slices > 1 && best.width == 0 ? Square(1) : best;
}

// Its ensure_divide.
int ToMultiple(double side, int unit) {
  return static_cast<int>(std::max<int64_t>(RoundHalfToEven(side / unit) * unit, unit));
}

// Its find_best_resize: the pixels of a view in the picture's shape.
PictureSize PixelsOfView(const PictureSettings& settings, double width, double height,
                         bool may_grow) {
  double side = settings.tile;
  if (width * height > side * side || may_grow) {
    double ratio = width / height;
    height = std::floor(side / std::sqrt(ratio));
    width = std::floor(height * ratio);
  }
  return {ToMultiple(width, settings.block()), ToMultiple(height, settings.block())};
}

}  // namespace

int64_t RoundHalfToEven(double number) { return static_cast<int64_t>(std::nearbyint(number)); }

// smart_resize of Qwen2VLImageProcessor.
Result<PictureSize> SmartSize(const PictureSettings& settings, PictureSize size, int64_t most) {
  double height = size.height, width = size.width, factor = settings.block();
  double ratio = std::max(height, width) / std::min(height, width);
  if (ratio > settings.longest_ratio) {
    return Unsupported("the sides of the picture are as 1 to " +
                       std::to_string(static_cast<int64_t>(ratio)) + ", and the model takes 1 to " +
                       std::to_string(settings.longest_ratio) + "; crop it");
  }
  auto rounded = [&](double side) {
    return std::max(RoundHalfToEven(side / factor), int64_t{1}) * settings.block();
  };
  int64_t h = rounded(height), w = rounded(width);
  if (h * w > most) {
    double beta = std::sqrt(height * width / static_cast<double>(most));
    auto down = [&](double side) {
      return std::max(static_cast<int64_t>(std::floor(side / beta / factor)), int64_t{1}) *
             settings.block();
    };
    h = down(height), w = down(width);
  } else if (h * w < settings.min_pixels) {
    double beta = std::sqrt(static_cast<double>(settings.min_pixels) / (height * width));
    auto up = [&](double side) {
      return static_cast<int64_t>(std::ceil(side * beta / factor)) * settings.block();
    };
    h = up(height), w = up(width);
  }
  return PictureSize{static_cast<int>(w), static_cast<int>(h)};
}

// InternVL's dynamic_preprocess: the grid whose ratio is closest; of equal ones a later one, which
// has more tiles, if the picture fills half of it.
PictureSize ClosestGrid(const PictureSettings& settings, PictureSize size) {
  std::vector<PictureSize> grids;
  for (int columns = 1; columns <= settings.max_tiles; ++columns) {
    for (int rows = 1; rows * columns <= settings.max_tiles; ++rows) {
      if (rows * columns >= settings.min_tiles) grids.push_back({columns, rows});
    }
  }
  std::stable_sort(grids.begin(), grids.end(),
                   [](PictureSize a, PictureSize b) { return Area(a) < Area(b); });
  double ratio = static_cast<double>(size.width) / size.height, least = HUGE_VAL;
  PictureSize best{1, 1};
  for (PictureSize grid : grids) {
    double differs = std::abs(ratio - static_cast<double>(grid.width) / grid.height);
    double half = 0.5 * settings.tile * settings.tile * static_cast<double>(Area(grid));
    if (differs < least || (differs == least && static_cast<double>(Area(size)) > half)) {
      best = grid;
    }
    least = std::min(least, differs);
  }
  return best;
}

SliceSizes SizesOfSlices(const PictureSettings& settings, PictureSize size, bool split) {
  SliceSizes sizes;
  sizes.grid = split ? SliceGrid(settings, size) : PictureSize{0, 0};
  auto [columns, rows] = sizes.grid;
  sizes.whole = PixelsOfView(settings, size.width, size.height, columns == 0);
  if (columns == 0) return sizes;
  double width = ToMultiple(size.width, columns) / columns;
  double height = ToMultiple(size.height, rows) / rows;
  sizes.slice = PixelsOfView(settings, width, height, true);
  return sizes;
}

}  // namespace mlc
