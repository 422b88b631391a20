// Arithmetic, comparison and membership, as Python defines them for the types of templates.
#include <algorithm>
#include <cmath>
#include <limits>

#include "jinja/runtime.h"
#include "jinja/text.h"

namespace mlc::jinja {

namespace {

Status TypeError(const std::string& op, const Value& a, const Value& b) {
  if (a.is_undefined()) return InvalidArgument(a.hint());
  if (b.is_undefined()) return InvalidArgument(b.hint());
  return InvalidArgument("unsupported operand types for " + op + ": '" + TypeName(a) + "' and '" +
                         TypeName(b) + "'");
}

Status Overflow() { return InvalidArgument("an integer is out of the 64-bit range"); }

Result<Value> IntegerPower(int64_t base, int64_t exponent) {
  if (exponent < 0) {
    if (base == 0) return InvalidArgument("0 cannot be raised to a negative power");
    return Value(std::pow(static_cast<double>(base), static_cast<double>(exponent)));
  }
  int64_t result = 1;
  while (exponent > 0) {
    if ((exponent & 1) && __builtin_mul_overflow(result, base, &result)) return Overflow();
    exponent >>= 1;
    if (exponent > 0 && __builtin_mul_overflow(base, base, &base)) return Overflow();
  }
  return Value(result);
}

Result<Value> IntegerDivision(const std::string& op, int64_t a, int64_t b) {
  if (b == 0) return InvalidArgument("division by zero");
  if (op == "/") return Value(static_cast<double>(a) / static_cast<double>(b));
  if (b == -1) {  // the CPU traps for INT64_MIN / -1
    if (op == "%") return Value(0);
    if (a == std::numeric_limits<int64_t>::min()) return Overflow();
    return Value(-a);
  }
  int64_t quotient = a / b, remainder = a % b;
  bool adjust = remainder != 0 && (remainder < 0) != (b < 0);  // Python rounds down
  if (op == "%") return Value(adjust ? remainder + b : remainder);
  return Value(adjust ? quotient - 1 : quotient);
}

Result<Value> IntegerOperation(const std::string& op, int64_t a, int64_t b) {
  int64_t result = 0;
  bool overflow = false;
  if (op == "+") {
    overflow = __builtin_add_overflow(a, b, &result);
  } else if (op == "-") {
    overflow = __builtin_sub_overflow(a, b, &result);
  } else if (op == "*") {
    overflow = __builtin_mul_overflow(a, b, &result);
  } else if (op == "**") {
    return IntegerPower(a, b);
  } else {
    return IntegerDivision(op, a, b);
  }
  if (overflow) return Overflow();
  return Value(result);
}

// CPython's float_divmod: the quotient is rounded so that it agrees with the remainder.
void FloatDivision(double a, double b, double* quotient, double* remainder) {
  double mod = std::fmod(a, b), div = (a - mod) / b;
  if (mod != 0) {
    if ((b < 0) != (mod < 0)) {
      mod += b;
      div -= 1.0;
    }
  } else {
    mod = std::copysign(0.0, b);
  }
  *remainder = mod;
  *quotient = std::floor(div);
  if (div != 0) {
    if (div - *quotient > 0.5) *quotient += 1.0;
  } else {
    *quotient = std::copysign(0.0, a / b);
  }
}

Result<Value> FloatPower(double a, double b) {
  if (a == 0 && b < 0) return InvalidArgument("0.0 cannot be raised to a negative power");
  if (a < 0 && std::isfinite(a) && std::isfinite(b) && std::floor(b) != b)
    return InvalidArgument("a power of a negative number is complex");
  double result = std::pow(a, b);
  if (std::isinf(result) && std::isfinite(a) && std::isfinite(b))
    return InvalidArgument("a power is out of range");
  return Value(result);
}

Result<Value> FloatOperation(const std::string& op, double a, double b) {
  if (op == "+") return Value(a + b);
  if (op == "-") return Value(a - b);
  if (op == "*") return Value(a * b);
  if (op == "**") return FloatPower(a, b);
  if (b == 0) return InvalidArgument("division by zero");
  if (op == "/") return Value(a / b);
  double quotient = 0, remainder = 0;
  FloatDivision(a, b, &quotient, &remainder);
  return Value(op == "%" ? remainder : quotient);
}

Result<Value> Add(Runtime& runtime, const Value& a, const Value& b) {
  if (a.is_string() && b.is_string()) {
    bool markup = a.text().markup || b.text().markup;
    auto part = [&](const Value& value) {
      return markup && !value.text().markup ? EscapeHtml(value.as_string()) : value.as_string();
    };
    return runtime.Text(markup ? part(a) + part(b) : a.as_string() + b.as_string(), markup);
  }
  if ((a.is_list() && b.is_list()) || (a.is_tuple() && b.is_tuple())) {
    Items items = a.sequence().items;
    items.insert(items.end(), b.sequence().items.begin(), b.sequence().items.end());
    return runtime.Make(a.is_list() ? Sequence::Kind::kList : Sequence::Kind::kTuple,
                        std::move(items));
  }
  return TypeError("+", a, b);
}

Result<Value> Repeat(Runtime& runtime, const Value& value, int64_t count) {
  count = std::max<int64_t>(count, 0);
  if (value.is_string()) {
    const std::string& unit = value.as_string();
    if (!unit.empty() && count > static_cast<int64_t>(kMaxTextBytes / unit.size()))
      return InvalidArgument("a string is too long");
    std::string out;
    for (int64_t i = 0; i < count && !unit.empty(); ++i) out += unit;
    return runtime.Text(std::move(out), value.text().markup);
  }
  const Items& unit = value.sequence().items;
  constexpr int64_t kMaxItems = 4'000'000;
  if (!unit.empty() && count > kMaxItems / static_cast<int64_t>(unit.size()))
    return InvalidArgument("a list is too long");
  Items items;
  for (int64_t i = 0; i < count && !unit.empty(); ++i)
    items.insert(items.end(), unit.begin(), unit.end());
  return runtime.Make(value.is_list() ? Sequence::Kind::kList : Sequence::Kind::kTuple,
                      std::move(items));
}

bool Repeatable(const Value& value) {
  return value.is_string() || value.is_list() || value.is_tuple();
}

Result<Value> Percent(Runtime& runtime, const Value& a, const Value& b) {
  MLC_ASSIGN_OR_RETURN(std::string text, PercentFormat(runtime, a.as_string(), b));
  return runtime.Text(std::move(text), a.text().markup);
}

}  // namespace

Result<Value> BinaryOperation(Runtime& runtime, const std::string& op, const Value& a,
                              const Value& b) {
  if (a.is_number() && b.is_number()) {
    if (a.is_int() && b.is_int()) return IntegerOperation(op, a.as_int(), b.as_int());
    return FloatOperation(op, a.as_double(), b.as_double());
  }
  if (op == "%" && a.is_string()) return Percent(runtime, a, b);
  if (op == "+") return Add(runtime, a, b);
  if (op == "*" && Repeatable(a) && b.is_int()) return Repeat(runtime, a, b.as_int());
  if (op == "*" && a.is_int() && Repeatable(b)) return Repeat(runtime, b, a.as_int());
  return TypeError(op, a, b);
}

Result<Value> Negate(const Value& value, bool minus) {
  if (value.is_undefined()) return InvalidArgument(value.hint());
  if (value.is_float()) return Value(minus ? -value.as_double() : value.as_double());
  if (!value.is_int())
    return InvalidArgument(std::string("bad operand type for unary sign: '") + TypeName(value) +
                           "'");
  int64_t number = value.as_int();
  if (minus && number == std::numeric_limits<int64_t>::min()) return Overflow();
  return Value(minus ? -number : number);
}

namespace {

bool Ordered(const Value& a, const Value& b) {
  return (a.is_number() && b.is_number()) || (a.is_string() && b.is_string()) ||
         (a.is_list() && b.is_list()) || (a.is_tuple() && b.is_tuple());
}

Result<bool> NotOrdered(const Value& a, const Value& b) { return TypeError("comparison", a, b); }

Result<bool> LessItems(const Items& a, const Items& b);

Result<bool> Less(const Value& a, const Value& b) {
  if (!Ordered(a, b)) return NotOrdered(a, b);
  if (a.is_int() && b.is_int()) return a.as_int() < b.as_int();
  if (a.is_number()) return a.as_double() < b.as_double();
  // The byte order of UTF-8 is the order of the code points.
  if (a.is_string()) return a.as_string() < b.as_string();
  return LessItems(a.sequence().items, b.sequence().items);
}

Result<bool> LessItems(const Items& a, const Items& b) {
  size_t shared = std::min(a.size(), b.size()), i = 0;
  while (i < shared && (a[i].Same(b[i]) || Equals(a[i], b[i]))) ++i;
  if (i == shared) return a.size() < b.size();
  return Less(a[i], b[i]);
}

// An ordering compares each level of nested lists once more than the level above.
size_t OrderingCost(const Value& a, const Value& b) {
  size_t weight = std::min(a.weight(), b.weight());
  size_t levels = static_cast<size_t>(1 + std::min(a.depth(), b.depth()));
  return weight > std::numeric_limits<size_t>::max() / levels ? weight : weight * levels;
}

}  // namespace

Result<bool> LessThan(Runtime& runtime, const Value& a, const Value& b) {
  MLC_RETURN_IF_ERROR(runtime.Charge(OrderingCost(a, b)));
  return Less(a, b);
}

Result<bool> CompareOperation(Runtime& runtime, const std::string& op, const Value& a,
                              const Value& b) {
  if (op == "in") return Contains(runtime, b, a);
  if (op == "not in") {
    MLC_ASSIGN_OR_RETURN(bool contains, Contains(runtime, b, a));
    return !contains;
  }
  MLC_RETURN_IF_ERROR(runtime.Charge(OrderingCost(a, b)));
  if (op == "==") return Equals(a, b);
  if (op == "!=") return !Equals(a, b);
  if (a.is_number() && b.is_number() && (std::isnan(a.as_double()) || std::isnan(b.as_double())))
    return false;
  if (op == "<") return Less(a, b);
  if (op == ">") return Less(b, a);
  MLC_ASSIGN_OR_RETURN(bool reversed, op == "<=" ? Less(b, a) : Less(a, b));
  return !reversed;
}

Result<bool> Contains(Runtime& runtime, const Value& container, const Value& item) {
  if (container.is_string()) {
    if (!item.is_string())
      return InvalidArgument(std::string("'in <string>' requires string as left operand, not ") +
                             TypeName(item));
    MLC_RETURN_IF_ERROR(runtime.ChargeSearch(container.as_string(), item.as_string()));
    return container.as_string().find(item.as_string()) != std::string::npos;
  }
  if (container.is_dict()) {
    if (!item.hashable())
      return InvalidArgument(std::string("unhashable type: '") + TypeName(item) + "'");
    if (item.is_tuple()) MLC_RETURN_IF_ERROR(runtime.Charge(item.weight()));
    return container.dict().Find(item) != nullptr;
  }
  MLC_ASSIGN_OR_RETURN(Items items, Iterate(runtime, container));
  for (const Value& candidate : items) {
    MLC_RETURN_IF_ERROR(runtime.Charge(std::min(candidate.weight(), item.weight())));
    if (Equals(candidate, item)) return true;
  }
  return false;
}

}  // namespace mlc::jinja
