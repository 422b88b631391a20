#include "grammar/schema/facts.h"

#include <algorithm>
#include <cmath>

#include "base/utf8.h"
#include "grammar/text/formats.h"

namespace mlc {
namespace {

bool IsIn(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

void Narrow(unsigned types, Facts* facts) {
  facts->types &= types;
  facts->has_types = true;
}

class Gatherer {
 public:
  Gatherer(const LeaveOutFn& leave_out, Facts* facts) : leave_out_(leave_out), facts_(*facts) {}

  Status Add(const Term& term) {
    if (term.part == Term::kAbsent) {
      if (term.negated) Narrow(kObjectType, &facts_);  // from what `required` denies
      facts_.meant |= kObjectType;
      facts_.absent.push_back({std::string(term.name), term.path});
      return Status();
    }
    if (term.part == Term::kPresent || term.part == Term::kMember) {
      if (term.part == Term::kMember) Narrow(kObjectType, &facts_);
      facts_.meant |= kObjectType;
      facts_.required.push_back({std::string(term.name), term.path});
      if (term.part == Term::kMember) facts_.members.push_back(term);
      return Status();
    }
    if (term.negated) return AddContrary(term);
    const Json& schema = *term.schema;
    MLC_RETURN_IF_ERROR(AddTypes(schema, term.path));
    MLC_RETURN_IF_ERROR(AddValues(schema, term.path));
    MLC_RETURN_IF_ERROR(AddNumbers(schema, term.path));
    MLC_RETURN_IF_ERROR(AddTexts(term));
    MLC_RETURN_IF_ERROR(AddArrays(term));
    return AddObjects(term);
  }

 private:
  Status Must(const std::string& path, const char* key, const char* what) {
    return InvalidArgument(PointerTo(path, key) + " must be " + what);
  }

  Result<unsigned> StatedTypes(const Json& type, const std::string& path) {
    Json list = type.is_string() ? Json(Json::Array{type}) : type;
    unsigned types = 0;
    bool is_wrong = !list.is_array() || list.as_array().empty();
    for (size_t i = 0; !is_wrong && i < list.as_array().size(); ++i) {
      const Json& word = list.as_array()[i];
      unsigned bits = word.is_string() ? TypeBitsOf(word.as_string()) : 0;
      is_wrong = bits == 0;
      types |= bits;
    }
    if (!is_wrong) return types;
    return Must(path, "type",
                "one of object, array, string, number, integer, boolean and null, or a list of "
                "them");
  }

  Status AddTypes(const Json& schema, const std::string& path) {
    const Json* type = schema.Find("type");
    if (type == nullptr) return Status();
    MLC_ASSIGN_OR_RETURN(unsigned types, TypesOf(schema, *type, path));
    Narrow(types, &facts_);
    return Status();
  }

  Result<unsigned> TypesOf(const Json& schema, const Json& type, const std::string& path) {
    MLC_ASSIGN_OR_RETURN(unsigned types, StatedTypes(type, path));
    return types | NullableBits(schema);
  }

  Status AddValues(const Json& schema, const std::string& path) {
    if (const Json* list = schema.Find("enum")) {
      if (!list->is_array() || list->as_array().empty()) {
        return Must(path, "enum", "a list with at least one value");
      }
      facts_.lists.push_back(list);
      facts_.values_path = PointerTo(path, "enum");
    }
    if (const Json* constant = schema.Find("const")) {
      facts_.kept.push_back(Json(Json::Array{*constant}));
      facts_.values_path = PointerTo(path, "const");
    }
    return Status();
  }

  Status Bound(const Json& value, const std::string& path, bool is_lower, bool exclusive) {
    facts_.meant |= kNumberType;
    if (!value.is_number()) return InvalidArgument(path + " must be a number");
    Result<Decimal> decimal = ToDecimal(value);
    if (!decimal.ok()) return leave_out_(path, decimal.status().message());
    NumberBound bound{std::move(decimal).value(), exclusive};
    std::optional<NumberBound>& old = is_lower ? facts_.range.min : facts_.range.max;
    int order = old ? Compare(bound.value, old->value) : 0;
    bool is_tighter = !old || (is_lower ? order > 0 : order < 0) || (order == 0 && exclusive);
    if (is_tighter) old = std::move(bound);
    facts_.range_path = path;
    return Status();
  }

  Status AddNumbers(const Json& schema, const std::string& path) {
    for (bool is_lower : {true, false}) {
      const char* key = is_lower ? "minimum" : "maximum";
      const char* strict_key = is_lower ? "exclusiveMinimum" : "exclusiveMaximum";
      const Json *bound = schema.Find(key), *exclusive = schema.Find(strict_key);
      // The draft of 2013: a flag beside the bound.
      bool is_flag = exclusive != nullptr && exclusive->is_bool();
      if (bound != nullptr) {
        bool is_out = is_flag && exclusive->as_bool();
        MLC_RETURN_IF_ERROR(Bound(*bound, PointerTo(path, key), is_lower, is_out));
      }
      if (exclusive != nullptr && !is_flag) {
        MLC_RETURN_IF_ERROR(Bound(*exclusive, PointerTo(path, strict_key), is_lower, true));
      }
    }
    const Json* step = schema.Find("multipleOf");
    return step == nullptr ? Status() : Step(*step, PointerTo(path, "multipleOf"), false);
  }

  Status Step(const Json& value, const std::string& path, bool negated) {
    facts_.meant |= kNumberType;
    if (!value.is_number() || value.as_double() <= 0) {
      return InvalidArgument(path + " must be a number above 0");
    }
    Result<Decimal> decimal = ToDecimal(value);
    if (!decimal.ok()) return leave_out_(path, decimal.status().message());
    facts_.steps.push_back({std::move(decimal).value(), path, negated});
    return Status();
  }

  // The greatest of the least and the least of the most.
  Status Counts(const Json& schema, const std::string& path, const char* least, const char* most,
                unsigned type, int64_t* min, int64_t* max) {
    if (schema.Find(least) != nullptr || schema.Find(most) != nullptr) facts_.meant |= type;
    MLC_ASSIGN_OR_RETURN(int64_t low, ReadCount(schema, least, 0, path));
    MLC_ASSIGN_OR_RETURN(int64_t high, ReadCount(schema, most, -1, path));
    *min = std::max(*min, low);
    if (high >= 0) *max = *max < 0 ? high : std::min(*max, high);
    return Status();
  }

  Status AddTexts(const Term& term) {
    const Json& schema = *term.schema;
    const std::string& path = term.path;
    MLC_RETURN_IF_ERROR(Counts(schema, path, "minLength", "maxLength", kStringType,
                               &facts_.min_length, &facts_.max_length));
    for (const char* key : {"maxLength", "minLength"}) {
      if (schema.Find(key) != nullptr) facts_.length_path = PointerTo(path, key);
    }
    for (bool is_format : {false, true}) {
      const char* key = is_format ? "format" : "pattern";
      const Json* value = schema.Find(key);
      if (value == nullptr) continue;
      if (!value->is_string()) return Must(path, key, "a string");
      std::string where = PointerTo(path, key);
      const StringFormat* format = is_format ? FindStringFormat(value->as_string()) : nullptr;
      if (is_format && format == nullptr) continue;  // an annotation
      facts_.meant |= kStringType;
      if (is_format && format->pattern.empty()) {
        std::string why = "the format '" + value->as_string() + "' has no grammar";
        MLC_RETURN_IF_ERROR(leave_out_(where, why));
        continue;
      }
      std::string text = is_format ? std::string(format->pattern) : value->as_string();
      facts_.patterns.push_back({std::move(text), where, false, is_format, term.is_hidden});
    }
    return Status();
  }

  Status AddArrays(const Term& term) {
    const Json& schema = *term.schema;
    MLC_RETURN_IF_ERROR(Counts(schema, term.path, "minItems", "maxItems", kArrayType,
                               &facts_.min_items, &facts_.max_items));
    for (const char* key : {"items", "prefixItems", "additionalItems", "contains", "uniqueItems",
                            "unevaluatedItems"}) {
      if (schema.Find(key) == nullptr) continue;
      facts_.meant |= kArrayType;
      facts_.arrays.push_back(term);
      break;
    }
    return Status();
  }

  Status AddObjects(const Term& term) {
    const Json& schema = *term.schema;
    MLC_RETURN_IF_ERROR(Counts(schema, term.path, "minProperties", "maxProperties", kObjectType,
                               &facts_.min_members, &facts_.max_members));
    if (schema.Find("minProperties"))
      facts_.min_members_path = PointerTo(term.path, "minProperties");
    if (schema.Find("maxProperties"))
      facts_.max_members_path = PointerTo(term.path, "maxProperties");
    for (const char* key : {"properties", "patternProperties", "additionalProperties",
                            "propertyNames", "unevaluatedProperties"}) {
      const Json* value = schema.Find(key);
      if (value == nullptr) continue;
      bool is_map = IsIn(key, {"properties", "patternProperties"});
      if (is_map && !value->is_object()) return Must(term.path, key, "an object");
      facts_.meant |= kObjectType;
      bool is_known = !facts_.objects.empty() && facts_.objects.back().schema == &schema &&
                      facts_.objects.back().is_hidden == term.is_hidden;
      if (!is_known) facts_.objects.push_back(term);
    }
    MLC_RETURN_IF_ERROR(AddRequired(schema, term.path));
    return AddImplications(schema, term.path);
  }

  Status AddRequired(const Json& schema, const std::string& path) {
    const Json* required = schema.Find("required");
    if (required == nullptr) return Status();
    std::string where = PointerTo(path, "required");
    if (required->is_bool()) {  // the draft of 2010, in the property's own schema
      return leave_out_(where, "it must be a list of names, in the schema of the object");
    }
    if (!required->is_array()) return Must(path, "required", "a list of names");
    facts_.meant |= kObjectType;
    for (const Json& name : required->as_array()) {
      if (!name.is_string()) return Must(path, "required", "a list of names");
      facts_.required.push_back({name.as_string(), where});
    }
    return Status();
  }

  Status AddImplications(const Json& schema, const std::string& path) {
    for (const char* key : {"dependentRequired", "dependencies"}) {
      const Json* all = schema.Find(key);
      if (all == nullptr) continue;
      if (!all->is_object()) return Must(path, key, "an object");
      for (const auto& [first, names] : all->as_object()) {
        Json list = names.is_string() ? Json(Json::Array{names}) : names;
        if (!list.is_array()) continue;  // a schema: a choice
        facts_.meant |= kObjectType;
        for (const Json& second : list.as_array()) {
          if (!second.is_string()) return Must(path, key, "lists of names");
          std::string where = PointerTo(PointerTo(path, key), first);
          facts_.implications.push_back({first, second.as_string(), where});
        }
      }
    }
    return Status();
  }

  // A single keyword whose contrary holds.
  Status AddContrary(const Term& term) {
    std::string_view key = term.part;
    const Json& value = *term.schema->Find(key);
    std::string path = PointerTo(term.path, key);
    if (key == "type") {
      MLC_ASSIGN_OR_RETURN(unsigned types, TypesOf(*term.schema, value, term.path));
      Narrow(~types, &facts_);
      return Status();
    }
    if (key == "enum" && value.is_array()) {
      for (const Json& item : value.as_array()) facts_.excluded.push_back(&item);
    }
    if (key == "const") facts_.excluded.push_back(&value);
    if (IsIn(key, {"enum", "const"})) facts_.excluded_path = path;
    if (IsIn(key, {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"})) {
      return AddContraryOfNumber(term, value, path);
    }
    if (key == "pattern") {
      if (!value.is_string()) return Must(term.path, "pattern", "a string");
      Narrow(kStringType, &facts_);
      facts_.patterns.push_back({value.as_string(), path, true, false, true});
    }
    if (IsIn(key, {"items", "contains"})) {
      Narrow(kArrayType, &facts_);
      (key == "items" ? facts_.denied_items : facts_.denied_contains).push_back(term);
    }
    return AddContraryOfCount(term, path);
  }

  Status AddContraryOfNumber(const Term& term, const Json& value, const std::string& path) {
    if (value.is_bool()) return leave_out_(path, "its contrary depends on another keyword");
    const char* flag = term.part == "minimum" ? "exclusiveMinimum" : "exclusiveMaximum";
    const Json* exclusive = term.schema->Find(flag);
    bool was_exclusive = term.part[0] == 'e' || (exclusive != nullptr && exclusive->is_bool() &&
                                                 exclusive->as_bool() && term.part[0] == 'm');
    Narrow(kNumberType, &facts_);
    if (term.part == "multipleOf") return Step(value, path, true);
    bool was_lower = term.part.find("inimum") != std::string_view::npos;
    return Bound(value, path, !was_lower, !was_exclusive);
  }

  Status AddContraryOfCount(const Term& term, const std::string& path) {
    struct Count {
      const char *least, *most;
      unsigned type;
      int64_t *min, *max;
    };
    const Count counts[] = {
        {"minLength", "maxLength", kStringType, &facts_.min_length, &facts_.max_length},
        {"minItems", "maxItems", kArrayType, &facts_.min_items, &facts_.max_items},
        {"minProperties", "maxProperties", kObjectType, &facts_.min_members, &facts_.max_members}};
    for (const Count& count : counts) {
      bool is_least = term.part == count.least;
      if (!is_least && term.part != count.most) continue;
      MLC_ASSIGN_OR_RETURN(int64_t limit,
                           ReadCount(*term.schema, std::string(term.part).c_str(), 0, term.path));
      Narrow(count.type, &facts_);
      facts_.min_members_path = facts_.max_members_path = facts_.length_path = path;
      if (!is_least) *count.min = std::max(*count.min, limit + 1);
      if (is_least && limit == 0) Narrow(0, &facts_);
      int64_t most = std::max<int64_t>(limit - 1, 0);
      if (is_least) *count.max = *count.max < 0 ? most : std::min(*count.max, most);
    }
    return Status();
  }

  const LeaveOutFn& leave_out_;
  Facts& facts_;
};

}  // namespace

Result<Facts> GatherFacts(const std::vector<Term>& own, const LeaveOutFn& leave_out) {
  Facts facts;
  Gatherer gatherer(leave_out, &facts);
  for (const Term& term : own) MLC_RETURN_IF_ERROR(gatherer.Add(term));
  return facts;
}

Result<int64_t> ReadCount(const Json& schema, const char* key, int64_t fallback,
                          const std::string& path) {
  const Json* value = schema.Find(key);
  if (value == nullptr) return fallback;
  bool is_whole = value->is_number() && value->as_double() >= 0 &&
                  value->as_double() == std::floor(value->as_double());
  if (!is_whole) {
    return InvalidArgument(PointerTo(path, key) + " must be a whole number that is not negative");
  }
  return static_cast<int64_t>(std::min(value->as_double(), 1e15));
}

Status CannotEnforce(const std::string& path, const std::string& why) {
  constexpr size_t kLongest = 200;
  std::string place = path.empty() ? "the schema" : path;
  if (place.size() > kLongest) place = RepairUtf8(place.substr(0, kLongest)) + "...";
  return InvalidArgument(place + " cannot be enforced: " + why);
}

}  // namespace mlc
