// A JSON value: what a request body, a config file or a tokenizer file is parsed into.
//
// Objects keep the order of their members, since templates print `tools` in the caller's order.
// Integers are exact over the whole int64 range. Parsing never throws, limits the depth, and
// reports the position of an error. Strings are checked to be valid UTF-8.
//
//   MLC_ASSIGN_OR_RETURN(Json config, Json::Parse(text));
//   if (const Json* name = config.Find("name"); name && name->is_string()) Use(name->as_string());
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/status.h"

namespace mlc {

class Json {
 public:
  using Member = std::pair<std::string, Json>;
  using Array = std::vector<Json>;
  using Object = std::vector<Member>;
  enum class Type { kNull, kBool, kInt, kDouble, kString, kArray, kObject };
  static constexpr int kMaxDepth = 128;

  Json() = default;
  Json(std::nullptr_t) {}                                       // NOLINT: implicit on purpose
  Json(bool value) : value_(value) {}                           // NOLINT
  Json(int value) : value_(static_cast<int64_t>(value)) {}      // NOLINT
  Json(int64_t value) : value_(value) {}                        // NOLINT
  Json(double value) : value_(value) {}                         // NOLINT
  Json(const char* value) : value_(std::string(value)) {}       // NOLINT
  Json(std::string value) : value_(std::move(value)) {}         // NOLINT
  Json(std::string_view value) : value_(std::string(value)) {}  // NOLINT
  Json(Array value) : value_(std::move(value)) {}               // NOLINT
  Json(Object value) : value_(std::move(value)) {}              // NOLINT
  static Json MakeArray() { return Json(Array{}); }
  static Json MakeObject() { return Json(Object{}); }

  // Errors: kInvalidArgument with line and column. Depth over `max_depth`, NaN, Infinity, comments,
  // trailing text and invalid UTF-8 are errors. An integer outside int64 becomes a double.
  static Result<Json> Parse(std::string_view text, int max_depth = kMaxDepth);

  // Compact text, with members in order and UTF-8 unchanged (invalid bytes become U+FFFD). A double
  // that is not finite becomes null. `indent` >= 0 gives readable text.
  std::string Dump(int indent = -1) const;

  Type type() const { return static_cast<Type>(value_.index()); }
  const char* type_name() const;  // "null", "boolean", "integer", "number", "string", ...
  bool is_null() const { return type() == Type::kNull; }
  bool is_bool() const { return type() == Type::kBool; }
  bool is_int() const { return type() == Type::kInt; }
  bool is_number() const { return is_int() || type() == Type::kDouble; }
  bool is_string() const { return type() == Type::kString; }
  bool is_array() const { return type() == Type::kArray; }
  bool is_object() const { return type() == Type::kObject; }

  // The caller must have checked the type: a wrong type is a broken invariant.
  bool as_bool() const { return Get<bool>(); }
  int64_t as_int() const { return Get<int64_t>(); }
  double as_double() const;  // also for an integer
  const std::string& as_string() const { return Get<std::string>(); }
  const Array& as_array() const { return Get<Array>(); }
  const Object& as_object() const { return Get<Object>(); }
  Array& as_array();
  Object& as_object();

  // The member's value; the last one if a key is repeated. nullptr when there is no such member, or
  // when this is not an object.
  const Json* Find(std::string_view key) const;
  // Sets or replaces a member. A null value first becomes an object.
  Json& Set(std::string key, Json value);
  // Appends to an array. A null value first becomes an array.
  void Append(Json value);

  friend bool operator==(const Json& a, const Json& b) { return a.value_ == b.value_; }
  friend bool operator!=(const Json& a, const Json& b) { return !(a == b); }

 private:
  template <typename T>
  const T& Get() const {
    const T* value = std::get_if<T>(&value_);
    MLC_ICHECK(value != nullptr);
    return *value;
  }
  std::variant<std::monostate, bool, int64_t, double, std::string, Array, Object> value_;
};

// Typed access for config files. Each error names the field in `param`.
Result<int64_t> GetInt(const Json& object, std::string_view key);
Result<double> GetDouble(const Json& object, std::string_view key);
Result<bool> GetBool(const Json& object, std::string_view key);
Result<std::string> GetString(const Json& object, std::string_view key);
// The same, with a default for a member that is absent or null.
Result<int64_t> GetIntOr(const Json& object, std::string_view key, int64_t fallback);
Result<bool> GetBoolOr(const Json& object, std::string_view key, bool fallback);
Result<std::string> GetStringOr(const Json& object, std::string_view key, std::string fallback);

}  // namespace mlc
