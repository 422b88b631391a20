// Which parts of a picture a tower sees, and what stands for them in the prompt: follows from the
// picture's size alone. The rules are those of Hugging Face's processors, kind by kind.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "base/status.h"
#include "media/picture.h"
#include "media/pixels.h"
#include "media/resize.h"
#include "model/picture_settings.h"
#include "model/tower.h"

namespace mlc {

// What the tower sees at once: patches see the patches of their view.
struct PictureView {
  bool of_original = false;  // else of the resized picture
  PictureWindow window;
  PictureSize size;  // to which the window is resized; a multiple of PictureSettings::block
  bool interpolated = false;  // by Interpolate, not by the layout's rule
};

struct PictureLayout {
  std::vector<PictureSize> resizes;  // of the whole picture, one after another
  std::vector<PictureView> views;    // in the order of the plan's rows, if `order` is empty
  // Which row of the views, counted through all of them, each row of the plan is; -1 - k: the k-th
  // learned row of the tower.
  std::vector<int32_t> order;
  ResizeRule rule;
  std::array<uint8_t, 3> fill = {0, 0, 0};  // where a window leaves the picture
  PicturePlan plan;
};

// `size`: above 0. Errors: kUnsupported for a shape that the model's processor refuses, or that
// takes more pixels than a picture may have (PictureLimits).
Result<PictureLayout> LayOutPicture(const PictureSettings& settings, PictureSize size,
                                    PictureDetail detail);

// The rows that a view becomes.
int NumRows(const PictureSettings& settings, const PictureView& view);

// How many learned rows of the tower the layouts of this kind have.
int NumLearnedRows(const PictureSettings& settings);

// For the rules of layouts.
inline PictureSize Square(int side) { return {side, side}; }
inline PictureWindow All(PictureSize size) { return {0, 0, size.width, size.height}; }
inline int64_t Area(PictureSize size) { return int64_t{size.width} * size.height; }
inline int UpTo(int number, int factor) { return (number + factor - 1) / factor * factor; }

}  // namespace mlc
