#include "text/byte_level.h"

#include <array>

#include "base/utf8.h"

namespace mlc {
namespace {

constexpr int kNoByte = -1;

struct Alphabet {
  std::array<std::string, 256> chars;
  std::array<int, 0x144> bytes;  // by code point
};

bool IsPrintable(int byte) {
  return (byte >= '!' && byte <= '~') || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

// Printable bytes map to themselves. The other bytes map to U+0100 and the following characters.
const Alphabet& GetAlphabet() {
  static const Alphabet* const kAlphabet = [] {
    auto* alphabet = new Alphabet;
    alphabet->bytes.fill(kNoByte);
    char32_t next = 0x100;
    for (int byte = 0; byte < 256; ++byte) {
      char32_t c = IsPrintable(byte) ? static_cast<char32_t>(byte) : next++;
      AppendUtf8(c, &alphabet->chars[byte]);
      alphabet->bytes[c] = byte;
    }
    return alphabet;
  }();
  return *kAlphabet;
}

}  // namespace

std::string_view ByteLevelChar(unsigned char byte) { return GetAlphabet().chars[byte]; }

std::string ToByteLevel(std::string_view bytes) {
  const Alphabet& alphabet = GetAlphabet();
  std::string out;
  out.reserve(bytes.size() * 2);
  for (char c : bytes) out += alphabet.chars[static_cast<unsigned char>(c)];
  return out;
}

bool FromByteLevel(std::string_view text, std::string* out) {
  const Alphabet& alphabet = GetAlphabet();
  size_t size_before = out->size();
  for (size_t pos = 0; pos < text.size();) {
    char32_t c = DecodeUtf8(text, &pos);
    if (c >= alphabet.bytes.size() || alphabet.bytes[c] == kNoByte) {
      out->resize(size_before);
      return false;
    }
    out->push_back(static_cast<char>(alphabet.bytes[c]));
  }
  return true;
}

}  // namespace mlc
