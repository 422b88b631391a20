// What each format of picture files gives to DecodePicture.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"

namespace mlc {

struct PictureHeader {
  int64_t width = 0, height = 0;  // as they are stored; a codec checks nothing
  int orientation = 1;            // of EXIF, 1 to 8
  int64_t memory = 0;             // the bytes that decoding takes at most, beside the file's
};

struct StoredPixels {
  int channels = 3;             // RGB, or RGBA (not multiplied by alpha)
  std::vector<uint8_t> values;  // [height, width, channels]
};

struct PictureCodec {
  bool (*matches)(std::string_view file);
  Result<PictureHeader> (*read_header)(std::string_view file);
  // `header` is within the limits, and no side is zero.
  Result<StoredPixels> (*decode)(std::string_view file, const PictureHeader& header);
};

extern const PictureCodec kPngCodec, kJpegCodec, kWebPCodec, kGifCodec, kBmpCodec;

inline Status UnreadablePicture(std::string message) {
  return {Reason::kImageParseError, std::move(message)};
}
inline Status UnsupportedPicture(std::string message) {
  return {Reason::kUnsupportedImageMediaType, std::move(message)};
}

}  // namespace mlc
