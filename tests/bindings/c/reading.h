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

// Calls `act` with what stands at the steps from `i` on; unions and optionals on the way are
// transparent. False when nothing stands there.
template <typename T, typename Act>
bool At(const T& value, const Steps& steps, size_t i, const Act& act) {
  if constexpr (IsOptional<T>::value) {
    if (value) return At(*value, steps, i, act);
    return i == steps.size() ? (act(value), true) : false;
  } else {
    if (i == steps.size()) return act(value), true;
    bool found = false;
    if constexpr (IsUnion<T>::value) {
      std::visit([&](const auto& held) { found = At(held, steps, i, act); }, value.value);
    } else if constexpr (IsStruct<T>::value) {
      VisitMembers(value, [&](const char* key, const auto& member) {
        if (steps[i] == key) found = At(member, steps, i + 1, act);
      });
    } else if constexpr (IsVector<T>::value) {
      size_t index = std::stoul(steps[i]);
      if (index < value.size()) found = At(value[index], steps, i + 1, act);
    } else if constexpr (IsMap<T>::value) {
      for (const auto& [key, item] : value) {
        if (wire::WriteKey(key) == steps[i]) found = At(item, steps, i + 1, act);
      }
    }
    return found;
  }
}

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

}  // namespace mlc
