// The pixels of a picture's views, and their patches as a tower takes them.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "media/picture.h"
#include "model/picture_layout.h"

namespace mlc {

// The pixels of a view. `levels`: in place of the bytes, if it is interpolated.
struct ViewPixels : Picture {
  ViewPixels() = default;
  ViewPixels(Picture picture) : Picture(std::move(picture)) {}  // NOLINT: a view of bytes
  std::vector<float> levels;
};

// One for each view, of the view's size. `layout` is that of the picture's size.
std::vector<ViewPixels> LookAtViews(const PictureLayout& layout, Picture picture);

// Patches of one view after another. The patches of a block (merge * merge neighbours, which become
// one row) are adjacent: block row, block column, row in the block, column in the block. If a tower
// has windows, the blocks of a window are adjacent too.
struct Patches {
  std::vector<float> values;       // [n, 3 * patch_size * patch_size]
  std::vector<int32_t> positions;  // [n, 2]: row and column in the tower's table of positions
  std::vector<int32_t> grids;      // [n, 2]: rows and columns of the patch's view
  // of each block, row by row of the view: its first patch; or the queries of each view, counted
  // through all views
  std::vector<int32_t> first_patches;
  std::vector<int32_t> window_ends;  // behind the last patch of each window

  int count() const { return static_cast<int>(positions.size() / 2); }
  // `window`: side in patches, a multiple of `merge`; 0: the whole view.
  void Append(const PictureSettings& settings, const ViewPixels& view, int window = 0);
  // A patch of zeros outside of the grid, which belongs to no block.
  void AppendClassRow(int patch_dim);
};

}  // namespace mlc
