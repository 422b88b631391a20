#include "model/prompt.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

namespace mlc {
namespace {

constexpr int32_t kMaxPosition = 1 << 24;  // limit of the rotary tables

template <typename T>
void AppendBytes(const std::vector<T>& values, std::string* out) {
  out->append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
}

Status CheckPositions(const std::vector<RotaryPosition>& positions, size_t num_rows) {
  if (positions.empty()) return Status();
  if (positions.size() != num_rows) {
    return InvalidArgument("there must be as many positions as embedding rows");
  }
  for (const RotaryPosition& position : positions) {
    for (int32_t axis : position) {
      if (axis >= 0 && axis < kMaxPosition) continue;
      return InvalidArgument("a position of an embedding row is out of bounds");
    }
  }
  return Status();
}

}  // namespace

Result<std::shared_ptr<const EmbeddingRows>> EmbeddingRows::Make(
    std::vector<float> values, int width, std::vector<RotaryPosition> positions) {
  if (width < 1 || values.empty() || values.size() % static_cast<size_t>(width) != 0) {
    return InvalidArgument("embedding rows must be whole rows of the model's width, at least one");
  }
  for (float value : values) {
    if (!std::isfinite(value)) return InvalidArgument("an embedding row holds no finite number");
  }
  size_t num_rows = values.size() / static_cast<size_t>(width);
  MLC_RETURN_IF_ERROR(CheckPositions(positions, num_rows));
  std::shared_ptr<EmbeddingRows> rows(new EmbeddingRows());
  rows->width_ = width;
  rows->num_rows_ = static_cast<int>(num_rows);
  rows->num_positions_ = rows->num_rows_;
  if (!positions.empty()) rows->num_positions_ = 0;
  for (const RotaryPosition& position : positions) {
    int32_t largest = *std::max_element(position.begin(), position.end());
    rows->num_positions_ = std::max(rows->num_positions_, largest + 1);
  }
  std::string bytes = std::to_string(width) + " ";
  AppendBytes(values, &bytes);
  AppendBytes(positions, &bytes);
  rows->hash_ = HashContent(bytes);
  rows->values_ = std::move(values);
  rows->positions_ = std::move(positions);
  return std::shared_ptr<const EmbeddingRows>(std::move(rows));
}

const float* EmbeddingRows::row(int index) const {
  return values_.data() + static_cast<size_t>(index) * static_cast<size_t>(width_);
}

RotaryPosition EmbeddingRows::position(int index) const {
  if (positions_.empty()) return {index, index, index};
  return positions_[static_cast<size_t>(index)];
}

Prompt::Prompt(std::vector<int32_t> tokens) { Append(std::move(tokens)); }

void Prompt::Append(std::vector<int32_t> tokens) {
  if (tokens.empty()) return;
  int count = static_cast<int>(tokens.size());
  if (spans_.empty() || spans_.back().rows != nullptr) {
    spans_.push_back({size_, 0, next_position_, {}, nullptr});
  }
  Span& span = spans_.back();
  if (span.tokens.empty()) {
    span.tokens = std::move(tokens);
  } else {
    span.tokens.insert(span.tokens.end(), tokens.begin(), tokens.end());
  }
  span.size += count;
  size_ += count;
  next_position_ += count;
}

void Prompt::Append(std::shared_ptr<const EmbeddingRows> rows) {
  int count = rows->num_rows(), positions = rows->num_positions();
  has_rows_ = true;
  has_positions_ |= rows->has_positions();
  spans_.push_back({size_, count, next_position_, {}, std::move(rows)});
  size_ += count;
  next_position_ += positions;
}

const Prompt::Span* Prompt::SpanAt(int index) const {
  auto behind = std::upper_bound(spans_.begin(), spans_.end(), index,
                                 [](int at, const Span& span) { return at < span.begin; });
  return behind == spans_.begin() || index >= size_ ? nullptr : &*std::prev(behind);
}

const float* Prompt::RowAt(int index) const {
  const Span* span = has_rows_ ? SpanAt(index) : nullptr;
  return span == nullptr || span->rows == nullptr ? nullptr : span->rows->row(index - span->begin);
}

RotaryPosition Prompt::RotaryAt(int index) const {
  const Span* span = SpanAt(index);
  if (span != nullptr && span->rows != nullptr) {
    RotaryPosition position = span->rows->position(index - span->begin);
    for (int32_t& axis : position) axis += span->position;
    return position;
  }
  int32_t at =
      span != nullptr ? span->position + index - span->begin : next_position_ + index - size_;
  return {at, at, at};
}

bool operator==(const Prompt& a, const Prompt& b) {
  auto same = [](const Prompt::Span& x, const Prompt::Span& y) {
    if ((x.rows == nullptr) != (y.rows == nullptr)) return false;
    return x.rows == nullptr ? x.tokens == y.tokens : x.rows->hash() == y.rows->hash();
  };
  return std::equal(a.spans().begin(), a.spans().end(), b.spans().begin(), b.spans().end(), same);
}

}  // namespace mlc
