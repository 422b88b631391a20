// Methods of lists, tuples, ranges and dicts. Methods that would change the value are refused.
#include <algorithm>

#include "jinja/runtime.h"

namespace mlc::jinja {

namespace {

using Names = std::initializer_list<std::string_view>;

bool IsIn(const std::string& name, const Names& names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

const Names kStringMethods = {
    "capitalize",   "casefold",    "center",    "count",      "encode",       "endswith",
    "expandtabs",   "find",        "format",    "format_map", "index",        "isalnum",
    "isalpha",      "isascii",     "isdecimal", "isdigit",    "isidentifier", "islower",
    "isnumeric",    "isprintable", "isspace",   "istitle",    "isupper",      "join",
    "ljust",        "lower",       "lstrip",    "maketrans",  "partition",    "removeprefix",
    "removesuffix", "replace",     "rfind",     "rindex",     "rjust",        "rpartition",
    "rsplit",       "rstrip",      "split",     "splitlines", "startswith",   "strip",
    "swapcase",     "title",       "translate", "upper",      "zfill"};

MethodStatus SequenceMethod(const Sequence& sequence, const std::string& name) {
  using Kind = Sequence::Kind;
  if (!sequence.indexable()) return MethodStatus::kNone;
  if (IsIn(name, {"count", "index"})) return MethodStatus::kSafe;
  if (sequence.kind != Kind::kList) return MethodStatus::kNone;
  if (name == "copy") return MethodStatus::kSafe;
  bool changes =
      IsIn(name, {"append", "clear", "pop", "reverse", "insert", "sort", "extend", "remove"});
  return changes ? MethodStatus::kUnsafe : MethodStatus::kNone;
}

MethodStatus DictMethod(const std::string& name) {
  if (IsIn(name, {"items", "keys", "values", "get", "copy", "fromkeys"}))
    return MethodStatus::kSafe;
  bool changes = IsIn(name, {"clear", "pop", "popitem", "setdefault", "update"});
  return changes ? MethodStatus::kUnsafe : MethodStatus::kNone;
}

MethodStatus NumberMethod(const Value& value, const std::string& name) {
  if (value.is_float()) return name == "is_integer" ? MethodStatus::kSafe : MethodStatus::kNone;
  return name == "bit_length" ? MethodStatus::kSafe : MethodStatus::kNone;
}

MethodStatus ObjectMethod(const Object& object, const std::string& name) {
  bool loop = object.type == Object::Type::kLoop && IsIn(name, {"cycle", "changed"});
  bool cycler = object.type == Object::Type::kCycler && IsIn(name, {"next", "reset"});
  return loop || cycler ? MethodStatus::kSafe : MethodStatus::kNone;
}

Result<Value> DictView(Runtime& runtime, const Dict& dict, const std::string& name) {
  Items items;
  MLC_RETURN_IF_ERROR(runtime.Charge(dict.size()));
  for (const auto& [key, value] : dict.entries()) {
    if (name == "items") {
      MLC_ASSIGN_OR_RETURN(Value pair, runtime.Tuple({key, value}));
      items.push_back(std::move(pair));
    } else {
      items.push_back(name == "keys" ? key : value);
    }
  }
  using Kind = Sequence::Kind;
  Kind kind = name == "items" ? Kind::kItems : name == "keys" ? Kind::kKeys : Kind::kValues;
  return runtime.Make(kind, std::move(items));
}

Result<Value> CallDictMethod(Runtime& runtime, const Value& self, const std::string& name,
                             Arguments arguments) {
  if (name == "get") {
    MLC_ASSIGN_OR_RETURN(BoundArguments bound,
                         BoundArguments::Bind("key default?", std::move(arguments), "get"));
    if (!bound.at(0).hashable())
      return InvalidArgument(std::string("unhashable type: '") + TypeName(bound.at(0)) + "'");
    MLC_RETURN_IF_ERROR(runtime.Charge(bound.at(0).is_tuple() ? bound.at(0).weight() : 1));
    const Value* found = self.dict().Find(bound.at(0));
    if (found) return *found;
    return bound.has(1) ? bound.at(1) : Value::None();
  }
  if (name == "fromkeys") return InvalidArgument("dict.fromkeys is not offered in chat templates");
  MLC_ASSIGN_OR_RETURN(BoundArguments bound, BoundArguments::Bind("", std::move(arguments), name));
  if (name == "copy") return runtime.Make(Dict(self.dict()));
  return DictView(runtime, self.dict(), name);
}

Result<Value> CallSequenceMethod(Runtime& runtime, const Value& self, const std::string& name,
                                 Arguments arguments) {
  const Items& items = self.sequence().items;
  if (name == "copy") {
    MLC_ASSIGN_OR_RETURN(BoundArguments bound,
                         BoundArguments::Bind("", std::move(arguments), name));
    return runtime.List(items);
  }
  const char* signature = name == "count" ? "value" : "value start? stop?";
  MLC_ASSIGN_OR_RETURN(BoundArguments bound,
                       BoundArguments::Bind(signature, std::move(arguments), name));
  int64_t size = static_cast<int64_t>(items.size()), start = 0, stop = size, count = 0;
  if (name == "index") {
    MLC_ASSIGN_OR_RETURN(start, bound.Int(1, 0));
    MLC_ASSIGN_OR_RETURN(stop, bound.Int(2, size));
  }
  auto clip = [&](int64_t i) { return std::clamp<int64_t>(i < 0 ? i + size : i, 0, size); };
  for (int64_t i = clip(start); i < clip(stop); ++i) {
    MLC_RETURN_IF_ERROR(runtime.Charge(std::min(items[i].weight(), bound.at(0).weight())));
    if (!Equals(items[i], bound.at(0))) continue;
    if (name == "index") return Value(i);
    ++count;
  }
  if (name == "count") return Value(count);
  return InvalidArgument("the value is not in the list");
}

Result<Value> CallNumberMethod(const Value& self, const std::string& name) {
  if (name == "is_integer") {
    double number = self.as_double();
    return Value(number - number == 0 &&
                 static_cast<double>(static_cast<int64_t>(number)) == number);
  }
  uint64_t bits = self.as_int() < 0 ? 0 - static_cast<uint64_t>(self.as_int()) : self.as_int();
  int length = 0;
  for (; bits > 0; bits >>= 1) ++length;
  return Value(length);
}

Result<Value> CallLoopMethod(Runtime& runtime, Loop& loop, const std::string& name,
                             Arguments arguments) {
  if (!arguments.named.empty()) return InvalidArgument("loop." + name + " takes no keywords");
  Items& values = arguments.positional;
  if (name == "cycle") {
    if (values.empty()) return InvalidArgument("no items for cycling given");
    return values[loop.index % values.size()];
  }
  for (const Value& value : values) MLC_RETURN_IF_ERROR(runtime.Charge(value.weight()));
  bool same = loop.last_changed && loop.last_changed->size() == values.size() &&
              std::equal(values.begin(), values.end(), loop.last_changed->begin(), Equals);
  if (!same) loop.last_changed = std::move(values);
  return Value(!same);
}

Result<Value> CallCyclerMethod(Cycler& cycler, const std::string& name) {
  if (name == "reset") {
    cycler.position = 0;
    return Value::None();
  }
  Value current = cycler.items[cycler.position];
  cycler.position = (cycler.position + 1) % cycler.items.size();
  return current;
}

}  // namespace

MethodStatus FindMethod(const Value& self, const std::string& name) {
  switch (self.kind()) {
    case Value::Kind::kString:
      return IsIn(name, kStringMethods) ? MethodStatus::kSafe : MethodStatus::kNone;
    case Value::Kind::kSequence:
      return SequenceMethod(self.sequence(), name);
    case Value::Kind::kDict:
      return DictMethod(name);
    case Value::Kind::kObject:
      return ObjectMethod(*self.object(), name);
    case Value::Kind::kBool:
    case Value::Kind::kInt:
    case Value::Kind::kFloat:
      return NumberMethod(self, name);
    default:
      return MethodStatus::kNone;
  }
}

Result<Value> CallMethod(Runtime& runtime, const Value& self, const std::string& name,
                         Arguments arguments) {
  if (self.is_string()) return CallStringMethod(runtime, self, name, std::move(arguments));
  if (self.is_dict()) return CallDictMethod(runtime, self, name, std::move(arguments));
  if (self.is_sequence()) return CallSequenceMethod(runtime, self, name, std::move(arguments));
  if (self.is_object(Object::Type::kLoop))
    return CallLoopMethod(runtime, *static_cast<Loop*>(self.object()), name, std::move(arguments));
  MLC_ASSIGN_OR_RETURN(BoundArguments none, BoundArguments::Bind("", std::move(arguments), name));
  if (self.is_object()) return CallCyclerMethod(*static_cast<Cycler*>(self.object()), name);
  return CallNumberMethod(self, name);
}

}  // namespace mlc::jinja
