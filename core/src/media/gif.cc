// The first frame of a GIF. stb_image decodes it; whether the frame is whole is checked here.
#include <string>

#include "media/byte_order.h"
#include "media/codec.h"
#include "media/stb.h"

namespace mlc {
namespace {

constexpr size_t kScreenBytes = 13;  // "GIF89a", width, height, flags, background, ratio
constexpr size_t kBackgroundAt = 11;
constexpr size_t kFrameBytes = 10;  // ',', left, top, width, height, flags
constexpr unsigned kExtension = 0x21, kFrame = 0x2C;

bool MatchesGif(std::string_view file) {
  return file.substr(0, 6) == "GIF87a" || file.substr(0, 6) == "GIF89a";
}

size_t ColourBytes(uint32_t flags) {
  return (flags & 0x80) != 0 ? size_t{3} << ((flags & 7) + 1) : 0;
}

// The place behind a row of blocks that ends with an empty one; npos when the file ends before it.
size_t SkipBlocks(std::string_view file, size_t at) {
  while (at < file.size()) {
    size_t length = ByteAt(file, at);
    at += 1 + length;
    if (length == 0) return at;
  }
  return std::string_view::npos;
}

bool HoldsAWholeFrame(std::string_view file) {
  size_t at = kScreenBytes + ColourBytes(ByteAt(file, 10));
  while (at < file.size()) {
    unsigned kind = ByteAt(file, at);
    if (kind == kExtension) {
      at = SkipBlocks(file, at + 2);
    } else if (kind == kFrame && at + kFrameBytes < file.size()) {
      size_t colours = ColourBytes(ByteAt(file, at + kFrameBytes - 1));
      return SkipBlocks(file, at + kFrameBytes + colours + 1) != std::string_view::npos;
    } else {
      return false;
    }
  }
  return false;
}

Result<PictureHeader> ReadGifHeader(std::string_view file) {
  if (file.size() < kScreenBytes || !HoldsAWholeFrame(file)) {
    return UnreadablePicture("the GIF file is damaged or cut off");
  }
  PictureHeader header{LittleEndian::U16(file, 6), LittleEndian::U16(file, 8)};
  header.memory = 13 * header.width * header.height;  // two canvases, a mask, the pixels
  return header;
}

Result<StoredPixels> DecodeGif(std::string_view file, const PictureHeader& header) {
  // Viewers show what a frame leaves free as transparent. stb_image paints it, if the background is
  // not colour 0.
  std::string copy(file);
  copy[kBackgroundAt] = 0;
  size_t largest = 4 * static_cast<size_t>(header.width) * static_cast<size_t>(header.height);
  return DecodeByStb(copy, header, 4, largest + (1 << 16));
}

}  // namespace

const PictureCodec kGifCodec = {&MatchesGif, &ReadGifHeader, &DecodeGif};

}  // namespace mlc
