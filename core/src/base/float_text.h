// The shortest text of a floating-point number, and the number of a text, in no locale.
//
//   FloatText(0.1, FloatFormat::kScientific)   // "1e-01"
//
// The standard library does it where it can (std::to_chars). Emscripten's library cannot.
#pragma once

#include <charconv>
#include <string>
#include <string_view>
#include <system_error>

namespace mlc {

enum class FloatFormat { kFixed, kScientific };

// The shortest text that gives the same number again. `value` is finite.
std::string FloatText(double value, FloatFormat format);

// The number at the beginning of `text`, which has no sign. Sets `size` to the number of characters
// that belong to it, and returns an error as std::from_chars does.
std::errc ReadFloat(std::string_view text, double* value, size_t* size);

// The same for standard libraries without std::to_chars of floats.
std::string FloatTextByPrecision(double value, FloatFormat format);
std::errc ReadFloatByStrtod(std::string_view text, double* value, size_t* size);

}  // namespace mlc
