#include "jinja/value.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "base/utf8.h"
#include "jinja/text.h"

namespace mlc::jinja {

namespace {

size_t AddWeights(size_t a, size_t b) {
  constexpr size_t kMax = std::numeric_limits<size_t>::max();
  return a > kMax - b ? kMax : a + b;
}

bool EqualItems(const Items& a, const Items& b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(), Equals);
}

bool EqualSequences(const Sequence& a, const Sequence& b) {
  using Kind = Sequence::Kind;
  if (&a == &b) return true;
  auto family = [](Kind kind) { return kind == Kind::kGroup ? Kind::kTuple : kind; };
  if (family(a.kind) != family(b.kind)) return false;
  if (a.kind == Kind::kIterator || a.kind == Kind::kValues) return false;
  return EqualItems(a.items, b.items);
}

bool EqualDicts(const Dict& a, const Dict& b) {
  if (&a == &b) return true;
  if (a.size() != b.size()) return false;
  for (const auto& [key, value] : a.entries()) {
    const Value* other = b.Find(key);
    if (other == nullptr || !Equals(value, *other)) return false;
  }
  return true;
}

size_t HashNumber(const Value& key) {
  if (key.is_int()) return std::hash<int64_t>()(key.as_int());
  double value = key.as_double();
  bool whole = std::floor(value) == value && std::fabs(value) < 9e18;
  return whole ? std::hash<int64_t>()(static_cast<int64_t>(value)) : std::hash<double>()(value);
}

}  // namespace

Value Value::None() {
  Value value;
  value.data_.emplace<std::monostate>();
  return value;
}

Value Value::String(std::string text, bool markup) {
  size_t length = CountCodePoints(text);
  Value value;
  value.data_ = std::make_shared<const Text>(Text{std::move(text), length, markup});
  return value;
}

Value Value::Undefined(std::string hint) {
  Value value;
  value.data_ = UndefinedData{std::make_shared<const std::string>(std::move(hint))};
  return value;
}

std::string Value::hint() const {
  const auto& hint = std::get<UndefinedData>(data_).hint;
  return hint ? *hint : "the value is undefined";
}

bool Value::is_list() const { return is_sequence() && sequence().kind == Sequence::Kind::kList; }

bool Value::is_tuple() const {
  return is_sequence() &&
         (sequence().kind == Sequence::Kind::kTuple || sequence().kind == Sequence::Kind::kGroup);
}

int Value::depth() const {
  if (is_sequence()) return sequence().depth;
  return is_dict() ? dict().depth() : 0;
}

size_t Value::weight() const {
  if (is_string()) return 1 + as_string().size() / 64;
  if (is_sequence()) return sequence().weight;
  return is_dict() ? dict().weight() : 1;
}

bool Value::hashable() const {
  if (is_sequence()) return sequence().hashable;
  return !is_dict();
}

bool Value::Same(const Value& other) const {
  if (kind() != other.kind()) return false;
  switch (kind()) {
    case Kind::kSequence:
      return &sequence() == &other.sequence();
    case Kind::kDict:
      return &dict() == &other.dict();
    case Kind::kUndefined:
      return std::get<UndefinedData>(data_).hint == std::get<UndefinedData>(other.data_).hint;
    default:
      return Equals(*this, other);
  }
}

int64_t Dict::Position(const Value& key) const {
  auto [begin, end] = index_.equal_range(HashValue(key));
  for (auto it = begin; it != end; ++it) {
    if (Equals(entries_[it->second].first, key)) return static_cast<int64_t>(it->second);
  }
  return -1;
}

const Value* Dict::Find(const Value& key) const {
  int64_t position = key.hashable() ? Position(key) : -1;
  return position < 0 ? nullptr : &entries_[position].second;
}

const Value* Dict::Find(std::string_view key) const {
  auto [begin, end] = index_.equal_range(std::hash<std::string_view>()(key));
  for (auto it = begin; it != end; ++it) {
    const Value& candidate = entries_[it->second].first;
    if (candidate.is_string() && candidate.as_string() == key) return &entries_[it->second].second;
  }
  return nullptr;
}

void Dict::Set(Value key, Value value) {
  depth_ = std::max(depth_, 1 + std::max(key.depth(), value.depth()));
  weight_ = AddWeights(weight_, AddWeights(key.weight(), value.weight()));
  if (int64_t position = Position(key); position >= 0) {
    entries_[position].second = std::move(value);
    return;
  }
  index_.emplace(HashValue(key), entries_.size());
  entries_.emplace_back(std::move(key), std::move(value));
}

Result<Value> MakeSequence(Sequence::Kind kind, Items items) {
  auto sequence = std::make_shared<Sequence>();
  sequence->kind = kind;
  sequence->hashable = kind != Sequence::Kind::kList;
  for (const Value& item : items) {
    sequence->depth = std::max(sequence->depth, 1 + item.depth());
    sequence->weight = AddWeights(sequence->weight, item.weight());
    if (kind <= Sequence::Kind::kGroup && !item.hashable()) sequence->hashable = false;
  }
  if (sequence->depth > kMaxValueDepth) return InvalidArgument("a value is nested too deeply");
  sequence->items = std::move(items);
  return Value(std::shared_ptr<const Sequence>(std::move(sequence)));
}

Result<Value> MakeDict(Dict dict) {
  if (dict.depth() > kMaxValueDepth) return InvalidArgument("a value is nested too deeply");
  return Value(std::make_shared<const Dict>(std::move(dict)));
}

namespace {

Result<Value> ConvertJson(const Json& json, int depth) {
  if (depth > kMaxValueDepth) return InvalidArgument("a value is nested too deeply");
  switch (json.type()) {
    case Json::Type::kNull:
      return Value::None();
    case Json::Type::kBool:
      return Value(json.as_bool());
    case Json::Type::kInt:
      return Value(json.as_int());
    case Json::Type::kDouble:
      return Value(json.as_double());
    case Json::Type::kString:
      return Value::String(RepairUtf8(json.as_string()));
    case Json::Type::kArray:
      break;
    case Json::Type::kObject: {
      Dict dict;
      for (const auto& [key, member] : json.as_object()) {
        MLC_ASSIGN_OR_RETURN(Value value, ConvertJson(member, depth + 1));
        dict.Set(Value::String(RepairUtf8(key)), std::move(value));
      }
      return MakeDict(std::move(dict));
    }
  }
  Items items;
  for (const Json& element : json.as_array()) {
    MLC_ASSIGN_OR_RETURN(Value value, ConvertJson(element, depth + 1));
    items.push_back(std::move(value));
  }
  return MakeSequence(Sequence::Kind::kList, std::move(items));
}

const char* SequenceTypeName(Sequence::Kind kind) {
  switch (kind) {
    case Sequence::Kind::kList:
      return "list";
    case Sequence::Kind::kTuple:
      return "tuple";
    case Sequence::Kind::kGroup:
      return "_GroupTuple";
    case Sequence::Kind::kRange:
      return "range";
    case Sequence::Kind::kKeys:
      return "dict_keys";
    case Sequence::Kind::kValues:
      return "dict_values";
    case Sequence::Kind::kItems:
      return "dict_items";
    case Sequence::Kind::kIterator:
      return "generator";
  }
  return "";
}

const char* ObjectTypeName(Object::Type type) {
  switch (type) {
    case Object::Type::kNamespace:
      return "Namespace";
    case Object::Type::kMacro:
      return "Macro";
    case Object::Type::kLoop:
      return "LoopContext";
    case Object::Type::kCycler:
      return "Cycler";
    case Object::Type::kJoiner:
      return "Joiner";
    case Object::Type::kFunction:
      return "function";
    case Object::Type::kMethod:
      return "method";
  }
  return "";
}

}  // namespace

Result<Value> FromJson(const Json& json) { return ConvertJson(json, 0); }

const char* TypeName(const Value& value) {
  switch (value.kind()) {
    case Value::Kind::kUndefined:
      return "Undefined";
    case Value::Kind::kNone:
      return "NoneType";
    case Value::Kind::kBool:
      return "bool";
    case Value::Kind::kInt:
      return "int";
    case Value::Kind::kFloat:
      return "float";
    case Value::Kind::kString:
      return "str";
    case Value::Kind::kSequence:
      return SequenceTypeName(value.sequence().kind);
    case Value::Kind::kDict:
      return "dict";
    case Value::Kind::kObject:
      return ObjectTypeName(value.object()->type);
  }
  return "";
}

bool IsTrue(const Value& value) {
  switch (value.kind()) {
    case Value::Kind::kUndefined:
    case Value::Kind::kNone:
      return false;
    case Value::Kind::kBool:
      return value.as_bool();
    case Value::Kind::kInt:
      return value.as_int() != 0;
    case Value::Kind::kFloat:
      return value.as_double() != 0;
    case Value::Kind::kString:
      return !value.as_string().empty();
    case Value::Kind::kSequence:
      return !value.sequence().sized() || !value.sequence().items.empty();
    case Value::Kind::kDict:
      return value.dict().size() > 0;
    case Value::Kind::kObject:
      return true;
  }
  return false;
}

bool Equals(const Value& a, const Value& b) {
  if (a.is_number() && b.is_number()) {
    if (a.is_int() && b.is_int()) return a.as_int() == b.as_int();
    return a.as_double() == b.as_double();
  }
  if (a.kind() != b.kind()) return false;
  switch (a.kind()) {
    case Value::Kind::kString:
      return a.as_string() == b.as_string();
    case Value::Kind::kSequence:
      return EqualSequences(a.sequence(), b.sequence());
    case Value::Kind::kDict:
      return EqualDicts(a.dict(), b.dict());
    case Value::Kind::kObject:
      return a.object() == b.object();
    default:
      return true;  // None and None, undefined and undefined
  }
}

size_t HashValue(const Value& key) {
  if (key.is_number()) return HashNumber(key);
  if (key.is_string()) return std::hash<std::string_view>()(key.as_string());
  if (key.is_object()) return std::hash<Object*>()(key.object());
  if (!key.is_sequence()) return static_cast<size_t>(key.kind());
  // Tuples: only the first level, so the cost of nested tuples is limited by their width.
  size_t hash = 17;
  for (const Value& item : key.sequence().items)
    hash = hash * 31 + (item.is_sequence() ? 1 : HashValue(item));
  return hash;
}

}  // namespace mlc::jinja
