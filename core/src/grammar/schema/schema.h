// A JSON Schema as it is enforced: everything that it says in a form that a grammar can say.
#ifndef MLC_GRAMMAR_SCHEMA_SCHEMA_H_
#define MLC_GRAMMAR_SCHEMA_SCHEMA_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/status.h"
#include "grammar/grammar.h"
#include "grammar/text/automaton.h"

namespace mlc {

struct SchemaNode {
  enum class Kind {
    kNever,
    kAny,
    kNull,
    kBoolean,
    kNumeral,  // `expression` or `text`
    kString,   // `expression`, `text`, or `min` to `max` characters
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
  struct Additional {
    std::shared_ptr<const Automaton> names;
    int node;
  };
  using Text = std::shared_ptr<const Automaton>;
  static constexpr int kNone = -1;

  Kind kind = Kind::kNever;
  // Nothing says that values are of this kind, others fit as well: they are not written.
  bool is_implied = false;
  std::string expression;     // EBNF: the numeral; between the quotes, where a pattern says
  Text text;                  // in its place: the numerals, or what the quotes hold
  std::vector<Json> values;   // kValues; kArray whose items are these, each at most once
  std::vector<int> parts;     // kUnion; kArray: of its first items
  int64_t min = 0, max = -1;  // items, properties or characters; -1: no end
  int rest = kNone;           // the node of further items, or of properties with any other name
  int wanted = kNone;         // kArray: of items of which there are `wanted_min` to `wanted_max`
  int64_t wanted_min = 0, wanted_max = -1;
  std::vector<Property> properties;
  std::vector<Additional> additional;        // no name is in two of them, or that of a property
  std::vector<std::pair<int, int>> implies;  // properties: with the first, the second is written
};

struct Schema {
  std::vector<SchemaNode> nodes;  // may refer to each other in circles
  int root = 0;
  std::vector<SchemaWarning> warnings;
  // Unions that lack a part because it has no grammar, and what that is. One of them without any
  // other part makes the schema one that cannot be enforced.
  struct GivenUp {
    int node;
    SchemaWarning what;
  };
  std::vector<GivenUp> given_up;
};

// Follows `$ref` within the document. Errors are kInvalidArgument and begin with the JSON pointer
// of the keyword that is wrong or, when strict, cannot be enforced; otherwise that is left out, and
// a warning says so.
Result<Schema> ReadSchema(const Json& document, Strictness strictness);

// Whether no value that is written for one fits the other, as far as that is easily seen.
bool AreDisjoint(const Schema& schema, int a, int b);

// The values of a node that has few; false for any other.
bool ListValues(const Schema& schema, int index, std::vector<Json>* values);

// Takes out what no finite value fits: parts of unions, values of optional properties. False when
// nothing of the root is left. kInvalidArgument where that is so because a part was given up.
Result<bool> RemoveEmpty(Schema* schema);

// EBNF with the rule `root`. Members are separated by ", ", names from values by ": ", as Python's
// json.dumps does: no other white space is written.
std::string SchemaEbnf(const Schema& schema);

// All of the above for a document. Warnings are added to.
Result<std::string> JsonSchemaToEbnf(const Json& document, Strictness strictness,
                                     std::vector<SchemaWarning>* warnings);

}  // namespace mlc

#endif  // MLC_GRAMMAR_SCHEMA_SCHEMA_H_
