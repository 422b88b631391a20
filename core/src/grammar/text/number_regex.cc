#include "grammar/text/number_regex.h"

#include <algorithm>
#include <vector>

namespace mlc {
namespace {

using Choices = std::vector<std::string>;

// As many digits as the largest 64-bit integer has. Readers that keep fewer round what is longer.
constexpr int64_t kLargest = 8999999999999999999;
constexpr int kMaxIntegerDigits = 19;
constexpr int kMaxFractionDigits =
    20;  // 0.0001 and 16 digits more; what is smaller has an exponent
// Ten to the power of more or less would not be read exactly.
constexpr int kMaxExponent = 289;

std::string Join(const Choices& choices) {
  if (choices.empty()) return "";
  std::string out = "(";
  for (size_t i = 0; i < choices.size(); ++i) out += (i > 0 ? "|" : "") + choices[i];
  return out + ")";
}

std::string Digit(char first, char last) {
  if (first == last) return std::string(1, first);
  return "[" + std::string(1, first) + "-" + std::string(1, last) + "]";
}

std::string Digits(int64_t min, int64_t max) {
  if (max <= 0) return "";
  return "[0-9]{" + std::to_string(min) + "," + std::to_string(max) + "}";
}

bool IsAll(const std::string& digits, char digit) {
  return digits.find_first_not_of(digit) == std::string::npos;
}

// Numerals of the length that both bounds have.
std::string SameLength(const std::string& low, const std::string& high) {
  if (low.empty()) return "";
  int64_t rest = static_cast<int64_t>(low.size()) - 1;
  std::string low_rest = low.substr(1), high_rest = high.substr(1);
  if (low[0] == high[0]) return Digit(low[0], low[0]) + SameLength(low_rest, high_rest);
  char first = low[0], last = high[0];
  Choices choices;
  if (!IsAll(low_rest, '0')) {
    std::string nines(low_rest.size(), '9');
    choices.push_back(Digit(first, first) + SameLength(low_rest, nines));
    ++first;
  }
  bool has_high = !IsAll(high_rest, '9');
  if (has_high) --last;
  if (first <= last) choices.push_back(Digit(first, last) + Digits(rest, rest));
  if (has_high) {
    std::string zeros(high_rest.size(), '0');
    choices.push_back(Digit(high[0], high[0]) + SameLength(zeros, high_rest));
  }
  return Join(choices);
}

int64_t PowerOfTen(int digits) {
  int64_t power = 1;
  while (digits-- > 0) power *= 10;
  return power;
}

// The largest integer of so many digits that is written.
int64_t Nines(int digits) {
  return digits >= kMaxIntegerDigits ? kLargest : PowerOfTen(digits) - 1;
}

// The integers low to high, 0 <= low, high <= kLargest.
std::string Whole(int64_t low, int64_t high) {
  Choices choices;
  if (low > high) return "";
  if (low == 0) choices.push_back("0");
  low = std::max<int64_t>(low, 1);
  while (low <= high) {
    int digits = static_cast<int>(std::to_string(low).size());
    int64_t end = std::min(high, Nines(digits));
    bool is_all =
        digits < kMaxIntegerDigits && low == PowerOfTen(digits - 1) && end == Nines(digits);
    if (is_all) {
      int last = digits;  // whole lengths go together
      while (last + 1 < kMaxIntegerDigits && high >= Nines(last + 1)) ++last;
      choices.push_back("[1-9]" + Digits(digits - 1, last - 1));
      end = Nines(last);
    } else {
      choices.push_back(SameLength(std::to_string(low), std::to_string(end)));
    }
    if (end == kLargest) break;
    low = end + 1;
  }
  return Join(choices);
}

// In the next functions `bound` is the rest of a bound's fraction after equal digits, and `left` is
// the number of digits that may still be written. "" means that no digits are possible. If digits
// are optional, the expression is "(...)?".

// Digits that make the fraction at least the bound, which is not all 0.
std::string AtLeast(const std::string& bound, int left) {
  Choices choices;
  if (bound[0] < '9') {
    choices.push_back(Digit(static_cast<char>(bound[0] + 1), '9') + Digits(0, left - 1));
  }
  std::string rest = bound.substr(1);
  choices.push_back(Digit(bound[0], bound[0]) +
                    (rest.empty() ? Digits(0, left - 1) : AtLeast(rest, left - 1)));
  return Join(choices);
}

// At most the bound, with at least one digit.
std::string AtMost(const std::string& bound, int left) {
  if (bound.empty()) return left <= 0 ? "" : "0{1," + std::to_string(std::min(left, 3)) + "}";
  Choices choices;
  if (bound[0] > '0') {
    choices.push_back(Digit('0', static_cast<char>(bound[0] - 1)) + Digits(0, left - 1));
  }
  std::string rest = AtMost(bound.substr(1), left - 1);
  choices.push_back(Digit(bound[0], bound[0]) + (rest.empty() ? "" : "(" + rest + ")?"));
  return Join(choices);
}

// Digits between two bounds, low < high; the fraction may not be left out.
std::string Between(const std::string& low, const std::string& high, int left) {
  if (low.empty()) return AtMost(high, left);
  std::string low_rest = low.substr(1), high_rest = high.substr(1);
  if (low[0] == high[0]) {
    std::string rest = Between(low_rest, high_rest, left - 1);
    return Digit(low[0], low[0]) + (low_rest.empty() ? "(" + rest + ")?" : rest);
  }
  Choices choices;
  choices.push_back(Digit(low[0], low[0]) +
                    (low_rest.empty() ? Digits(0, left - 1) : AtLeast(low_rest, left - 1)));
  if (low[0] + 1 < high[0]) {
    choices.push_back(Digit(static_cast<char>(low[0] + 1), static_cast<char>(high[0] - 1)) +
                      Digits(0, left - 1));
  }
  std::string rest = AtMost(high_rest, left - 1);
  choices.push_back(Digit(high[0], high[0]) + (rest.empty() ? "" : "(" + rest + ")?"));
  return Join(choices);
}

std::string AnyFraction() { return "(\\." + Digits(1, kMaxFractionDigits) + ")?"; }

int64_t ToInt(const std::string& digits) {
  bool is_beyond = digits.size() > kMaxIntegerDigits ||
                   (digits.size() == kMaxIntegerDigits && digits > std::to_string(kLargest));
  return is_beyond ? kLargest : std::stoll(digits);
}

// Digits behind the point where a bound has some, too.
constexpr int kMaxBoundDigits = 30, kFractionLeft = kMaxBoundDigits + 2;

// Numbers low to high, 0 <= low <= high. "" when there are none.
std::string Magnitude(const Decimal& low, const Decimal& high) {
  const std::string &a = low.fraction, &b = high.fraction;
  int64_t first = ToInt(low.whole), last = ToInt(high.whole);
  int order = Compare(low, high);
  if (order > 0) return "";
  if (order == 0) return low.whole + (a.empty() ? "(\\.0{1,3})?" : "\\." + a + "0{0,3}");
  if (first == last) {
    std::string fraction = Between(a, b, kFractionLeft);
    return low.whole + "(\\.(" + fraction + "))" + (a.empty() ? "?" : "");
  }
  Choices choices;
  choices.push_back(low.whole + (a.empty() ? AnyFraction() : "\\." + AtLeast(a, kFractionLeft)));
  if (first + 1 < last) choices.push_back(Whole(first + 1, last - 1) + AnyFraction());
  choices.push_back(std::to_string(last) + "(\\.(" + AtMost(b, kFractionLeft) + "))?");
  return Join(choices);
}

// ---- Bounds -----------------------------------------------------------------------------------

// A bound that is inside the range and has few enough digits. It is moved inwards, so that a number
// stays within the bound even after a reader rounds it.
Decimal Inclusive(const NumberBound& bound, bool is_lower) {
  constexpr int kReadDigits = 15;
  const Decimal& value = bound.value;
  bool outwards_is_more = value.negative == is_lower;  // of the magnitude
  constexpr int64_t kMostExact = int64_t{1} << 53;     // integers that a double holds
  if (bound.exclusive && value.whole.size() > kReadDigits &&
      (value.whole.size() > kReadDigits + 1 || ToInt(value.whole) > kMostExact)) {
    // the digits that are not read stand behind a point for a while
    NumberBound scaled{{value.negative, value.whole.substr(0, kReadDigits),
                        value.whole.substr(kReadDigits) + value.fraction},
                       true};
    std::string& rest = scaled.value.fraction;
    rest.erase(rest.find_last_not_of('0') + 1);
    Decimal moved = Inclusive(scaled, is_lower);
    moved.whole.append(value.whole.size() - kReadDigits, '0');
    return moved;
  }
  if (bound.exclusive) {
    bool is_small = value.whole == "0";
    int places = is_small ? kReadDigits : kReadDigits - static_cast<int>(value.whole.size());
    if (value.is_zero()) places = kMaxFractionDigits;
    bool shrinks = outwards_is_more && !value.is_zero();
    Decimal moved = Nudged(value, std::max(places, 0), shrinks ? -1 : 1);
    if (value.is_zero()) moved.negative = !is_lower;
    bool was_cut = value.fraction.size() > static_cast<size_t>(std::max(places, 0));
    if (was_cut && !outwards_is_more) return Nudged(moved, std::max(places, 0), 1);
    return moved;
  }
  if (value.fraction.size() <= kMaxBoundDigits) return value;
  return Nudged(value, kMaxBoundDigits, outwards_is_more ? 0 : 1);
}

struct Bounds {
  Decimal low, high;  // of magnitudes, low <= high
};

// The magnitudes of the numbers above (or below) zero that are within the range.
std::optional<Bounds> Side(const NumberRange& range, bool is_negative) {
  const std::optional<NumberBound>& towards_zero = is_negative ? range.max : range.min;
  const std::optional<NumberBound>& away = is_negative ? range.min : range.max;
  Bounds bounds{Decimal(), OfWhole(kLargest)};
  if (towards_zero) {
    Decimal value = Inclusive(*towards_zero, !is_negative);
    if (value.negative == is_negative) bounds.low = value;
  }
  if (away) {
    Decimal value = Inclusive(*away, is_negative);
    if (value.negative != is_negative && !(value.is_zero() && !is_negative)) return std::nullopt;
    bounds.high = value;
  }
  bounds.low.negative = bounds.high.negative = false;
  if (Compare(bounds.low, bounds.high) > 0) return std::nullopt;
  return bounds;
}

Status CheckBounds(const NumberRange& range) {
  auto is_beyond = [](const std::optional<NumberBound>& bound, bool is_negative) {
    return bound && bound->value.negative == is_negative &&
           bound->value.whole.size() >= kMaxIntegerDigits;
  };
  if (!is_beyond(range.min, false) && !is_beyond(range.max, true)) return Status();
  return Unsupported("the bound has more digits than are written");
}

// ---- Exponents --------------------------------------------------------------------------------

std::string ExponentRange(int first, int last) {
  first = std::max(first, -kMaxExponent);
  last = std::min(last, kMaxExponent);
  Choices choices;
  if (last >= 0 && first <= last) choices.push_back("\\+?0?" + Whole(std::max(first, 0), last));
  if (first < 0 && first <= last) choices.push_back("-0?" + Whole(std::max(1, -last), -first));
  return choices.empty() ? "" : "[eE]" + Join(choices);
}

// Numerals of one digit, a fraction and an exponent.
std::string WithExponents(const Bounds& bounds, bool has_end) {
  constexpr int kNone = 1000, kDigits = 16;
  const Decimal one = OfWhole(1), most = {false, "9", std::string(kDigits, '9')};
  bool is_zero = bounds.low.is_zero();
  int low = is_zero ? -kNone : ExponentOf(bounds.low);
  int high = has_end ? ExponentOf(bounds.high) : kNone;
  Decimal least = is_zero ? one : MantissaOf(bounds.low);
  Choices choices;
  auto add = [&choices](const std::string& mantissa, int first, int last) {
    std::string exponent = ExponentRange(first, last);
    if (!mantissa.empty() && !exponent.empty()) choices.push_back(mantissa + exponent);
  };
  if (low < high && !is_zero) add(Magnitude(least, most), low, low);
  add("[1-9](\\.[0-9]{1,17})?", low + 1, high - 1);
  Decimal last = Nudged(MantissaOf(bounds.high), kDigits, 0);
  if (has_end) add(Magnitude(low == high ? least : one, last), high, high);
  return Join(choices);
}

std::string SideRegex(const Bounds& bounds, bool has_end) {
  Choices choices = {Magnitude(bounds.low, bounds.high)};
  if (!bounds.high.is_zero()) {
    std::string with_exponents = WithExponents(bounds, has_end);
    if (!with_exponents.empty()) choices.push_back(with_exponents);
  }
  return Join(choices);
}

// The integers of a side, `low` rounded up and `high` down.
std::string WholeSide(const Bounds& bounds) {
  int64_t low = ToInt(bounds.low.whole) + !bounds.low.fraction.empty();
  return Whole(low, ToInt(bounds.high.whole));
}

// Integers need no care for rounding: an excluded bound is one away.
NumberRange ForIntegers(NumberRange range) {
  for (auto* bound : {&range.min, &range.max}) {
    if (!*bound || !(*bound)->exclusive) continue;
    Decimal& value = (*bound)->value;
    bool is_lower = bound == &range.min;
    (*bound)->exclusive = false;
    if (!value.fraction.empty()) continue;
    bool grows = value.is_zero() || value.negative != is_lower;
    bool negative = value.is_zero() ? !is_lower : value.negative;
    value.negative = false;
    value = Nudged(value, 0, grows ? 1 : -1);
    value.negative = negative && !value.is_zero();
  }
  return range;
}

}  // namespace

Result<std::string> IntegerRegex(const NumberRange& stated) {
  NumberRange range = ForIntegers(stated);
  MLC_RETURN_IF_ERROR(CheckBounds(range));
  Choices choices;
  if (std::optional<Bounds> below = Side(range, true)) {
    if (below->low.is_zero()) below->low = OfWhole(1);
    std::string whole = WholeSide(*below);
    if (!whole.empty()) choices.push_back("-" + whole);
  }
  if (std::optional<Bounds> above = Side(range, false)) {
    std::string whole = WholeSide(*above);
    if (!whole.empty()) choices.push_back(whole);
  }
  return Join(choices);
}

Result<std::string> NumberRegex(const NumberRange& range) {
  MLC_RETURN_IF_ERROR(CheckBounds(range));
  Choices choices;
  if (std::optional<Bounds> below = Side(range, true)) {
    choices.push_back("-" + SideRegex(*below, range.min.has_value()));
  }
  if (std::optional<Bounds> above = Side(range, false)) {
    choices.push_back(SideRegex(*above, range.max.has_value()));
  }
  return Join(choices);
}

}  // namespace mlc
