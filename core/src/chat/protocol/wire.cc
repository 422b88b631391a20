#include "chat/protocol/wire.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/nearest_name.h"
#include "base/utf8.h"

namespace mlc::wire {
namespace {

constexpr size_t kMaxQuotedBytes = 64;  // most bytes of the caller's text in a message

// Quotes the caller's text: short enough for a message, and never cut inside a character.
std::string Quote(std::string_view text) {
  if (text.size() <= kMaxQuotedBytes) return std::string(text);
  std::string_view head = text.substr(0, kMaxQuotedBytes);
  return std::string(head.substr(0, head.size() - IncompleteUtf8Tail(head))) + "...";
}

std::string ShowNumber(double value) {
  bool whole = std::floor(value) == value && std::fabs(value) < 1e15;
  return whole ? std::to_string(static_cast<int64_t>(value)) : Json(value).Dump();
}

const char* Describe(const Json& json) {
  switch (json.type()) {
    case Json::Type::kNull:
      return "null";
    case Json::Type::kBool:
      return "a boolean";
    case Json::Type::kInt:
      return "an integer";
    case Json::Type::kDouble:
      return "a decimal";
    case Json::Type::kString:
      return "a string";
    case Json::Type::kArray:
      return "an array";
    case Json::Type::kObject:
      return "an object";
  }
  return "";
}

// "the request body" or "'temperature'".
std::string Place(const Path& path) {
  std::string text = path.ToString();
  return text.empty() ? "the request body" : "'" + text + "'";
}

Status Fault(std::string message, const Path& path, const Reason& reason) {
  return InvalidArgument(std::move(message)).WithParam(path.ToString()).WithReason(reason);
}

// "'a'", "'a' and 'b'", "'a', 'b', and 'c'".
std::string List(const char* const* words, size_t count) {
  std::string out;
  for (size_t i = 0; i < count; ++i) {
    if (i > 0) out += count > 2 ? ", " : " ";
    if (i > 0 && i + 1 == count) out += "and ";
    out += "'" + std::string(words[i]) + "'";
  }
  return out;
}

// What is said of a whole number and of any other.
struct NumberWords {
  const char* kind;
  const Reason &below, &above;
};
constexpr NumberWords kInteger = {"integer", Reason::kIntegerBelowMinValue,
                                  Reason::kIntegerAboveMaxValue};
constexpr NumberWords kDecimal = {"decimal", Reason::kDecimalBelowMinValue,
                                  Reason::kDecimalAboveMaxValue};

Status OutOfRange(const Json& value, const Path& path, const NumberWords& words, bool above,
                  const char* relation, double bound) {
  std::string message = "Invalid " + Place(path) + ": " + words.kind +
                        (above ? " above max" : " below min") + "imum value. Expected a value " +
                        relation + " " + ShowNumber(bound) + ", but got " + Quote(value.Dump()) +
                        " instead.";
  return Fault(message, path, above ? words.above : words.below);
}

Status CheckRange(const Json& json, const Path& path, const NumberWords& words,
                  const Limits& limits) {
  double value = json.as_double();
  if (limits.at_least && value < *limits.at_least) {
    return OutOfRange(json, path, words, false, ">=", *limits.at_least);
  }
  if (limits.above && value <= *limits.above) {
    return OutOfRange(json, path, words, false, ">", *limits.above);
  }
  if (limits.at_most && value > *limits.at_most) {
    return OutOfRange(json, path, words, true, "<=", *limits.at_most);
  }
  if (limits.below && value >= *limits.below) {
    return OutOfRange(json, path, words, true, "<", *limits.below);
  }
  return {};
}

// What is said of texts and of lists: "string too long", "array too short".
struct LengthWords {
  const char *article, *kind;
  const Reason &empty, &below, &above;
};
constexpr LengthWords kString = {"a ", "string", Reason::kEmptyString,
                                 Reason::kStringBelowMinLength, Reason::kStringAboveMaxLength};
constexpr LengthWords kArray = {"an ", "array", Reason::kEmptyArray, Reason::kArrayBelowMinLength,
                                Reason::kArrayAboveMaxLength};

Status CheckLength(size_t length, size_t min, size_t max, const Path& path,
                   const LengthWords& words) {
  if (length >= min && length <= max) return {};
  const std::string kind = words.kind, a_kind = words.article + kind;
  if (length == 0) {
    return Fault("Invalid " + Place(path) + ": empty " + kind + ". Expected " + a_kind +
                     " with minimum length " + std::to_string(min) + ", but got an empty " + kind +
                     " instead.",
                 path, words.empty);
  }
  bool above = length > max;
  return Fault("Invalid " + Place(path) + ": " + kind + (above ? " too long" : " too short") +
                   ". Expected " + a_kind + " with " + (above ? "maximum" : "minimum") +
                   " length " + std::to_string(above ? max : min) + ", but got " + a_kind +
                   " with length " + std::to_string(length) + " instead.",
               path, above ? words.above : words.below);
}

// The length in code points. JSON's strings are valid UTF-8.
size_t CountCodePoints(const std::string& text) {
  size_t count = 0;
  for (char c : text) count += (c & 0xC0) != 0x80;
  return count;
}

// Whether the double is an integer in the range of int64.
bool IsWhole(double value) {
  return value >= -9223372036854775808.0 && value < 9223372036854775808.0 &&
         std::floor(value) == value;
}

}  // namespace

std::string Path::Step(bool first) const {
  if (key_.data() == nullptr) return "[" + std::to_string(index_) + "]";
  return (first ? "" : ".") + Quote(key_);
}

std::string Path::ToString() const {
  std::vector<const Path*> steps;
  for (const Path* at = this; at->parent_ != nullptr; at = at->parent_) steps.push_back(at);
  std::string out;
  for (auto it = steps.rbegin(); it != steps.rend(); ++it) out += (*it)->Step(it == steps.rbegin());
  return out;
}

Status WrongType(const Json& got, const Path& path, const std::string& expected) {
  return Fault("Invalid type for " + Place(path) + ": expected " + expected + ", but got " +
                   Describe(got) + " instead.",
               path, Reason::kInvalidType);
}

Status Missing(const Path& path) {
  return Fault("Missing required parameter: " + Place(path) + ".", path,
               Reason::kMissingRequiredParameter);
}

Status NotSupported(std::string_view got, const Path& path, Words supported) {
  return Fault("Invalid value for " + Place(path) + ": '" + Quote(got) +
                   "'. Supported values are: " + List(supported.words, supported.count) + ".",
               path, Reason::kInvalidValue);
}

Status NotSupported(std::string_view got, const Path& path,
                    std::initializer_list<const char*> supported) {
  return NotSupported(got, path, Words{supported.begin(), supported.size()});
}

Status CheckItemCount(size_t count, const Path& path, const Limits& limits) {
  return CheckLength(count, limits.min_items, limits.max_items, path, kArray);
}

Result<int64_t> ParseIntKey(const std::string& key, const Path& path) {
  int64_t value = 0;
  const char* end = key.data() + key.size();
  auto [stop, error] = std::from_chars(key.data(), end, value);
  if (error == std::errc() && stop == end && value >= 0) return value;
  return Fault("Invalid key in " + Place(path) + ": expected a non-negative integer, but got '" +
                   Quote(key) + "' instead.",
               path.Member(key), Reason::kInvalidValue);
}

Result<std::string> ReadTag(const Json& json, const Path& path, std::string_view key) {
  std::string tag;
  ObjectReader reader(json, path);
  reader.Required(key, &tag);
  MLC_RETURN_IF_ERROR(reader.status());
  return tag;
}

Status Codec<bool>::Read(const Json& json, const Path& path, const Limits&, bool* out) {
  if (!json.is_bool()) return WrongType(json, path, "a boolean");
  *out = json.as_bool();
  return {};
}

// 3.0 is an integer too: in several languages all numbers are floating-point.
Status Codec<int64_t>::Read(const Json& json, const Path& path, const Limits& limits,
                            int64_t* out) {
  if (!json.is_number() || (!json.is_int() && !IsWhole(json.as_double()))) {
    return WrongType(json, path, "an integer");
  }
  MLC_RETURN_IF_ERROR(CheckRange(json, path, kInteger, limits));
  *out = json.is_int() ? json.as_int() : static_cast<int64_t>(json.as_double());
  return {};
}

Status Codec<double>::Read(const Json& json, const Path& path, const Limits& limits, double* out) {
  if (!json.is_number()) return WrongType(json, path, "a number");
  MLC_RETURN_IF_ERROR(CheckRange(json, path, kDecimal, limits));
  *out = json.as_double();
  return {};
}

Status Codec<std::string>::Read(const Json& json, const Path& path, const Limits& limits,
                                std::string* out) {
  if (!json.is_string()) return WrongType(json, path, "a string");
  MLC_RETURN_IF_ERROR(CheckLength(CountCodePoints(json.as_string()), limits.min_length,
                                  limits.max_length, path, kString));
  *out = json.as_string();
  return {};
}

Status Codec<Json>::Read(const Json& json, const Path&, const Limits&, Json* out) {
  *out = json;
  return {};
}

ObjectReader::ObjectReader(const Json& json, const Path& path) : json_(json), path_(path) {
  if (!json.is_object()) status_ = WrongType(json, path, "an object");
}

const Json* ObjectReader::FindGiven(std::string_view key) const {
  const Json* value = status_.ok() ? json_.Find(key) : nullptr;
  return value == nullptr || value->is_null() ? nullptr : value;
}

const Json* ObjectReader::FindRequired(std::string_view key) {
  if (!status_.ok()) return nullptr;
  const Json* value = json_.Find(key);
  if (value == nullptr) status_ = Missing(path_.Member(key));
  return value;
}

ObjectReader& ObjectReader::Constant(std::string_view key, const char* value) {
  std::string got;
  Required(key, &got);
  if (status_.ok() && got != value) status_ = NotSupported(got, path_.Member(key), {value});
  return *this;
}

ObjectReader& ObjectReader::RawObject(std::string_view key, Json* out) {
  const Json* value = FindRequired(key);
  if (value == nullptr) return *this;
  if (!value->is_object()) status_ = WrongType(*value, path_.Member(key), "an object");
  *out = *value;
  return *this;
}

ObjectReader& ObjectReader::RawObject(std::string_view key, std::optional<Json>* out) {
  return FindGiven(key) == nullptr ? *this : RawObject(key, &out->emplace());
}

ObjectReader& ObjectReader::RequiredWhen(std::string_view key, bool condition) {
  if (status_.ok() && condition && FindGiven(key) == nullptr) status_ = Missing(path_.Member(key));
  return *this;
}

ObjectReader& ObjectReader::OnlyKnown(std::initializer_list<std::string_view> keys) {
  if (!status_.ok()) return *this;
  for (const Json::Member& member : json_.as_object()) {
    if (std::find(keys.begin(), keys.end(), member.first) != keys.end()) continue;
    Path at = path_.Member(member.first);
    std::string words = "Unrecognized parameter: " + Place(at) + ".";
    std::string_view meant = NearestName(member.first, keys);
    if (!meant.empty()) words.append(" Did you mean '").append(meant).append("'?");
    status_ = Fault(std::move(words), at, Reason::kUnknownParameter);
    break;
  }
  return *this;
}

}  // namespace mlc::wire
