#include "grammar/schema_keywords.h"

namespace mlc {

const std::vector<SchemaKeyword>& SchemaKeywords() {
  constexpr Verdict kEnforced = Verdict::kEnforced, kAnnotation = Verdict::kAnnotation,
                    kRefused = Verdict::kRefused;
  static const std::vector<SchemaKeyword> keywords = {
      {"$schema", "core", kAnnotation, ""},
      {"$vocabulary", "core", kAnnotation, ""},
      {"$id", "core", kAnnotation, "only at the root; elsewhere refused"},
      {"$anchor", "core", kAnnotation, "a `$ref` may name it"},
      {"$dynamicAnchor", "core", kAnnotation, "a `$ref` may name it"},
      {"$ref", "core", kEnforced, "`#`, `#/...` and `#anchor`; other documents are refused"},
      {"$dynamicRef", "core", kRefused, "its target depends on the way there"},
      {"$defs", "core", kAnnotation, "what a `$ref` names is read"},
      {"$comment", "core", kAnnotation, ""},
      {"allOf", "applicator", kEnforced,
       "refused where two `pattern`, `format`, `multipleOf`, `prefixItems` or `patternProperties` "
       "would have to hold at once"},
      {"anyOf", "applicator", kEnforced, ""},
      {"oneOf", "applicator", kEnforced,
       "where types, constants or a required property with constants tell the branches apart; "
       "else refused"},
      {"not", "applicator", kRefused, "grammars have no complement"},
      {"if", "applicator", kRefused, "write the cases as `anyOf`"},
      {"then", "applicator", kRefused, "write the cases as `anyOf`"},
      {"else", "applicator", kRefused, "write the cases as `anyOf`"},
      {"dependentSchemas", "applicator", kRefused, "write the cases as `anyOf`"},
      {"prefixItems", "applicator", kEnforced,
       "without `items` nothing is written behind them, unless `minItems` asks for more"},
      {"items", "applicator", kEnforced, ""},
      {"contains", "applicator", kRefused, "a grammar does not count what it has seen"},
      {"properties", "applicator", kEnforced, "written in this order"},
      {"patternProperties", "applicator", kEnforced,
       "one pattern, no named property that it matches, and no other additional properties; else "
       "refused"},
      {"additionalProperties", "applicator", kEnforced,
       "absent beside `properties`: none are written"},
      {"propertyNames", "applicator", kEnforced,
       "refused beside `patternProperties` and, but for constants, beside `properties`"},
      {"unevaluatedItems", "unevaluated", kEnforced,
       "as `items`; refused beside `$ref`, `allOf`, `anyOf`, `oneOf`"},
      {"unevaluatedProperties", "unevaluated", kEnforced,
       "as `additionalProperties`; refused beside `$ref`, `allOf`, `anyOf`, `oneOf`"},
      {"type", "validation", kEnforced, ""},
      {"const", "validation", kEnforced, ""},
      {"enum", "validation", kEnforced,
       "beside it `type`, bounds and lengths; other assertions are refused"},
      {"multipleOf", "validation", kEnforced,
       "whole ones: at most 4000 within bounds, or without bounds where they divide a power of "
       "ten; else refused"},
      {"maximum", "validation", kEnforced, ""},
      {"exclusiveMaximum", "validation", kEnforced, ""},
      {"minimum", "validation", kEnforced, ""},
      {"exclusiveMinimum", "validation", kEnforced, ""},
      {"maxLength", "validation", kEnforced,
       "beside `pattern` or `format` where all its texts comply, or it is one repeated class; else "
       "refused"},
      {"minLength", "validation", kEnforced, "as `maxLength`"},
      {"pattern", "validation", kEnforced,
       "the text is what the pattern matches, with nothing around it; look-around, `\\b`, inner "
       "anchors and back-references are refused, so is `format` beside it"},
      {"maxItems", "validation", kEnforced, ""},
      {"minItems", "validation", kEnforced, ""},
      {"uniqueItems", "validation", kEnforced, "`true` only with `maxItems` 0 or 1; else refused"},
      {"maxContains", "validation", kAnnotation, "says nothing without `contains`"},
      {"minContains", "validation", kAnnotation, "says nothing without `contains`"},
      {"maxProperties", "validation", kEnforced, "refused where it needs over 4000 rules"},
      {"minProperties", "validation", kEnforced,
       "at most one more than the named properties; else refused"},
      {"required", "validation", kEnforced, ""},
      {"dependentRequired", "validation", kRefused, "write the cases as `anyOf`"},
      {"format", "format", kEnforced, "the values below; others are refused"},
      {"contentEncoding", "content", kAnnotation, ""},
      {"contentMediaType", "content", kAnnotation, ""},
      {"contentSchema", "content", kAnnotation, ""},
      {"title", "meta-data", kAnnotation, ""},
      {"description", "meta-data", kAnnotation, ""},
      {"default", "meta-data", kAnnotation, ""},
      {"deprecated", "meta-data", kAnnotation, ""},
      {"readOnly", "meta-data", kAnnotation, ""},
      {"writeOnly", "meta-data", kAnnotation, ""},
      {"examples", "meta-data", kAnnotation, ""},
      {"definitions", "older drafts", kAnnotation, "what a `$ref` names is read"},
      {"dependencies", "older drafts", kRefused, "write the cases as `anyOf`"},
      {"additionalItems", "older drafts", kRefused, "write `prefixItems` and `items`"},
      {"$recursiveRef", "older drafts", kRefused, "write `$ref`"},
      {"$recursiveAnchor", "older drafts", kRefused, "write `$anchor` and `$ref`"},
      {"discriminator", "OpenAPI", kAnnotation, ""},
      {"example", "OpenAPI", kAnnotation, ""},
      {"externalDocs", "OpenAPI", kAnnotation, ""},
      {"nullable", "OpenAPI", kRefused, "write `\"type\": [..., \"null\"]`"},
  };
  return keywords;
}

const SchemaKeyword* FindSchemaKeyword(std::string_view name) {
  for (const SchemaKeyword& keyword : SchemaKeywords()) {
    if (keyword.name == name) return &keyword;
  }
  return nullptr;
}

#define MLC_DATE                                                                                \
  "([1-9][0-9]{3}-((0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])|(0[469]|11)-(0[1-9]|[12][0-9]|30)" \
  "|02-(0[1-9]|1[0-9]|2[0-8])))"
#define MLC_CLOCK "(([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\\.[0-9]{1,6})?)"
#define MLC_TIME MLC_CLOCK "(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])"
#define MLC_LABEL "[a-z0-9]{1,12}(-[a-z0-9]{1,12}){0,2}"
#define MLC_HOST MLC_LABEL "(\\." MLC_LABEL "){0,3}"
#define MLC_DOMAIN MLC_LABEL "(\\." MLC_LABEL "){0,2}\\.[a-z]{2,12}"
#define MLC_BYTE "(25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
#define MLC_IPV4 MLC_BYTE "(\\." MLC_BYTE "){3}"
#define MLC_HEX4 "[0-9a-fA-F]{1,4}"
#define MLC_PATH "(/[A-Za-z0-9._~-]{0,40}){0,12}"
#define MLC_QUERY "(\\?[A-Za-z0-9._~=&-]{0,80})?(#[A-Za-z0-9._~-]{0,40})?"
#define MLC_URI "[a-z][a-z0-9+.-]{1,11}://" MLC_HOST "(:[1-9][0-9]{0,3})?" MLC_PATH MLC_QUERY
#define MLC_POINTER "(/([a-zA-Z0-9_ .-]|~[01]){0,40}){0,12}"

// Each pattern admits a part of what the format allows: enough for what is written, and nothing
// about which validators disagree.
const std::vector<StringFormat>& StringFormats() {
  static const std::vector<StringFormat> formats = {
      {"date-time", MLC_DATE "T" MLC_TIME},
      {"date", MLC_DATE},
      {"time", MLC_TIME},
      {"duration",
       "P([0-9]{1,4}W|[0-9]{1,4}Y([0-9]{1,4}M([0-9]{1,4}D)?)?|[0-9]{1,4}M([0-9]{1,4}D)?|"
       "([0-9]{1,4}D)?T([0-9]{1,4}H([0-9]{1,4}M([0-9]{1,4}S)?)?|[0-9]{1,4}M([0-9]{1,4}S)?|"
       "[0-9]{1,4}S)|[0-9]{1,4}D)"},
      {"email", "[a-zA-Z0-9_%+-]{1,20}(\\.[a-zA-Z0-9_%+-]{1,20}){0,2}@" MLC_DOMAIN},
      {"idn-email", "[a-zA-Z0-9_%+-]{1,20}(\\.[a-zA-Z0-9_%+-]{1,20}){0,2}@" MLC_DOMAIN},
      {"hostname", MLC_HOST},
      {"idn-hostname", MLC_DOMAIN},
      {"ipv4", MLC_IPV4},
      {"ipv6", "(" MLC_HEX4 ":){7}" MLC_HEX4 "|(" MLC_HEX4 ":){1,3}(:" MLC_HEX4
               "){1,3}|::(" MLC_HEX4 "(:" MLC_HEX4 "){0,5})?"},
      {"uri", MLC_URI},
      {"uri-reference", MLC_URI "|" MLC_PATH MLC_QUERY},
      {"iri", MLC_URI},
      {"iri-reference", MLC_URI "|" MLC_PATH MLC_QUERY},
      {"uri-template", MLC_URI "(/\\{[a-z][a-z0-9_]{0,20}\\}){0,4}"},
      {"uuid", "[0-9a-f]{8}-[0-9a-f]{4}-[1-5][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"},
      {"json-pointer", MLC_POINTER},
      {"relative-json-pointer", "(0|[1-9]{1,3})(#|" MLC_POINTER ")"},
      {"regex", ""},
  };
  return formats;
}

}  // namespace mlc
