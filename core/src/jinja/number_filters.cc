// Filters on numbers, and `default`.
#include <cmath>

#include "jinja/filters.h"
#include "jinja/text.h"

namespace mlc::jinja {

namespace {

using Bound = BoundArguments;

Result<Value> Abs(Runtime&, const Value& value, const Bound&) {
  if (value.is_float()) return Value(std::fabs(value.as_double()));
  if (!value.is_int())
    return InvalidArgument(std::string("bad operand type for abs(): '") + TypeName(value) + "'");
  if (value.as_int() < 0) return Negate(value, true);
  return Value(value.as_int());
}

Result<Value> Default(Runtime&, const Value& value, const Bound& arguments) {
  bool replace = value.is_undefined() || (arguments.truth(1) && !IsTrue(value));
  if (!replace) return value;
  return arguments.has(0) ? arguments.at(0) : Value::String("");
}

// int(float(value)) of a number or a numeric text. Nothing if Python raises an error.
std::optional<Value> ViaFloat(double number) {
  if (!std::isfinite(number)) return std::nullopt;
  if (std::fabs(number) >= 9.2e18) return std::nullopt;
  return Value(static_cast<int64_t>(number));
}

Result<Value> Int(Runtime&, const Value& value, const Bound& arguments) {
  if (value.is_undefined()) return InvalidArgument(value.hint());
  Value fallback = arguments.has(0) ? arguments.at(0) : Value(0);
  if (value.is_int()) return Value(value.as_int());
  if (value.is_float()) return ViaFloat(value.as_double()).value_or(fallback);
  if (!value.is_string()) return fallback;
  MLC_ASSIGN_OR_RETURN(int64_t base, arguments.Int(1, 10));
  bool valid_base = base == 0 || (base >= 2 && base <= 36);
  std::optional<int64_t> whole;
  if (valid_base) whole = ParseInt(value.as_string(), static_cast<int>(base));
  if (whole) return Value(*whole);
  std::optional<double> number = ParseFloat(value.as_string());
  if (!number) return fallback;
  return ViaFloat(*number).value_or(fallback);
}

Result<Value> Float(Runtime&, const Value& value, const Bound& arguments) {
  if (value.is_undefined()) return InvalidArgument(value.hint());
  Value fallback = arguments.has(0) ? arguments.at(0) : Value(0.0);
  if (value.is_number()) return Value(value.as_double());
  if (!value.is_string()) return fallback;
  std::optional<double> number = ParseFloat(value.as_string());
  return number ? Value(*number) : fallback;
}

// Python's round(): half to even, using the exact decimal value of the double. printf prints that
// value when it has enough digits.
double RoundTo(double number, int64_t digits) {
  if (!std::isfinite(number) || digits > 300) return number;
  if (digits < -308) return std::copysign(0.0, number);
  if (digits == 0) return std::nearbyint(number);
  if (digits < 0) {
    double scale = std::pow(10.0, static_cast<double>(-digits));
    return std::nearbyint(number / scale) * scale;
  }
  char buffer[700];
  std::snprintf(buffer, sizeof(buffer), "%.*f", static_cast<int>(digits), number);
  return std::strtod(buffer, nullptr);
}

Result<Value> RoundInteger(const Value& value, int64_t digits) {
  if (digits >= 0) return Value(value.as_int());
  if (digits < -18) return Value(0);
  int64_t scale = 1;
  for (int64_t i = 0; i < -digits; ++i) scale *= 10;
  int64_t quotient = value.as_int() / scale, rest = value.as_int() % scale;
  int64_t twice = std::llabs(rest) - (scale - std::llabs(rest));
  bool away = twice > 0 || (twice == 0 && quotient % 2 != 0);
  int64_t step = away ? (value.as_int() < 0 ? -1 : 1) : 0;
  int64_t result = 0;
  if (__builtin_mul_overflow(quotient + step, scale, &result))
    return InvalidArgument("an integer is out of the 64-bit range");
  return Value(result);
}

Result<Value> Round(Runtime&, const Value& value, const Bound& arguments) {
  MLC_ASSIGN_OR_RETURN(int64_t digits, arguments.Int(0, 0));
  MLC_ASSIGN_OR_RETURN(std::string method, arguments.String(1, "common"));
  if (method != "common" && method != "ceil" && method != "floor")
    return InvalidArgument("method must be common, ceil or floor");
  if (!value.is_number())
    return InvalidArgument(std::string("round needs a number, not ") + TypeName(value));
  if (method == "common") {
    if (value.is_int()) return RoundInteger(value, digits);
    return Value(RoundTo(value.as_double(), digits));
  }
  if (digits > 300 || digits < -300) return InvalidArgument("too large a precision");
  double scale = std::pow(10.0, static_cast<double>(digits)), scaled = value.as_double() * scale;
  if (!std::isfinite(scaled)) return InvalidArgument("cannot round a number this large");
  return Value((method == "ceil" ? std::ceil(scaled) : std::floor(scaled)) / scale);
}

constexpr FilterSpec kNumberFilters[] = {
    {"abs", "", Abs, nullptr},
    {"d", "default_value? boolean?", Default, nullptr},
    {"default", "default_value? boolean?", Default, nullptr},
    {"float", "default?", Float, nullptr},
    {"int", "default? base?", Int, nullptr},
    {"round", "precision? method?", Round, nullptr},
};

}  // namespace

FilterTable NumberFilters() { return {kNumberFilters, std::size(kNumberFilters)}; }

}  // namespace mlc::jinja
