#include "grammar/structural_tag.h"

#include <algorithm>

#include "base/json.h"
#include "grammar/schema/facts.h"
#include "grammar/schema/schema.h"
#include "grammar/text/regex_ebnf.h"
#include "grammar/text/work_budget.h"

namespace mlc {
namespace {

Json GrammarFormat(std::string ebnf) {
  return Json().Set("type", "grammar").Set("grammar", std::move(ebnf));
}

Status RefusePart(const std::string& path, const std::string& why) {
  return InvalidArgument(path + " " + why);
}

// Replaces the schemas and expressions of a tag.
class TagReader {
 public:
  TagReader(Strictness strictness, std::vector<SchemaWarning>* warnings)
      : strictness_(strictness), warnings_(*warnings) {}

  // The JSON parser's limit also limits the depth of this recursion.
  Status Rewrite(const std::string& path, Json* json);

 private:
  Result<std::string> EbnfOfSchema(const Json& format, const std::string& path);
  Status RewriteRegex(const std::string& path, Json* json);

  Strictness strictness_;
  std::vector<SchemaWarning>& warnings_;
};

// The schema in a {"type": "json_schema"} or in one of xgrammar's XML forms.
Result<std::string> TagReader::EbnfOfSchema(const Json& format, const std::string& path) {
  std::string where = PointerTo(path, "json_schema");
  const Json* document = format.Find("json_schema");
  if (document == nullptr) return RefusePart(where, "is missing");
  std::vector<SchemaWarning> warnings;
  Result<std::string> ebnf = JsonSchemaToEbnf(*document, strictness_, &warnings);
  if (!ebnf.ok()) return InvalidArgument(where + ": " + ebnf.status().message());
  for (SchemaWarning& warning : warnings) {
    warnings_.push_back({where + warning.path, std::move(warning.message)});
  }
  return ebnf;
}

Status TagReader::RewriteRegex(const std::string& path, Json* json) {
  const Json* pattern = json->Find("pattern");
  std::string where = PointerTo(path, "pattern");
  if (pattern == nullptr || !pattern->is_string()) return RefusePart(where, "must be a string");
  Result<std::string> ebnf = RegexToEbnf(pattern->as_string());
  if (!ebnf.ok()) return CannotEnforce(where, ebnf.status().message());
  *json = GrammarFormat("root ::= " + *ebnf + "\n");
  return Status();
}

Status TagReader::Rewrite(const std::string& path, Json* json) {
  if (json->is_array()) {
    for (size_t i = 0; i < json->as_array().size(); ++i) {
      MLC_RETURN_IF_ERROR(Rewrite(PointerTo(path, std::to_string(i)), &json->as_array()[i]));
    }
  }
  if (!json->is_object()) return Status();
  const Json* type = json->Find("type");
  std::string word = type != nullptr && type->is_string() ? type->as_string() : "";
  if (json->Find("json_schema") != nullptr || word == "json_schema") {
    MLC_ASSIGN_OR_RETURN(std::string ebnf, EbnfOfSchema(*json, path));
    const Json* style = json->Find("style");
    bool is_json = style == nullptr || (style->is_string() && style->as_string() == "json");
    if (word == "json_schema" && is_json) *json = GrammarFormat(std::move(ebnf));
    return Status();
  }
  if (word == "regex") return RewriteRegex(path, json);
  const Json* grammar = json->Find("grammar");
  if (word == "grammar" && grammar != nullptr && grammar->is_string()) {
    return CheckEbnf(grammar->as_string());
  }
  for (auto& [name, value] : json->as_object()) {
    MLC_RETURN_IF_ERROR(Rewrite(PointerTo(path, name), &value));
  }
  return Status();
}

}  // namespace

Result<std::string> ReadStructuralTag(const std::string& tag_json, Strictness strictness,
                                      std::vector<SchemaWarning>* warnings) {
  MLC_ASSIGN_OR_RETURN(Json tag, Json::Parse(tag_json));
  WorkBudget all(kMaxSchemaWork, kMaxSchemaParts);
  MLC_RETURN_IF_ERROR(TagReader(strictness, warnings).Rewrite("", &tag));
  return tag.Dump();
}

Status CheckEbnf(const std::string& grammar) {
  constexpr int64_t kMaxGroups = 512;
  auto count = [&grammar](char c) { return std::count(grammar.begin(), grammar.end(), c); };
  if (count('(') > kMaxGroups) {
    return InvalidArgument("holds more than " + std::to_string(kMaxGroups) + " groups");
  }
  int64_t empties = count('?') + count('*');
  for (size_t at = grammar.find("\"\""); at != std::string::npos;
       at = grammar.find("\"\"", at + 2)) {
    ++empties;
  }
  if (CostOfEmptyRun(empties) > kMaxRegexCost) {
    return InvalidArgument("holds too many parts that may be empty: " + std::to_string(empties) +
                           " of '?', '*' and '\"\"'");
  }
  return Status();
}

}  // namespace mlc
