// A JSON Schema as it is enforced: everything that it says in a form that a grammar can say.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/status.h"
#include "grammar/grammar.h"
#include "grammar/text/automaton.h"

namespace mlc {

class UniquePlaces;

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
    kUnion,  // of `parts`; with one part it equals that part
  };
  struct Property {
    std::string name;
    int node;  // kNone: never written, not as an additional property either
    bool is_required;
  };
  struct Additional {
    std::shared_ptr<const Automaton> names;
    int node;
  };
  using Text = std::shared_ptr<const Automaton>;
  static constexpr int kNone = -1;

  Kind kind = Kind::kNever;
  // No keyword gives the type. Values of other kinds fit too, but they are not written.
  bool is_implied = false;
  std::string expression;     // EBNF: the numeral, or the text between the quotes
  Text text;                  // instead of `expression`: the numerals, or the texts in the quotes
  std::vector<Json> values;   // kValues; kArray: the items, each at most once; many in this order
  std::vector<int> parts;     // kUnion; kArray: the nodes of its first items
  int64_t min = 0, max = -1;  // items, properties or characters; -1: no limit
  int rest = kNone;           // the node of further items, or of properties with any other name
  int wanted = kNone;         // kArray: `wanted_min` to `wanted_max` items fit this node
  int64_t wanted_min = 0, wanted_max = -1;
  bool is_unique = false;  // kArray: the items differ, which the grammar does not say
  std::vector<Property> properties;
  std::vector<Additional> additional;        // their names and the properties' are all disjoint
  bool forbids_others = false;               // other members are not only left out: they break it
  std::vector<std::pair<int, int>> implies;  // properties: the first requires the second
};

struct Schema {
  std::vector<SchemaNode> nodes;  // may refer to each other in cycles
  int root = 0;
  std::vector<SchemaWarning> warnings;
  // Unions without a part that has no grammar, and that part. If such a union has no other part,
  // the schema cannot be enforced.
  struct GivenUp {
    int node;
    SchemaWarning what;
  };
  std::vector<GivenUp> given_up;
  // Of some of these unions, a node that all values fit which fit the union.
  std::map<int, int> outlines;
};

// Follows `$ref` within the document. Errors are kInvalidArgument and begin with the JSON pointer
// of the keyword that is wrong or, when strict, cannot be enforced. When lenient, such a keyword is
// left out with a warning.
// `remembers`: what is written is remembered beside the grammar (SchemaNode::is_unique).
Result<Schema> ReadSchema(const Json& document, Strictness strictness, bool remembers);

// Whether no value that is written for one node fits the other. May return false when it is hard to
// tell.
bool AreDisjoint(const Schema& schema, int a, int b);

// Lists the values of a node that has few; false for any other node.
bool ListValues(const Schema& schema, int index, std::vector<Json>* values);

// The unions without a part that has no grammar, of which no finite value fits any other part.
std::vector<int> EmptyUnions(Schema* schema);

// Removes nodes that no finite value fits: parts of unions, values of optional properties. False
// when nothing of the root is left; kInvalidArgument if the reason is a part that was given up.
Result<bool> RemoveEmpty(Schema* schema);

// EBNF with the rule `root`, incomplete if the budget of parts is spent. Members are separated by
// ", ", names and values by ": ", as in Python's json.dumps. There is no other white space.
std::string SchemaEbnf(const Schema& schema);

// Of one source: the nodes that are read, in all rounds, and the rules that are written, in units
// of 32 bytes.
constexpr int64_t kMaxSchemaParts = 160'000;
// Of one source: units of work (text/work_budget.h), about 10 ns each.
constexpr int64_t kMaxSchemaWork = 80'000'000;

// Does all of the above for a document. Adds to `warnings`. With `unique`, lists whose items must
// differ are enforced by UniqueItems; without, those are refused that the grammar cannot say.
Result<std::string> JsonSchemaToEbnf(const Json& document, Strictness strictness,
                                     std::vector<SchemaWarning>* warnings,
                                     std::shared_ptr<const UniquePlaces>* unique = nullptr);

}  // namespace mlc
