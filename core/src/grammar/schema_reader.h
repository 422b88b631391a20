// From a JSON Schema to what of it can be enforced; internal to the schema_*.cc files.
#ifndef MLC_GRAMMAR_SCHEMA_READER_H_
#define MLC_GRAMMAR_SCHEMA_READER_H_

#include <deque>
#include <string>
#include <unordered_map>
#include <vector>

#include "grammar/schema.h"

namespace mlc {

class SchemaReader {
 public:
  explicit SchemaReader(const Json& document) : document_(document) {}
  Result<Schema> Run();

 private:
  // A schema's node; places that are met again, as in circles, have one already.
  Result<int> Read(const Json& schema, const std::string& path);
  Status Fill(int node, const Json& schema, const std::string& path);

  // What must hold at once: assertions, and lists of which one must hold.
  struct Place {
    const Json* schema;
    std::string path;
  };
  struct Choice {
    const Json* branches;
    std::string path;
    bool is_one_of;
  };
  struct Conjunction {
    std::vector<Place> plain;
    std::vector<Choice> choices;
    std::vector<const Json*> way;  // of references that lead here
    bool is_never = false;
  };
  Status Flatten(const Json& schema, const std::string& path, Conjunction* all);
  Status FlattenParts(const Json& schema, const std::string& path, Conjunction* all);
  Status FillChoice(int node, const Conjunction& all);
  Result<const Json*> Merged(const Conjunction& all);
  Result<const Json*> Keep(Json made, const std::string& path);
  Result<Place> Follow(const Json& schema, const std::string& path) const;
  void FindAnchors(const Json& json, const std::string& path);
  Status CheckOneOfs() const;

  // Of a schema without applicators, in schema_types.cc.
  Status FillPlain(int node, const Json& schema, const std::string& path);
  Result<SchemaNode> ReadValues(const Json& schema, const std::string& path);
  Result<SchemaNode> ReadType(const std::string& type, const Json& schema, const std::string& path);
  Result<SchemaNode> ReadString(const Json& schema, const std::string& path);
  Result<SchemaNode> ReadNumeral(bool is_integer, const Json& schema, const std::string& path);
  Result<SchemaNode> ReadArray(const Json& schema, const std::string& path);
  // In schema_object.cc.
  Result<SchemaNode> ReadObject(const Json& schema, const std::string& path);
  Status ReadNamed(const Json& schema, const std::string& path, SchemaNode* node);
  Status ReadPatternProperties(const Json& schema, const std::string& path, SchemaNode* node);
  Status ReadPropertyNames(const Json& schema, const std::string& path, SchemaNode* node);
  Result<int> ReadAdditional(const Json& schema, const std::string& path);
  Status CheckCounts(const Json& schema, const std::string& path, const SchemaNode& node);
  Status CheckOptional(const std::string& path, const SchemaNode& node);
  int AnyNode();

  const Json& document_;
  Schema out_;
  std::unordered_map<const Json*, int> nodes_;
  std::unordered_map<std::string, Place> anchors_;
  std::deque<Json> made_;  // schemas that stand nowhere in the document
  int64_t made_weight_ = 0;
  int depth_ = 0;
  int64_t regex_cost_ = 0, num_optional_ = 0;
  struct OneOf {
    std::vector<int> parts;
    std::string path;
  };
  std::vector<OneOf> one_ofs_;
  int any_node_ = SchemaNode::kNone;
};

// Refuses words that are no keywords, keywords that cannot be enforced, and combinations of
// keywords that cannot.
Status CheckKeywords(const Json& schema, const std::string& path);

// A member that counts something; `fallback` without it.
Result<int64_t> ReadCount(const Json& schema, const char* key, int64_t fallback,
                          const std::string& path);

}  // namespace mlc

#endif  // MLC_GRAMMAR_SCHEMA_READER_H_
