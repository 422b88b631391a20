// BMP without compression. stb_image decodes it; whether all rows are there is checked here.
#include <algorithm>
#include <cstdlib>

#include "media/byte_order.h"
#include "media/codec.h"
#include "media/stb.h"

namespace mlc {
namespace {

constexpr size_t kFileHeader = 14;
enum Compression : uint32_t { kNone = 0, kBitFields = 3 };

// What follows the file's header, in its old form of 12 bytes or a newer one.
struct Layout {
  int64_t width = 0, height = 0;  // height < 0: the first row is the upper one
  uint32_t bits = 0, compression = kNone;
  size_t pixels_at = 0;
};

bool MatchesBmp(std::string_view file) { return file.substr(0, 2) == "BM" && file.size() > 26; }

Result<Layout> ReadLayout(std::string_view file) {
  Layout layout;
  layout.pixels_at = LittleEndian::U32(file, 10);
  uint32_t size = LittleEndian::U32(file, kFileHeader);
  if (size == 12) {
    layout.width = LittleEndian::U16(file, 18);
    layout.height = LittleEndian::U16(file, 20);
    layout.bits = LittleEndian::U16(file, 24);
    return layout;
  }
  if (size < 40 || size > file.size() - kFileHeader) {
    return UnreadablePicture("the BMP file is damaged or cut off");
  }
  layout.width = static_cast<int32_t>(LittleEndian::U32(file, 18));
  layout.height = static_cast<int32_t>(LittleEndian::U32(file, 22));
  layout.bits = LittleEndian::U16(file, 28);
  layout.compression = LittleEndian::U32(file, 30);
  return layout;
}

bool IsRead(const Layout& layout) {
  uint32_t c = layout.compression;
  return c == kNone || (c == kBitFields && (layout.bits == 16 || layout.bits == 32));
}

Result<PictureHeader> ReadBmpHeader(std::string_view file) {
  MLC_ASSIGN_OR_RETURN(Layout layout, ReadLayout(file));
  if (!IsRead(layout)) {
    return UnsupportedPicture("compressed BMP files are not read: send PNG or JPEG");
  }
  PictureHeader header{layout.width, std::abs(layout.height)};
  header.memory =
      8 * std::max<int64_t>(header.width, 0) * std::min<int64_t>(header.height, 1 << 28);
  int64_t row_bytes = (header.width * layout.bits + 31) / 32 * 4;
  int64_t held = static_cast<int64_t>(file.size()) - static_cast<int64_t>(layout.pixels_at);
  if (header.width > 0 && row_bytes > 0 && held / row_bytes < header.height) {
    return UnreadablePicture("the BMP file is damaged or cut off");
  }
  return header;
}

Result<StoredPixels> DecodeBmp(std::string_view file, const PictureHeader& header) {
  MLC_ASSIGN_OR_RETURN(Layout layout, ReadLayout(file));
  // A fourth byte has a meaning only where the file says which.
  bool has_alpha = layout.compression == kBitFields && StbChannels(file) == 4;
  size_t largest = 4 * static_cast<size_t>(header.width) * static_cast<size_t>(header.height);
  return DecodeByStb(file, header, has_alpha ? 4 : 3, largest + (1 << 16));
}

}  // namespace

const PictureCodec kBmpCodec = {&MatchesBmp, &ReadBmpHeader, &DecodeBmp};

}  // namespace mlc
