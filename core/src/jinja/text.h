// Python's view of a string, over UTF-8 bytes: code points, white space, case, literals.
//
// Case mapping and classification cover ASCII, Latin-1, Latin Extended-A, Greek and Cyrillic; other
// letters have no case here and count as alphabetic. Chat templates change the case of role names
// and months, not of user text.
#ifndef MLC_JINJA_TEXT_H_
#define MLC_JINJA_TEXT_H_

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
bool IsPrintable(char32_t c);  // what repr() shows as it is
char32_t ToLower(char32_t c);
char32_t ToUpper(char32_t c);
inline bool IsWordChar(char32_t c) { return c == '_' || IsAlpha(c) || IsDigit(c); }

std::string Lower(std::string_view text);
std::string Upper(std::string_view text);  // U+00DF becomes "SS", as in Python
std::string Capitalize(std::string_view text);

size_t CountCodePoints(std::string_view text);

// Byte offset at which white space (or, with `chars`, any of those code points) ends or begins.
std::string_view StripLeft(std::string_view text, const std::u32string* chars = nullptr);
std::string_view StripRight(std::string_view text, const std::u32string* chars = nullptr);

// str.splitlines: at \n, \r, \r\n, \v, \f, \x1c to \x1e, \x85, U+2028 and U+2029.
std::vector<std::string_view> SplitLines(std::string_view text, bool keep_ends);

// Replaces the first `count` occurrences (all when negative); an empty `from` matches between code
// points. Nothing when the result would have more than `max_bytes`.
std::optional<std::string> ReplaceText(std::string_view text, std::string_view from,
                                       std::string_view to, int64_t count, size_t max_bytes);

// repr(str): quotes and escapes as Python chooses them.
std::string ReprText(std::string_view text);
// repr(float): the shortest digits that read back the same.
std::string ReprFloat(double value);
// The text of float(str) or int(str, 10), white space around it and '_' between digits allowed.
std::optional<double> ParseFloat(std::string_view text);
std::optional<int64_t> ParseInt(std::string_view text, int base);

// HTML escaping as markupsafe does it.
std::string EscapeHtml(std::string_view text);

}  // namespace mlc::jinja

#endif  // MLC_JINJA_TEXT_H_
