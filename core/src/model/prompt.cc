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
  std::shared_ptr<EmbeddingRows> rows(new EmbeddingRows());
  rows->width_ = width;
  rows->num_rows_ = static_cast<int>(num_rows);
  MLC_RETURN_IF_ERROR(rows->SetPositions(std::move(positions)));
  std::string bytes = std::to_string(width) + " ";
  AppendBytes(values, &bytes);
  AppendBytes(rows->positions_, &bytes);
  rows->hash_ = HashContent(bytes);
  rows->values_ = std::move(values);
  return std::shared_ptr<const EmbeddingRows>(std::move(rows));
}

Result<std::shared_ptr<const EmbeddingRows>> EmbeddingRows::Late(
    std::shared_ptr<LateRows> late, int first, int num_rows, bool see_each_other,
    std::vector<RotaryPosition> positions) {
  MLC_ICHECK(first >= 0 && num_rows > 0 && num_rows <= late->num_rows() - first);
  std::shared_ptr<EmbeddingRows> rows(new EmbeddingRows());
  rows->width_ = late->width();
  rows->num_rows_ = num_rows;
  rows->first_ = first;
  rows->see_each_other_ = see_each_other;
  MLC_RETURN_IF_ERROR(rows->SetPositions(std::move(positions)));
  std::string bytes(late->key().begin(), late->key().end());
  for (int number : {rows->width_, first, num_rows, int{see_each_other}}) {
    bytes += std::to_string(number) + " ";
  }
  AppendBytes(rows->positions_, &bytes);
  rows->hash_ = HashContent(bytes);
  rows->late_ = std::move(late);
  return std::shared_ptr<const EmbeddingRows>(std::move(rows));
}

Status EmbeddingRows::SetPositions(std::vector<RotaryPosition> positions) {
  MLC_RETURN_IF_ERROR(CheckPositions(positions, static_cast<size_t>(num_rows_)));
  num_positions_ = positions.empty() ? num_rows_ : 0;
  for (const RotaryPosition& position : positions) {
    int32_t largest = *std::max_element(position.begin(), position.end());
    num_positions_ = std::max(num_positions_, largest + 1);
  }
  positions_ = std::move(positions);
  return Status();
}

const float* EmbeddingRows::row(int index) const {
  if (awaited() != nullptr) return nullptr;
  const std::vector<float>& values = late_ == nullptr ? values_ : *late_->values();
  index += first_;
  return values.data() + static_cast<size_t>(index) * static_cast<size_t>(width_);
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

std::vector<Prompt::Span>::const_iterator Prompt::SpanFrom(int index) const {
  return std::partition_point(spans_.begin(), spans_.end(), [index](const Span& span) {
    return span.begin + span.size <= index;
  });
}

const Prompt::Span* Prompt::SpanAt(int index) const {
  auto span = SpanFrom(index);
  return span == spans_.end() ? nullptr : &*span;
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

int Prompt::NumStepRows(int from, int num_rows) const {
  if (!has_rows_ || num_rows <= 0) return num_rows;
  int end = from + num_rows;
  for (auto span = SpanFrom(from); span != spans_.end() && span->begin < end; ++span) {
    if (span->rows == nullptr) continue;
    bool is_cut = span->rows->see_each_other() && end < span->begin + span->size;
    if (is_cut || span->rows->awaited() != nullptr) return std::max(0, span->begin - from);
  }
  return num_rows;
}

LateRows* Prompt::AwaitedFrom(int from) const {
  for (auto span = SpanFrom(from); has_rows_ && span != spans_.end(); ++span) {
    LateRows* awaited = span->rows == nullptr ? nullptr : span->rows->awaited();
    if (awaited != nullptr) return awaited;
  }
  return nullptr;
}

bool operator==(const Prompt& a, const Prompt& b) {
  auto same = [](const Prompt::Span& x, const Prompt::Span& y) {
    if ((x.rows == nullptr) != (y.rows == nullptr)) return false;
    return x.rows == nullptr ? x.tokens == y.tokens : x.rows->hash() == y.rows->hash();
  };
  return std::equal(a.spans().begin(), a.spans().end(), b.spans().begin(), b.spans().end(), same);
}

}  // namespace mlc
