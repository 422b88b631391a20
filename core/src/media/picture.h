// A picture file as pixels: PNG, JPEG, WebP, GIF (its first frame) and BMP.
//
//   MLC_ASSIGN_OR_RETURN(Picture picture, DecodePicture(bytes));
//
// The pixels are what a viewer shows: turned as EXIF says, transparent parts over white, colours as
// they are stored (no colour profile is applied; 16 bits are cut to their high 8; CMYK becomes RGB
// by Pillow's rule). Limits are checked against the file's header, before memory is taken for
// pixels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace mlc {

struct Picture {
  int width = 0, height = 0;
  std::vector<uint8_t> rgb;  // [height, width, 3]
};

struct PictureLimits {
  size_t file_bytes = size_t{64} << 20;
  int side = 32768;
  int64_t pixels = int64_t{1} << 26;
  int64_t memory = int64_t{1} << 30;  // bytes that decoding takes, beside the file's
};

struct PictureSize {
  int width = 0, height = 0;
};

// The size that DecodePicture's result will have; reads the header alone, and checks the limits.
Result<PictureSize> ReadPictureSize(std::string_view file, const PictureLimits& limits = {});

// May be called from any thread. Errors: kImageParseError (damaged, cut off, or no picture at all),
// kUnsupportedImageMediaType (a format, or a kind of JPEG or BMP, that is not read),
// kImageFileTooLarge and kImageTooLarge (above a limit), kOutOfResources.
Result<Picture> DecodePicture(std::string_view file, const PictureLimits& limits = {});

}  // namespace mlc
