// Picture files. Whatever the bytes are: pixels of the size that the header announced, or an error
// with a message; and no more memory than the limits allow. A PNG is tried as it is, and with the
// checksums put right that a fuzzer does not find.
#include <string>

#include "fuzz.h"
#include "media/byte_order.h"
#include "media/picture.h"
#include "media/resize.h"
#include "resources.h"

namespace mlc {
namespace {

constexpr int64_t kSlack = 16 << 20;  // tables of decoders, which do not grow with a picture

uint32_t Crc32(std::string_view bytes) {
  uint32_t crc = 0xFFFFFFFF;
  for (char byte : bytes) {
    crc ^= static_cast<unsigned char>(byte);
    for (int bit = 0; bit < 8; ++bit) crc = (crc & 1) != 0 ? crc >> 1 ^ 0xEDB88320 : crc >> 1;
  }
  return ~crc;
}

std::string WithRightChecksums(std::string_view png) {
  std::string file(png);
  for (size_t at = 8; at + 12 <= file.size();) {
    size_t length = BigEndian::U32(file, at);
    if (length > file.size() - at - 12) break;
    uint32_t crc = Crc32(std::string_view(file).substr(at + 4, length + 4));
    for (int i = 0; i < 4; ++i) file[at + 8 + length + i] = static_cast<char>(crc >> (24 - 8 * i));
    at += length + 12;
  }
  return file;
}

void Check(std::string_view data) {
  fuzz::Resources used;
  PictureLimits limits;
  limits.pixels = 1 << 18;
  limits.memory = 8 << 20;
  Result<PictureSize> size = ReadPictureSize(data, limits);
  Result<Picture> picture = DecodePicture(data, limits);
  MLC_FUZZ_CHECK(used.peak_bytes() <
                 limits.memory + 4 * static_cast<int64_t>(data.size()) + kSlack);
  if (!picture.ok()) {
    MLC_FUZZ_CHECK(!picture.status().message().empty());
    return;
  }
  MLC_FUZZ_CHECK(size.ok());
  MLC_FUZZ_CHECK(picture->width == size->width && picture->height == size->height);
  MLC_FUZZ_CHECK(picture->rgb.size() == size_t{3} * picture->width * picture->height);
  Picture small = Resize(*picture, 9, 7, {ResizeFilter::kBicubic});
  MLC_FUZZ_CHECK(small.rgb.size() == size_t{3} * 9 * 7);
}

MLC_FUZZ_TARGET(picture) {
  Check(data);
  if (data.substr(0, 4) == "\x89PNG") Check(WithRightChecksums(data));
}

}  // namespace
}  // namespace mlc
