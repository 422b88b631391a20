// Layouts whose rows are lines of a grid, each with a learned row behind it: LLaVA 1.6 and
// Phi-3-vision. They give all of a layout but its plan.
#pragma once

#include "media/picture.h"
#include "model/picture_layout.h"
#include "model/picture_settings.h"

namespace mlc {

PictureLayout AnyResolution(const PictureSettings& settings, PictureSize size, bool is_low);
PictureLayout HighDefinition(const PictureSettings& settings, PictureSize size, bool is_low);

}  // namespace mlc
