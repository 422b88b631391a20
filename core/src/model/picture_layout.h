// Which parts of a picture a tower sees, and what stands for them in the prompt: follows from the
// picture's size alone. The rules are those of Hugging Face's processors, kind by kind.
#ifndef MLC_MODEL_PICTURE_LAYOUT_H_
#define MLC_MODEL_PICTURE_LAYOUT_H_

#include <vector>

#include "base/status.h"
#include "media/picture.h"
#include "media/pixels.h"
#include "model/picture_settings.h"
#include "model/tower.h"

namespace mlc {

// What the tower sees at once: patches see the patches of their view.
struct PictureView {
  bool of_original = false;  // else of the resized picture
  PictureWindow window;
  PictureSize size;  // to which the window is resized; a multiple of PictureSettings::block
};

struct PictureLayout {
  std::vector<PictureSize> resizes;  // of the whole picture, one after another
  std::vector<PictureView> views;    // in the order of the plan's rows
  PicturePlan plan;
};

// `size`: above 0. Errors: kUnsupported for a shape that the model's processor refuses, or that
// takes more pixels than a picture may have (PictureLimits).
Result<PictureLayout> LayOutPicture(const PictureSettings& settings, PictureSize size,
                                    PictureDetail detail);

// The rows that a view becomes.
int NumRows(const PictureSettings& settings, const PictureView& view);

}  // namespace mlc

#endif  // MLC_MODEL_PICTURE_LAYOUT_H_
