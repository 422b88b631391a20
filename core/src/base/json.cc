#include "base/json.h"

#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>

#include "base/request_json.h"
#include "base/utf8.h"

namespace mlc {
namespace {

using Library = nlohmann::ordered_json;

// Builds a Json from the library's parse events, with an explicit stack instead of recursion.
class Builder : public Library::json_sax_t {
 public:
  Builder(int max_depth, size_t max_values) : max_depth_(max_depth), values_left_(max_values) {}

  Json root;
  std::string error;
  size_t error_at = 0;

  bool null() override { return Add(Json()); }
  bool boolean(bool value) override { return Add(Json(value)); }
  bool number_integer(number_integer_t value) override {
    return Add(Json(static_cast<int64_t>(value)));
  }
  bool number_unsigned(number_unsigned_t value) override {
    if (value <= static_cast<uint64_t>(INT64_MAX)) return Add(Json(static_cast<int64_t>(value)));
    return Add(Json(static_cast<double>(value)));
  }
  bool number_float(number_float_t value, const string_t&) override { return Add(Json(value)); }
  bool string(string_t& value) override { return Add(Json(std::move(value))); }
  bool binary(binary_t&) override { return false; }
  bool start_object(size_t) override { return Open(Json::MakeObject()); }
  bool start_array(size_t) override { return Open(Json::MakeArray()); }
  bool end_object() override { return Close(); }
  bool end_array() override { return Close(); }
  bool key(string_t& value) override {
    keys_.back() = std::move(value);
    return true;
  }
  bool parse_error(size_t position, const std::string&, const Library::exception& e) override {
    error = e.what();
    error_at = position;
    return false;
  }

 private:
  bool Open(Json value) {
    if (static_cast<int>(open_.size()) >= max_depth_) {
      error = "nested deeper than " + std::to_string(max_depth_) + " levels";
      return false;
    }
    open_.push_back(std::move(value));
    keys_.emplace_back();
    return true;
  }
  bool Close() {
    Json done = std::move(open_.back());
    open_.pop_back();
    keys_.pop_back();
    return Add(std::move(done));
  }
  bool Add(Json value) {
    if (values_left_-- == 0) {
      error = "too many values in one document";
      return false;
    }
    if (open_.empty()) {
      root = std::move(value);
    } else if (open_.back().is_array()) {
      open_.back().as_array().push_back(std::move(value));
    } else {
      open_.back().as_object().emplace_back(std::move(keys_.back()), std::move(value));
    }
    return true;
  }

  int max_depth_;
  size_t values_left_;
  std::vector<Json> open_;         // the containers that are not closed yet
  std::vector<std::string> keys_;  // the member being read in each
};

// The library's message without its own prefix "[json.exception.parse_error.101] parse error at ".
std::string Shorten(const std::string& message) {
  size_t at = message.find("parse error at ");
  return at == std::string::npos ? message : message.substr(at + 15);
}

// The library takes a NUL for the end of the text, but JSON has no NUL at any place.
Result<Json> Build(std::string_view text, Builder builder) {
  size_t nul = text.find('\0');
  if (nul != std::string_view::npos) {
    return InvalidArgument("invalid JSON: a NUL byte at position " + std::to_string(nul));
  }
  if (Library::sax_parse(text.begin(), text.end(), &builder)) return std::move(builder.root);
  return InvalidArgument("invalid JSON: " + RepairUtf8(Shorten(builder.error)));
}

// Nearly all strings are plain. A plain string needs no second copy.
bool IsPlain(const std::string& text) {
  bool plain = true;
  for (char c : text) plain &= c >= 0x20 && c < 0x7f && c != '"' && c != '\\';
  return plain;
}

void DumpString(const std::string& text, std::string* out) {
  if (IsPlain(text)) {
    out->push_back('"');
    *out += text;
    out->push_back('"');
    return;
  }
  *out += Library(text).dump(-1, ' ', false, Library::error_handler_t::replace);
}

void NewLine(int indent, int depth, std::string* out) {
  if (indent < 0) return;
  out->push_back('\n');
  out->append(static_cast<size_t>(indent) * depth, ' ');
}

void DumpTo(const Json& json, int indent, int depth, std::string* out);

void DumpArray(const Json::Array& array, int indent, int depth, std::string* out) {
  out->push_back('[');
  for (size_t i = 0; i < array.size(); ++i) {
    if (i > 0) out->push_back(',');
    NewLine(indent, depth + 1, out);
    DumpTo(array[i], indent, depth + 1, out);
  }
  if (!array.empty()) NewLine(indent, depth, out);
  out->push_back(']');
}

void DumpObject(const Json::Object& object, int indent, int depth, std::string* out) {
  out->push_back('{');
  for (size_t i = 0; i < object.size(); ++i) {
    if (i > 0) out->push_back(',');
    NewLine(indent, depth + 1, out);
    DumpString(object[i].first, out);
    *out += indent < 0 ? ":" : ": ";
    DumpTo(object[i].second, indent, depth + 1, out);
  }
  if (!object.empty()) NewLine(indent, depth, out);
  out->push_back('}');
}

void DumpTo(const Json& json, int indent, int depth, std::string* out) {
  switch (json.type()) {
    case Json::Type::kNull:
      *out += "null";
      break;
    case Json::Type::kBool:
      *out += json.as_bool() ? "true" : "false";
      break;
    case Json::Type::kInt:
      *out += std::to_string(json.as_int());
      break;
    case Json::Type::kDouble:
      *out += Library(json.as_double()).dump();
      break;
    case Json::Type::kString:
      DumpString(json.as_string(), out);
      break;
    case Json::Type::kArray:
      DumpArray(json.as_array(), indent, depth, out);
      break;
    case Json::Type::kObject:
      DumpObject(json.as_object(), indent, depth, out);
      break;
  }
}

Status WrongType(std::string_view key, const char* wanted, const Json& got) {
  return InvalidArgument("field '" + std::string(key) + "' must be " + wanted + ", not " +
                         got.type_name())
      .WithParam(std::string(key));
}

Status Missing(std::string_view key) {
  return InvalidArgument("field '" + std::string(key) + "' is missing").WithParam(std::string(key));
}

// Returns nullptr for an absent member and for null. Both mean "not given".
const Json* FindGiven(const Json& object, std::string_view key) {
  const Json* value = object.Find(key);
  return value == nullptr || value->is_null() ? nullptr : value;
}

}  // namespace

Result<Json> Json::Parse(std::string_view text, int max_depth) {
  return Build(text, Builder(max_depth, SIZE_MAX));
}

Result<Json> ParseRequestJson(std::string_view text) {
  return Build(text, Builder(Json::kMaxDepth, kMaxRequestValues));
}

std::string Json::Dump(int indent) const {
  std::string out;
  DumpTo(*this, indent, 0, &out);
  return out;
}

const char* Json::type_name() const {
  static const char* const kNames[] = {"null",   "boolean", "integer", "number",
                                       "string", "array",   "object"};
  return kNames[value_.index()];
}

double Json::as_double() const { return is_int() ? static_cast<double>(as_int()) : Get<double>(); }

Json::Array& Json::as_array() {
  MLC_ICHECK(is_array());
  return std::get<Array>(value_);
}

Json::Object& Json::as_object() {
  MLC_ICHECK(is_object());
  return std::get<Object>(value_);
}

const Json* Json::Find(std::string_view key) const {
  const Object* object = std::get_if<Object>(&value_);
  if (object == nullptr) return nullptr;
  for (auto it = object->rbegin(); it != object->rend(); ++it) {
    if (it->first == key) return &it->second;
  }
  return nullptr;
}

Json& Json::Set(std::string key, Json value) {
  if (is_null()) value_ = Object{};
  if (const Json* found = Find(key)) {
    *const_cast<Json*>(found) = std::move(value);
  } else {
    as_object().emplace_back(std::move(key), std::move(value));
  }
  return *this;
}

void Json::Append(Json value) {
  if (is_null()) value_ = Array{};
  as_array().push_back(std::move(value));
}

Result<int64_t> GetInt(const Json& object, std::string_view key) {
  const Json* value = FindGiven(object, key);
  if (value == nullptr) return Missing(key);
  if (!value->is_int()) return WrongType(key, "an integer", *value);
  return value->as_int();
}

Result<double> GetDouble(const Json& object, std::string_view key) {
  const Json* value = FindGiven(object, key);
  if (value == nullptr) return Missing(key);
  if (!value->is_number()) return WrongType(key, "a number", *value);
  return value->as_double();
}

Result<bool> GetBool(const Json& object, std::string_view key) {
  const Json* value = FindGiven(object, key);
  if (value == nullptr) return Missing(key);
  if (!value->is_bool()) return WrongType(key, "a boolean", *value);
  return value->as_bool();
}

Result<std::string> GetString(const Json& object, std::string_view key) {
  const Json* value = FindGiven(object, key);
  if (value == nullptr) return Missing(key);
  if (!value->is_string()) return WrongType(key, "a string", *value);
  return value->as_string();
}

Result<int64_t> GetIntOr(const Json& object, std::string_view key, int64_t fallback) {
  return FindGiven(object, key) ? GetInt(object, key) : Result<int64_t>(fallback);
}

Result<bool> GetBoolOr(const Json& object, std::string_view key, bool fallback) {
  return FindGiven(object, key) ? GetBool(object, key) : Result<bool>(fallback);
}

Result<std::string> GetStringOr(const Json& object, std::string_view key, std::string fallback) {
  return FindGiven(object, key) ? GetString(object, key) : Result<std::string>(std::move(fallback));
}

}  // namespace mlc
