// Two schemas that must hold at once, as one.
#ifndef MLC_GRAMMAR_SCHEMA_MERGE_H_
#define MLC_GRAMMAR_SCHEMA_MERGE_H_

#include <string>
#include <vector>

#include "base/json.h"
#include "base/status.h"

namespace mlc {

// "PATH/KEYWORD cannot be enforced: WHY". `path`: a JSON pointer.
Status RefuseKeyword(const std::string& path, std::string_view keyword, const std::string& why);
// With '~' and '/' escaped as JSON pointers do.
std::string PointerTo(const std::string& path, std::string_view member);

// The schema's own assertions: without annotations, definitions, `$ref`, `allOf`, `anyOf` and
// `oneOf`; `unevaluated...` under the names that say the same.
Json OwnAssertions(const Json& schema);

// Whether a value of an `enum` fits the type, bounds and lengths of a schema without applicators.
bool Admits(const Json& schema, const Json& value);

// Both of two schemas as OwnAssertions gives them; `false` when no value fits. Members that cannot
// be joined here become {"allOf": [...]}. Errors name the keyword under `path`.
Result<Json> MergeSchemas(const Json& a, const Json& b, const std::string& path);

// "integer" is among "number". Absent or of another form: false.
bool HasType(const Json& schema, std::string_view type);

}  // namespace mlc

#endif  // MLC_GRAMMAR_SCHEMA_MERGE_H_
