// The `attribute=` argument of filters: "role", "tool.name", "items.0", 1.
#pragma once

#include <vector>

#include "jinja/runtime.h"

namespace mlc::jinja {

class AttributePath {
 public:
  // A none `attribute` means the item itself. `fallback`, unless it is undefined, replaces an
  // undefined result.
  explicit AttributePath(const Value& attribute, Value fallback = {});
  // "a,b": several paths, to sort by the first, then by the second.
  static std::vector<AttributePath> Several(const Value& attribute);

  Result<Value> Of(Runtime& runtime, Value item) const;

 private:
  Items parts_;
  Value fallback_;
};

}  // namespace mlc::jinja
