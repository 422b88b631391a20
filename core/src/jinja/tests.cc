// The tests after `is`.
#include "jinja/filters.h"

namespace mlc::jinja {

namespace {

template <bool (Value::*kIs)() const>
Result<bool> Is(Runtime&, const Value& value, const Items&) {
  return (value.*kIs)();
}

Result<bool> IsDefined(Runtime&, const Value& value, const Items&) { return !value.is_undefined(); }
Result<bool> IsTrueTest(Runtime&, const Value& value, const Items&) {
  return value.is_bool() && value.as_bool();
}
Result<bool> IsFalseTest(Runtime&, const Value& value, const Items&) {
  return value.is_bool() && !value.as_bool();
}
Result<bool> IsInteger(Runtime&, const Value& value, const Items&) {
  return value.is_int() && !value.is_bool();
}
Result<bool> IsEscaped(Runtime&, const Value& value, const Items&) {
  return value.is_string() && value.text().markup;
}
Result<bool> IsSame(Runtime& runtime, const Value& value, const Items& arguments) {
  MLC_RETURN_IF_ERROR(runtime.Charge(value.weight()));
  return value.Same(arguments[0]);
}
Result<bool> IsInTest(Runtime& runtime, const Value& value, const Items& arguments) {
  return Contains(runtime, arguments[0], value);
}

Result<bool> IsIterable(Runtime&, const Value& value, const Items&) {
  return value.is_undefined() || value.is_string() || value.is_sequence() || value.is_dict() ||
         value.is_object(Object::Type::kLoop);
}

// Whether the value has a length and subscripts.
Result<bool> IsSequence(Runtime&, const Value& value, const Items&) {
  return value.is_undefined() || value.is_string() || value.is_dict() ||
         (value.is_sequence() && value.sequence().indexable());
}

Result<bool> IsCallable(Runtime&, const Value& value, const Items&) {
  if (value.is_undefined()) return true;  // jinja2's Undefined has a __call__, which always fails
  if (!value.is_object()) return false;
  return value.object()->type != Object::Type::kNamespace &&
         value.object()->type != Object::Type::kCycler;
}

Result<bool> IsLower(Runtime& runtime, const Value& value, const Items&) {
  MLC_ASSIGN_OR_RETURN(std::string text, ToText(value));
  MLC_ASSIGN_OR_RETURN(Value result, CallMethod(runtime, Value::String(text), "islower", {}));
  return result.as_bool();
}

Result<bool> IsUpper(Runtime& runtime, const Value& value, const Items&) {
  MLC_ASSIGN_OR_RETURN(std::string text, ToText(value));
  MLC_ASSIGN_OR_RETURN(Value result, CallMethod(runtime, Value::String(text), "isupper", {}));
  return result.as_bool();
}

Result<bool> RemainderIs(Runtime& runtime, const Value& value, const Value& divisor,
                         const Value& expected) {
  MLC_ASSIGN_OR_RETURN(Value rest, BinaryOperation(runtime, "%", value, divisor));
  return Equals(rest, expected);
}

Result<bool> IsOdd(Runtime& runtime, const Value& value, const Items&) {
  return RemainderIs(runtime, value, Value(2), Value(1));
}
Result<bool> IsEven(Runtime& runtime, const Value& value, const Items&) {
  return RemainderIs(runtime, value, Value(2), Value(0));
}
Result<bool> IsDivisible(Runtime& runtime, const Value& value, const Items& arguments) {
  return RemainderIs(runtime, value, arguments[0], Value(0));
}

Result<bool> NamesFilter(Runtime&, const Value& value, const Items&) {
  if (!value.hashable()) return InvalidArgument("unhashable type");
  return value.is_string() && FindFilter(value.as_string()) != nullptr;
}
Result<bool> NamesTest(Runtime&, const Value& value, const Items&) {
  if (!value.hashable()) return InvalidArgument("unhashable type");
  return value.is_string() && FindTest(value.as_string()) != nullptr;
}

Result<bool> Equal(Runtime& runtime, const Value& value, const Items& arguments) {
  return CompareOperation(runtime, "==", value, arguments[0]);
}
Result<bool> NotEqual(Runtime& runtime, const Value& value, const Items& arguments) {
  return CompareOperation(runtime, "!=", value, arguments[0]);
}
Result<bool> Less(Runtime& runtime, const Value& value, const Items& arguments) {
  return CompareOperation(runtime, "<", value, arguments[0]);
}
Result<bool> LessOrEqual(Runtime& runtime, const Value& value, const Items& arguments) {
  return CompareOperation(runtime, "<=", value, arguments[0]);
}
Result<bool> Greater(Runtime& runtime, const Value& value, const Items& arguments) {
  return CompareOperation(runtime, ">", value, arguments[0]);
}
Result<bool> GreaterOrEqual(Runtime& runtime, const Value& value, const Items& arguments) {
  return CompareOperation(runtime, ">=", value, arguments[0]);
}

constexpr TestSpec kTests[] = {
    {"boolean", 0, Is<&Value::is_bool>},
    {"callable", 0, IsCallable},
    {"defined", 0, IsDefined},
    {"divisibleby", 1, IsDivisible},
    {"escaped", 0, IsEscaped},
    {"even", 0, IsEven},
    {"false", 0, IsFalseTest},
    {"filter", 0, NamesFilter},
    {"float", 0, Is<&Value::is_float>},
    {"in", 1, IsInTest},
    {"integer", 0, IsInteger},
    {"iterable", 0, IsIterable},
    {"lower", 0, IsLower},
    {"mapping", 0, Is<&Value::is_dict>},
    {"none", 0, Is<&Value::is_none>},
    {"number", 0, Is<&Value::is_number>},
    {"odd", 0, IsOdd},
    {"sameas", 1, IsSame},
    {"sequence", 0, IsSequence},
    {"string", 0, Is<&Value::is_string>},
    {"test", 0, NamesTest},
    {"true", 0, IsTrueTest},
    {"undefined", 0, Is<&Value::is_undefined>},
    {"upper", 0, IsUpper},
    {"==", 1, Equal},
    {"eq", 1, Equal},
    {"equalto", 1, Equal},
    {"!=", 1, NotEqual},
    {"ne", 1, NotEqual},
    {"<", 1, Less},
    {"lt", 1, Less},
    {"lessthan", 1, Less},
    {"<=", 1, LessOrEqual},
    {"le", 1, LessOrEqual},
    {">", 1, Greater},
    {"gt", 1, Greater},
    {"greaterthan", 1, Greater},
    {">=", 1, GreaterOrEqual},
    {"ge", 1, GreaterOrEqual},
};

}  // namespace

const TestSpec* FindTest(std::string_view name) {
  for (const TestSpec& test : kTests) {
    if (name == test.name) return &test;
  }
  return nullptr;
}

Result<bool> ApplyTest(Runtime& runtime, const TestSpec& test, const Value& value,
                       Arguments arguments) {
  // A keyword for the only argument may have any name, since templates never write one.
  Items values = std::move(arguments.positional);
  for (auto& [name, argument] : arguments.named) values.push_back(std::move(argument));
  if (values.size() != static_cast<size_t>(test.arguments))
    return InvalidArgument(std::string("the test '") + test.name + "' takes " +
                           std::to_string(test.arguments) + " argument(s)");
  return test.test(runtime, value, values);
}

}  // namespace mlc::jinja
