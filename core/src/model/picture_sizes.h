// How large the views of a picture are, by the rules of Hugging Face's and the authors' processors.
#pragma once

#include <cstdint>

#include "base/status.h"
#include "media/picture.h"
#include "model/picture_settings.h"

namespace mlc {

// As Python's round().
int64_t RoundHalfToEven(double number);

// Multiples of a block that keep the picture's shape, of min_pixels to `most` (Qwen). Errors:
// kUnsupported for sides beyond longest_ratio.
Result<PictureSize> SmartSize(const PictureSettings& settings, PictureSize size, int64_t most);

// How many tiles a picture is cut into, side by side and below each other (InternVL).
PictureSize ClosestGrid(const PictureSettings& settings, PictureSize size);

// MiniCPM-V's views.
struct SliceSizes {
  PictureSize whole;  // of the view of the whole picture
  PictureSize grid;   // of slices; 0: there are none
  PictureSize slice;
};
SliceSizes SizesOfSlices(const PictureSettings& settings, PictureSize size, bool split);

}  // namespace mlc
