#include "grammar/schema_reader.h"

#include <algorithm>

#include "grammar/schema_keywords.h"
#include "grammar/schema_merge.h"

namespace mlc {
namespace {

constexpr int kMaxNesting = 96;  // of schemas within each other, references included
constexpr size_t kMaxNodes = 20000;
constexpr int64_t kMaxMadeWeight = 200000;  // JSON values in schemas that are made by joining

Status Refuse(const std::string& path, const std::string& why) {
  return InvalidArgument((path.empty() ? "the schema" : path) + " " + why);
}

bool HasReference(const Json& schema) {
  for (const char* key : {"$ref", "allOf", "anyOf", "oneOf"}) {
    if (schema.Find(key) != nullptr) return true;
  }
  return false;
}

bool HasAssertions(const Json& schema) { return !OwnAssertions(schema).as_object().empty(); }

int64_t Weight(const Json& json) {
  int64_t weight = 1;
  if (json.is_array()) {
    for (const Json& item : json.as_array()) weight += Weight(item);
  }
  if (json.is_object()) {
    for (const auto& member : json.as_object()) weight += Weight(member.second);
  }
  return weight;
}

// "%41~1b" of a pointer in a URI is "A/b".
std::string Unescape(std::string_view part) {
  auto hex = [](char c) {
    if (c >= '0' && c <= '9') return c - '0';
    char lower = static_cast<char>(c | 0x20);
    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
  };
  std::string out;
  for (size_t i = 0; i < part.size(); ++i) {
    bool is_hex =
        part[i] == '%' && i + 2 < part.size() && hex(part[i + 1]) >= 0 && hex(part[i + 2]) >= 0;
    if (is_hex) {
      out += static_cast<char>(hex(part[i + 1]) * 16 + hex(part[i + 2]));
      i += 2;
    } else if (part[i] == '~' && i + 1 < part.size()) {
      out += part[++i] == '1' ? '/' : '~';
    } else {
      out += part[i];
    }
  }
  return out;
}

const Json* Step(const Json& json, const std::string& name) {
  if (json.is_object()) return json.Find(name);
  bool is_index =
      !name.empty() && name.size() < 9 && name.find_first_not_of("0123456789") == std::string::npos;
  if (!json.is_array() || !is_index) return nullptr;
  size_t index = static_cast<size_t>(std::stoi(name));
  return index < json.as_array().size() ? &json.as_array()[index] : nullptr;
}

Status CheckCombinations(const Json& schema, const std::string& path) {
  const Json* unique = schema.Find("uniqueItems");
  if (unique != nullptr && unique->is_bool() && unique->as_bool()) {
    MLC_ASSIGN_OR_RETURN(int64_t max, ReadCount(schema, "maxItems", -1, path));
    if (max < 0 || max > 1) {
      return RefuseKeyword(path, "uniqueItems", "a grammar does not remember what was written");
    }
  }
  if (schema.Find("$id") != nullptr && !path.empty()) {
    return RefuseKeyword(path, "$id", "references inside would have another base");
  }
  for (const char* key : {"unevaluatedItems", "unevaluatedProperties"}) {
    if (schema.Find(key) == nullptr || !HasReference(schema)) continue;
    return RefuseKeyword(path, key,
                         "what is evaluated depends on the value; write " +
                             std::string(key[11] == 'I' ? "items" : "additionalProperties"));
  }
  return Status();
}

}  // namespace

Status CheckKeywords(const Json& schema, const std::string& path) {
  for (const auto& [key, value] : schema.as_object()) {
    if (key.compare(0, 2, "x-") == 0) continue;
    const SchemaKeyword* keyword = FindSchemaKeyword(key);
    if (keyword == nullptr) {
      return RefuseKeyword(path, key.substr(0, 80),
                           "it is no keyword of JSON Schema 2020-12 (annotations of your own begin "
                           "with x-)");
    }
    if (keyword->verdict == Verdict::kRefused) {
      return RefuseKeyword(path, key, std::string(keyword->note));
    }
  }
  return CheckCombinations(schema, path);
}

Result<int64_t> ReadCount(const Json& schema, const char* key, int64_t fallback,
                          const std::string& path) {
  const Json* value = schema.Find(key);
  if (value == nullptr) return fallback;
  bool is_whole =
      value->is_number() && value->as_double() >= 0 && value->as_double() <= 1e15 &&
      value->as_double() == static_cast<double>(static_cast<int64_t>(value->as_double()));
  if (!is_whole) return Refuse(PointerTo(path, key), "must be a whole number that is not negative");
  return static_cast<int64_t>(value->as_double());
}

void SchemaReader::FindAnchors(const Json& json, const std::string& path) {
  if (json.is_array()) {
    for (size_t i = 0; i < json.as_array().size(); ++i) {
      FindAnchors(json.as_array()[i], PointerTo(path, std::to_string(i)));
    }
  }
  if (!json.is_object()) return;
  for (const char* key : {"$anchor", "$dynamicAnchor"}) {
    const Json* name = json.Find(key);
    if (name != nullptr && name->is_string()) anchors_.insert({name->as_string(), {&json, path}});
  }
  for (const auto& [name, value] : json.as_object()) {
    if (value.is_object() || value.is_array()) FindAnchors(value, PointerTo(path, name));
  }
}

Result<SchemaReader::Place> SchemaReader::Follow(const Json& schema,
                                                 const std::string& path) const {
  const Json* ref = schema.Find("$ref");
  std::string where = PointerTo(path, "$ref");
  if (!ref->is_string()) return Refuse(where, "must be a string");
  const std::string& uri = ref->as_string();
  if (uri.empty() || uri[0] != '#') {
    return RefuseKeyword(path, "$ref", "it leaves the document: '" + uri.substr(0, 80) + "'");
  }
  if (uri.size() > 1 && uri[1] != '/') {
    auto found = anchors_.find(Unescape(uri.substr(1)));
    if (found != anchors_.end()) return found->second;
    return Refuse(where, "names no anchor of the schema: '" + uri.substr(0, 80) + "'");
  }
  Place place{&document_, ""};
  for (size_t begin = 1; begin < uri.size();) {
    size_t end = std::min(uri.find('/', begin + 1), uri.size());
    std::string name = Unescape(std::string_view(uri).substr(begin + 1, end - begin - 1));
    place = {Step(*place.schema, name), PointerTo(place.path, name)};
    if (place.schema == nullptr) {
      return Refuse(where, "points at nothing: '" + uri.substr(0, 80) + "'");
    }
    begin = end;
  }
  return place;
}

Result<Schema> SchemaReader::Run() {
  FindAnchors(document_, "");
  MLC_ASSIGN_OR_RETURN(out_.root, Read(document_, ""));
  MLC_RETURN_IF_ERROR(CheckOneOfs());
  return std::move(out_);
}

Result<int> SchemaReader::Read(const Json& schema, const std::string& path) {
  auto found = nodes_.find(&schema);
  if (found != nodes_.end()) return found->second;
  if (out_.nodes.size() >= kMaxNodes) {
    return Refuse(path, "makes the schema too large: over " + std::to_string(kMaxNodes) + " parts");
  }
  if (depth_ >= kMaxNesting) {
    return Refuse(path, "is nested over " + std::to_string(kMaxNesting) + " levels deep");
  }
  int node = static_cast<int>(out_.nodes.size());
  out_.nodes.emplace_back();
  nodes_.emplace(&schema, node);
  ++depth_;
  Status status = Fill(node, schema, path);
  --depth_;
  if (!status.ok()) return status;
  return node;
}

Status SchemaReader::Fill(int node, const Json& schema, const std::string& path) {
  if (schema.is_bool()) {
    out_.nodes[static_cast<size_t>(node)].kind =
        schema.as_bool() ? SchemaNode::Kind::kAny : SchemaNode::Kind::kNever;
    return Status();
  }
  if (!schema.is_object()) return Refuse(path, "must be an object or a boolean");
  MLC_RETURN_IF_ERROR(CheckKeywords(schema, path));
  bool has_others = schema.Find("allOf") != nullptr || schema.Find("anyOf") != nullptr ||
                    schema.Find("oneOf") != nullptr || HasAssertions(schema);
  if (schema.Find("$ref") != nullptr && !has_others) {
    MLC_ASSIGN_OR_RETURN(Place target, Follow(schema, path));
    MLC_ASSIGN_OR_RETURN(int same, Read(*target.schema, target.path));
    SchemaNode alias;
    alias.kind = SchemaNode::Kind::kUnion;
    alias.parts = {same};
    out_.nodes[static_cast<size_t>(node)] = std::move(alias);
    return Status();
  }
  Conjunction all;
  MLC_RETURN_IF_ERROR(Flatten(schema, path, &all));
  if (all.is_never) return Status();
  if (!all.choices.empty()) return FillChoice(node, all);
  MLC_ASSIGN_OR_RETURN(const Json* merged, Merged(all));
  if (merged->is_bool()) return Status();
  return FillPlain(node, *merged, all.plain.size() == 1 ? all.plain[0].path : path);
}

Status SchemaReader::Flatten(const Json& schema, const std::string& path, Conjunction* all) {
  if (schema.is_bool()) {
    if (!schema.as_bool()) all->is_never = true;
    return Status();
  }
  if (!schema.is_object()) return Refuse(path, "must be an object or a boolean");
  if (std::find(all->way.begin(), all->way.end(), &schema) != all->way.end()) {
    return Refuse(path, "refers to itself without end");
  }
  if (all->way.size() >= kMaxNesting) return Refuse(path, "is nested too deeply");
  MLC_RETURN_IF_ERROR(CheckKeywords(schema, path));
  all->way.push_back(&schema);
  Status status = FlattenParts(schema, path, all);
  all->way.pop_back();
  return status;
}

Status SchemaReader::FlattenParts(const Json& schema, const std::string& path, Conjunction* all) {
  if (HasAssertions(schema)) {
    MLC_ASSIGN_OR_RETURN(const Json* own, Keep(OwnAssertions(schema), path));
    all->plain.push_back({own, path});
  }
  if (schema.Find("$ref") != nullptr) {
    MLC_ASSIGN_OR_RETURN(Place target, Follow(schema, path));
    MLC_RETURN_IF_ERROR(Flatten(*target.schema, target.path, all));
  }
  for (const char* key : {"allOf", "anyOf", "oneOf"}) {
    const Json* list = schema.Find(key);
    if (list == nullptr) continue;
    std::string where = PointerTo(path, key);
    if (!list->is_array() || list->as_array().empty()) {
      return Refuse(where, "must be a list with at least one schema");
    }
    if (key[1] != 'l') {
      all->choices.push_back({list, where, key[0] == 'o'});
      continue;
    }
    for (size_t i = 0; i < list->as_array().size(); ++i) {
      MLC_RETURN_IF_ERROR(Flatten(list->as_array()[i], PointerTo(where, std::to_string(i)), all));
    }
  }
  return Status();
}

Result<const Json*> SchemaReader::Keep(Json made, const std::string& path) {
  made_weight_ += Weight(made);
  if (made_weight_ > kMaxMadeWeight) return Refuse(path, "makes the schema too large");
  made_.push_back(std::move(made));
  return &made_.back();
}

Result<const Json*> SchemaReader::Merged(const Conjunction& all) {
  if (all.plain.empty()) return Keep(Json::MakeObject(), "");
  const Json* merged = all.plain[0].schema;
  for (size_t i = 1; i < all.plain.size() && !merged->is_bool(); ++i) {
    MLC_ASSIGN_OR_RETURN(Json both, MergeSchemas(*merged, *all.plain[i].schema, all.plain[i].path));
    MLC_ASSIGN_OR_RETURN(merged, Keep(std::move(both), all.plain[i].path));
  }
  return merged;
}

// One node for each branch of the first list, with everything else joined to it.
Status SchemaReader::FillChoice(int node, const Conjunction& all) {
  const Choice& choice = all.choices[0];
  Json others = Json::MakeArray();
  for (const Place& plain : all.plain) others.Append(*plain.schema);
  for (size_t i = 1; i < all.choices.size(); ++i) {
    const char* key = all.choices[i].is_one_of ? "oneOf" : "anyOf";
    others.Append(Json().Set(key, *all.choices[i].branches));
  }
  SchemaNode choices;
  choices.kind = SchemaNode::Kind::kUnion;
  const Json::Array& branches = choice.branches->as_array();
  for (size_t i = 0; i < branches.size(); ++i) {
    const Json* branch = &branches[i];
    std::string path = PointerTo(choice.path, std::to_string(i));
    if (!others.as_array().empty()) {
      Json joined = others;
      joined.Append(*branch);
      MLC_ASSIGN_OR_RETURN(branch, Keep(Json().Set("allOf", std::move(joined)), path));
    }
    MLC_ASSIGN_OR_RETURN(int part, Read(*branch, path));
    choices.parts.push_back(part);
  }
  if (choice.is_one_of) one_ofs_.push_back({choices.parts, choice.path});
  out_.nodes[static_cast<size_t>(node)] = std::move(choices);
  return Status();
}

Status SchemaReader::CheckOneOfs() const {
  constexpr size_t kMaxBranches = 500;
  for (const OneOf& one_of : one_ofs_) {
    if (one_of.parts.size() > kMaxBranches) return Refuse(one_of.path, "has too many branches");
    for (size_t i = 0; i < one_of.parts.size(); ++i) {
      for (size_t j = i + 1; j < one_of.parts.size(); ++j) {
        if (AreDisjoint(out_, one_of.parts[i], one_of.parts[j])) continue;
        return InvalidArgument(one_of.path + " cannot be enforced: a value may fit both branch " +
                               std::to_string(i) + " and branch " + std::to_string(j) +
                               "; tell them apart by a required property with constants, or write "
                               "anyOf");
      }
    }
  }
  return Status();
}

Result<Schema> ReadSchema(const Json& document) { return SchemaReader(document).Run(); }

}  // namespace mlc
