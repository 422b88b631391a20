#include "runtime/weight_strips.h"

#include <algorithm>
#include <atomic>
#include <type_traits>
#include <utility>

#include "base/half.h"
#include "runtime/parallel.h"

namespace mlc {
namespace {

template <typename To, typename From>
To Changed(From element) {
  if constexpr (std::is_same_v<To, From>) {
    return element;
  } else {
    return HalfOfFloat(element);
  }
}

// One strip. `rows` and `places` are the distances of neighbouring outputs and places in `from`.
template <typename From, typename To>
void CopyStrip(const From* from, int64_t rows, int64_t places, int64_t num_rows, int64_t num_places,
               To* to) {
  for (int64_t place = 0; place < num_places; ++place, to += Strips::kRows) {
    const From* at = from + place * places;
    for (int64_t row = 0; row < num_rows; ++row) to[row] = Changed<To>(at[row * rows]);
    std::fill(to + num_rows, to + Strips::kRows, To{});
  }
}

// Turns the words of a group of 40 codes. `at` is the first one; the others follow in the strip.
void TurnThrees(uint32_t* at) {
  uint8_t codes[40];
  for (int i = 0; i < 40; ++i) codes[i] = at[i / 10 * Strips::kRows] >> (i % 10 * 3) & 7;
  for (int word = 0; word < Strips::kWordsOfThrees; ++word) {
    uint32_t turned = 0;
    for (int byte = 0; byte < 4; ++byte) {
      const uint8_t* own = codes + 4 * word + byte;
      int last = word < 2 ? own[32] & 3 : own[24] >> 2;
      turned |= static_cast<uint32_t>(own[0] | own[16] << 3 | last << 6) << (8 * byte);
    }
    at[word * Strips::kRows] = turned;
  }
}

// Whether all halves are finite.
bool AreFinite(const uint16_t* halves, int64_t count) {
  uint16_t largest = 0;
  for (int64_t i = 0; i < count; ++i) {
    largest = std::max(largest, static_cast<uint16_t>(halves[i] & 0x7FFF));
  }
  return largest < 0x7C00;
}

// False if a number is too large for the other type.
template <typename From, typename To = From>
bool Copy(const Tensor& stored, const Strips& strips, Tensor* laid_out) {
  const Shape& shape = laid_out->shape();
  int64_t num_places = shape[shape.size() - 2], num_strips = shape[shape.size() - 3];
  int64_t size = strips.outputs * num_places;  // of a matrix
  auto [rows, places] =
      strips.axis == 0 ? std::pair(num_places, int64_t{1}) : std::pair(int64_t{1}, strips.outputs);
  const From* from = static_cast<const From*>(stored.data());
  To* to = static_cast<To*>(laid_out->data());
  int64_t count = laid_out->bytes() / static_cast<int64_t>(sizeof(To)) / num_places / Strips::kRows;
  std::atomic<bool> all_fit = true;
  ParallelFor(static_cast<int>(count), [&, rows = rows, places = places](int index, int) {
    int64_t first = index % num_strips * Strips::kRows;
    To* own = to + index * num_places * Strips::kRows;
    CopyStrip(from + index / num_strips * size + first * rows, rows, places,
              std::min(Strips::kRows, strips.outputs - first), num_places, own);
    if constexpr (!std::is_same_v<To, From>) {
      if (!AreFinite(own, num_places * Strips::kRows)) all_fit = false;
    }
    if constexpr (std::is_same_v<To, uint32_t>) {
      if (strips.change != Strips::Change::kThrees) return;
      for (int64_t place = 0; place < num_places; place += Strips::kWordsOfThrees) {
        uint32_t* group = own + place * Strips::kRows;
        for (int64_t row = 0; row < Strips::kRows; ++row) TurnThrees(group + row);
      }
    }
  });
  return all_fit;
}

}  // namespace

Status CheckStrips(const Strips& strips, const Shape& shape, DType dtype) {
  bool has_axis = strips.axis == 0 || strips.axis == 1;
  bool fits = shape.size() >= 3 && shape.back() == Strips::kRows && strips.outputs > 0 &&
              shape[shape.size() - 3] == (strips.outputs - 1) / Strips::kRows + 1;
  bool can_change = fits;
  if (strips.change == Strips::Change::kThrees) {
    can_change = fits && DTypeBytes(dtype) == sizeof(uint32_t) &&
                 shape[shape.size() - 2] % Strips::kWordsOfThrees == 0;
  } else if (strips.change == Strips::Change::kHalves) {
    can_change = fits && dtype == DType::kFloat16;
  }
  if (has_axis && can_change) return Status();
  return InvalidArgument(
             "field 'strips' must be [outputs, axis] of a shape [.., strips, .., 16]; "
             "[outputs, axis, 3] needs words of 32 bits, four for each group, and [outputs, axis, "
             "16] needs float16")
      .WithParam("params");
}

Shape ShapeBeforeStrips(const Strips& strips, const Shape& shape) {
  Shape stored(shape.begin(), shape.end() - 3);
  stored.push_back(strips.outputs);
  stored.push_back(shape[shape.size() - 2]);
  if (strips.axis == 1) std::swap(stored.back(), stored[stored.size() - 2]);
  return stored;
}

DType DTypeBeforeStrips(const Strips& strips, DType dtype) {
  return strips.change == Strips::Change::kHalves ? DType::kFloat32 : dtype;
}

bool LayInStrips(const Tensor& stored, const Strips& strips, Tensor* laid_out) {
  if (strips.change == Strips::Change::kHalves) {
    return Copy<float, uint16_t>(stored, strips, laid_out);
  }
  switch (DTypeBytes(stored.dtype())) {
    case 1:
      return Copy<uint8_t>(stored, strips, laid_out);
    case 2:
      return Copy<uint16_t>(stored, strips, laid_out);
    case 4:
      return Copy<uint32_t>(stored, strips, laid_out);
    default:
      return Copy<uint64_t>(stored, strips, laid_out);
  }
}

}  // namespace mlc
