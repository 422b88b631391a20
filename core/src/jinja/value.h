// The values of a template: Python's values, as far as chat templates can see them.
//
// Strings and containers are immutable and shared, so copying a Value is cheap. (jinja2's immutable
// sandbox has the same rule.) A container stores its depth and its weight when it is made. The
// depth is limited, so recursion over values is safe. The weight lets a caller charge for a
// comparison before making it. Values with identity (namespaces, macros, loops) are Objects. They
// belong to one render, which destroys them at its end; values only point to them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "base/json.h"
#include "base/status.h"

namespace mlc::jinja {

constexpr int kMaxValueDepth = 300;
constexpr size_t kMaxTextBytes = size_t{64} << 20;

class Value;
using Items = std::vector<Value>;

struct Text {
  std::string bytes;    // UTF-8
  size_t length = 0;    // in code points
  bool markup = false;  // came from `|safe` or `|escape`; text that is added to it is escaped
};

// The kind of a value with identity; jinja/runtime.h has the structures.
struct Object {
  enum class Type { kNamespace, kMacro, kLoop, kCycler, kJoiner, kFunction, kMethod };
  explicit Object(Type type) : type(type) {}
  virtual ~Object() = default;
  Type type;
};

struct Sequence;
class Dict;

class Value {
 public:
  enum class Kind { kUndefined, kNone, kBool, kInt, kFloat, kString, kSequence, kDict, kObject };

  Value() = default;                                        // undefined, without a hint
  Value(bool value) : data_(value) {}                       // NOLINT: implicit on purpose
  Value(int value) : data_(static_cast<int64_t>(value)) {}  // NOLINT
  Value(int64_t value) : data_(value) {}                    // NOLINT
  Value(double value) : data_(value) {}                     // NOLINT
  Value(std::shared_ptr<const Sequence> value) : data_(std::move(value)) {}  // NOLINT
  Value(std::shared_ptr<const Dict> value) : data_(std::move(value)) {}      // NOLINT
  explicit Value(Object* value) : data_(value) {}
  template <typename T>
  Value(T*) = delete;  // a string literal must not become a bool
  static Value None();
  static Value String(std::string text, bool markup = false);
  // `hint` says why its use is an error, in jinja2's words.
  static Value Undefined(std::string hint);

  Kind kind() const { return static_cast<Kind>(data_.index()); }
  bool is_undefined() const { return kind() == Kind::kUndefined; }
  bool is_none() const { return kind() == Kind::kNone; }
  bool is_bool() const { return kind() == Kind::kBool; }
  bool is_int() const { return kind() == Kind::kInt || is_bool(); }  // True is an int, as in Python
  bool is_float() const { return kind() == Kind::kFloat; }
  bool is_number() const { return is_int() || is_float(); }
  bool is_string() const { return kind() == Kind::kString; }
  bool is_sequence() const { return kind() == Kind::kSequence; }
  bool is_dict() const { return kind() == Kind::kDict; }
  bool is_object() const { return kind() == Kind::kObject; }
  bool is_list() const;
  bool is_tuple() const;
  bool is_object(Object::Type type) const { return is_object() && object()->type == type; }

  // The caller must check the kind first.
  bool as_bool() const { return std::get<bool>(data_); }
  int64_t as_int() const { return is_bool() ? as_bool() : std::get<int64_t>(data_); }
  double as_double() const { return is_float() ? std::get<double>(data_) : as_int(); }
  const Text& text() const { return *std::get<TextRef>(data_); }
  const std::string& as_string() const { return text().bytes; }
  const Sequence& sequence() const { return *std::get<SequenceRef>(data_); }
  const Dict& dict() const { return *std::get<DictRef>(data_); }
  Object* object() const { return std::get<Object*>(data_); }
  std::string hint() const;  // of an undefined value

  int depth() const;      // 0 for anything but a container
  size_t weight() const;  // the cost of a deep comparison; it saturates
  bool hashable() const;
  // Whether both are the same object, as Python's `is`, except that equal numbers and strings give
  // true.
  bool Same(const Value& other) const;

 private:
  struct UndefinedData {
    std::shared_ptr<const std::string> hint;
  };
  using TextRef = std::shared_ptr<const Text>;
  using SequenceRef = std::shared_ptr<const Sequence>;
  using DictRef = std::shared_ptr<const Dict>;
  std::variant<UndefinedData, std::monostate, bool, int64_t, double, TextRef, SequenceRef, DictRef,
               Object*>
      data_;
};

// Lists, tuples, and everything else that yields items.
struct Sequence {
  enum class Kind {
    kList,
    kTuple,
    kGroup,  // of groupby: a tuple whose elements are also .grouper and .list
    kRange,
    kKeys,  // views of a dict
    kValues,
    kItems,
    kIterator,  // can be read only once: generators of map(), select(), ...
  };
  Kind kind = Kind::kList;
  Items items;
  int depth = 1;
  size_t weight = 1;
  bool hashable = true;                   // a tuple with hashable items
  int64_t start = 0, stop = 0, step = 1;  // of a range
  // An iterator is computed at once. If that failed, reading beyond the computed items fails.
  Status failure;
  mutable size_t next = 0;

  bool sized() const { return kind != Kind::kIterator; }
  bool indexable() const { return kind <= Kind::kRange; }
};

// Ordered by insertion. Keys are compared as in Python (1 == 1.0 == True).
class Dict {
 public:
  using Entry = std::pair<Value, Value>;
  const std::vector<Entry>& entries() const { return entries_; }
  size_t size() const { return entries_.size(); }
  const Value* Find(const Value& key) const;
  const Value* Find(std::string_view key) const;
  void Set(Value key, Value value);  // requires key.hashable()
  int depth() const { return depth_; }
  size_t weight() const { return weight_; }

 private:
  int64_t Position(const Value& key) const;  // -1: absent
  std::vector<Entry> entries_;
  std::unordered_multimap<size_t, size_t> index_;  // hash of the key -> position
  int depth_ = 1;
  size_t weight_ = 1;
};

// Makes a container. kInvalidArgument if it is nested too deeply.
Result<Value> MakeSequence(Sequence::Kind kind, Items items);
Result<Value> MakeDict(Dict dict);
Result<Value> FromJson(const Json& json);

const char* TypeName(const Value& value);  // Python's: "str", "NoneType", ...
bool IsTrue(const Value& value);
// Python's `==`. The cost is the smaller of the two weights.
bool Equals(const Value& a, const Value& b);
size_t HashValue(const Value& key);

}  // namespace mlc::jinja
