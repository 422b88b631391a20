#include "model/tower.h"

#include <algorithm>
#include <utility>

namespace mlc {
namespace {

class FakeRowMaker : public RowMaker {
 public:
  FakeRowMaker(const ContentHash& picture, int width) : picture_(picture), width_(width) {}
  Status Next(std::vector<float>* values) override {
    for (int i = 0; i < FakeTower::kRows * width_; ++i) {
      float byte = picture_[static_cast<size_t>(i) % picture_.size()];
      values->push_back(byte + 0.01f * static_cast<float>(i) + static_cast<float>(view_));
    }
    ++view_;
    return Status();
  }

 private:
  ContentHash picture_;
  int width_, view_ = 0;
};

int FakeViews(int side, PictureDetail detail) {
  if (detail == PictureDetail::kLow) return 1;
  return std::clamp((side + FakeTower::kSide - 1) / FakeTower::kSide, 1, FakeTower::kMostViews);
}

}  // namespace

ContentHash PictureKey(std::string_view picture, PictureDetail detail, const Tower& tower) {
  ContentHash bytes = HashContent(picture);
  std::string text(bytes.begin(), bytes.end());
  return HashContent(text + std::to_string(static_cast<int>(detail)) + " " + tower.id());
}

const std::string& FakeTower::id() const {
  static const std::string id = "fake";
  return id;
}

const std::string& FakeTower::marker() const {
  static const std::string marker;
  return marker;
}

Result<PicturePlan> FakeTower::Plan(PictureSize size, PictureDetail detail) const {
  PicturePlan plan;
  int rows = FakeViews(size.height, detail), columns = FakeViews(size.width, detail);
  for (int row = 0; row < rows; ++row) {
    if (row > 0) plan.pieces.push_back({"\n"});
    for (int column = 0; column < columns; ++column) plan.pieces.push_back({"", kRows});
  }
  plan.num_rows = kRows * rows * columns;
  return plan;
}

Result<std::unique_ptr<RowMaker>> FakeTower::Encode(std::string_view picture,
                                                    PictureDetail detail) const {
  MLC_RETURN_IF_ERROR(DecodePicture(picture).status());
  return std::unique_ptr<RowMaker>(
      std::make_unique<FakeRowMaker>(PictureKey(picture, detail, *this), width_));
}

}  // namespace mlc
