#include "base/base64.h"

#include <array>
#include <cstdint>
#include <utility>

namespace mlc {
namespace {

constexpr std::string_view kBase64Digits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

constexpr int8_t kNoBase64Digit = -1;

std::array<int8_t, 256> MakeBase64Values() {
  std::array<int8_t, 256> values;
  values.fill(kNoBase64Digit);
  for (size_t i = 0; i < kBase64Digits.size(); ++i) {
    values[static_cast<unsigned char>(kBase64Digits[i])] = static_cast<int8_t>(i);
  }
  return values;
}

}  // namespace

std::string EncodeBase64(std::string_view bytes) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t i = 0; i < bytes.size(); i += 3) {
    uint32_t group = 0;
    for (size_t k = 0; k < 3; ++k) {
      group = group << 8 | (i + k < bytes.size() ? static_cast<uint8_t>(bytes[i + k]) : 0);
    }
    for (int shift = 18; shift >= 0; shift -= 6) text.push_back(kBase64Digits[group >> shift & 63]);
  }
  size_t padding = (3 - bytes.size() % 3) % 3;
  text.replace(text.size() - padding, padding, padding, '=');
  return text;
}

std::optional<std::string> DecodeBase64(std::string_view text) {
  static const std::array<int8_t, 256> kValues = MakeBase64Values();
  size_t padding = 0;
  while (padding < 2 && !text.empty() && text.back() == '=') {
    text.remove_suffix(1);
    ++padding;
  }
  bool is_whole = padding == 0 || (text.size() + padding) % 4 == 0;
  if (text.size() % 4 == 1 || !is_whole) return std::nullopt;
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3 + 2);
  uint32_t group = 0;
  int bits = 0;
  for (char digit : text) {
    int8_t value = kValues[static_cast<unsigned char>(digit)];
    if (value == kNoBase64Digit) return std::nullopt;
    group = group << 6 | static_cast<uint32_t>(value);
    bits += 6;
    if (bits < 8) continue;
    bits -= 8;
    bytes.push_back(static_cast<char>(group >> bits & 0xff));
  }
  bool leaves_zeros = (group & ((1u << bits) - 1)) == 0;
  return leaves_zeros ? std::optional<std::string>(std::move(bytes)) : std::nullopt;
}

}  // namespace mlc
