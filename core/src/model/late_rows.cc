#include "model/late_rows.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace mlc {

LateRows::LateRows(const ContentHash& key, int num_rows, int width, std::unique_ptr<RowMaker> maker)
    : key_(key), num_rows_(num_rows), width_(width), maker_(std::move(maker)) {}

Status LateRows::Advance() {
  MLC_ICHECK(maker_ != nullptr && !is_ready());
  size_t before = made_.size(), all = static_cast<size_t>(num_rows_) * static_cast<size_t>(width_);
  made_.reserve(all);
  has_begun_ = true;
  MLC_RETURN_IF_ERROR(maker_->Next(&made_));
  bool is_finite = std::all_of(made_.begin() + static_cast<std::ptrdiff_t>(before), made_.end(),
                               [](float value) { return std::isfinite(value); });
  if (!is_finite) return Internal("the vision tower gave numbers that are not finite");
  if (made_.size() > all) {
    return Internal("the vision tower gave another number of rows than its plan says");
  }
  if (made_.size() == all) Take(std::make_shared<const std::vector<float>>(std::move(made_)));
  return Status();
}

void LateRows::Take(RowValues values) {
  MLC_ICHECK(values->size() == static_cast<size_t>(num_rows_) * static_cast<size_t>(width_));
  values_ = std::move(values);
  maker_ = nullptr;
  made_ = {};
}

}  // namespace mlc
