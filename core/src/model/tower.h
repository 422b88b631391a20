// A tower turns a picture into embedding rows of a prompt. A model without a tower reads only text.
//
// What a picture becomes in the prompt follows from its size alone (Plan), so that rows are counted
// before anything is computed. Encode reads the picture; its RowMaker runs the tower, view by view.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "media/picture.h"
#include "model/late_rows.h"
#include "model/prompt.h"

namespace mlc {

// How closely the model looks at a picture.
enum class PictureDetail {
  kAuto,  // as the model's own processor
  kLow,   // the fewest rows
};

// A part of what stands in the prompt for a picture: text, or rows.
struct PicturePiece {
  // with texts of special tokens, which count as such; "{picture}" is the number of the picture
  std::string text;
  int num_rows = 0;                            // above 0: rows of the tower, and no text
  std::vector<RotaryPosition> positions = {};  // of the rows; empty: 0, 1, 2, ...
};

struct PicturePlan {
  std::vector<PicturePiece> pieces;  // at least one has rows
  int num_rows = 0;                  // of all pieces
  bool rows_see_each_other = false;  // those of one piece: attention looks ahead in it
};

// All methods may be called from any thread.
class Tower {
 public:
  virtual ~Tower() = default;
  virtual int width() const = 0;  // of a row
  // Names the weights and all settings: equal pictures have equal rows under equal ids.
  virtual const std::string& id() const = 0;
  // What the chat template writes for a picture, as text: the pieces take its place. Empty: the
  // text of the config's image_token_id.
  virtual const std::string& marker() const = 0;
  // `size`: above 0. Errors: kUnsupported for a shape that the model's processor refuses.
  virtual Result<PicturePlan> Plan(PictureSize size, PictureDetail detail) const = 0;
  // `picture`: the bytes of a picture file (media/picture.h, which says what is read and with which
  // error the rest is refused). The maker gives the rows of Plan, in order. It runs on the engine's
  // thread.
  virtual Result<std::unique_ptr<RowMaker>> Encode(std::string_view picture,
                                                   PictureDetail detail) const = 0;
};

// The key of a picture's rows: its bytes, how closely it is looked at, and by which tower.
ContentHash PictureKey(std::string_view picture, PictureDetail detail, const Tower& tower);

// The tower of the fake model. It has a view for each 64 x 64 pixels of a picture (kAuto: at most
// 4 x 4 of them; kLow: one). A view has kRows rows, made of a hash of the file's bytes. Behind
// each row of views but the last stands a "\n".
class FakeTower : public Tower {
 public:
  explicit FakeTower(int width) : width_(width) {}
  static constexpr int kRows = 4, kSide = 64, kMostViews = 4;
  int width() const override { return width_; }
  const std::string& id() const override;
  const std::string& marker() const override;
  Result<PicturePlan> Plan(PictureSize size, PictureDetail detail) const override;
  Result<std::unique_ptr<RowMaker>> Encode(std::string_view picture,
                                           PictureDetail detail) const override;

 private:
  int width_;
};

}  // namespace mlc
