// PNG. stb_image decodes it; the chunks' checksums and EXIF are read here.
#include <algorithm>
#include <array>

#include "media/byte_order.h"
#include "media/codec.h"
#include "media/exif.h"
#include "media/stb.h"

namespace mlc {
namespace {

constexpr std::string_view kSignature("\x89PNG\r\n\x1a\n", 8);

std::array<uint32_t, 256> Crc32Table() {
  std::array<uint32_t, 256> table{};
  for (uint32_t i = 0; i < table.size(); ++i) {
    uint32_t value = i;
    for (int bit = 0; bit < 8; ++bit)
      value = (value & 1) != 0 ? value >> 1 ^ 0xEDB88320 : value >> 1;
    table[i] = value;
  }
  return table;
}

uint32_t Crc32(std::string_view bytes) {
  static const std::array<uint32_t, 256> table = Crc32Table();
  uint32_t crc = 0xFFFFFFFF;
  for (char byte : bytes) crc = table[(crc ^ static_cast<unsigned char>(byte)) & 0xFF] ^ crc >> 8;
  return ~crc;
}

struct Chunk {
  std::string_view type, data;
  bool is_whole = false;  // its checksum is right
};

// Takes the next chunk: length, type, data, checksum of type and data. False: the file ends in it.
bool TakeChunk(std::string_view* rest, Chunk* chunk) {
  if (rest->size() < 12) return false;
  size_t length = BigEndian::U32(*rest, 0);
  if (length > rest->size() - 12) return false;
  chunk->type = rest->substr(4, 4);
  chunk->data = rest->substr(8, length);
  chunk->is_whole = Crc32(rest->substr(4, 4 + length)) == BigEndian::U32(*rest, 8 + length);
  rest->remove_prefix(12 + length);
  return true;
}

bool IsCritical(const Chunk& chunk) { return (chunk.type[0] & 0x20) == 0; }

bool MatchesPng(std::string_view file) { return file.substr(0, kSignature.size()) == kSignature; }

// Bits of a pixel as it is inflated, at most: palettes and transparent colours become RGBA.
int64_t BitsOf(std::string_view ihdr) { return ByteAt(ihdr, 8) == 16 ? 64 : 32; }

Result<PictureHeader> ReadPngHeader(std::string_view file) {
  std::string_view rest = file.substr(kSignature.size());
  Chunk chunk;
  PictureHeader header;
  bool is_first = true;
  while (TakeChunk(&rest, &chunk)) {
    if (is_first != (chunk.type == "IHDR")) break;
    if (!chunk.is_whole && IsCritical(chunk)) {
      return UnreadablePicture("the PNG file is damaged: the checksum of " +
                               std::string(is_first ? "its header" : "its data") + " is wrong");
    }
    if (is_first) {
      if (chunk.data.size() != 13) break;
      header.width = BigEndian::U32(chunk.data, 0);
      header.height = BigEndian::U32(chunk.data, 4);
      if (header.width > INT32_MAX || header.height > INT32_MAX) break;
      // Inflated, then as pixels, then in the channels that are wanted.
      header.memory =
          header.width * std::min<int64_t>(header.height, 1 << 26) * (3 * BitsOf(chunk.data) / 8);
      is_first = false;
    } else if (chunk.type == "eXIf" && chunk.is_whole) {
      header.orientation = ExifOrientation(chunk.data);
    } else if (chunk.type == "IEND") {
      return header;
    }
  }
  return UnreadablePicture("the PNG file is damaged or cut off");
}

Result<StoredPixels> DecodePng(std::string_view file, const PictureHeader& header) {
  int channels = StbChannels(file);
  auto pixels = static_cast<size_t>(header.width) * static_cast<size_t>(header.height);
  // What it inflates to, twice that: the buffer is doubled when a byte is missing. Or all its data.
  size_t largest = 2 * std::max(8 * pixels + 8 * static_cast<size_t>(header.height), file.size());
  return DecodeByStb(file, header, channels % 2 == 0 ? 4 : 3, largest + (1 << 16));
}

}  // namespace

const PictureCodec kPngCodec = {&MatchesPng, &ReadPngHeader, &DecodePng};

}  // namespace mlc
