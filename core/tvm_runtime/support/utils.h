// The one function of TVM's general utilities that its thread pool uses.
#pragma once

#include <algorithm>
#include <string>

namespace tvm {
namespace support {

// Whether `text` is a number in decimal digits.
inline bool IsNumber(const std::string& text) {
  auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  return !text.empty() && std::all_of(text.begin(), text.end(), is_digit);
}

}  // namespace support
}  // namespace tvm
