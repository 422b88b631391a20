#include "grammar/text/number_regex.h"

#include <algorithm>
#include <charconv>
#include <vector>

#include "grammar/text/work_budget.h"

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

// Below, `bound` is what is left of a bound's fraction when the digits so far are those of the
// bound, and `left` the digits that may still be written. "" says that nothing can be; where
// nothing need be, that is what an expression in "(...)?" says.

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

// ---- Decimals ---------------------------------------------------------------------------------

Decimal FromDigits(std::string digits, size_t point) {
  Decimal out;
  if (digits.size() < point) digits.append(point - digits.size(), '0');
  out.whole = digits.substr(0, point);
  out.fraction = digits.substr(point);
  out.whole.erase(0, std::min(out.whole.find_first_not_of('0'), out.whole.size()));
  if (out.whole.empty()) out.whole = "0";
  while (!out.fraction.empty() && out.fraction.back() == '0') out.fraction.pop_back();
  return out;
}

// The magnitude plus or minus one of the last of `places` digits behind the point, all others cut
// off. Not below 0.
Decimal Nudged(const Decimal& value, int places, int by) {
  std::string fraction = value.fraction.substr(0, static_cast<size_t>(places));
  fraction.append(static_cast<size_t>(places) - fraction.size(), '0');
  std::string digits = "0" + value.whole + fraction;
  if (by < 0 && IsAll(digits, '0')) return Decimal();
  char full = by > 0 ? '9' : '0', fresh = by > 0 ? '0' : '9';
  size_t at = digits.size();
  while (by != 0 && digits[--at] == full) digits[at] = fresh;
  if (by != 0) digits[at] = static_cast<char>(digits[at] + by);
  Decimal out = FromDigits(digits, value.whole.size() + 1);
  out.negative = value.negative && !out.is_zero();
  return out;
}

// The exponent of a decimal above 0, written with one digit before the point.
int ExponentOf(const Decimal& value) {
  if (value.whole != "0") return static_cast<int>(value.whole.size()) - 1;
  return -static_cast<int>(value.fraction.find_first_not_of('0')) - 1;
}

// With one digit before the point.
Decimal MantissaOf(const Decimal& value) {
  std::string digits = value.whole + value.fraction;
  digits.erase(0, digits.find_first_not_of('0'));
  return FromDigits(digits, 1);
}

Decimal OfWhole(int64_t whole) {
  Decimal out;
  out.whole = std::to_string(whole);
  return out;
}

// ---- Bounds -----------------------------------------------------------------------------------

// A bound that belongs to the range itself, with digits that are written: moved inwards, so far
// that no reader's rounding takes a number over the bound.
Decimal Inclusive(const NumberBound& bound, bool is_lower) {
  const Decimal& value = bound.value;
  bool outwards_is_more = value.negative == is_lower;  // of the magnitude
  if (bound.exclusive) {
    constexpr int kReadDigits = 15;
    bool is_small = value.whole == "0";
    int places = is_small ? kReadDigits : kReadDigits - static_cast<int>(value.whole.size());
    if (value.is_zero()) places = kMaxFractionDigits;
    Decimal moved = Nudged(value, std::max(places, 0), outwards_is_more ? -1 : 1);
    if (value.is_zero()) moved.negative = !is_lower;
    bool was_cut = value.fraction.size() > static_cast<size_t>(std::max(places, 0));
    if (was_cut && !outwards_is_more) return Nudged(moved, std::max(places, 0), 1);
    return moved;
  }
  if (value.fraction.size() <= kMaxBoundDigits) return value;
  return Nudged(value, kMaxBoundDigits, outwards_is_more ? 0 : 1);
}

// "" for all; a part of them for bounds beyond what is written.
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
    if (value.whole.size() < kMaxIntegerDigits) bounds.high = value;
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
  constexpr int kNone = 1000;
  const Decimal one = OfWhole(1), most = {false, "9", std::string(16, '9')};
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
  if (has_end) add(Magnitude(low == high ? least : one, MantissaOf(bounds.high)), high, high);
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

namespace {

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
    bool has_end = range.min && range.min->value.whole.size() < kMaxIntegerDigits;
    choices.push_back("-" + SideRegex(*below, has_end));
  }
  if (std::optional<Bounds> above = Side(range, false)) {
    bool has_end = range.max && range.max->value.whole.size() < kMaxIntegerDigits;
    choices.push_back(SideRegex(*above, has_end));
  }
  return Join(choices);
}

Result<Automaton> MultiplesOf(const Decimal& step) {
  constexpr int64_t kMostStates = 8000;
  int64_t places = static_cast<int64_t>(step.fraction.size());
  if (step.whole.size() + step.fraction.size() > 9) return Unsupported("it has too many digits");
  int64_t of = std::stoll(step.whole + step.fraction);
  if (of * (places + 2) > kMostStates)
    return Unsupported("telling its multiples takes too many rules");
  constexpr int64_t kWorkOfOne = 20;  // of a state: an edge for each digit
  if (!WorkBudget::Spend(kWorkOfOne * of * (places + 2))) return WorkBudget::Error();
  // States: nothing yet, a sign, a single 0, nothing more fits, zeros behind the digits; then for
  // each number of digits behind the point (0: before it) and each remainder.
  enum { kStart, kSign, kZero, kDead, kEnd0, kFixed = kEnd0 + 4 };
  int64_t point_base = kFixed + of;  // behind the point, no digit yet
  auto state_of = [&](int64_t digits, int64_t rest) {
    return static_cast<int>(digits == 0 ? kFixed + rest : point_base + digits * of + rest);
  };
  auto point_of = [&](int64_t rest) { return static_cast<int>(point_base + rest); };
  std::vector<Automaton::State> states(static_cast<size_t>(point_base + (places + 1) * of));
  auto padded = [&](int64_t digits, int64_t rest) {  // the remainder with all digits
    for (; digits < places; ++digits) rest = rest * 10 % of;
    return rest;
  };
  // From a state: where '-', '.' and the digits lead.
  auto set = [&](int state, bool accepts, int minus, int point, auto digit) {
    std::vector<Automaton::Edge> edges = {{0, kDead}, {'-', minus}, {'.', point}, {'/', kDead}};
    for (char32_t c = '0'; c <= '9'; ++c)
      edges.push_back({c, digit(static_cast<int64_t>(c - '0'))});
    edges.push_back({'9' + 1, kDead});
    states[static_cast<size_t>(state)] = {accepts, std::move(edges)};
  };
  auto none = [](int64_t) { return static_cast<int>(kDead); };
  auto first = [&](int64_t d) { return d == 0 ? static_cast<int>(kZero) : state_of(0, d % of); };
  set(kStart, false, kSign, kDead, first);
  set(kSign, false, kDead, kDead, first);
  set(kZero, true, kDead, point_of(0), none);
  set(kDead, false, kDead, kDead, none);
  for (int i = 0; i < 4; ++i) {  // the point itself where no digit may follow, then zeros
    bool is_last = i == 3;
    set(kEnd0 + i, i > 0, kDead, kDead, [&](int64_t d) {
      return d == 0 && !is_last ? static_cast<int>(kEnd0) + i + 1 : static_cast<int>(kDead);
    });
  }
  for (int64_t rest = 0; rest < of; ++rest) {
    bool fits = padded(0, rest) == 0;
    set(state_of(0, rest), fits, kDead, point_of(rest),
        [&](int64_t d) { return state_of(0, (rest * 10 + d) % of); });
    auto next = [&, rest](int64_t digits) {
      return [&, rest, digits](int64_t d) { return state_of(digits + 1, (rest * 10 + d) % of); };
    };
    auto zeros = [&, rest](int64_t d) {
      return d == 0 && rest == 0 ? static_cast<int>(kEnd0) + 1 : static_cast<int>(kDead);
    };
    if (places == 0) {
      set(point_of(rest), false, kDead, kDead, zeros);
      continue;
    }
    set(point_of(rest), false, kDead, kDead, next(0));
    for (int64_t digits = 1; digits <= places; ++digits) {
      bool is_multiple = padded(digits, rest) == 0;
      if (digits == places) {
        set(state_of(digits, rest), is_multiple, kDead, kDead, zeros);
      } else {
        set(state_of(digits, rest), is_multiple, kDead, kDead, next(digits));
      }
    }
  }
  return Automaton(std::move(states));
}

}  // namespace mlc
