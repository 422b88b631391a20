// Reads a typed value of the protocol at a path, through its members and not through its JSON.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "access.gen.h"

namespace mlc {

using Steps = std::vector<std::string>;

// `a.b[2]["the key"]` as its steps.
inline Steps ParsePath(const std::string& path) {
  Steps steps;
  size_t at = 0;
  while (at < path.size()) {
    if (path.compare(at, 2, "[\"") == 0) {
      size_t end = path.find("\"]", at + 2);
      steps.push_back(path.substr(at + 2, end - at - 2));
      at = end + 2;
    } else if (path[at] == '[') {
      size_t end = path.find(']', at);
      steps.push_back(path.substr(at + 1, end - at - 1));
      at = end + 1;
    } else {
      if (path[at] == '.') ++at;
      if (path[at] == '[') continue;
      size_t end = std::min(path.find_first_of(".[", at), path.size());
      steps.push_back(path.substr(at, end - at));
      at = end;
    }
  }
  return steps;
}

struct AnyVisit {
  template <typename T>
  void operator()(const char*, const T&) const {}
};
template <typename T, typename = void>
struct IsStruct : std::false_type {};
template <typename T>
struct IsStruct<T, std::void_t<decltype(VisitMembers(std::declval<const T&>(), AnyVisit()))>>
    : std::true_type {};
template <typename T, typename = void>
struct IsUnion : std::false_type {};
template <typename T>
struct IsUnion<T, std::void_t<decltype(HeldVariant(std::declval<const T&>()))>> : std::true_type {};
template <typename T>
struct IsOptional : std::false_type {};
template <typename T>
struct IsOptional<std::optional<T>> : std::true_type {};
template <typename T>
struct IsVector : std::false_type {};
template <typename T>
struct IsVector<std::vector<T>> : std::true_type {};
template <typename T>
struct IsMap : std::false_type {};
template <typename K, typename T>
struct IsMap<std::map<K, T>> : std::true_type {};
template <typename T>
struct IsOpenEnum : std::false_type {};
template <typename E>
struct IsOpenEnum<wire::OpenEnum<E>> : std::true_type {};

// A typed value as JSON: an enum as its word, an empty optional as null.
template <typename T>
Json ToJsonValue(const T& value) {
  if constexpr (IsOptional<T>::value) {
    return value ? ToJsonValue(*value) : Json();
  } else if constexpr (std::is_convertible_v<T, std::string>) {
    return Json(std::string(value));
  } else {
    return wire::Codec<T>::Write(value);
  }
}

// What stands at a path. It is no template, so that each type of the protocol is walked by one
// function: one for each type that a walk begins with takes the compiler five times as long.
struct Found {
  Json value;
  std::string variant = "no union";
  bool is_there = false, is_unknown_word = false;

  template <typename T>
  void Set(const T& found) {
    is_there = true;
    value = ToJsonValue(found);
    if constexpr (IsUnion<T>::value) variant = HeldVariant(found);
    if constexpr (IsOpenEnum<T>::value) is_unknown_word = !found.known();
  }
};

// Sets `found` to what stands at the steps from `i` on; unions and optionals on the way are
// transparent.
template <typename T>
void Read(const T& value, const Steps& steps, size_t i, Found* found) {
  if constexpr (IsOptional<T>::value) {
    if (value) return Read(*value, steps, i, found);
    if (i == steps.size()) found->Set(value);
  } else if (i == steps.size()) {
    found->Set(value);
  } else if constexpr (IsUnion<T>::value) {
    std::visit([&](const auto& held) { Read(held, steps, i, found); }, value.value);
  } else if constexpr (IsStruct<T>::value) {
    VisitMembers(value, [&](const char* key, const auto& member) {
      if (steps[i] == key) Read(member, steps, i + 1, found);
    });
  } else if constexpr (IsVector<T>::value) {
    size_t index = std::stoul(steps[i]);
    if (index < value.size()) Read(value[index], steps, i + 1, found);
  } else if constexpr (IsMap<T>::value) {
    for (const auto& [key, item] : value) {
      if (wire::WriteKey(key) == steps[i]) Read(item, steps, i + 1, found);
    }
  }
}

template <typename T>
Found At(const T& value, const std::string& path) {
  Found found;
  Read(value, ParsePath(path), 0, &found);
  return found;
}

}  // namespace mlc
