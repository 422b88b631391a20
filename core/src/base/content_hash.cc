#include "base/content_hash.h"

#include <cmath>
#include <cstring>

namespace mlc {
namespace {

constexpr size_t kBlockBytes = 64;
constexpr char kHexDigits[] = "0123456789abcdef";

uint32_t RotateRight(uint32_t word, int bits) { return word >> bits | word << (32 - bits); }

// The first 32 fractional bits of the square roots or cube roots of the first primes.
template <size_t N>
std::array<uint32_t, N> RootsOfPrimes(double (*root)(double)) {
  std::array<uint32_t, N> words{};
  size_t count = 0;
  for (int number = 2; count < N; ++number) {
    bool is_prime = true;
    for (int divisor = 2; divisor * divisor <= number; ++divisor) {
      if (number % divisor == 0) is_prime = false;
    }
    if (!is_prime) continue;
    double value = root(number);
    words[count++] = static_cast<uint32_t>((value - std::floor(value)) * 4294967296.0);
  }
  return words;
}

using HashState = std::array<uint32_t, 8>;

uint32_t BigEndianWordAt(const unsigned char* bytes) {
  return static_cast<uint32_t>(bytes[0]) << 24 | static_cast<uint32_t>(bytes[1]) << 16 |
         static_cast<uint32_t>(bytes[2]) << 8 | bytes[3];
}

std::array<uint32_t, 64> Schedule(const unsigned char* block) {
  std::array<uint32_t, 64> words;
  for (size_t i = 0; i < 16; ++i) words[i] = BigEndianWordAt(block + 4 * i);
  for (size_t i = 16; i < 64; ++i) {
    uint32_t a = words[i - 15], b = words[i - 2];
    uint32_t low = RotateRight(a, 7) ^ RotateRight(a, 18) ^ a >> 3;
    uint32_t high = RotateRight(b, 17) ^ RotateRight(b, 19) ^ b >> 10;
    words[i] = words[i - 16] + low + words[i - 7] + high;
  }
  return words;
}

void AddBlock(const unsigned char* block, HashState* state) {
  static const std::array<uint32_t, 64> kRounds =
      RootsOfPrimes<64>([](double x) { return std::cbrt(x); });
  std::array<uint32_t, 64> words = Schedule(block);
  HashState s = *state;
  for (size_t i = 0; i < 64; ++i) {
    uint32_t mix = RotateRight(s[4], 6) ^ RotateRight(s[4], 11) ^ RotateRight(s[4], 25);
    uint32_t choice = (s[4] & s[5]) ^ (~s[4] & s[6]);
    uint32_t first = s[7] + mix + choice + kRounds[i] + words[i];
    uint32_t turn = RotateRight(s[0], 2) ^ RotateRight(s[0], 13) ^ RotateRight(s[0], 22);
    uint32_t majority = (s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]);
    s = {first + turn + majority, s[0], s[1], s[2], s[3] + first, s[4], s[5], s[6]};
  }
  for (size_t i = 0; i < state->size(); ++i) (*state)[i] += s[i];
}

int DigitValue(char digit) {
  const char* at = digit == '\0' ? nullptr : std::strchr(kHexDigits, digit);
  return at == nullptr ? -1 : static_cast<int>(at - kHexDigits);
}

}  // namespace

ContentHash HashContent(std::string_view bytes) {
  HashState state = RootsOfPrimes<8>([](double x) { return std::sqrt(x); });
  const auto* data = reinterpret_cast<const unsigned char*>(bytes.data());
  size_t whole = bytes.size() / kBlockBytes * kBlockBytes;
  for (size_t at = 0; at < whole; at += kBlockBytes) AddBlock(data + at, &state);
  // The padding of SHA-256: a one bit, zero bits, and the number of bits in the last eight bytes.
  std::string tail(bytes.substr(whole));
  tail.push_back('\x80');
  while (tail.size() % kBlockBytes != kBlockBytes - 8) tail.push_back('\0');
  uint64_t bits = static_cast<uint64_t>(bytes.size()) * 8;
  for (int shift = 56; shift >= 0; shift -= 8) tail.push_back(static_cast<char>(bits >> shift));
  for (size_t at = 0; at < tail.size(); at += kBlockBytes) {
    AddBlock(reinterpret_cast<const unsigned char*>(tail.data()) + at, &state);
  }
  ContentHash hash;
  for (size_t i = 0; i < hash.size(); ++i) {
    hash[i] = static_cast<uint8_t>(state[i / 4] >> (24 - 8 * (i % 4)));
  }
  return hash;
}

std::string ContentHashText(const ContentHash& hash) {
  std::string text;
  for (uint8_t byte : hash) {
    text.push_back(kHexDigits[byte >> 4]);
    text.push_back(kHexDigits[byte & 15]);
  }
  return text;
}

std::optional<ContentHash> ParseContentHash(std::string_view text) {
  ContentHash hash;
  if (text.size() != 2 * hash.size()) return std::nullopt;
  for (size_t i = 0; i < hash.size(); ++i) {
    int high = DigitValue(text[2 * i]), low = DigitValue(text[2 * i + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    hash[i] = static_cast<uint8_t>(high << 4 | low);
  }
  return hash;
}

}  // namespace mlc
