// The types of values, and which values are equal.
#ifndef MLC_GRAMMAR_SCHEMA_VALUES_H_
#define MLC_GRAMMAR_SCHEMA_VALUES_H_

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

// 0 for a word that is no type.
unsigned TypeBitsOf(std::string_view word);
// Of whole numbers kIntegerType, of others kFractionType.
unsigned TypeOf(const Json& value);
// Two values that JSON Schema takes for one: 1 and 1.0, members in any order.
bool EqualValues(const Json& a, const Json& b);
// A text that equal values share, and no others.
std::string TextOf(const Json& value);

}  // namespace mlc

#endif  // MLC_GRAMMAR_SCHEMA_VALUES_H_
