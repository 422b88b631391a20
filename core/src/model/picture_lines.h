// Layouts whose rows are lines of a grid, each with a learned row behind it: LLaVA 1.6 and
// Phi-3-vision. They give all of a layout but its plan.
#ifndef MLC_MODEL_PICTURE_LINES_H_
#define MLC_MODEL_PICTURE_LINES_H_

#include <cstdint>

#include "media/picture.h"
#include "media/pixels.h"
#include "model/picture_layout.h"
#include "model/picture_settings.h"

namespace mlc {

PictureLayout AnyResolution(const PictureSettings& settings, PictureSize size, bool is_low);
PictureLayout HighDefinition(const PictureSettings& settings, PictureSize size, bool is_low);

inline PictureSize Square(int side) { return {side, side}; }
inline PictureWindow All(PictureSize size) { return {0, 0, size.width, size.height}; }
inline int64_t Area(PictureSize size) { return int64_t{size.width} * size.height; }
inline int UpTo(int number, int factor) { return (number + factor - 1) / factor * factor; }

}  // namespace mlc

#endif  // MLC_MODEL_PICTURE_LINES_H_
