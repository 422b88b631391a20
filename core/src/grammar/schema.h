// A JSON Schema as it is enforced: everything that it says in a form that a grammar can say.
#ifndef MLC_GRAMMAR_SCHEMA_H_
#define MLC_GRAMMAR_SCHEMA_H_

#include <cstdint>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/status.h"
#include "grammar/number_ebnf.h"

namespace mlc {

struct SchemaNode {
  enum class Kind {
    kNever,
    kAny,
    kNull,
    kBoolean,
    kNumeral,  // expression
    kString,   // expression
    kArray,
    kObject,
    kValues,
    kUnion,  // of `parts`; of one: that one
  };
  struct Property {
    std::string name;
    int node;  // kNone: never written, and no additional one has its name
    bool is_required;
  };
  static constexpr int kNone = -1;

  Kind kind = Kind::kNever;
  bool is_integer = false;     // kNumeral
  std::string expression;      // EBNF: the numeral; between the quotes, where a pattern says
  std::vector<Json> values;    // kValues
  std::vector<int> parts;      // kUnion; kArray: of its first items
  int64_t min = 0, max = -1;   // items, properties or characters; -1: no end
  int rest = kNone;            // the node of further items, or of additional properties
  std::string key_expression;  // of names of additional properties; "": any but the named ones
  std::vector<Property> properties;
};

struct Schema {
  std::vector<SchemaNode> nodes;  // may refer to each other in circles
  int root = 0;
};

// Follows `$ref` within the document. Errors are kInvalidArgument and begin with the JSON pointer
// of the keyword that is wrong or cannot be enforced.
Result<Schema> ReadSchema(const Json& document);

// Whether no value can fit both nodes, as far as that is easily seen.
bool AreDisjoint(const Schema& schema, int a, int b);

// Takes out what no finite value fits: parts of unions, values of optional properties. False when
// nothing of the root is left.
bool RemoveEmpty(Schema* schema);

// EBNF with the rule `root`. Members are separated by ", ", names from values by ": ", as Python's
// json.dumps does: no other white space is written.
std::string SchemaEbnf(const Schema& schema);

// All of the above for a schema's text.
Result<std::string> JsonSchemaToEbnf(std::string_view schema_json);

}  // namespace mlc

#endif  // MLC_GRAMMAR_SCHEMA_H_
