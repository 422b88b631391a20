#include "model/picture_views.h"

#include <algorithm>
#include <array>
#include <utility>

namespace mlc {
namespace {

Picture Resized(const Picture& picture, PictureSize size, const ResizeRule& rule) {
  if (picture.width == size.width && picture.height == size.height) return picture;
  return Resize(picture, size.width, size.height, rule);
}

ViewPixels Seen(const Picture& picture, const PictureView& view, const ResizeRule& rule) {
  if (!view.interpolated) return Resized(picture, view.size, rule);
  ViewPixels seen({view.size.width, view.size.height, {}});
  seen.levels = Interpolate(picture, view.size.width, view.size.height);
  return seen;
}

bool IsAll(const PictureWindow& window, const Picture& picture) {
  return window.left == 0 && window.top == 0 && window.width == picture.width &&
         window.height == picture.height;
}

// What (x / 255 - mean) / std gives for each byte of each colour, as Normalize computes it.
std::array<std::array<float, 256>, 3> NormalBytes(const Normalization& normalization) {
  Picture bytes{256, 1, std::vector<uint8_t>(3 * 256)};
  for (size_t i = 0; i < bytes.rgb.size(); ++i) bytes.rgb[i] = static_cast<uint8_t>(i / 3);
  std::vector<float> values = Normalize(bytes, normalization);
  std::array<std::array<float, 256>, 3> table{};
  for (size_t i = 0; i < values.size(); ++i) table[i / 256][i % 256] = values[i];
  return table;
}

}  // namespace

std::vector<ViewPixels> LookAtViews(const PictureLayout& layout, Picture picture) {
  Picture original;
  bool keeps = false;
  for (const PictureView& view : layout.views) keeps = keeps || view.of_original;
  if (keeps) original = picture;
  for (PictureSize size : layout.resizes) picture = Resized(picture, size, layout.rule);
  std::vector<ViewPixels> views;
  views.reserve(layout.views.size());
  for (const PictureView& view : layout.views) {
    const Picture& from = view.of_original ? original : picture;
    bool is_all = IsAll(view.window, from);
    views.push_back(is_all ? Seen(from, view, layout.rule)
                           : Seen(Look(from, view.window, layout.fill), view, layout.rule));
  }
  return views;
}

void Patches::AppendClassRow(int patch_dim) {
  values.resize(values.size() + static_cast<size_t>(patch_dim));
  positions.insert(positions.end(), 2, -1);
  grids.insert(grids.end(), 2, 0);
}

void Patches::Append(const PictureSettings& settings, const ViewPixels& view, int window) {
  const std::array<std::array<float, 256>, 3> table = NormalBytes(settings.normalization);
  const int side = settings.patch_size, merge = settings.merge;
  const int rows = view.height / side, columns = view.width / side;
  size_t pixels = static_cast<size_t>(side) * side;
  values.reserve(values.size() + static_cast<size_t>(rows) * columns * pixels * 3);
  auto pixel = [&](int patch_row, int patch_column, int row, int column, size_t colour) {
    size_t y = static_cast<size_t>(patch_row) * side + row;
    size_t x = static_cast<size_t>(patch_column) * side + column;
    size_t at = (y * view.width + x) * 3 + colour;
    if (view.levels.empty()) return table[colour][view.rgb[at]];
    float mean = settings.normalization.mean[colour] * 255;
    return (view.levels[at] - mean) / (settings.normalization.std[colour] * 255);
  };
  auto append = [&](int patch_row, int patch_column) {
    for (size_t colour = 0; colour < (settings.channel_is_last ? 1 : 3); ++colour) {
      for (int row = 0; row < side; ++row) {
        for (int column = 0; column < side; ++column) {
          values.push_back(pixel(patch_row, patch_column, row, column, colour));
          if (!settings.channel_is_last) continue;
          values.push_back(pixel(patch_row, patch_column, row, column, 1));
          values.push_back(pixel(patch_row, patch_column, row, column, 2));
        }
      }
    }
    // a table of positions is spread over the view (NaViT's buckets)
    auto place = [&](int index, int count) {
      if (settings.columns == 0 || settings.columns == count) return index;
      return static_cast<int>(int64_t{index} * settings.columns / count);
    };
    positions.push_back(place(patch_row, rows));
    positions.push_back(place(patch_column, columns));
    grids.push_back(rows);
    grids.push_back(columns);
  };
  const size_t first_block = first_patches.size();
  const int line = columns / merge;
  first_patches.resize(first_block + static_cast<size_t>(rows) / merge * line);
  auto append_block = [&](int row, int column) {
    first_patches[first_block + static_cast<size_t>(row) / merge * line + column / merge] = count();
    for (int i = 0; i < merge * merge; ++i) append(row + i / merge, column + i % merge);
  };
  const int height = window > 0 ? window : rows, width = window > 0 ? window : columns;
  for (int top = 0; top < rows; top += height) {
    for (int left = 0; left < columns; left += width) {
      for (int row = top; row < std::min(top + height, rows); row += merge) {
        for (int column = left; column < std::min(left + width, columns); column += merge) {
          append_block(row, column);
        }
      }
      window_ends.push_back(count());
    }
  }
  if (settings.queries == 0) return;
  first_patches.resize(first_block);
  // such towers have no windows, so that each end is that of a view
  int first = (static_cast<int>(window_ends.size()) - 1) * settings.queries;
  for (int i = 0; i < settings.queries; ++i) first_patches.push_back(first + i);
}

}  // namespace mlc
