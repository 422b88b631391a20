#include "jinja/runtime.h"

#include <algorithm>

#include "base/utf8.h"
#include "jinja/text.h"

namespace mlc::jinja {

Status Runtime::Charge(size_t steps) {
  if (steps >= static_cast<size_t>(limits_.steps))
    return InvalidArgument("the template takes too many steps");
  limits_.steps -= static_cast<int64_t>(steps);
  return {};
}

Status Runtime::ChargeBytes(size_t bytes) {
  if (bytes >= static_cast<size_t>(limits_.bytes))
    return InvalidArgument("the template uses too much memory");
  limits_.bytes -= static_cast<int64_t>(bytes);
  return {};
}

Status Runtime::ChargeSearch(std::string_view text, std::string_view needle) {
  return Charge((text.size() / 64 + 1) * (needle.size() / 64 + 1));
}

Result<Value> Runtime::Text(std::string text, bool markup) {
  if (text.size() > kMaxTextBytes) return InvalidArgument("a string is too long");
  MLC_RETURN_IF_ERROR(Charge(text.size() / 64));
  MLC_RETURN_IF_ERROR(ChargeBytes(text.size() + sizeof(jinja::Text)));
  return Value::String(std::move(text), markup);
}

Result<Value> Runtime::Make(Sequence::Kind kind, Items items) {
  MLC_RETURN_IF_ERROR(Charge(items.size()));
  MLC_RETURN_IF_ERROR(ChargeBytes(items.size() * sizeof(Value) + sizeof(Sequence)));
  return MakeSequence(kind, std::move(items));
}

Result<Value> Runtime::Iterator(Items items, Status failure) {
  MLC_ASSIGN_OR_RETURN(Value made, Make(Sequence::Kind::kIterator, std::move(items)));
  auto sequence = std::make_shared<Sequence>(made.sequence());
  sequence->failure = std::move(failure);
  return Value(std::shared_ptr<const Sequence>(std::move(sequence)));
}

Result<Value> Runtime::Make(Dict dict) {
  MLC_RETURN_IF_ERROR(Charge(dict.size()));
  MLC_RETURN_IF_ERROR(ChargeBytes(dict.size() * 4 * sizeof(Value) + sizeof(Dict)));
  return MakeDict(std::move(dict));
}

namespace {

struct Parameter {
  std::string name;
  bool optional, keyword_only;
};

std::vector<Parameter> ParseSignature(const char* signature) {
  std::vector<Parameter> parameters;
  bool keyword_only = false;
  std::string_view rest = signature;
  while (!rest.empty()) {
    size_t end = std::min(rest.find(' '), rest.size());
    std::string_view name = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (name[0] == '*') {
      keyword_only = true;
      name.remove_prefix(1);
    }
    bool optional = name.back() == '?';
    if (optional) name.remove_suffix(1);
    parameters.push_back({std::string(name), optional, keyword_only});
  }
  return parameters;
}

}  // namespace

Result<BoundArguments> BoundArguments::Bind(const char* signature, Arguments arguments,
                                            const std::string& what) {
  std::vector<Parameter> parameters = ParseSignature(signature);
  BoundArguments bound;
  bound.values_.resize(parameters.size());
  for (size_t i = 0; i < arguments.positional.size(); ++i) {
    if (i >= parameters.size() || parameters[i].keyword_only)
      return InvalidArgument(what + " takes fewer arguments");
    bound.values_[i] = std::move(arguments.positional[i]);
  }
  for (auto& [name, value] : arguments.named) {
    size_t i = 0;
    while (i < parameters.size() && parameters[i].name != name) ++i;
    if (i == parameters.size()) return InvalidArgument(what + " takes no argument '" + name + "'");
    if (bound.values_[i]) return InvalidArgument(what + " got '" + name + "' twice");
    bound.values_[i] = std::move(value);
  }
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (!bound.values_[i] && !parameters[i].optional)
      return InvalidArgument(what + " misses the argument '" + parameters[i].name + "'");
  }
  return bound;
}

Result<int64_t> BoundArguments::Int(size_t i, int64_t fallback) const {
  if (!has(i)) return fallback;
  if (at(i).is_int()) return at(i).as_int();
  return InvalidArgument(std::string("'") + TypeName(at(i)) +
                         "' object cannot be interpreted as an integer");
}

Result<std::string> BoundArguments::String(size_t i, const char* fallback) const {
  if (!has(i)) return std::string(fallback);
  if (at(i).is_string()) return at(i).as_string();
  return InvalidArgument(std::string("expected a string, got ") + TypeName(at(i)));
}

namespace {

Result<Items> CodePointItems(Runtime& runtime, const Text& text) {
  MLC_RETURN_IF_ERROR(runtime.Charge(text.length));
  MLC_RETURN_IF_ERROR(runtime.ChargeBytes(text.length * (sizeof(Value) + sizeof(Text))));
  Items items;
  for (size_t pos = 0; pos < text.bytes.size();) {
    size_t begin = pos;
    DecodeUtf8(text.bytes, &pos);
    items.push_back(Value::String(text.bytes.substr(begin, pos - begin)));
  }
  return items;
}

Result<Items> SequenceItems(Runtime& runtime, const Sequence& sequence) {
  size_t begin = sequence.sized() ? 0 : std::exchange(sequence.next, sequence.items.size());
  if (!sequence.failure.ok()) return sequence.failure;
  MLC_RETURN_IF_ERROR(runtime.ChargeBytes((sequence.items.size() - begin) * sizeof(Value)));
  MLC_RETURN_IF_ERROR(runtime.Charge((sequence.items.size() - begin) / 8));
  return Items(sequence.items.begin() + static_cast<int64_t>(begin), sequence.items.end());
}

}  // namespace

Result<Items> Iterate(Runtime& runtime, const Value& value) {
  if (value.is_undefined()) return Items();
  if (value.is_string()) return CodePointItems(runtime, value.text());
  if (value.is_sequence()) return SequenceItems(runtime, value.sequence());
  if (value.is_object(Object::Type::kLoop)) {
    return InvalidArgument("iterating over 'loop' is not offered in chat templates");
  }
  if (!value.is_dict())
    return InvalidArgument(std::string("'") + TypeName(value) + "' object is not iterable");
  MLC_RETURN_IF_ERROR(runtime.Charge(value.dict().size() / 8));
  Items keys;
  for (const auto& [key, unused] : value.dict().entries()) keys.push_back(key);
  return keys;
}

Result<int64_t> Length(const Value& value) {
  if (value.is_undefined()) return int64_t{0};
  if (value.is_string()) return static_cast<int64_t>(value.text().length);
  if (value.is_dict()) return static_cast<int64_t>(value.dict().size());
  if (value.is_sequence() && value.sequence().sized())
    return static_cast<int64_t>(value.sequence().items.size());
  if (value.is_object(Object::Type::kLoop))
    return static_cast<int64_t>(static_cast<Loop*>(value.object())->items.size());
  return InvalidArgument(std::string("object of type '") + TypeName(value) + "' has no len()");
}

namespace {

// The bytes of the code points [begin, end).
std::string_view CodePointRange(const Text& text, size_t begin, size_t end) {
  std::string_view bytes = text.bytes;
  if (text.length == bytes.size()) return bytes.substr(begin, end - begin);
  auto offset = [&](size_t from, size_t count) {
    while (count > 0 && from < bytes.size()) {
      DecodeUtf8(bytes, &from);
      --count;
    }
    return from;
  };
  size_t first = offset(0, begin);
  return bytes.substr(first, offset(first, end - begin) - first);
}

Value NoItem(const Value& value, const Value& key) {
  std::string name = ToRepr(key, 1000).ok() ? *ToRepr(key, 1000) : TypeName(key);
  const char* what = key.is_string() ? "' has no attribute " : "' has no element ";
  return Value::Undefined(std::string("'") + TypeName(value) + what + name.substr(0, 200));
}

Status UndefinedError(const Value& value) { return InvalidArgument(value.hint()); }

Result<Value> IndexText(Runtime& runtime, const Value& value, const Value& key) {
  const Text& text = value.text();
  int64_t length = static_cast<int64_t>(text.length), index = key.as_int();
  if (index < 0) index += length;
  if (index < 0 || index >= length) return NoItem(value, key);
  if (text.length != text.bytes.size()) MLC_RETURN_IF_ERROR(runtime.Charge(text.bytes.size() / 16));
  return runtime.Text(std::string(CodePointRange(text, index, index + 1)), text.markup);
}

// The result of a subscript, without a look at attributes.
Result<std::optional<Value>> Subscript(Runtime& runtime, const Value& value, const Value& key) {
  if (value.is_dict()) {
    if (key.is_tuple()) MLC_RETURN_IF_ERROR(runtime.Charge(key.weight()));
    const Value* found = value.dict().Find(key);
    return found ? std::optional<Value>(*found) : std::nullopt;
  }
  if (!key.is_int()) return std::optional<Value>();
  if (value.is_string()) {
    MLC_ASSIGN_OR_RETURN(Value item, IndexText(runtime, value, key));
    return item.is_undefined() ? std::nullopt : std::optional<Value>(item);
  }
  if (!value.is_sequence() || !value.sequence().indexable()) return std::optional<Value>();
  const Items& items = value.sequence().items;
  int64_t index = key.as_int();
  if (index < 0) index += static_cast<int64_t>(items.size());
  if (index < 0 || index >= static_cast<int64_t>(items.size())) return std::optional<Value>();
  return std::optional<Value>(items[index]);
}

}  // namespace

Result<Value> GetItem(Runtime& runtime, const Value& value, const Value& key) {
  if (value.is_undefined()) return UndefinedError(value);
  if (key.is_string() && value.is_object()) return GetAttribute(runtime, value, key.as_string());
  MLC_ASSIGN_OR_RETURN(std::optional<Value> item, Subscript(runtime, value, key));
  if (item) return *item;
  if (!key.is_string()) return NoItem(value, key);
  return GetAttribute(runtime, value, key.as_string());
}

namespace {

Value LoopAttribute(const Loop& loop, const std::string& name) {
  int64_t index = static_cast<int64_t>(loop.index),
          length = static_cast<int64_t>(loop.items.size());
  if (name == "index") return index + 1;
  if (name == "index0") return index;
  if (name == "revindex") return length - index;
  if (name == "revindex0") return length - index - 1;
  if (name == "first") return index == 0;
  if (name == "last") return index + 1 == length;
  if (name == "length") return length;
  if (name == "depth") return 1;
  if (name == "depth0") return 0;
  if (name == "previtem")
    return index > 0 ? loop.items[index - 1] : Value::Undefined("there is no previous item");
  if (name == "nextitem")
    return index + 1 < length ? loop.items[index + 1] : Value::Undefined("there is no next item");
  return Value();
}

std::optional<Value> ObjectAttribute(const Object& object, const std::string& name) {
  if (object.type == Object::Type::kNamespace) {
    const Value* found = static_cast<const Namespace&>(object).attributes.Find(name);
    return found ? std::optional<Value>(*found) : std::nullopt;
  }
  if (object.type == Object::Type::kCycler && name == "current") {
    const Cycler& cycler = static_cast<const Cycler&>(object);
    return cycler.items[cycler.position];
  }
  if (object.type != Object::Type::kLoop) return std::nullopt;
  Value value = LoopAttribute(static_cast<const Loop&>(object), name);
  bool missing_neighbour = name == "previtem" || name == "nextitem";
  return value.is_undefined() && !missing_neighbour ? std::nullopt : std::optional<Value>(value);
}

std::optional<Value> SequenceAttribute(const Sequence& sequence, const std::string& name) {
  if (sequence.kind == Sequence::Kind::kGroup && name == "grouper") return sequence.items[0];
  if (sequence.kind == Sequence::Kind::kGroup && name == "list") return sequence.items[1];
  if (sequence.kind != Sequence::Kind::kRange) return std::nullopt;
  if (name == "start") return Value(sequence.start);
  if (name == "stop") return Value(sequence.stop);
  if (name == "step") return Value(sequence.step);
  return std::nullopt;
}

}  // namespace

Result<Value> GetAttribute(Runtime& runtime, const Value& value, const std::string& name) {
  if (value.is_undefined()) return UndefinedError(value);
  MethodStatus method = FindMethod(value, name);
  if (method == MethodStatus::kSafe) return runtime.NewObject<Method>(value, name);
  if (method == MethodStatus::kUnsafe)
    return Value::Undefined("access to attribute '" + name + "' of '" + TypeName(value) +
                            "' object is unsafe");
  std::optional<Value> found;
  if (value.is_object()) found = ObjectAttribute(*value.object(), name);
  if (value.is_sequence()) found = SequenceAttribute(value.sequence(), name);
  if (value.is_dict()) {
    const Value* member = value.dict().Find(name);
    if (member) found = *member;
  }
  if (found) return *found;
  return Value::Undefined(std::string("'") + TypeName(value) + "' object has no attribute '" +
                          name.substr(0, 200) + "'");
}

namespace {

struct SliceBounds {
  int64_t start, stop, step, count;
};

Result<std::optional<int64_t>> SliceIndex(const Value& value) {
  if (value.is_none()) return std::optional<int64_t>();
  if (value.is_int()) return std::optional<int64_t>(value.as_int());
  return InvalidArgument("slice indices must be integers or None");
}

// Python's slice.indices().
Result<SliceBounds> Resolve(int64_t length, const Value& start, const Value& stop,
                            const Value& step) {
  MLC_ASSIGN_OR_RETURN(std::optional<int64_t> begin, SliceIndex(start));
  MLC_ASSIGN_OR_RETURN(std::optional<int64_t> end, SliceIndex(stop));
  MLC_ASSIGN_OR_RETURN(std::optional<int64_t> by, SliceIndex(step));
  int64_t stride = by.value_or(1);
  if (stride == 0) return InvalidArgument("slice step cannot be zero");
  stride = std::clamp<int64_t>(stride, -(int64_t{1} << 40), int64_t{1} << 40);
  int64_t low = stride > 0 ? 0 : -1, high = stride > 0 ? length : length - 1;
  auto clip = [&](int64_t index) {
    return std::clamp(index < 0 ? index + length : index, low, high);
  };
  SliceBounds bounds{stride > 0 ? low : high, stride > 0 ? high : low, stride, 0};
  if (begin) bounds.start = clip(*begin);
  if (end) bounds.stop = clip(*end);
  int64_t span = stride > 0 ? bounds.stop - bounds.start : bounds.start - bounds.stop;
  int64_t stride_size = stride > 0 ? stride : -stride;
  bounds.count = span > 0 ? (span - 1) / stride_size + 1 : 0;
  return bounds;
}

Result<Value> SliceText(Runtime& runtime, const Text& text, const SliceBounds& bounds) {
  MLC_RETURN_IF_ERROR(runtime.Charge(text.bytes.size() / 16));
  if (bounds.step == 1) {
    size_t end = bounds.start + bounds.count;
    return runtime.Text(std::string(CodePointRange(text, bounds.start, end)), text.markup);
  }
  MLC_RETURN_IF_ERROR(runtime.ChargeBytes(text.length * sizeof(char32_t)));
  std::u32string code_points = ToCodePoints(text.bytes);
  std::string out;
  for (int64_t i = 0; i < bounds.count; ++i)
    AppendUtf8(code_points[bounds.start + i * bounds.step], &out);
  return runtime.Text(std::move(out), text.markup);
}

Result<Value> SliceRange(Runtime& runtime, const Sequence& range, const SliceBounds& bounds,
                         Items items) {
  MLC_ASSIGN_OR_RETURN(Value made, runtime.Make(Sequence::Kind::kRange, std::move(items)));
  auto sequence = std::make_shared<Sequence>(made.sequence());
  sequence->start = range.start + bounds.start * range.step;
  sequence->stop = range.start + bounds.stop * range.step;
  sequence->step = range.step * bounds.step;
  return Value(std::shared_ptr<const Sequence>(std::move(sequence)));
}

}  // namespace

Result<Value> GetSlice(Runtime& runtime, const Value& value, const Value& start, const Value& stop,
                       const Value& step) {
  if (value.is_undefined()) return UndefinedError(value);
  bool sequence = value.is_sequence() && value.sequence().indexable();
  if (!value.is_string() && !sequence) {
    return InvalidArgument(std::string("'") + TypeName(value) + "' object cannot be sliced");
  }
  MLC_ASSIGN_OR_RETURN(int64_t length, Length(value));
  MLC_ASSIGN_OR_RETURN(SliceBounds bounds, Resolve(length, start, stop, step));
  if (value.is_string()) return SliceText(runtime, value.text(), bounds);
  MLC_RETURN_IF_ERROR(runtime.Charge(bounds.count));
  Items items;
  for (int64_t i = 0; i < bounds.count; ++i)
    items.push_back(value.sequence().items[bounds.start + i * bounds.step]);
  Sequence::Kind kind = value.sequence().kind;
  if (kind == Sequence::Kind::kRange)
    return SliceRange(runtime, value.sequence(), bounds, std::move(items));
  return runtime.Make(kind == Sequence::Kind::kGroup ? Sequence::Kind::kTuple : kind,
                      std::move(items));
}

}  // namespace mlc::jinja
