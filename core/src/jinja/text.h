// Python's view of a string, on UTF-8 bytes: code points, white space, case, literals.
//
// Case mapping and classification include ASCII, Latin-1, Latin Extended-A, Greek and Cyrillic.
// Other letters have no case here and count as alphabetic. Chat templates change the case of role
// names and months, not of the user's text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mlc::jinja {

bool IsSpace(char32_t c);      // str.isspace
bool IsAlpha(char32_t c);      // str.isalpha
bool IsDigit(char32_t c);      // ASCII digits only
bool IsPrintable(char32_t c);  // repr() prints it unchanged
char32_t ToLower(char32_t c);
char32_t ToUpper(char32_t c);
inline bool IsWordChar(char32_t c) { return c == '_' || IsAlpha(c) || IsDigit(c); }

std::string Lower(std::string_view text);
std::string Upper(std::string_view text);  // U+00DF becomes "SS", as in Python
std::string Capitalize(std::string_view text);

size_t CountCodePoints(std::string_view text);

// Removes white space (or, with `chars`, any of these code points) at one end.
std::string_view StripLeft(std::string_view text, const std::u32string* chars = nullptr);
std::string_view StripRight(std::string_view text, const std::u32string* chars = nullptr);

// str.splitlines: at \n, \r, \r\n, \v, \f, \x1c to \x1e, \x85, U+2028 and U+2029.
std::vector<std::string_view> SplitLines(std::string_view text, bool keep_ends);

// Replaces the first `count` occurrences (all if `count` is negative). An empty `from` matches
// between code points. Nothing if the result would have more than `max_bytes`.
std::optional<std::string> ReplaceText(std::string_view text, std::string_view from,
                                       std::string_view to, int64_t count, size_t max_bytes);

// repr(str): quotes and escapes are those of Python.
std::string ReprText(std::string_view text);
// repr(float): the shortest digits that give the same float.
std::string ReprFloat(double value);
// Parses the text of float(str) or int(str, 10). White space around it and '_' between digits are
// allowed.
std::optional<double> ParseFloat(std::string_view text);
std::optional<int64_t> ParseInt(std::string_view text, int base);

// HTML escaping, as in markupsafe.
std::string EscapeHtml(std::string_view text);

}  // namespace mlc::jinja
