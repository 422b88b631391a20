#include "media/exif.h"

#include <cstddef>

#include "media/byte_order.h"

namespace mlc {
namespace {

constexpr int kAsStored = 1;
constexpr unsigned kOrientationTag = 0x0112, kShort = 3;
constexpr size_t kEntryBytes = 12;  // tag, type, count, value

// TIFF: "II*\0" or "MM\0*", the offset of a list; its length, its entries.
template <typename Order>
int OrientationOf(std::string_view tiff) {
  size_t list = Order::U32(tiff, 4);
  if (list > tiff.size() || tiff.size() - list < 2) return kAsStored;
  size_t length = Order::U16(tiff, list), at = list + 2;
  for (size_t i = 0; i < length && tiff.size() - at >= kEntryBytes; ++i, at += kEntryBytes) {
    if (Order::U16(tiff, at) != kOrientationTag || Order::U16(tiff, at + 2) != kShort) continue;
    unsigned value = Order::U16(tiff, at + 8);
    return value >= 1 && value <= 8 ? static_cast<int>(value) : kAsStored;
  }
  return kAsStored;
}

}  // namespace

int ExifOrientation(std::string_view exif) {
  constexpr std::string_view kPrefix("Exif\0\0", 6);
  if (exif.substr(0, kPrefix.size()) == kPrefix) exif.remove_prefix(kPrefix.size());
  if (exif.size() < 8) return kAsStored;
  if (exif.substr(0, 4) == std::string_view("II*\0", 4)) return OrientationOf<LittleEndian>(exif);
  if (exif.substr(0, 4) == std::string_view("MM\0*", 4)) return OrientationOf<BigEndian>(exif);
  return kAsStored;
}

}  // namespace mlc
