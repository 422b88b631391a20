#include "base/utf8.h"

#include <cstdint>
#include <cstring>

namespace mlc {
namespace {

// The bytes that may follow a lead byte (Unicode, table 3-7): the total length, and the range of
// the second byte.
struct Lead {
  int length;
  unsigned char second_low, second_high;
};

Lead ClassifyLead(unsigned char byte) {
  if (byte < 0x80) return {1, 0, 0};
  if (byte >= 0xC2 && byte <= 0xDF) return {2, 0x80, 0xBF};
  if (byte == 0xE0) return {3, 0xA0, 0xBF};
  if (byte == 0xED) return {3, 0x80, 0x9F};
  if (byte >= 0xE1 && byte <= 0xEF) return {3, 0x80, 0xBF};
  if (byte == 0xF0) return {4, 0x90, 0xBF};
  if (byte >= 0xF1 && byte <= 0xF3) return {4, 0x80, 0xBF};
  if (byte == 0xF4) return {4, 0x80, 0x8F};
  return {0, 0, 0};
}

// How many bytes at `pos` form a well-formed prefix of a code point, and whether the code point is
// complete.
struct Prefix {
  size_t length;
  bool complete;
};

Prefix WellFormedPrefix(std::string_view text, size_t pos) {
  Lead lead = ClassifyLead(static_cast<unsigned char>(text[pos]));
  if (lead.length == 0) return {1, false};
  size_t length = 1;
  while (length < static_cast<size_t>(lead.length) && pos + length < text.size()) {
    unsigned char byte = static_cast<unsigned char>(text[pos + length]);
    unsigned char low = length == 1 ? lead.second_low : 0x80;
    unsigned char high = length == 1 ? lead.second_high : 0xBF;
    if (byte < low || byte > high) break;
    ++length;
  }
  return {length, length == static_cast<size_t>(lead.length)};
}

// Whether the next eight bytes are ASCII, as most are in most texts.
bool IsAsciiAt(std::string_view text, size_t pos) {
  if (text.size() - pos < sizeof(uint64_t)) return false;
  uint64_t bytes;
  std::memcpy(&bytes, text.data() + pos, sizeof(bytes));
  return (bytes & 0x8080808080808080u) == 0;
}

}  // namespace

char32_t DecodeUtf8(std::string_view text, size_t* pos) {
  unsigned char first = static_cast<unsigned char>(text[*pos]);
  if (first < 0x80) {
    ++*pos;
    return first;
  }
  Prefix prefix = WellFormedPrefix(text, *pos);
  char32_t code_point = kReplacementChar;
  if (prefix.complete) {
    static const unsigned char kPayload[] = {0, 0x7F, 0x1F, 0x0F, 0x07};
    code_point = first & kPayload[prefix.length];
    for (size_t i = 1; i < prefix.length; ++i) {
      code_point = (code_point << 6) | (static_cast<unsigned char>(text[*pos + i]) & 0x3F);
    }
  }
  *pos += prefix.length;
  return code_point;
}

void AppendUtf8(char32_t c, std::string* out) {
  if (c > 0x10FFFF || (c >= 0xD800 && c <= 0xDFFF)) c = kReplacementChar;
  if (c < 0x80) {
    out->push_back(static_cast<char>(c));
  } else if (c < 0x800) {
    out->push_back(static_cast<char>(0xC0 | (c >> 6)));
    out->push_back(static_cast<char>(0x80 | (c & 0x3F)));
  } else if (c < 0x10000) {
    out->push_back(static_cast<char>(0xE0 | (c >> 12)));
    out->push_back(static_cast<char>(0x80 | ((c >> 6) & 0x3F)));
    out->push_back(static_cast<char>(0x80 | (c & 0x3F)));
  } else {
    out->push_back(static_cast<char>(0xF0 | (c >> 18)));
    out->push_back(static_cast<char>(0x80 | ((c >> 12) & 0x3F)));
    out->push_back(static_cast<char>(0x80 | ((c >> 6) & 0x3F)));
    out->push_back(static_cast<char>(0x80 | (c & 0x3F)));
  }
}

std::u32string ToCodePoints(std::string_view text) {
  std::u32string out;
  out.reserve(text.size());
  for (size_t pos = 0; pos < text.size();) out.push_back(DecodeUtf8(text, &pos));
  return out;
}

bool IsValidUtf8(std::string_view text) {
  for (size_t pos = 0; pos < text.size();) {
    if (IsAsciiAt(text, pos)) {
      pos += sizeof(uint64_t);
      continue;
    }
    Prefix prefix = WellFormedPrefix(text, pos);
    if (!prefix.complete) return false;
    pos += prefix.length;
  }
  return true;
}

size_t IncompleteUtf8Tail(std::string_view text) {
  for (size_t back = 1; back <= 3 && back <= text.size(); ++back) {
    size_t pos = text.size() - back;
    Lead lead = ClassifyLead(static_cast<unsigned char>(text[pos]));
    if (lead.length <= 1) {
      if (lead.length == 1) return 0;  // ASCII: no earlier byte can be incomplete
      continue;                        // a continuation byte: look further back
    }
    Prefix prefix = WellFormedPrefix(text, pos);
    return !prefix.complete && prefix.length == back ? back : 0;
  }
  return 0;
}

std::string RepairUtf8(std::string_view text) {
  if (IsValidUtf8(text)) return std::string(text);
  std::string out;
  out.reserve(text.size());
  for (size_t pos = 0; pos < text.size();) AppendUtf8(DecodeUtf8(text, &pos), &out);
  return out;
}

}  // namespace mlc
