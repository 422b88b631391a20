#include "grammar/number_ebnf.h"

#include <algorithm>
#include <charconv>
#include <vector>

#include "grammar/ebnf_text.h"

namespace mlc {
namespace {

using Choices = std::vector<std::string>;

std::string Join(const Choices& choices) {
  if (choices.empty()) return "";
  std::string out = "(";
  for (size_t i = 0; i < choices.size(); ++i) out += (i > 0 ? " | " : "") + choices[i];
  return out + ")";
}

std::string Digit(char first, char last) {
  if (first == last) return "\"" + std::string(1, first) + "\"";
  return "[" + std::string(1, first) + "-" + std::string(1, last) + "]";
}

std::string Digits(int64_t min, int64_t max) {
  if (max == 0) return "\"\"";
  return "[0-9]" + EbnfRepeat(min, max);
}

bool IsAll(const std::string& digits, char digit) {
  return digits.find_first_not_of(digit) == std::string::npos;
}

// Numerals of the length that both bounds have.
std::string SameLength(const std::string& low, const std::string& high) {
  if (low.empty()) return "\"\"";
  int64_t rest = static_cast<int64_t>(low.size()) - 1;
  std::string low_rest = low.substr(1), high_rest = high.substr(1);
  if (low[0] == high[0]) return Digit(low[0], low[0]) + " " + SameLength(low_rest, high_rest);
  char first = low[0], last = high[0];
  Choices choices;
  if (!IsAll(low_rest, '0')) {
    std::string nines(low_rest.size(), '9');
    choices.push_back(Digit(first, first) + " " + SameLength(low_rest, nines));
    ++first;
  }
  bool has_high = !IsAll(high_rest, '9');
  if (has_high) --last;
  if (first <= last) choices.push_back(Digit(first, last) + " " + Digits(rest, rest));
  if (has_high) {
    std::string zeros(high_rest.size(), '0');
    choices.push_back(Digit(high[0], high[0]) + " " + SameLength(zeros, high_rest));
  }
  return Join(choices);
}

int64_t PowerOfTen(int digits) {
  int64_t power = 1;
  while (digits-- > 0) power *= 10;
  return power;
}

// The integers low to high, 0 <= low.
std::string Whole(int64_t low, int64_t high) {
  Choices choices;
  if (low > high) return "";
  if (low == 0) choices.push_back("\"0\"");
  low = std::max<int64_t>(low, 1);
  while (low <= high) {
    int digits = static_cast<int>(std::to_string(low).size());
    int64_t end = std::min(high, PowerOfTen(digits) - 1);
    if (low == PowerOfTen(digits - 1) && end == PowerOfTen(digits) - 1) {
      int last = digits;  // whole lengths go together
      while (last < 18 && high >= PowerOfTen(last + 1) - 1) ++last;
      choices.push_back("[1-9] " + Digits(digits - 1, last - 1));
      end = PowerOfTen(last) - 1;
    } else {
      choices.push_back(SameLength(std::to_string(low), std::to_string(end)));
    }
    low = end + 1;
  }
  return Join(choices);
}

// Digits that are not all 0, at most `left`. "" when there is no room.
std::string Positive(int left) {
  if (left <= 0) return "";
  return left == 1 ? "[1-9]" : "\"0\"" + EbnfRepeat(0, left - 1) + " [1-9]";
}

// A digit and what may stand behind it.
std::string Then(const std::string& digit, const std::string& rest) { return digit + " " + rest; }

// Below, `bound` is what is left of a bound's fraction when the digits so far are those of the
// bound, and `left` the digits that may still be written. "" says that nothing can be.

// Digits that make the fraction at least (or more than) the bound.
std::string AtLeast(const std::string& bound, bool exclusive, int left) {
  if (bound.empty()) return exclusive ? Positive(left) : Digits(0, std::max(left, 0));
  Choices choices;
  if (bound[0] < '9') {
    std::string digit = Digit(static_cast<char>(bound[0] + 1), '9');
    choices.push_back(Then(digit, Digits(0, std::max(left - 1, 0))));
  }
  std::string same = AtLeast(bound.substr(1), exclusive, left - 1);
  if (!same.empty()) choices.push_back(Then(Digit(bound[0], bound[0]), same));
  return Join(choices);
}

// At most (or less than) the bound, with at least one digit.
std::string AtMost(const std::string& bound, bool exclusive, int left) {
  if (bound.empty()) {
    return exclusive || left <= 0 ? "" : "\"0\"" + EbnfRepeat(1, std::min(left, 3));
  }
  Choices choices;
  if (bound[0] > '0') {
    std::string digit = Digit('0', static_cast<char>(bound[0] - 1));
    choices.push_back(Then(digit, Digits(0, std::max(left - 1, 0))));
  }
  bool is_last = bound.size() == 1;
  if (!is_last || !exclusive) {
    std::string rest = AtMost(bound.substr(1), exclusive, left - 1);
    choices.push_back(Digit(bound[0], bound[0]) + (rest.empty() ? "" : " (" + rest + ")?"));
  }
  return Join(choices);
}

// Digits between two bounds, low < high; the fraction may not be left out.
std::string Between(const NumberBound& low, const NumberBound& high, size_t at, int left) {
  std::string a = at < low.value.fraction.size() ? low.value.fraction.substr(at) : "";
  std::string b = high.value.fraction.substr(at);
  if (a.empty() && !low.exclusive) return AtMost(b, high.exclusive, left);
  char first = a.empty() ? '0' : a[0];
  std::string a_rest = a.empty() ? "" : a.substr(1), b_rest = b.substr(1);
  if (first == b[0]) {
    std::string rest = Between(low, high, at + 1, left - 1);
    bool may_end = a_rest.empty() && !low.exclusive;  // at the bound itself
    if (rest.empty()) return may_end ? Digit(first, first) : "";
    return Digit(first, first) + " (" + rest + ")" + (may_end ? "?" : "");
  }
  Choices choices;
  std::string above = AtLeast(a_rest, low.exclusive, left - 1);
  if (!above.empty()) choices.push_back(Then(Digit(first, first), above));
  if (first + 1 < b[0]) {
    std::string digit = Digit(static_cast<char>(first + 1), static_cast<char>(b[0] - 1));
    choices.push_back(Then(digit, Digits(0, std::max(left - 1, 0))));
  }
  if (!b_rest.empty() || !high.exclusive) {
    std::string rest = AtMost(b_rest, high.exclusive, left - 1);
    choices.push_back(Digit(b[0], b[0]) + (rest.empty() ? "" : " (" + rest + ")?"));
  }
  return Join(choices);
}

std::string AnyFraction(int digits) { return "(\".\" " + Digits(1, digits) + ")?"; }

int64_t ToInt(const std::string& digits) { return std::stoll(digits); }

// Numbers low to high, 0 <= low <= high, with at most `digits` behind the point. "" when there are
// none.
std::string Magnitude(const NumberBound& low, const NumberBound& high, int digits) {
  const std::string &a = low.value.fraction, &b = high.value.fraction;
  int64_t first = ToInt(low.value.whole), last = ToInt(high.value.whole);
  int order = Compare(low.value, high.value);
  if (order > 0 || (order == 0 && (low.exclusive || high.exclusive))) return "";
  std::string first_digits = EbnfLiteral(low.value.whole);
  if (order == 0) return first_digits + (a.empty() ? "" : " \".\" " + EbnfLiteral(a));
  if (first == last) {
    std::string fraction = Between(low, high, 0, digits);
    bool may_end = a.empty() && !low.exclusive;
    if (fraction.empty()) return may_end ? first_digits : "";
    return first_digits + " (\".\" (" + fraction + "))" + (may_end ? "?" : "");
  }
  Choices choices;
  if (a.empty() && !low.exclusive) {
    choices.push_back(Then(first_digits, AnyFraction(digits)));
  } else {
    std::string fraction = AtLeast(a, low.exclusive, digits);
    if (!fraction.empty()) choices.push_back(first_digits + " \".\" " + fraction);
  }
  if (first + 1 < last) choices.push_back(Then(Whole(first + 1, last - 1), AnyFraction(digits)));
  if (!b.empty()) {
    std::string fraction = AtMost(b, high.exclusive, digits);
    choices.push_back(EbnfLiteral(high.value.whole) +
                      (fraction.empty() ? "" : " (\".\" " + fraction + ")?"));
  } else if (!high.exclusive) {
    choices.push_back(EbnfLiteral(high.value.whole));
  }
  return Join(choices);
}

NumberBound Negated(NumberBound bound) {
  bound.value.negative = !bound.value.negative;
  return bound;
}

// Bounds beyond the digits that are written would otherwise leave nothing.
int64_t Limit(const NumberRange& range) {
  size_t digits = kMaxWholeDigits;
  for (const auto& bound : {range.min, range.max}) {
    if (bound) digits = std::max(digits, bound->value.whole.size());
  }
  return PowerOfTen(static_cast<int>(std::min<size_t>(digits, 18))) - 1;
}

// Behind the point: as many as make 15 digits with those of the bounds, so that a reader's rounding
// carries no number over a bound.
int FractionDigits(const NumberRange& range) {
  int whole = 0;
  for (const auto& bound : {range.min, range.max}) {
    if (bound) whole = std::max(whole, static_cast<int>(bound->value.whole.size()));
  }
  return std::clamp(kMaxFractionDigits - whole, 1, kMaxFractionDigits);
}

Status CheckDigits(const NumberRange& range) {
  for (const auto& bound : {range.min, range.max}) {
    if (bound && (bound->value.whole.size() > 18 || bound->value.fraction.size() > 30)) {
      return Unsupported("a bound has more digits than are written");
    }
  }
  return Status();
}

int64_t Signed(const Decimal& value) {
  return value.negative ? -ToInt(value.whole) : ToInt(value.whole);
}

// The least integer that is within the lower bound.
int64_t Ceiling(const NumberBound& bound) {
  bool is_whole = bound.value.fraction.empty();
  if (is_whole) return Signed(bound.value) + bound.exclusive;
  return Signed(bound.value) + !bound.value.negative;
}

// Integers from `low` to `high` that end in digits which make them multiples.
Result<std::string> Multiples(int64_t of, int64_t low, int64_t high, bool is_bounded) {
  constexpr int64_t kMaxWritten = 4000;
  int64_t first = low / of - (low % of < 0), last = high / of - (high % of < 0);
  if (first * of < low) ++first;
  if (last - first < kMaxWritten) {
    Choices choices;
    for (int64_t i = first; i <= last; ++i) choices.push_back(EbnfLiteral(std::to_string(i * of)));
    return Join(choices);
  }
  int digits = 1;
  while (digits < 6 && PowerOfTen(digits) % of != 0) ++digits;
  int64_t period = PowerOfTen(digits);
  if (is_bounded || period % of != 0 || period / of > kMaxWritten) {
    return Unsupported("multiples of " + std::to_string(of) +
                       " need bounds with at most 4000 of them, or must divide a power of ten");
  }
  Choices small, ends;
  for (int64_t i = 0; i < period; i += of) {
    std::string text = std::to_string(i);
    small.push_back(EbnfLiteral(text));
    ends.push_back(EbnfLiteral(std::string(static_cast<size_t>(digits) - text.size(), '0') + text));
  }
  std::string rest = Digits(0, kMaxWholeDigits - digits - 1);
  return "\"-\"? (" + Join(small) + " | [1-9] " + rest + " " + Join(ends) + ")";
}

}  // namespace

Result<Decimal> ToDecimal(const Json& value) {
  char buffer[512];
  char* end;
  if (value.is_int()) {
    end = std::to_chars(buffer, buffer + sizeof(buffer), value.as_int()).ptr;
  } else {
    auto made =
        std::to_chars(buffer, buffer + sizeof(buffer), value.as_double(), std::chars_format::fixed);
    if (made.ec != std::errc()) return Unsupported("the number has too many digits");
    end = made.ptr;
  }
  std::string text(buffer, end);
  Decimal out;
  out.negative = text[0] == '-';
  if (out.negative) text.erase(0, 1);
  size_t point = text.find('.');
  out.whole = text.substr(0, point);
  if (point != std::string::npos) out.fraction = text.substr(point + 1);
  while (!out.fraction.empty() && out.fraction.back() == '0') out.fraction.pop_back();
  if (out.is_zero()) out.negative = false;
  return out;
}

int Compare(const Decimal& a, const Decimal& b) {
  auto sign = [](int order) { return order < 0 ? -1 : order > 0 ? 1 : 0; };
  if (a.negative != b.negative) return a.negative ? -1 : 1;
  int order = a.whole.size() != b.whole.size() ? (a.whole.size() < b.whole.size() ? -1 : 1)
                                               : sign(a.whole.compare(b.whole));
  if (order == 0) order = sign(a.fraction.compare(b.fraction));
  return a.negative ? -order : order;
}

Result<std::string> IntegerEbnf(const NumberRange& range) {
  MLC_RETURN_IF_ERROR(CheckDigits(range));
  int64_t limit = Limit(range), low = -limit, high = limit;
  if (range.min) low = std::max(low, Ceiling(*range.min));
  if (range.max) high = std::min(high, -Ceiling(Negated(*range.max)));
  if (low > high) return std::string();
  if (range.multiple_of > 1) {
    return Multiples(range.multiple_of, low, high, range.min || range.max);
  }
  Choices choices;
  if (low < 0) choices.push_back("\"-\" " + Whole(std::max<int64_t>(1, -high), -low));
  if (high >= 0) choices.push_back(Whole(std::max<int64_t>(0, low), high));
  return Join(choices);
}

Result<std::string> NumberEbnf(const NumberRange& range) {
  MLC_RETURN_IF_ERROR(CheckDigits(range));
  int digits = FractionDigits(range);
  NumberBound limit;
  limit.value.whole = std::to_string(Limit(range));
  NumberBound low = range.min.value_or(Negated(limit)), high = range.max.value_or(limit);
  NumberBound zero, above_zero;
  above_zero.exclusive = true;
  Choices choices;
  if (low.value.negative) {
    NumberBound least = high.value.negative ? Negated(high) : above_zero;
    std::string magnitude = Magnitude(least, Negated(low), digits);
    if (!magnitude.empty()) choices.push_back("\"-\" " + magnitude);
  }
  if (!high.value.negative) {
    std::string magnitude = Magnitude(low.value.negative ? zero : low, high, digits);
    if (!magnitude.empty()) choices.push_back(magnitude);
  }
  return Join(choices);
}

}  // namespace mlc
