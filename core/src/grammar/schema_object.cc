// Schemas of objects.
#include <algorithm>

#include "grammar/ebnf_text.h"
#include "grammar/regex_ebnf.h"
#include "grammar/schema_merge.h"
#include "grammar/schema_reader.h"
#include "text/regex/regex.h"

namespace mlc {
namespace {

constexpr int64_t kMaxRules = 4000;  // of an object, to count its members
// Of all objects together. The compiler takes quadratic time: a second for 500 in one object.
constexpr int64_t kMaxOptional = 1000, kMaxOptionalHere = 500;
constexpr size_t kMaxKeyStates = 4000;  // to tell other names from the named ones

Status MustBe(const std::string& path, const char* key, const char* what) {
  return InvalidArgument(PointerTo(path, key) + " must be " + what);
}

int CountRequired(const SchemaNode& node) {
  return static_cast<int>(std::count_if(node.properties.begin(), node.properties.end(),
                                        [](const auto& property) { return property.is_required; }));
}

// The values of {"enum": [...]} or {"const": ...}, with at most a type beside them.
std::optional<Json::Array> Constants(const Json& schema) {
  if (!schema.is_object()) return std::nullopt;
  Json own = OwnAssertions(schema);
  const Json *list = own.Find("enum"), *constant = own.Find("const");
  size_t expected = own.Find("type") != nullptr ? 2 : 1;
  if (own.as_object().size() != expected || schema.Find("$ref") != nullptr) return std::nullopt;
  if (constant != nullptr) return Json::Array{*constant};
  if (list != nullptr && list->is_array()) return list->as_array();
  return std::nullopt;
}

}  // namespace

Result<SchemaNode> SchemaReader::ReadObject(const Json& schema, const std::string& path) {
  SchemaNode node;
  node.kind = SchemaNode::Kind::kObject;
  MLC_ASSIGN_OR_RETURN(node.min, ReadCount(schema, "minProperties", 0, path));
  MLC_ASSIGN_OR_RETURN(node.max, ReadCount(schema, "maxProperties", -1, path));
  MLC_RETURN_IF_ERROR(ReadNamed(schema, path, &node));
  if (schema.Find("patternProperties") != nullptr) {
    MLC_RETURN_IF_ERROR(ReadPatternProperties(schema, path, &node));
  } else {
    MLC_ASSIGN_OR_RETURN(node.rest, ReadAdditional(schema, path));
  }
  if (schema.Find("propertyNames") != nullptr) {
    MLC_RETURN_IF_ERROR(ReadPropertyNames(schema, path, &node));
  }
  MLC_RETURN_IF_ERROR(CheckCounts(schema, path, node));
  return node;
}

// Without a word on other members there are none, unless nothing at all is said of members.
Result<int> SchemaReader::ReadAdditional(const Json& schema, const std::string& path) {
  for (const char* key : {"additionalProperties", "unevaluatedProperties"}) {
    const Json* additional = schema.Find(key);
    if (additional == nullptr) continue;
    if (additional->is_bool() && !additional->as_bool()) return int{SchemaNode::kNone};
    return Read(*additional, PointerTo(path, key));
  }
  bool is_open = schema.Find("properties") == nullptr;
  return is_open ? AnyNode() : int{SchemaNode::kNone};
}

Status SchemaReader::ReadNamed(const Json& schema, const std::string& path, SchemaNode* node) {
  const Json *named = schema.Find("properties"), *required = schema.Find("required");
  if (named != nullptr && !named->is_object()) return MustBe(path, "properties", "an object");
  std::vector<std::string> needed;
  if (required != nullptr && !required->is_array())
    return MustBe(path, "required", "a list of names");
  for (size_t i = 0; required != nullptr && i < required->as_array().size(); ++i) {
    const Json& name = required->as_array()[i];
    if (!name.is_string()) return MustBe(path, "required", "a list of names");
    needed.push_back(name.as_string());
  }
  std::sort(needed.begin(), needed.end());
  needed.erase(std::unique(needed.begin(), needed.end()), needed.end());
  std::vector<bool> is_named(needed.size(), false);
  for (size_t i = 0; named != nullptr && i < named->as_object().size(); ++i) {
    const auto& [name, value] = named->as_object()[i];
    if (named->Find(name) != &value) continue;  // named again later
    MLC_ASSIGN_OR_RETURN(int part, Read(value, PointerTo(PointerTo(path, "properties"), name)));
    auto found = std::lower_bound(needed.begin(), needed.end(), name);
    bool is_required = found != needed.end() && *found == name;
    if (is_required) is_named[static_cast<size_t>(found - needed.begin())] = true;
    node->properties.push_back({name, part, is_required});
  }
  for (size_t i = 0; i < needed.size(); ++i) {
    if (is_named[i]) continue;
    if (schema.Find("patternProperties") != nullptr) {
      return RefuseKeyword(path, "required", "'" + needed[i] + "' is not among the properties");
    }
    MLC_ASSIGN_OR_RETURN(int part, ReadAdditional(schema, path));
    bool is_closed = schema.Find("additionalProperties") != nullptr ||
                     schema.Find("unevaluatedProperties") != nullptr;
    if (part == SchemaNode::kNone && !is_closed) part = AnyNode();
    if (part == SchemaNode::kNone) {
      return InvalidArgument(PointerTo(path, "required") + " asks for '" + needed[i] +
                             "', which additionalProperties forbids");
    }
    node->properties.push_back({needed[i], part, true});
  }
  return Status();
}

Status SchemaReader::ReadPatternProperties(const Json& schema, const std::string& path,
                                           SchemaNode* node) {
  constexpr char kKey[] = "patternProperties";
  const Json& patterns = *schema.Find(kKey);
  if (!patterns.is_object()) return MustBe(path, kKey, "an object");
  if (patterns.as_object().size() != 1) {
    return RefuseKeyword(path, kKey, "a name could match several of its patterns");
  }
  const Json* additional = schema.Find("additionalProperties");
  if (additional != nullptr && !(additional->is_bool() && !additional->as_bool())) {
    return RefuseKeyword(path, kKey, "additionalProperties beside it must be false or absent");
  }
  const auto& [pattern, value] = patterns.as_object()[0];
  std::string where = PointerTo(path, kKey);
  Result<std::string> key = RegexToEbnf(pattern, {/*in_json_string=*/true, {}, &regex_cost_});
  if (!key.ok()) return RefuseKeyword(where, pattern, key.status().message());
  Result<Regex> regex = Regex::Compile(pattern);
  if (!regex.ok()) return RefuseKeyword(where, pattern, regex.status().message());
  for (const SchemaNode::Property& property : node->properties) {
    std::vector<Regex::Match> matches;
    bool is_clear = regex->FindAll(property.name, &matches).ok() && matches.empty();
    if (!is_clear) {
      return RefuseKeyword(where, pattern, "the property '" + property.name + "' matches, too");
    }
  }
  node->key_expression = std::move(key).value();
  MLC_ASSIGN_OR_RETURN(node->rest, Read(value, PointerTo(where, pattern)));
  return Status();
}

Status SchemaReader::ReadPropertyNames(const Json& schema, const std::string& path,
                                       SchemaNode* node) {
  constexpr char kKey[] = "propertyNames";
  const Json& names = *schema.Find(kKey);
  if (!node->key_expression.empty()) {
    return RefuseKeyword(path, kKey, "it stands beside patternProperties");
  }
  if (std::optional<Json::Array> constants = Constants(names)) {
    // Each of them is a property that may be there, and no other is.
    auto is_allowed = [&](const std::string& name) {
      return std::any_of(constants->begin(), constants->end(), [&](const Json& value) {
        return value.is_string() && value.as_string() == name;
      });
    };
    std::vector<SchemaNode::Property> kept;
    for (const SchemaNode::Property& property : node->properties) {
      bool is_in = is_allowed(property.name);
      if (!is_in && property.is_required) {
        return RefuseKeyword(path, kKey, "it forbids '" + property.name + "', which is required");
      }
      if (is_in) kept.push_back(property);
    }
    for (size_t i = 0; node->rest != SchemaNode::kNone && i < constants->size(); ++i) {
      const Json& name = (*constants)[i];
      bool is_new = name.is_string() && std::none_of(kept.begin(), kept.end(), [&](const auto& p) {
                      return p.name == name.as_string();
                    });
      if (is_new) kept.push_back({name.as_string(), node->rest, false});
    }
    node->properties = std::move(kept);
    node->rest = SchemaNode::kNone;
    return Status();
  }
  if (!node->properties.empty()) return RefuseKeyword(path, kKey, "it stands beside properties");
  MLC_ASSIGN_OR_RETURN(int name, Read(names, PointerTo(path, kKey)));
  const SchemaNode& read = out_.nodes[static_cast<size_t>(name)];
  if (read.kind == SchemaNode::Kind::kAny) return Status();
  if (read.kind != SchemaNode::Kind::kString) {
    return RefuseKeyword(path, kKey, "it must be a schema of strings, without references or anyOf");
  }
  bool has_length = read.min > 0 || read.max >= 0;
  node->key_expression = read.expression;
  if (has_length)
    node->key_expression = EbnfClass(JsonStringRanges()) + EbnfRepeat(read.min, read.max);
  return Status();
}

Status SchemaReader::CheckOptional(const std::string& path, const SchemaNode& node) {
  int64_t optional = static_cast<int64_t>(node.properties.size()) - CountRequired(node);
  num_optional_ += optional;
  if (optional <= kMaxOptionalHere && num_optional_ <= kMaxOptional) return Status();
  return RefuseKeyword(path, "properties",
                       "too many of them may be left out: at most 500 of one object and 1000 in "
                       "all, others must be required");
}

Status SchemaReader::CheckCounts(const Json& schema, const std::string& path,
                                 const SchemaNode& node) {
  int64_t total = static_cast<int64_t>(node.properties.size());
  int64_t distinct = total + (node.rest != SchemaNode::kNone);
  if (node.rest != SchemaNode::kNone && node.min > distinct) {
    return RefuseKeyword(path, "minProperties",
                         "a grammar cannot keep other names from being written twice");
  }
  MLC_RETURN_IF_ERROR(CheckOptional(path, node));
  bool needs_count = node.min > CountRequired(node) || node.max >= 0;
  int64_t cap = std::min(std::max(node.min, node.max), total);
  if (needs_count && (total + 1) * (cap + 1) > kMaxRules) {
    const char* key = node.max >= 0 ? "maxProperties" : "minProperties";
    return RefuseKeyword(path, key, "counting so many properties takes too many rules");
  }
  if (node.rest == SchemaNode::kNone || !node.key_expression.empty()) return Status();
  size_t states = 0;
  for (const SchemaNode::Property& property : node.properties) states += property.name.size();
  if (states > kMaxKeyStates) {
    const char* key = schema.Find("additionalProperties") ? "additionalProperties" : "properties";
    return RefuseKeyword(path, key, "too many named properties to tell others from them");
  }
  return Status();
}

}  // namespace mlc
