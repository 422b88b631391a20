// A schema as EBNF: a rule a node, and rules that the nodes share.
#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "base/utf8.h"
#include "grammar/ebnf_text.h"
#include "grammar/schema.h"

namespace mlc {
namespace {

using Kind = SchemaNode::Kind;

constexpr size_t kMaxTold = 64;  // characters by which names are told apart

// Lone surrogates cannot be written: the escapes D800 to DFFF are left out. A rule holds what comes
// next in a text and the rest of it, the closing quote included: of a token that reaches beyond its
// rule the matcher cannot know beforehand whether it fits, and a mask then takes milliseconds.
constexpr char kSharedRules[] = R"(
string ::= "\"" text
text ::= "\"" | [ !#-\u005B\u005D-\u007E\u0080-\uD7FF\uE000-\U0010FFFF] text | "\\" escape text
escape ::= ["\\/bfnrt] | "u" ([0-9A-Ca-cE-Fe-f] [0-9A-Fa-f]{3} | [Dd] [0-7] [0-9A-Fa-f]{2})
number ::= "-"? ("0" | [1-9] [0-9]{0,14}) ("." [0-9]{1,15})?
any ::= anyobject | anyarray | string | number | "true" | "false" | "null"
anyobject ::= "{" (string ": " any (", " string ": " any)*)? "}"
anyarray ::= "[" (any (", " any)*)? "]"
)";

class SchemaWriter {
 public:
  explicit SchemaWriter(const Schema& schema) : schema_(schema) {}

  std::string Run() {
    out_ = "root ::= " + Name(schema_.root) + kSharedRules;
    for (size_t i = 0; i < schema_.nodes.size(); ++i) {
      if (!IsReached(static_cast<int>(i))) continue;
      AddRule(Name(static_cast<int>(i)), Body(static_cast<int>(i)));
    }
    return std::move(out_);
  }

 private:
  static std::string Name(int node) { return "n" + std::to_string(node); }
  void AddRule(const std::string& name, const std::string& body) {
    out_ += name + " ::= " + body + "\n";
  }

  bool IsReached(int index) {
    if (reached_.empty()) MarkReached();
    return reached_[static_cast<size_t>(index)];
  }

  void MarkReached() {
    reached_.assign(schema_.nodes.size(), false);
    std::vector<int> left = {schema_.root};
    while (!left.empty()) {
      int index = left.back();
      left.pop_back();
      if (index == SchemaNode::kNone || reached_[static_cast<size_t>(index)]) continue;
      reached_[static_cast<size_t>(index)] = true;
      const SchemaNode& node = schema_.nodes[static_cast<size_t>(index)];
      left.insert(left.end(), node.parts.begin(), node.parts.end());
      left.push_back(node.rest);
      for (const auto& property : node.properties) left.push_back(property.node);
    }
  }

  std::string Body(int index) {
    const SchemaNode& node = schema_.nodes[static_cast<size_t>(index)];
    switch (node.kind) {
      case Kind::kNull:
        return "\"null\"";
      case Kind::kBoolean:
        return "\"true\" | \"false\"";
      case Kind::kNumeral:
        return node.expression;
      case Kind::kString:
        return StringOf(node);
      case Kind::kValues:
        return Values(node.values);
      case Kind::kUnion:
        return Union(node.parts);
      case Kind::kArray:
        return Array(index, node);
      case Kind::kObject:
        return Object(index, node);
      default:
        return "any";
    }
  }

  std::string StringOf(const SchemaNode& node) {
    constexpr int64_t kMaxChain = 64;
    if (!node.expression.empty()) return "\"\\\"\" (" + node.expression + ") \"\\\"\"";
    if (node.min == 0 && node.max < 0) return "string";
    int64_t longest = node.max < 0 ? node.min : node.max;
    if (longest <= kMaxChain) return "\"\\\"\" " + Chain(node.min, node.max);
    return "\"\\\"\" " + Counted(node.min, node.max) + " \"\\\"\"";
  }

  // The rule for what is left of a text: `min` to `max` characters and the quote. Each number of
  // characters has a rule: no masks are quicker, but the compiler takes milliseconds for each.
  std::string Chain(int64_t min, int64_t max) {
    if (min == 0 && max < 0) return "text";
    std::string rule = "t" + std::to_string(min) + (max < 0 ? "" : "c" + std::to_string(max));
    if (!texts_.insert(rule).second) return rule;
    std::string body = min == 0 ? "\"\\\"\"" : "";
    if (max != 0) {
      std::string rest = Chain(std::max<int64_t>(0, min - 1), max < 0 ? -1 : max - 1);
      body += (body.empty() ? "" : " | ") + EbnfClass(JsonStringRanges()) + " " + rest +
              R"( | "\\" ["\\/bfnrt] )" + rest;
    }
    AddRule(rule, body);
    return rule;
  }

  // The rule for `min` to `max` characters that the matcher counts. Without escapes, it may end
  // behind any of them, and need never go beyond `max` to end at all.
  std::string Counted(int64_t min, int64_t max) {
    std::string rule = "m" + std::to_string(min) + (max < 0 ? "" : "c" + std::to_string(max));
    if (!texts_.insert(rule).second) return rule;
    std::string plain = EbnfClass(JsonStringRanges());
    std::string least;
    constexpr int64_t kMostWritten = 64;  // a repetition is a rule of its own, with slow masks
    for (int64_t i = 0; i < min && min <= kMostWritten; ++i) least += plain + " ";
    if (min > kMostWritten) least = plain + EbnfRepeat(min, min) + " ";
    std::string limit = max < 0 ? "" : "[max_chars=" + std::to_string(max) + "]";
    AddRule(rule + limit, least + plain + "*");
    return rule;
  }

  static std::string Values(const std::vector<Json>& values) {
    std::string out;
    for (const Json& value : values) {
      out += (out.empty() ? "" : " | ") + EbnfLiteral(value.Dump());
    }
    return out;
  }

  static std::string Union(const std::vector<int>& parts) {
    std::string out;
    for (int part : parts) out += (out.empty() ? "" : " | ") + Name(part);
    return out;
  }

  // "[" first ", " second ... rest "]", of which what lies beyond `min` may be left out.
  std::string Array(int index, const SchemaNode& node) {
    int64_t prefix = static_cast<int64_t>(node.parts.size());
    if (node.max >= 0) prefix = std::min(prefix, node.max);
    std::string tail = ArrayRest(node, prefix);
    for (int64_t i = prefix; i-- > 0;) {
      std::string item = Name(node.parts[static_cast<size_t>(i)]);
      if (i > 0) item = "\", \" " + item;
      std::string rule = Name(index) + "i" + std::to_string(i);
      bool may_end = i >= node.min;
      AddRule(rule, item + " " + tail + (may_end ? " | \"\"" : ""));
      tail = rule;
    }
    return "\"[\" " + tail + " \"]\"";
  }

  static std::string ArrayRest(const SchemaNode& node, int64_t prefix) {
    if (node.rest == SchemaNode::kNone || node.max == prefix) return "\"\"";
    int64_t min = std::max<int64_t>(0, node.min - prefix);
    int64_t max = node.max < 0 ? -1 : node.max - prefix;
    return Listed(Name(node.rest), prefix > 0, min, max);
  }

  // `min` to `max` items behind others, or on their own; `max` is not 0.
  static std::string Listed(const std::string& item, bool follows, int64_t min, int64_t max) {
    std::string more = "(\", \" " + item + ")";
    if (follows) return more + EbnfRepeat(min, max);
    std::string rest = EbnfRepeat(std::max<int64_t>(0, min - 1), max < 0 ? -1 : max - 1);
    std::string list = max == 1 ? item : item + " " + more + rest;
    return min == 0 ? "(" + list + ")?" : list;
  }

  // Where the writing of an object stands: which property comes next, how many have been written
  // (counted only where that matters), and whether any has.
  struct Place {
    size_t next;
    int64_t count;
    bool follows;
    bool operator<(const Place& other) const {
      return std::tie(next, count, follows) < std::tie(other.next, other.count, other.follows);
    }
  };
  struct ObjectRules {
    int index;
    const SchemaNode& node;
    bool counts;
    std::string member;                 // of an additional one
    std::map<Place, std::string> done;  // rule names; "" for a place that leads nowhere
  };

  std::string Object(int index, const SchemaNode& node) {
    int64_t required = std::count_if(node.properties.begin(), node.properties.end(),
                                     [](const auto& property) { return property.is_required; });
    bool counts = node.min > required || node.max >= 0;
    ObjectRules rules{index, node, counts, "", {}};
    if (node.rest != SchemaNode::kNone) {
      rules.member = Name(index) + "m";
      AddRule(rules.member, Key(index, node) + " \": \" " + Name(node.rest));
    }
    // From the last property to the first, so that no call goes deep.
    for (size_t next = node.properties.size() + 1; next-- > 0;) {
      int64_t most = counts ? static_cast<int64_t>(next) : 0;
      if (node.max >= 0) most = std::min(most, node.max);
      for (int64_t count = 0; count <= most; ++count) {
        for (bool follows : {false, true}) AddPlace({next, count, follows}, &rules);
      }
    }
    return "\"{\" " + rules.done[{0, 0, false}] + " \"}\"";
  }

  void AddPlace(const Place& place, ObjectRules* rules) {
    std::string body = place.next == rules->node.properties.size() ? ObjectRest(place, *rules)
                                                                   : NextProperty(place, *rules);
    std::string name;
    if (!body.empty()) {
      name = Name(rules->index) + "p" + std::to_string(place.next) + "c" +
             std::to_string(place.count) + (place.follows ? "f" : "");
      AddRule(name, body);
    }
    rules->done[place] = name;
  }

  static std::string NextProperty(const Place& place, ObjectRules& rules) {
    const SchemaNode::Property& property = rules.node.properties[place.next];
    Place taken{place.next + 1, place.count + (rules.counts ? 1 : 0), true};
    bool is_full = rules.node.max >= 0 && place.count >= rules.node.max;
    bool is_open = property.node != SchemaNode::kNone && !is_full;
    std::string after = is_open ? rules.done[taken] : "", body;
    if (!after.empty()) {
      std::string text = (place.follows ? ", " : "") + Json(property.name).Dump() + ": ";
      body = EbnfLiteral(text) + " " + Name(property.node) + " " + after;
    }
    if (property.is_required) return body;
    std::string without = rules.done[{place.next + 1, place.count, place.follows}];
    if (without.empty()) return body;
    return body.empty() ? without : body + " | " + without;
  }

  // Behind the named properties: the additional ones.
  static std::string ObjectRest(const Place& place, const ObjectRules& rules) {
    const SchemaNode& node = rules.node;
    int64_t min = rules.counts ? std::max<int64_t>(0, node.min - place.count) : 0;
    int64_t max = node.max < 0 ? -1 : node.max - place.count;
    bool is_open = node.rest != SchemaNode::kNone && max != 0;
    if (!is_open) return min == 0 ? "\"\"" : "";
    if (min > 1) return "";  // a second one might repeat the first one's name
    return Listed(rules.member, place.follows, min, max);
  }

  std::string Key(int index, const SchemaNode& node) {
    if (!node.key_expression.empty()) return "\"\\\"\" (" + node.key_expression + ") \"\\\"\"";
    if (node.properties.empty()) return "string";
    std::vector<std::u32string> names;
    for (const auto& property : node.properties) names.push_back(ToCodePoints(property.name));
    std::sort(names.begin(), names.end());
    int states = 0;
    return "\"\\\"\" " + OtherName(Name(index) + "k", names, 0, &states) + " \"\\\"\"";
  }

  // A rule for what makes a name out of none of `names`, of which `begun` characters are written
  // already. Such names are written without escapes, so that each has one spelling; those
  // that begin like a long one are left out. `names` is sorted and has none twice.
  std::string OtherName(const std::string& prefix, const std::vector<std::u32string>& names,
                        size_t begun, int* states) {
    std::string rule = prefix + std::to_string((*states)++), plain = EbnfClass(JsonStringRanges());
    bool is_name = !names.empty() && names[0].size() == begun;
    CodePointRanges next;
    std::string body = is_name ? "" : "\"\"";
    auto add = [&body](const std::string& part) { body += (body.empty() ? "" : " | ") + part; };
    for (size_t i = is_name ? 1 : 0; i < names.size();) {
      char32_t c = names[i][begun];
      std::vector<std::u32string> same;
      for (; i < names.size() && names[i][begun] == c; ++i) {
        if (names[i].size() > begun) same.push_back(names[i]);
      }
      next.emplace_back(c, c);
      bool is_plain = !IntersectRanges({{c, c}}, JsonStringRanges()).empty();
      if (!is_plain || begun >= kMaxTold) continue;
      add(EbnfClass({{c, c}}) + " " + OtherName(prefix, same, begun + 1, states));
    }
    CodePointRanges others = IntersectRanges(ComplementRanges(next), JsonStringRanges());
    if (!others.empty()) add(EbnfClass(others) + " " + plain + "*");
    AddRule(rule, body);
    return rule;
  }

  const Schema& schema_;
  std::string out_;
  std::vector<bool> reached_;
  std::set<std::string> texts_;  // rules of characters that are written
};

}  // namespace

std::string SchemaEbnf(const Schema& schema) { return SchemaWriter(schema).Run(); }

Result<std::string> JsonSchemaToEbnf(std::string_view schema_json) {
  MLC_ASSIGN_OR_RETURN(Json document, Json::Parse(schema_json));
  MLC_ASSIGN_OR_RETURN(Schema schema, ReadSchema(document));
  if (!RemoveEmpty(&schema)) {
    return InvalidArgument("no value fits the schema, or none that ends");
  }
  return SchemaEbnf(schema);
}

}  // namespace mlc
