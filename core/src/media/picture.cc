#include "media/picture.h"

#include <algorithm>
#include <array>
#include <new>
#include <string>
#include <utility>

#include "media/codec.h"

namespace mlc {
namespace {

[[maybe_unused]] constexpr char kReadable[] = "send PNG, JPEG, WebP, GIF or BMP";

// Formats that are known by their first bytes, and not read.
struct ForeignFormat {
  size_t at;
  std::string_view bytes;
  const char* name;
};
[[maybe_unused]] constexpr ForeignFormat kForeign[] = {
    {4, "ftypavi", "AVIF"},
    {4, "ftyp", "HEIC"},
    {0, {"II*\0", 4}, "TIFF"},
    {0, {"MM\0*", 4}, "TIFF"},
    {0, "8BPS", "Photoshop"},
    {0, {"\0\0\1\0", 4}, "ICO"},
    {0, "\xff\x0a", "JPEG XL"},
    {0, {"\0\0\0\x0cJXL ", 8}, "JPEG XL"},
    {0, {"\0\0\0\x0cjP  ", 8}, "JPEG 2000"},
    {0, "%PDF", "PDF"},
    {0, "<svg", "SVG"},
    {0, "<?xml", "SVG"},
};

Result<const PictureCodec*> FindCodec(std::string_view file) {
  if (file.empty()) return UnreadablePicture("the picture has no bytes");
#ifdef MLC_NO_PICTURE_CODECS  // cmake/Pictures.cmake
  return UnsupportedPicture(
      "this build reads no pictures: their libraries' sources were not there");
#else
  for (const PictureCodec* codec : {&kPngCodec, &kJpegCodec, &kWebPCodec, &kGifCodec, &kBmpCodec}) {
    if (codec->matches(file)) return codec;
  }
  for (const ForeignFormat& format : kForeign) {
    if (file.size() > format.at && file.substr(format.at, format.bytes.size()) == format.bytes) {
      return UnsupportedPicture(std::string(format.name) + " pictures are not read: " + kReadable);
    }
  }
  return UnreadablePicture(std::string("the bytes are no picture of a format that is read: ") +
                           kReadable);
#endif
}

Status TooLarge(const std::string& what) {
  return {Reason::kImageTooLarge, "the picture has " + what + ": make it smaller"};
}

Status CheckSize(const PictureHeader& header, const PictureLimits& limits) {
  int64_t w = header.width, h = header.height;
  std::string size = std::to_string(w) + " x " + std::to_string(h) + " pixels";
  if (w <= 0 || h <= 0) return UnreadablePicture("the picture has no pixels (" + size + ")");
  if (std::max(w, h) > limits.side) {
    return TooLarge(size + ", of which a side may have " + std::to_string(limits.side));
  }
  if (w * h > limits.pixels) {
    return TooLarge(size + ", of which there may be " + std::to_string(limits.pixels));
  }
  int64_t memory = header.memory + w * h * 3;
  if (memory <= limits.memory) return Status();
  return TooLarge(size + ", whose decoding takes " + std::to_string(memory >> 20) +
                  " MiB of memory, of which it may take " + std::to_string(limits.memory >> 20));
}

// A file that may be decoded.
struct Checked {
  const PictureCodec* codec;
  PictureHeader header;
};

Result<Checked> Check(std::string_view file, const PictureLimits& limits) {
  if (file.size() > limits.file_bytes) {
    return Status(Reason::kImageFileTooLarge,
                  "the picture's file has " + std::to_string(file.size()) + " bytes, of which " +
                      std::to_string(limits.file_bytes) + " are allowed: make it smaller");
  }
  MLC_ASSIGN_OR_RETURN(const PictureCodec* codec, FindCodec(file));
  MLC_ASSIGN_OR_RETURN(PictureHeader header, codec->read_header(file));
  MLC_RETURN_IF_ERROR(CheckSize(header, limits));
  return Checked{codec, header};
}

bool IsTurned(int orientation) { return orientation >= 5; }  // by 90 degrees

PictureSize ShownSize(const PictureHeader& header) {
  int w = static_cast<int>(header.width), h = static_cast<int>(header.height);
  return IsTurned(header.orientation) ? PictureSize{h, w} : PictureSize{w, h};
}

// The way through the stored pixels that shows them: the first one, and the distances to the next
// one in a row and in a column.
struct Walk {
  int64_t first, across, down;
};

Walk WalkOf(const PictureHeader& header) {
  int64_t w = header.width, h = header.height, right = w - 1, bottom = (h - 1) * w;
  const std::array<Walk, 8> walks = {{
      {0, 1, w},                 // 1: as stored
      {right, -1, w},            // 2: mirrored
      {bottom + right, -1, -w},  // 3: turned by 180 degrees
      {bottom, 1, -w},           // 4: upside down
      {0, w, 1},                 // 5: mirrored, and turned to the left
      {bottom, -w, 1},           // 6: turned to the right
      {bottom + right, -w, -1},  // 7: mirrored, and turned to the right
      {right, w, -1},            // 8: turned to the left
  }};
  return walks[static_cast<size_t>(header.orientation - 1)];
}

// colour * alpha + 255 * (255 - alpha), over 255 and rounded: Pillow's alpha_composite.
uint8_t OverWhite(unsigned colour, unsigned alpha) {
  unsigned sum = (colour * alpha + 255 * (255 - alpha) + 128) * 128;
  return static_cast<uint8_t>((((sum >> 8) + sum) >> 8) >> 7);
}

Picture Shown(StoredPixels pixels, const PictureHeader& header) {
  Picture picture;
  PictureSize size = ShownSize(header);
  picture.width = size.width;
  picture.height = size.height;
  if (pixels.channels == 3 && header.orientation == 1) {
    picture.rgb = std::move(pixels.values);
    return picture;
  }
  Walk walk = WalkOf(header);
  picture.rgb.resize(pixels.values.size() / static_cast<size_t>(pixels.channels) * 3);
  uint8_t* out = picture.rgb.data();
  for (int y = 0; y < size.height; ++y) {
    for (int x = 0; x < size.width; ++x, out += 3) {
      const uint8_t* in =
          &pixels.values[static_cast<size_t>(walk.first + x * walk.across + y * walk.down) *
                         static_cast<size_t>(pixels.channels)];
      for (int c = 0; c < 3; ++c) out[c] = pixels.channels == 4 ? OverWhite(in[c], in[3]) : in[c];
    }
  }
  return picture;
}

}  // namespace

Result<PictureSize> ReadPictureSize(std::string_view file, const PictureLimits& limits) {
  MLC_ASSIGN_OR_RETURN(Checked checked, Check(file, limits));
  return ShownSize(checked.header);
}

Result<Picture> DecodePicture(std::string_view file, const PictureLimits& limits) {
  try {
    MLC_ASSIGN_OR_RETURN(Checked checked, Check(file, limits));
    MLC_ASSIGN_OR_RETURN(StoredPixels pixels, checked.codec->decode(file, checked.header));
    return Shown(std::move(pixels), checked.header);
  } catch (const std::bad_alloc&) {
    return ResourceExhausted("there is no memory to decode the picture: make it smaller");
  }
}

}  // namespace mlc
