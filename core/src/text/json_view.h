// Reads a tokenizer file: a JSON value with its path, so that every error names the path.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/status.h"

namespace mlc {

// The JSON value must outlive the view.
class JsonView {
 public:
  explicit JsonView(const Json& json, std::string path = "")
      : json_(&json), path_(std::move(path)) {}

  const Json& json() const { return *json_; }
  const std::string& path() const { return path_; }

  // A member that must exist.
  Result<JsonView> Member(std::string_view key) const;
  // Empty if the member is absent or null.
  std::optional<JsonView> Optional(std::string_view key) const;
  JsonView Element(size_t index) const;  // of an array; `index` must be below its size

  Result<std::string> String(std::string_view key) const;
  Result<bool> Bool(std::string_view key) const;
  Result<int64_t> Int(std::string_view key, int64_t min, int64_t max) const;
  Result<bool> BoolOr(std::string_view key, bool fallback) const;
  Result<std::string> StringOr(std::string_view key, std::string fallback) const;
  Result<std::vector<JsonView>> Array(std::string_view key) const;
  // A member that holds exactly one character.
  Result<char32_t> Character(std::string_view key) const;

  // Checks a field whose value is not used.
  template <typename T>
  static Status Check(Result<T> result) {
    return result.ok() ? Status() : std::move(result).status();
  }

  // Errors at this path.
  Status Bad(const std::string& what) const;         // kInvalidArgument
  Status NotOffered(const std::string& what) const;  // kUnsupported

 private:
  std::string PathOf(std::string_view key) const;
  const Json* json_;
  std::string path_;
};

// The value of "type"; "" if there is none.
std::string TypeOf(const JsonView& view);

}  // namespace mlc
