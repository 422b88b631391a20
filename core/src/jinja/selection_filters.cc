// map, select, reject, selectattr, rejectattr, attr: filters that apply other filters and tests.
#include <algorithm>

#include "jinja/attribute.h"
#include "jinja/filters.h"
#include "jinja/text.h"

namespace mlc::jinja {

namespace {

std::vector<std::string> SplitText(const std::string& text, char separator) {
  std::vector<std::string> parts;
  size_t begin = 0;
  for (size_t end; (end = text.find(separator, begin)) != std::string::npos; begin = end + 1)
    parts.push_back(text.substr(begin, end - begin));
  parts.push_back(text.substr(begin));
  return parts;
}

Value PathPart(const std::string& text) {
  bool digits =
      !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return IsDigit(c); });
  std::optional<int64_t> number = digits ? ParseInt(text, 10) : std::nullopt;
  return number ? Value(*number) : Value::String(text);
}

}  // namespace

AttributePath::AttributePath(const Value& attribute, Value fallback)
    : fallback_(std::move(fallback)) {
  if (attribute.is_string()) {
    for (const std::string& part : SplitText(attribute.as_string(), '.'))
      parts_.push_back(PathPart(part));
  } else if (!attribute.is_none()) {
    parts_.push_back(attribute);
  }
}

std::vector<AttributePath> AttributePath::Several(const Value& attribute) {
  std::vector<AttributePath> paths;
  if (!attribute.is_string()) return {AttributePath(attribute)};
  for (const std::string& part : SplitText(attribute.as_string(), ','))
    paths.emplace_back(Value::String(part));
  return paths;
}

Result<Value> AttributePath::Of(Runtime& runtime, Value item) const {
  MLC_RETURN_IF_ERROR(runtime.Charge(parts_.size() + 1));
  for (const Value& part : parts_) {
    MLC_ASSIGN_OR_RETURN(item, GetItem(runtime, item, part));
    if (item.is_undefined() && !fallback_.is_undefined()) item = fallback_;
  }
  return item;
}

namespace {

// A generator as in jinja2: an error occurs when the failing item is read.
template <typename Step>
Result<Value> Generate(Runtime& runtime, const Items& items, Step step) {
  Items out;
  for (const Value& item : items) {
    Result<std::optional<Value>> value = step(item);
    if (!value.ok()) return runtime.Iterator(std::move(out), value.status());
    if (*value) out.push_back(std::move(**value));
  }
  return runtime.Iterator(std::move(out));
}

Result<Value> Map(Runtime& runtime, const Value& value, Arguments arguments) {
  if (!IsTrue(value)) return runtime.Iterator({});
  Result<Items> items = Iterate(runtime, value);
  if (!items.ok()) return runtime.Iterator({}, items.status());
  using Step = Result<std::optional<Value>>;
  if (arguments.positional.empty()) {
    Result<BoundArguments> bound =
        BoundArguments::Bind("*attribute default?", std::move(arguments), "map");
    if (!bound.ok()) return runtime.Iterator({}, bound.status());
    AttributePath path(bound->at(0), bound->given(1) ? bound->at(1) : Value());
    return Generate(runtime, *items, [&](const Value& item) -> Step {
      MLC_ASSIGN_OR_RETURN(Value result, path.Of(runtime, item));
      return std::optional<Value>(std::move(result));
    });
  }
  Value name = arguments.positional[0];
  arguments.positional.erase(arguments.positional.begin());
  const FilterSpec* filter = name.is_string() ? FindFilter(name.as_string()) : nullptr;
  if (!filter) return runtime.Iterator({}, InvalidArgument("map names no filter"));
  return Generate(runtime, *items, [&](const Value& item) -> Step {
    MLC_RETURN_IF_ERROR(runtime.Charge(1));
    MLC_ASSIGN_OR_RETURN(Value result, ApplyFilter(runtime, *filter, item, arguments));
    return std::optional<Value>(std::move(result));
  });
}

struct Selection {
  const TestSpec* test = nullptr;  // null: the item's truth value is the test
  AttributePath path{Value::None()};
  Arguments arguments;  // arguments of the test
};

Result<Selection> MakeSelection(Arguments arguments, bool by_attribute) {
  Selection selection;
  Items& positional = arguments.positional;
  if (by_attribute) {
    if (positional.empty()) return InvalidArgument("Missing parameter for attribute name");
    selection.path = AttributePath(positional[0]);
    positional.erase(positional.begin());
  }
  if (!positional.empty()) {
    if (positional[0].is_string()) selection.test = FindTest(positional[0].as_string());
    if (!selection.test) return InvalidArgument("the selection names no test");
    positional.erase(positional.begin());
  }
  selection.arguments = std::move(arguments);
  return selection;
}

template <bool kKeep, bool kByAttribute>
Result<Value> Select(Runtime& runtime, const Value& value, Arguments arguments) {
  if (!IsTrue(value)) return runtime.Iterator({});
  Result<Items> items = Iterate(runtime, value);
  if (!items.ok()) return runtime.Iterator({}, items.status());
  Result<Selection> selection = MakeSelection(std::move(arguments), kByAttribute);
  if (!selection.ok()) return runtime.Iterator({}, selection.status());
  using Step = Result<std::optional<Value>>;
  return Generate(runtime, *items, [&](const Value& item) -> Step {
    MLC_RETURN_IF_ERROR(runtime.Charge(1));
    MLC_ASSIGN_OR_RETURN(Value tested, selection->path.Of(runtime, item));
    bool chosen = IsTrue(tested);
    if (selection->test) {
      MLC_ASSIGN_OR_RETURN(chosen,
                           ApplyTest(runtime, *selection->test, tested, selection->arguments));
    }
    return chosen == kKeep ? std::optional<Value>(item) : std::nullopt;
  });
}

Result<Value> Attribute(Runtime& runtime, const Value& value, const BoundArguments& arguments) {
  MLC_ASSIGN_OR_RETURN(std::string name, arguments.String(0, ""));
  // Only attributes count. The items of a dict are not attributes.
  if (value.is_dict() && FindMethod(value, name) == MethodStatus::kNone)
    return Value::Undefined("'dict object' has no attribute '" + name.substr(0, 200) + "'");
  return GetAttribute(runtime, value, name);
}

constexpr FilterSpec kSelectionFilters[] = {
    {"attr", "name", Attribute, nullptr},
    {"map", nullptr, nullptr, Map},
    {"reject", nullptr, nullptr, Select<false, false>},
    {"rejectattr", nullptr, nullptr, Select<false, true>},
    {"select", nullptr, nullptr, Select<true, false>},
    {"selectattr", nullptr, nullptr, Select<true, true>},
};

}  // namespace

FilterTable SelectionFilters() { return {kSelectionFilters, std::size(kSelectionFilters)}; }

}  // namespace mlc::jinja
