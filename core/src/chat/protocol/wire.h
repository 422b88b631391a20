// Conversions between JSON and C++ values. The generated protocol (protocol.gen.h) uses them.
//
// Reading checks types, ranges and required members, and ignores unknown members. It reports the
// first error with its path and a message in OpenAI's words:
//
//   Result<Point> Point::Parse(const Json& json, const wire::Path& path) {
//     Point out;
//     wire::ObjectReader reader(json, path);
//     reader.Required("x", &out.x, wire::Limits().AtLeast(0));  // Missing ... 'corner[1].x'
//     reader.Optional("label", &out.label);                     // absent or null: nothing
//     MLC_RETURN_IF_ERROR(reader.status());
//     return out;
//   }
//
// Writing keeps the order of the calls:
//
//   return wire::ObjectWriter().Required("x", x).Optional("label", label).Finish();
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "base/json.h"
#include "base/status.h"

namespace mlc::wire {

// The place of a value in the document. A child points to its parent, which must outlive it. So a
// path costs nothing until an error prints it.
class Path {
 public:
  Path() = default;  // the document itself
  Path Member(std::string_view key) const { return Path(this, key, 0); }
  Path Item(size_t index) const { return Path(this, {}, index); }
  std::string ToString() const;  // "messages[2].content", "" for the document

 private:
  Path(const Path* parent, std::string_view key, size_t index)
      : parent_(parent), key_(key), index_(index) {}
  std::string Step(bool first) const;

  const Path* parent_ = nullptr;
  std::string_view key_;  // data() == nullptr for an item of an array
  size_t index_ = 0;
};

// The limits of a value. For a list or map, AtLeast .. Below and the string lengths are limits for
// its members, and the item counts are limits for the list itself.
struct Limits {
  std::optional<double> at_least, above, at_most, below;
  size_t min_length = 0, max_length = SIZE_MAX;  // of strings, in code points
  size_t min_items = 0, max_items = SIZE_MAX;    // of arrays

  Limits& AtLeast(double bound) { return at_least = bound, *this; }
  Limits& Above(double bound) { return above = bound, *this; }
  Limits& AtMost(double bound) { return at_most = bound, *this; }
  Limits& Below(double bound) { return below = bound, *this; }
  Limits& MinLength(size_t count) { return min_length = count, *this; }
  Limits& MaxLength(size_t count) { return max_length = count, *this; }
  Limits& MinItems(size_t count) { return min_items = count, *this; }
  Limits& MaxItems(size_t count) { return max_items = count, *this; }
};

// The words of an enum, in the order of its enumerators, which count from 0. Each generated enum E
// has `Words WireWords(E)`, which overload resolution finds.
struct Words {
  const char* const* words;
  size_t count;
};

template <typename E>
const char* ToWord(E value) {
  return WireWords(value).words[static_cast<size_t>(value)];
}

template <typename E>
std::optional<E> FromWord(std::string_view word) {
  Words all = WireWords(E{});
  for (size_t i = 0; i < all.count; ++i) {
    if (word == all.words[i]) return static_cast<E>(i);
  }
  return std::nullopt;
}

// A word of an enum to which a newer peer may have added words. An unknown word is kept unchanged.
template <typename E>
class OpenEnum {
 public:
  OpenEnum() : OpenEnum(E{}) {}
  OpenEnum(E value) : known_(value), word_(ToWord(value)) {}  // NOLINT: implicit on purpose
  explicit OpenEnum(std::string word) : known_(FromWord<E>(word)), word_(std::move(word)) {}

  std::optional<E> known() const { return known_; }
  const std::string& word() const { return word_; }
  friend bool operator==(const OpenEnum& a, const OpenEnum& b) { return a.word_ == b.word_; }
  friend bool operator!=(const OpenEnum& a, const OpenEnum& b) { return !(a == b); }

 private:
  std::optional<E> known_;
  std::string word_;
};

// Errors. All are kInvalidArgument; `param` is the path, and the reason is OpenAI's `code`.
// `expected` and `supported` are phrases: "a string", "one of a string or an array".
Status WrongType(const Json& got, const Path& path, const std::string& expected);
Status Missing(const Path& path);
Status NotSupported(std::string_view got, const Path& path, Words supported);
Status NotSupported(std::string_view got, const Path& path,
                    std::initializer_list<const char*> supported);
Status CheckItemCount(size_t count, const Path& path, const Limits& limits);
Result<int64_t> ParseIntKey(const std::string& key, const Path& path);
// Reads the string member that tells the objects of a union apart.
Result<std::string> ReadTag(const Json& json, const Path& path, std::string_view key);

// How a type is read and written. A generated struct or union has its own Parse and ToJson.
template <typename T, typename = void>
struct Codec {
  static Status Read(const Json& json, const Path& path, const Limits&, T* out) {
    MLC_ASSIGN_OR_RETURN(*out, T::Parse(json, path));
    return {};
  }
  static Json Write(const T& value) { return value.ToJson(); }
};

#define MLC_WIRE_CODEC_(type)                                                                \
  template <>                                                                                \
  struct Codec<type> {                                                                       \
    static Status Read(const Json& json, const Path& path, const Limits& limits, type* out); \
    static Json Write(const type& value) { return Json(value); }                             \
  }
MLC_WIRE_CODEC_(bool);
MLC_WIRE_CODEC_(int64_t);
MLC_WIRE_CODEC_(double);
MLC_WIRE_CODEC_(std::string);
MLC_WIRE_CODEC_(Json);
#undef MLC_WIRE_CODEC_

template <typename E>
struct Codec<E, std::enable_if_t<std::is_enum_v<E>>> {
  static Status Read(const Json& json, const Path& path, const Limits&, E* out) {
    std::string word;
    MLC_RETURN_IF_ERROR(Codec<std::string>::Read(json, path, Limits(), &word));
    std::optional<E> known = FromWord<E>(word);
    if (!known) return NotSupported(word, path, WireWords(E{}));
    *out = *known;
    return {};
  }
  static Json Write(E value) { return Json(ToWord(value)); }
};

template <typename E>
struct Codec<OpenEnum<E>> {
  static Status Read(const Json& json, const Path& path, const Limits&, OpenEnum<E>* out) {
    std::string word;
    MLC_RETURN_IF_ERROR(Codec<std::string>::Read(json, path, Limits(), &word));
    *out = OpenEnum<E>(std::move(word));
    return {};
  }
  static Json Write(const OpenEnum<E>& value) { return Json(value.word()); }
};

template <typename T>
struct Codec<std::vector<T>> {
  static Status Read(const Json& json, const Path& path, const Limits& limits,
                     std::vector<T>* out) {
    if (!json.is_array()) return WrongType(json, path, "an array");
    const Json::Array& items = json.as_array();
    MLC_RETURN_IF_ERROR(CheckItemCount(items.size(), path, limits));
    out->clear();
    for (size_t i = 0; i < items.size(); ++i) {
      T item{};
      MLC_RETURN_IF_ERROR(Codec<T>::Read(items[i], path.Item(i), limits, &item));
      out->push_back(std::move(item));
    }
    return {};
  }
  static Json Write(const std::vector<T>& items) {
    Json::Array out;
    out.reserve(items.size());
    for (const T& item : items) out.push_back(Codec<T>::Write(item));
    return Json(std::move(out));
  }
};

inline Result<std::string> ParseKey(const std::string& key, const Path&, std::string*) {
  return key;
}
inline Result<int64_t> ParseKey(const std::string& key, const Path& path, int64_t*) {
  return ParseIntKey(key, path);
}
inline std::string WriteKey(const std::string& key) { return key; }
inline std::string WriteKey(int64_t key) { return std::to_string(key); }

template <typename K, typename T>
struct Codec<std::map<K, T>> {
  static Status Read(const Json& json, const Path& path, const Limits& limits,
                     std::map<K, T>* out) {
    if (!json.is_object()) return WrongType(json, path, "an object");
    out->clear();
    for (const Json::Member& member : json.as_object()) {
      MLC_ASSIGN_OR_RETURN(K key, ParseKey(member.first, path, static_cast<K*>(nullptr)));
      T value{};
      Path at = path.Member(member.first);
      MLC_RETURN_IF_ERROR(Codec<T>::Read(member.second, at, limits, &value));
      (*out)[std::move(key)] = std::move(value);
    }
    return {};
  }
  static Json Write(const std::map<K, T>& values) {
    Json::Object out;
    for (const auto& [key, value] : values) {
      out.emplace_back(WriteKey(key), Codec<T>::Write(value));
    }
    return Json(std::move(out));
  }
};

// Reads the members of an object. After the first error the calls do nothing.
class ObjectReader {
 public:
  // The arguments are not copied; both must outlive the reader.
  ObjectReader(const Json& json, const Path& path);

  template <typename T>
  ObjectReader& Required(std::string_view key, T* out, const Limits& limits = Limits()) {
    const Json* value = FindRequired(key);
    if (value != nullptr) Read(key, *value, limits, out);
    return *this;
  }

  template <typename T>
  ObjectReader& Optional(std::string_view key, std::optional<T>* out,
                         const Limits& limits = Limits()) {
    const Json* value = FindGiven(key);
    if (value != nullptr) Read(key, *value, limits, &out->emplace());
    return *this;
  }

  // Keeps the value of `out` if the member is absent or null.
  template <typename T>
  ObjectReader& Defaulted(std::string_view key, T* out, const Limits& limits = Limits()) {
    const Json* value = FindGiven(key);
    if (value != nullptr) Read(key, *value, limits, out);
    return *this;
  }

  ObjectReader& Constant(std::string_view key, const char* value);
  ObjectReader& RawObject(std::string_view key, Json* out);
  ObjectReader& RawObject(std::string_view key, std::optional<Json>* out);

  // Fails if `condition` is true and the member is absent or null. `condition` depends on members
  // that were read before. After an error it is not used.
  ObjectReader& RequiredWhen(std::string_view key, bool condition);

  // Fails if there is a member with another key.
  ObjectReader& OnlyKnown(std::initializer_list<std::string_view> keys);

  const Status& status() const { return status_; }

 private:
  // nullptr if there is no such member, or after an error.
  const Json* FindGiven(std::string_view key) const;
  const Json* FindRequired(std::string_view key);

  template <typename T>
  void Read(std::string_view key, const Json& value, const Limits& limits, T* out) {
    status_ = Codec<T>::Read(value, path_.Member(key), limits, out);
  }

  const Json& json_;
  const Path& path_;
  Status status_;
};

// Builds an object with distinct keys.
class ObjectWriter {
 public:
  template <typename T>
  ObjectWriter& Required(const char* key, const T& value) {
    members_.emplace_back(key, Codec<T>::Write(value));
    return *this;
  }
  // Leaves out an absent value.
  template <typename T>
  ObjectWriter& Optional(const char* key, const std::optional<T>& value) {
    return value ? Required(key, *value) : *this;
  }
  // Writes an absent value as null.
  template <typename T>
  ObjectWriter& Always(const char* key, const std::optional<T>& value) {
    members_.emplace_back(key, value ? Codec<T>::Write(*value) : Json());
    return *this;
  }
  ObjectWriter& Constant(const char* key, const char* value) {
    members_.emplace_back(key, Json(value));
    return *this;
  }
  // Returns the object. The writer is then empty.
  Json Finish() { return Json(std::move(members_)); }

 private:
  Json::Object members_;
};

// One alternative of a union: reads T and stores it in `out->value`.
template <typename T, typename U>
Status ReadInto(const Json& json, const Path& path, const Limits& limits, U* out) {
  return Codec<T>::Read(json, path, limits, &out->value.template emplace<T>());
}

template <typename... T>
Json WriteHeld(const std::variant<T...>& held) {
  return std::visit(
      [](const auto& value) { return Codec<std::decay_t<decltype(value)>>::Write(value); }, held);
}

}  // namespace mlc::wire
