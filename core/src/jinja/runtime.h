// The state of one render: its budget, the objects that it owns, and the operations on values.
//
// Budgets stop a hostile template. Before an operation works, it charges the steps and the bytes
// that it will need.
#pragma once

#include <ctime>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "jinja/value.h"

namespace mlc::jinja {

using Clock = std::function<std::tm()>;  // the time for strftime_now()

struct Limits {
  int64_t steps = 10'000'000;
  int64_t bytes = int64_t{512} << 20;  // of all values that one render makes
  int depth = 250;                     // nested evaluations; they fit into a stack of 512 KB
};

// The arguments of a call.
struct Arguments {
  Items positional;
  std::vector<std::pair<std::string, Value>> named;
};

// The arguments in the order of a signature. An absent argument is empty.
class BoundArguments {
 public:
  // `signature`: the names in order, optional ones with '?': "old new count?". A '*' before a name
  // makes it and all later names keyword-only. `what` is the function's name in errors.
  static Result<BoundArguments> Bind(const char* signature, Arguments arguments,
                                     const std::string& what);

  bool has(size_t i) const { return values_[i].has_value(); }
  const Value& at(size_t i) const { return *values_[i]; }
  // Whether the argument is there and is not None.
  bool given(size_t i) const { return has(i) && !at(i).is_none(); }
  bool truth(size_t i) const { return has(i) && IsTrue(at(i)); }
  Result<int64_t> Int(size_t i, int64_t fallback) const;  // a TypeError for other types
  Result<std::string> String(size_t i, const char* fallback) const;

 private:
  std::vector<std::optional<Value>> values_;
};

class Runtime {
 public:
  Runtime(Limits limits, Clock clock) : limits_(limits), clock_(std::move(clock)) {}
  virtual ~Runtime() = default;
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;

  Status Charge(size_t steps);
  Status ChargeBytes(size_t bytes);
  // Charges a search for `needle` in `text`, which may compare the whole needle at each position.
  Status ChargeSearch(std::string_view text, std::string_view needle);
  const Clock& clock() const { return clock_; }

  // Makes a value and charges for it.
  Result<Value> Text(std::string text, bool markup = false);
  Result<Value> List(Items items) { return Make(Sequence::Kind::kList, std::move(items)); }
  Result<Value> Tuple(Items items) { return Make(Sequence::Kind::kTuple, std::move(items)); }
  Result<Value> Make(Sequence::Kind kind, Items items);
  // An iterator that yields `items`. Then it fails with `failure`, unless that is ok.
  Result<Value> Iterator(Items items, Status failure = {});
  Result<Value> Make(Dict dict);
  template <typename T, typename... Args>
  Result<Value> NewObject(Args&&... args) {
    MLC_RETURN_IF_ERROR(ChargeBytes(sizeof(T) + 64));
    objects_.push_back(std::make_unique<T>(std::forward<Args>(args)...));
    return Value(objects_.back().get());
  }

  virtual Result<Value> Call(const Value& callee, Arguments arguments) = 0;

 private:
  Limits limits_;
  Clock clock_;
  std::vector<std::unique_ptr<Object>> objects_;
};

// Objects.
struct Namespace : Object {
  Namespace() : Object(Type::kNamespace) {}
  Dict attributes;
};
struct Cycler : Object {
  explicit Cycler(Items items) : Object(Type::kCycler), items(std::move(items)) {}
  Items items;
  size_t position = 0;
};
struct Joiner : Object {
  explicit Joiner(Value separator) : Object(Type::kJoiner), separator(std::move(separator)) {}
  Value separator;
  bool used = false;
};
struct Loop : Object {
  Loop() : Object(Type::kLoop) {}
  Items items;
  size_t index = 0;
  std::optional<Items> last_changed;
};
using Native = Result<Value> (*)(Runtime&, Arguments);
struct Function : Object {
  Function(const char* name, Native call) : Object(Type::kFunction), name(name), call(call) {}
  const char* name;
  Native call;
};
struct Method : Object {
  Method(Value self, std::string name)
      : Object(Type::kMethod), self(std::move(self)), name(std::move(name)) {}
  Value self;
  std::string name;
};

// Python's str() and repr(), and json.dumps with the settings of transformers' `tojson`. An error
// if the text would exceed `max_bytes` or the value cannot be written.
struct JsonStyle {
  bool ensure_ascii = false;
  bool sort_keys = false;
  std::optional<std::string> indent;  // indentation of one level
  std::string item_separator = ", ", key_separator = ": ";
};
Result<std::string> ToText(const Value& value, size_t max_bytes = kMaxTextBytes);
Result<std::string> ToRepr(const Value& value, size_t max_bytes = kMaxTextBytes);
Result<std::string> ToJsonText(const Value& value, const JsonStyle& style);

// Operators by their text: "+", "-", "*", "/", "//", "%", "**" and "<", "<=", ">", ">=", "==",
// "!=", "in", "not in".
Result<Value> BinaryOperation(Runtime& runtime, const std::string& op, const Value& a,
                              const Value& b);
Result<Value> Negate(const Value& value, bool minus);
Result<bool> CompareOperation(Runtime& runtime, const std::string& op, const Value& a,
                              const Value& b);
Result<bool> LessThan(Runtime& runtime, const Value& a, const Value& b);
Result<bool> Contains(Runtime& runtime, const Value& container, const Value& item);

// The items of an iteration: the keys of a dict, the code points of a string. Reads an iterator to
// its end.
Result<Items> Iterate(Runtime& runtime, const Value& value);
Result<int64_t> Length(const Value& value);
// value[key]; undefined if there is no such item. `a.b` looks at attributes first.
Result<Value> GetItem(Runtime& runtime, const Value& value, const Value& key);
Result<Value> GetAttribute(Runtime& runtime, const Value& value, const std::string& name);
Result<Value> GetSlice(Runtime& runtime, const Value& value, const Value& start, const Value& stop,
                       const Value& step);

// Methods of strings, lists, tuples and dicts, by their Python names.
enum class MethodStatus { kNone, kSafe, kUnsafe };  // unsafe: changes the value; refused
MethodStatus FindMethod(const Value& self, const std::string& name);
Result<Value> CallMethod(Runtime& runtime, const Value& self, const std::string& name,
                         Arguments arguments);
Result<Value> CallStringMethod(Runtime& runtime, const Value& self, const std::string& name,
                               Arguments arguments);

// `format % arguments` and format.format(...).
Result<std::string> PercentFormat(Runtime& runtime, const std::string& format, const Value& values);
Result<std::string> BraceFormat(Runtime& runtime, const std::string& format,
                                const Arguments& arguments);
// Python's format(value, "spec") for strings and numbers.
Result<std::string> FormatSpec(const Value& value, const std::string& spec);

// The global functions, and `strftime`.
const Function* FindGlobal(std::string_view name);
std::string FormatTime(const std::string& format, const std::tm& time);

}  // namespace mlc::jinja
