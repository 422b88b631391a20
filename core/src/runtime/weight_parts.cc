#include "runtime/weight_parts.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <optional>

#include "base/half.h"

namespace mlc {
namespace {

constexpr int64_t kBlock = 128;  // of 8-bit floats that share a factor, along both axes
constexpr size_t kMaxLevels = 8;
constexpr int64_t kMaxBytes = int64_t{1} << 48;  // of a part

int64_t Product(Shape::const_iterator begin, Shape::const_iterator end) {
  int64_t product = 1;
  for (auto it = begin; it != end; ++it) product *= *it;
  return product;
}

int64_t CountOf(const Shape& shape) { return Product(shape.begin(), shape.end()); }

int64_t CountOf(const RowRun& run) {
  int64_t count = 1;
  for (const RowRun::Level& level : run.levels) count *= level.count;
  return count;
}

// Whether all places of a run are in [0, extent), and not more than `extent` of them.
bool IsWithin(const RowRun& run, int64_t extent) {
  if (run.levels.empty() || run.levels.size() > kMaxLevels) return false;
  if (run.first < 0 || run.first >= extent) return false;
  int64_t last = run.first, count = 1;
  for (const RowRun::Level& level : run.levels) {
    if (level.count < 1 || level.step < 1) return false;
    if (level.count - 1 > (extent - 1 - last) / level.step || level.count > extent / count) {
      return false;
    }
    last += (level.count - 1) * level.step;
    count *= level.count;
  }
  return true;
}

Status Wrong(const StoredPart& part, const std::string& what) {
  return InvalidArgument("stored tensor '" + part.name + "' " + what).WithParam("params");
}

// One whole tensor, whose elements are changed.
Status CheckWhole(const StoredParts& stored, const Shape& shape) {
  const StoredPart& part = stored.parts.front();
  if (stored.parts.size() > 1 || !part.rows.empty() || CountOf(part.shape) != CountOf(shape)) {
    return Wrong(part, "must be one whole tensor with the elements of the parameter");
  }
  if (!part.scales.empty() && part.shape.size() < 2) return Wrong(part, "must be a matrix");
  return Status();
}

bool IsFloat(DType dtype) {
  return dtype == DType::kFloat32 || dtype == DType::kFloat16 || dtype == DType::kBFloat16;
}

bool ChangesValues(const StoredParts& stored, DType dtype) {
  const StoredPart& part = stored.parts.front();
  return part.dtype != dtype || !part.scales.empty() || stored.change == PartChange::kPlusOne ||
         stored.change == PartChange::kMinusExp || stored.change == PartChange::kLogMinusLog;
}

// Calls `copy(place, length)` for each run of neighbouring places, in order.
template <typename F>
void ForEachRun(const RowRun& run, size_t level, int64_t place, const F& copy) {
  auto [count, step] = run.levels[level];
  bool is_last = level + 1 == run.levels.size();
  if (is_last && step == 1) return copy(place, count);
  for (int64_t i = 0; i < count; ++i, place += step) {
    if (is_last) {
      copy(place, int64_t{1});
    } else {
      ForEachRun(run, level + 1, place, copy);
    }
  }
}

void Gather(const StoredParts& stored, const std::vector<PartBytes>& bytes, Tensor* out) {
  size_t axis = static_cast<size_t>(stored.axis);
  const Shape& shape = stored.parts.front().shape;
  int64_t outer = Product(shape.begin(), shape.begin() + stored.axis);
  int64_t inner = *TensorBytes(Shape(shape.begin() + stored.axis + 1, shape.end()), out->dtype());
  uint8_t* to = static_cast<uint8_t*>(out->data());
  for (int64_t o = 0; o < outer; ++o) {
    for (size_t i = 0; i < stored.parts.size(); ++i) {
      const StoredPart& part = stored.parts[i];
      const uint8_t* from = bytes[i].data + o * part.shape[axis] * inner;
      auto copy = [&](int64_t place, int64_t length) {
        std::memcpy(to, from + place * inner, static_cast<size_t>(length * inner));
        to += length * inner;
      };
      if (part.rows.empty()) copy(0, part.shape[axis]);
      for (const RowRun& run : part.rows) ForEachRun(run, 0, run.first, copy);
    }
  }
}

// An element of bytes that need not be aligned.
template <typename T>
T ReadAs(const uint8_t* data, int64_t index) {
  T value;
  std::memcpy(&value, data + index * static_cast<int64_t>(sizeof(T)), sizeof(T));
  return value;
}

// (..., rows, columns) to (..., columns, rows). `shape` is that of the result.
template <typename T>
void Transpose(const uint8_t* from, const Shape& shape, void* result) {
  constexpr int64_t kTile = 32;  // so that neither side leaves the cache
  T* to = static_cast<T*>(result);
  int64_t rows = shape.back(), columns = shape[shape.size() - 2];
  int64_t outer = Product(shape.begin(), shape.end() - 2);
  int64_t size = rows * columns, bytes = size * static_cast<int64_t>(sizeof(T));
  for (int64_t o = 0; o < outer; ++o, from += bytes, to += size) {
    for (int64_t r0 = 0; r0 < rows; r0 += kTile) {
      for (int64_t c0 = 0; c0 < columns; c0 += kTile) {
        for (int64_t c = c0; c < std::min(c0 + kTile, columns); ++c) {
          for (int64_t r = r0; r < std::min(r0 + kTile, rows); ++r) {
            to[c * rows + r] = ReadAs<T>(from, r * columns + c);
          }
        }
      }
    }
  }
}

// float8_e4m3fn: 4 bits of exponent and 3 of fraction, no infinity, and NaN where all are set.
std::array<float, 256> Float8Values() {
  std::array<float, 256> values;
  for (uint32_t code = 0; code < 256; ++code) {
    uint32_t size = code & 0x7Fu;
    float value = size == 0x7F ? NAN : FloatOfBits(size << 20) * 0x1p120f;
    values[code] = code > size ? -value : value;
  }
  return values;
}

float Element(const uint8_t* data, DType dtype, int64_t index) {
  static const std::array<float, 256> float8 = Float8Values();
  switch (dtype) {
    case DType::kFloat16:
      return FloatOfHalf(ReadAs<uint16_t>(data, index));
    case DType::kBFloat16:
      return FloatOfBits(uint32_t{ReadAs<uint16_t>(data, index)} << 16);
    case DType::kUInt8:
      return float8[data[index]];
    default:
      return ReadAs<float>(data, index);
  }
}

// To the nearest bfloat16, ties to even.
uint16_t ToBFloat16(float value) {
  uint32_t bits = BitsOfFloat(value);
  if (std::isnan(value)) return static_cast<uint16_t>(bits >> 16 | 0x40);
  return static_cast<uint16_t>((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}

void Store(uint8_t* data, DType dtype, int64_t index, float value) {
  if (dtype == DType::kFloat32) {
    std::memcpy(data + 4 * index, &value, 4);
    return;
  }
  uint16_t bits = dtype == DType::kFloat16 ? HalfOfFloat(value) : ToBFloat16(value);
  std::memcpy(data + 2 * index, &bits, 2);
}

float Changed(float value, PartChange change) {
  if (change == PartChange::kPlusOne) return value + 1.0f;
  if (change == PartChange::kMinusExp) {
    return static_cast<float>(-std::exp(static_cast<double>(value)));
  }
  if (change == PartChange::kLogMinusLog) {
    return static_cast<float>(std::log(-std::log(static_cast<double>(value))));
  }
  return value;
}

// Elements of one row of (..., rows, columns), which share a factor.
struct Span {
  int64_t begin, count;
  float scale;
};

// Calls `take` with every span, in order. Without scales the last axis is one span.
template <typename F>
void ForEachSpan(const Shape& shape, const uint8_t* scales, const F& take) {
  int64_t columns = shape.empty() ? 1 : shape.back(), row_count = CountOf(shape) / columns;
  int64_t rows = shape.size() < 2 ? 1 : shape[shape.size() - 2];
  int64_t wide = (columns + kBlock - 1) / kBlock, high = (rows + kBlock - 1) / kBlock;
  for (int64_t row = 0; row < row_count; ++row) {
    int64_t begin = row * columns;
    if (scales == nullptr) {
      take(Span{begin, columns, 1.0f});
      continue;
    }
    int64_t block = (row / rows * high + row % rows / kBlock) * wide;
    for (int64_t column = 0; column < columns; column += kBlock, ++block) {
      int64_t count = std::min(kBlock, columns - column);
      take(Span{begin + column, count, ReadAs<float>(scales, block)});
    }
  }
}

void ChangeValues(const StoredParts& stored, const PartBytes& bytes, Tensor* out) {
  const StoredPart& part = stored.parts.front();
  uint8_t* to = static_cast<uint8_t*>(out->data());
  DType dtype = out->dtype();
  ForEachSpan(part.shape, bytes.scales, [&](const Span& span) {
    for (int64_t i = span.begin; i < span.begin + span.count; ++i) {
      float value = Element(bytes.data, part.dtype, i) * span.scale;
      Store(to, dtype, i, Changed(value, stored.change));
    }
  });
}

}  // namespace

Status CheckParts(const StoredParts& stored, const Shape& shape, DType dtype) {
  const StoredPart& front = stored.parts.front();
  if (!TensorBytes(shape, dtype)) return Wrong(front, "is of a parameter that is too large");
  for (const StoredPart& part : stored.parts) {
    std::optional<int64_t> bytes = TensorBytes(part.shape, part.dtype);
    if (!bytes || *bytes > kMaxBytes) return Wrong(part, "is too large");
  }
  if (stored.change == PartChange::kTransposed || ChangesValues(stored, dtype)) {
    MLC_RETURN_IF_ERROR(CheckWhole(stored, shape));
    bool is_8_bit = front.dtype == DType::kUInt8 && !front.scales.empty();
    if (stored.change == PartChange::kTransposed) {
      if (front.dtype == dtype && !is_8_bit && shape.size() >= 2) return Status();
      return Wrong(front, "cannot be transposed to " + std::string(DTypeName(dtype)));
    }
    if (IsFloat(dtype) && (IsFloat(front.dtype) || is_8_bit)) return Status();
    return Wrong(front, "cannot become " + std::string(DTypeName(dtype)));
  }
  size_t axis = static_cast<size_t>(stored.axis);
  Shape joined = front.shape;
  int64_t places = 0;
  for (const StoredPart& part : stored.parts) {
    bool is_plain = part.dtype == dtype && part.scales.empty();
    if (part.shape.size() <= axis || !is_plain) return Wrong(part, "cannot be joined");
    if (part.rows.empty()) places += part.shape[axis];
    if (places > kMaxBytes) return Wrong(part, "makes the parameter too large");
    for (const RowRun& run : part.rows) {
      if (!IsWithin(run, part.shape[axis])) return Wrong(part, "has fewer rows than are taken");
      places += CountOf(run);
      if (places > kMaxBytes) return Wrong(part, "is taken too often");
    }
    Shape same = part.shape;
    same[axis] = joined[axis];
    if (same != joined) return Wrong(part, "does not fit the part before it");
  }
  joined[axis] = places;
  return joined == shape ? Status() : Wrong(front, "and its parts are not the parameter's shape");
}

void JoinParts(const StoredParts& stored, const std::vector<PartBytes>& bytes, Tensor* out) {
  if (ChangesValues(stored, out->dtype())) return ChangeValues(stored, bytes.front(), out);
  if (stored.change != PartChange::kTransposed) return Gather(stored, bytes, out);
  const uint8_t* data = bytes.front().data;
  switch (DTypeBytes(out->dtype())) {
    case 1:
      return Transpose<uint8_t>(data, out->shape(), out->data());
    case 2:
      return Transpose<uint16_t>(data, out->shape(), out->data());
    default:
      return Transpose<uint32_t>(data, out->shape(), out->data());
  }
}

}  // namespace mlc
