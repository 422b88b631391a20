// Schemas without applicators: values, and each type.
#include <algorithm>

#include "grammar/regex_ebnf.h"
#include "grammar/schema_keywords.h"
#include "grammar/schema_merge.h"
#include "grammar/schema_reader.h"

namespace mlc {
namespace {

using Kind = SchemaNode::Kind;

// Longer texts and lists are not written, though they would be valid: the matcher's states cost
// too much.
constexpr int64_t kMaxCount = 20000;

constexpr const char* kTypes[] = {"object",  "array",   "string", "number",
                                  "integer", "boolean", "null"};

struct Family {
  const char* type;
  std::vector<const char*> keywords;
};

const std::vector<Family>& Families() {
  static const std::vector<Family> families = {
      {"string", {"minLength", "maxLength", "pattern", "format"}},
      {"number", {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"}},
      {"array", {"items", "prefixItems", "minItems", "maxItems", "uniqueItems"}},
      {"object",
       {"properties", "required", "additionalProperties", "patternProperties", "propertyNames",
        "minProperties", "maxProperties"}},
  };
  return families;
}

Result<std::vector<std::string>> StatedTypes(const Json& type, const std::string& path) {
  Json list = type.is_string() ? Json(Json::Array{type}) : type;
  std::vector<std::string> types;
  auto wrong = [&path] {
    return InvalidArgument(PointerTo(path, "type") +
                           " must be one of object, array, string, number, integer, boolean and "
                           "null, or a list of them");
  };
  if (!list.is_array() || list.as_array().empty()) return wrong();
  for (const Json& word : list.as_array()) {
    bool is_type = word.is_string() && std::find(std::begin(kTypes), std::end(kTypes),
                                                 word.as_string()) != std::end(kTypes);
    if (!is_type) return wrong();
    types.push_back(word.as_string());
  }
  return types;
}

// Without `type`, the types that the other keywords speak of: values of other types would be valid,
// and nobody means them.
Result<std::vector<std::string>> TypesOf(const Json& schema, const std::string& path) {
  std::vector<std::string> types;
  if (const Json* type = schema.Find("type")) {
    MLC_ASSIGN_OR_RETURN(types, StatedTypes(*type, path));
  } else {
    for (const Family& family : Families()) {
      bool is_meant = std::any_of(family.keywords.begin(), family.keywords.end(),
                                  [&](const char* key) { return schema.Find(key) != nullptr; });
      if (is_meant) types.push_back(family.type);
    }
  }
  bool has_number = std::find(types.begin(), types.end(), "number") != types.end();
  if (has_number) types.erase(std::remove(types.begin(), types.end(), "integer"), types.end());
  return types;
}

Status Because(const std::string& path, const char* key, const Status& status) {
  return RefuseKeyword(path, key, status.message());
}

}  // namespace

int SchemaReader::AnyNode() {
  if (any_node_ == SchemaNode::kNone) {
    any_node_ = static_cast<int>(out_.nodes.size());
    out_.nodes.emplace_back().kind = Kind::kAny;
  }
  return any_node_;
}

Status SchemaReader::FillPlain(int node, const Json& schema, const std::string& path) {
  SchemaNode out;
  if (schema.Find("enum") != nullptr || schema.Find("const") != nullptr) {
    MLC_ASSIGN_OR_RETURN(out, ReadValues(schema, path));
    out_.nodes[static_cast<size_t>(node)] = std::move(out);
    return Status();
  }
  MLC_ASSIGN_OR_RETURN(std::vector<std::string> types, TypesOf(schema, path));
  out.kind = types.empty() ? Kind::kAny : Kind::kUnion;
  if (types.size() == 1) {
    MLC_ASSIGN_OR_RETURN(out, ReadType(types[0], schema, path));
  }
  for (size_t i = 0; types.size() > 1 && i < types.size(); ++i) {
    MLC_ASSIGN_OR_RETURN(SchemaNode part, ReadType(types[i], schema, path));
    out.parts.push_back(static_cast<int>(out_.nodes.size()));
    out_.nodes.push_back(std::move(part));
  }
  out_.nodes[static_cast<size_t>(node)] = std::move(out);
  return Status();
}

Result<SchemaNode> SchemaReader::ReadValues(const Json& schema, const std::string& path) {
  SchemaNode node;
  node.kind = Kind::kValues;
  const Json *list = schema.Find("enum"), *constant = schema.Find("const");
  if (list != nullptr && (!list->is_array() || list->as_array().empty())) {
    return InvalidArgument(PointerTo(path, "enum") + " must be a list with at least one value");
  }
  if (schema.Find("type") != nullptr) MLC_RETURN_IF_ERROR(TypesOf(schema, path).status());
  for (const auto& [key, value] : schema.as_object()) {
    static const std::vector<std::string> kJudged = {"enum",
                                                     "const",
                                                     "type",
                                                     "minimum",
                                                     "maximum",
                                                     "minLength",
                                                     "maxLength",
                                                     "exclusiveMinimum",
                                                     "exclusiveMaximum"};
    if (std::find(kJudged.begin(), kJudged.end(), key) != kJudged.end()) continue;
    return RefuseKeyword(path, key,
                         "it stands beside enum or const; leave out the values that do "
                         "not fit instead");
  }
  Json::Array values = list != nullptr ? list->as_array() : Json::Array{*constant};
  for (const Json& value : values) {
    bool fits = (constant == nullptr || value == *constant) && Admits(schema, value);
    if (fits) node.values.push_back(value);
  }
  return node;
}

Result<SchemaNode> SchemaReader::ReadType(const std::string& type, const Json& schema,
                                          const std::string& path) {
  if (type == "object") return ReadObject(schema, path);
  if (type == "array") return ReadArray(schema, path);
  if (type == "string") return ReadString(schema, path);
  if (type == "number" || type == "integer") return ReadNumeral(type == "integer", schema, path);
  SchemaNode node;
  node.kind = type == "null" ? Kind::kNull : Kind::kBoolean;
  return node;
}

Result<SchemaNode> SchemaReader::ReadString(const Json& schema, const std::string& path) {
  SchemaNode node;
  node.kind = Kind::kString;
  LengthRange length;
  MLC_ASSIGN_OR_RETURN(length.min, ReadCount(schema, "minLength", 0, path));
  MLC_ASSIGN_OR_RETURN(length.max, ReadCount(schema, "maxLength", -1, path));
  if (length.min > kMaxCount) return RefuseKeyword(path, "minLength", "it is over 20000");
  if (length.max >= 0 && length.min > length.max) return SchemaNode();  // nothing fits
  const Json *pattern = schema.Find("pattern"), *format = schema.Find("format");
  if (pattern != nullptr && format != nullptr) {
    return RefuseKeyword(path, "format", "it stands beside a pattern");
  }
  if (pattern == nullptr && format == nullptr) {
    node.min = length.min;
    node.max = length.max < 0 ? -1 : std::min(length.max, kMaxCount);
    return node;
  }
  const char* key = pattern != nullptr ? "pattern" : "format";
  const Json& value = pattern != nullptr ? *pattern : *format;
  if (!value.is_string()) return InvalidArgument(PointerTo(path, key) + " must be a string");
  std::string expression = value.as_string();
  if (format != nullptr) {
    const std::vector<StringFormat>& all = StringFormats();
    auto found = std::find_if(all.begin(), all.end(),
                              [&](const StringFormat& f) { return f.name == expression; });
    if (found == all.end() || found->pattern.empty()) {
      return RefuseKeyword(path, key,
                           "the format '" + expression.substr(0, 80) + "' has no grammar");
    }
    expression = found->pattern;
  }
  Result<std::string> ebnf =
      RegexToEbnf(expression, {/*in_json_string=*/true, length, &regex_cost_});
  if (!ebnf.ok()) return Because(path, key, ebnf.status());
  node.expression = std::move(ebnf).value();
  return node;
}

Result<SchemaNode> SchemaReader::ReadNumeral(bool is_integer, const Json& schema,
                                             const std::string& path) {
  SchemaNode node;
  node.kind = Kind::kNumeral;
  NumberRange range;
  auto add = [&](const char* key, bool is_lower, bool exclusive) -> Status {
    const Json* value = schema.Find(key);
    if (value == nullptr) return Status();
    if (!value->is_number()) return InvalidArgument(PointerTo(path, key) + " must be a number");
    Result<Decimal> decimal = ToDecimal(*value);
    if (!decimal.ok()) return Because(path, key, decimal.status());
    NumberBound bound{std::move(decimal).value(), exclusive};
    std::optional<NumberBound>& old = is_lower ? range.min : range.max;
    int order = old ? Compare(bound.value, old->value) : 0;
    bool is_tighter = !old || (is_lower ? order > 0 : order < 0) || (order == 0 && exclusive);
    if (is_tighter) old = std::move(bound);
    return Status();
  };
  MLC_RETURN_IF_ERROR(add("minimum", true, false));
  MLC_RETURN_IF_ERROR(add("exclusiveMinimum", true, true));
  MLC_RETURN_IF_ERROR(add("maximum", false, false));
  MLC_RETURN_IF_ERROR(add("exclusiveMaximum", false, true));
  const char* key = range.min ? "minimum" : "maximum";
  if (const Json* multiple = schema.Find("multipleOf")) {
    key = "multipleOf";
    bool is_whole =
        multiple->is_number() && multiple->as_double() >= 1 && multiple->as_double() <= 1e9 &&
        multiple->as_double() == static_cast<double>(static_cast<int64_t>(multiple->as_double()));
    if (!is_whole) return RefuseKeyword(path, key, "it must be a whole number from 1 to 1e9");
    range.multiple_of = static_cast<int64_t>(multiple->as_double());
    is_integer = true;  // of the numbers only these are written
  }
  node.is_integer = is_integer;
  Result<std::string> ebnf = is_integer ? IntegerEbnf(range) : NumberEbnf(range);
  if (!ebnf.ok()) return Because(path, key, ebnf.status());
  node.expression = std::move(ebnf).value();
  if (node.expression.empty()) node.kind = Kind::kNever;
  return node;
}

Result<SchemaNode> SchemaReader::ReadArray(const Json& schema, const std::string& path) {
  SchemaNode node;
  node.kind = Kind::kArray;
  MLC_ASSIGN_OR_RETURN(node.min, ReadCount(schema, "minItems", 0, path));
  MLC_ASSIGN_OR_RETURN(node.max, ReadCount(schema, "maxItems", -1, path));
  if (node.min > kMaxCount) return RefuseKeyword(path, "minItems", "it is over 20000");
  if (node.max >= 0) node.max = std::min(node.max, kMaxCount);
  const Json* first = schema.Find("prefixItems");
  if (first != nullptr && (!first->is_array() || first->as_array().empty())) {
    return InvalidArgument(PointerTo(path, "prefixItems") + " must be a list of schemas");
  }
  for (size_t i = 0; first != nullptr && i < first->as_array().size(); ++i) {
    std::string where = PointerTo(PointerTo(path, "prefixItems"), std::to_string(i));
    MLC_ASSIGN_OR_RETURN(int part, Read(first->as_array()[i], where));
    node.parts.push_back(part);
  }
  const char* key = schema.Find("items") != nullptr ? "items" : "unevaluatedItems";
  if (const Json* items = schema.Find(key)) {
    MLC_ASSIGN_OR_RETURN(node.rest, Read(*items, PointerTo(path, key)));
  } else if (first == nullptr || node.min > static_cast<int64_t>(node.parts.size())) {
    node.rest = AnyNode();
  }
  return node;
}

}  // namespace mlc
