#include "grammar/text/decimal.h"

#include <algorithm>

#include "base/float_text.h"

namespace mlc {
namespace {

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

}  // namespace

Decimal Nudged(const Decimal& value, int places, int by) {
  std::string fraction = value.fraction.substr(0, static_cast<size_t>(places));
  fraction.append(static_cast<size_t>(places) - fraction.size(), '0');
  std::string digits = "0" + value.whole + fraction;
  if (by < 0 && digits.find_first_not_of('0') == std::string::npos) return Decimal();
  char full = by > 0 ? '9' : '0', fresh = by > 0 ? '0' : '9';
  size_t at = digits.size();
  while (by != 0 && digits[--at] == full) digits[at] = fresh;
  if (by != 0) digits[at] = static_cast<char>(digits[at] + by);
  Decimal out = FromDigits(digits, value.whole.size() + 1);
  out.negative = value.negative && !out.is_zero();
  return out;
}

int ExponentOf(const Decimal& value) {
  if (value.whole != "0") return static_cast<int>(value.whole.size()) - 1;
  return -static_cast<int>(value.fraction.find_first_not_of('0')) - 1;
}

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

Result<Decimal> ToDecimal(const Json& value) {
  std::string text = value.is_int() ? std::to_string(value.as_int())
                                    : FloatText(value.as_double(), FloatFormat::kFixed);
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

}  // namespace mlc
