// The types of values, and which values are equal.
#pragma once

#include <string>
#include <string_view>

#include "base/json.h"

namespace mlc {

// Types as bits; "number" is two of them.
enum TypeBit : unsigned {
  kNullType = 1,
  kBooleanType = 2,
  kIntegerType = 4,
  kFractionType = 8,
  kStringType = 16,
  kArrayType = 32,
  kObjectType = 64,
  kNumberType = kIntegerType | kFractionType,
  kAllTypes = 127,
};

// 0 for a word that is not a type.
unsigned TypeBitsOf(std::string_view word);
// The types that a schema's `type` and `nullable` name. Words that are not types add nothing.
unsigned TypesNamedIn(const Json& schema);
// kNullType if a schema has OpenAPI's `nullable`, otherwise 0.
unsigned NullableBits(const Json& schema);
// kIntegerType for whole numbers, kFractionType for other numbers.
unsigned TypeOf(const Json& value);
// Equal in the sense of JSON Schema: 1 equals 1.0, and the order of members does not matter.
bool EqualValues(const Json& a, const Json& b);
// A text that is the same for equal values and different for all others.
std::string TextOf(const Json& value);

}  // namespace mlc
