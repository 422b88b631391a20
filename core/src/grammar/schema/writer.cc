// Writes a schema as EBNF: one rule for each node, and rules that the nodes share.
#include <algorithm>
#include <map>
#include <set>

#include "base/utf8.h"
#include "grammar/schema/object_places.h"
#include "grammar/schema/schema.h"
#include "grammar/text/automaton_ebnf.h"
#include "grammar/text/ebnf_text.h"
#include "grammar/text/work_budget.h"

namespace mlc {
namespace {

using Kind = SchemaNode::Kind;

constexpr int64_t kPartBytes = 32;     // of a rule's text
constexpr size_t kMostInAnyOrder = 7;  // different items: a rule for each set
constexpr size_t kMaxTold = 64;        // characters by which names are told apart

// Lone surrogates cannot be written: the escapes D800 to DFFF are left out. A rule contains the
// next part of a text and the whole rest after it, with the closing quote. The reason: the matcher
// cannot precompute whether a token fits if it is longer than its rule, and a mask then takes
// milliseconds.
constexpr char kSharedRules[] = R"(
string ::= "\"" text
text ::= "\"" | [ !#-\u005B\u005D-\u007E\u0080-\uD7FF\uE000-\U0010FFFF] text | "\\" escape text
escape ::= ["\\/bfnrt] | "u" ([0-9A-Ca-cE-Fe-f] [0-9A-Fa-f]{3} | [Dd] [0-7] [0-9A-Fa-f]{2})
number ::= "-"? ("0" | [1-9] [0-9]{0,18}) ("." [0-9]{1,20})? exponent?
exponent ::= [eE] [+-]? ([0-9]{1,2} | [12] [0-8] [0-9])
any ::= anyobject | anyarray | string | number | "true" | "false" | "null"
anyobject ::= "{" (string ": " any (", " string ": " any)*)? "}"
anyarray ::= "[" (any (", " any)*)? "]"
)";

// A value with the white space that all written JSON has.
std::string Written(const Json& value) {
  std::string out;
  if (value.is_array()) {
    for (const Json& item : value.as_array()) out += (out.empty() ? "" : ", ") + Written(item);
    return "[" + out + "]";
  }
  if (!value.is_object()) return value.Dump();
  for (const auto& [name, member] : value.as_object()) {
    out += (out.empty() ? "" : ", ") + Json(name).Dump() + ": " + Written(member);
  }
  return "{" + out + "}";
}

class SchemaWriter {
 public:
  explicit SchemaWriter(const Schema& schema) : schema_(schema) {}

  std::string Run() {
    out_ = "root ::= " + Name(schema_.root) + kSharedRules;
    for (size_t i = 0; i < schema_.nodes.size(); ++i) {
      if (!IsReached(static_cast<int>(i)) || !WorkBudget::SpendParts(0)) continue;
      AddRule(Name(static_cast<int>(i)), Body(static_cast<int>(i)));
    }
    return std::move(out_);
  }

 private:
  static std::string Name(int node) { return "n" + std::to_string(node); }
  void AddRule(const std::string& name, const std::string& body) {
    if (!WorkBudget::SpendParts(1 + static_cast<int64_t>(body.size()) / kPartBytes)) return;
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
      left.push_back(node.wanted);
      for (const auto& additional : node.additional) left.push_back(additional.node);
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
        return node.text != nullptr ? Texts(node.text, TextPlace::kPlain) : Shared(node.expression);
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
    constexpr int64_t kMaxChain = 8;
    if (node.text != nullptr) return "\"\\\"\" " + Texts(node.text, TextPlace::kInJsonString);
    if (!node.expression.empty()) return "\"\\\"\" (" + node.expression + ") \"\\\"\"";
    if (node.min == 0 && node.max < 0) return "string";
    int64_t longest = node.max < 0 ? node.min : node.max;
    if (longest <= kMaxChain) return "\"\\\"\" " + Chain(node.min, node.max);
    return "\"\\\"\" " + Counted(node.min, node.max) + " \"\\\"\"";
  }

  // The first rule of the texts of an automaton, which alike ones share. Such a node is no kNever:
  // some text is left.
  std::string Texts(const SchemaNode::Text& text, TextPlace place) {
    std::string rules, prefix = "@";
    std::string first = AutomatonToEbnf(*text, place, prefix, &rules);
    auto [found, is_new] =
        automata_.emplace(first + "\n" + rules, "a" + std::to_string(automata_.size()) + "_");
    std::string own;
    first = AutomatonToEbnf(*text, place, found->second, &own);
    if (is_new) out_ += own;
    return first;
  }

  // A rule that alike expressions share.
  std::string Shared(const std::string& expression) {
    auto [found, is_new] = shared_.emplace(expression, "e" + std::to_string(shared_.size()));
    if (is_new) AddRule(found->second, expression);
    return found->second;
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

  // The rule for `min` to `max` characters that the matcher counts. It may end behind any of them;
  // where an escape stands at the very end, its second letter is one more than it counts to, and
  // one less than `max` are read.
  std::string Counted(int64_t min, int64_t max) {
    std::string rule = "m" + std::to_string(min) + (max < 0 ? "" : "c" + std::to_string(max));
    if (!texts_.insert(rule).second) return rule;
    std::string one = Shared(EbnfClass(JsonStringRanges()) + " | " + R"("\\" ["\\/bfnrt])");
    std::string least;
    constexpr int64_t kMostWritten = 64;  // a repetition is a rule of its own, with slow masks
    for (int64_t i = 0; i < min && min <= kMostWritten; ++i) least += one + " ";
    if (min > kMostWritten) least = one + EbnfRepeat(min, min) + " ";
    std::string limit = max < 0 ? "" : "[max_chars=" + std::to_string(max) + "]";
    std::string more = rule + "r";
    AddRule(rule + limit, least + more);
    AddRule(more, R"("" | )" + EbnfClass(JsonStringRanges()) + " " + more +
                      R"( | "\\" ["\\/bfnrt] )" + more);
    return rule;
  }

  static std::string Values(const std::vector<Json>& values) {
    std::string out;
    for (const Json& value : values) {
      out += (out.empty() ? "" : " | ") + EbnfLiteral(Written(value));
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
    if (!node.values.empty()) {
      bool is_small = node.values.size() <= kMostInAnyOrder;
      return "\"[\" " + (is_small ? Unique(index, node) : InOrder(index, node)) + " \"]\"";
    }
    if (node.wanted != SchemaNode::kNone) return "\"[\" " + Containing(index, node) + " \"]\"";
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

  // Items that are all different: a rule for each set of values that may still come.
  std::string Unique(int index, const SchemaNode& node) {
    std::string first;
    for (size_t used = size_t{1} << node.values.size(); used-- > 0;) {
      int64_t count = 0;
      std::string body;
      for (size_t i = 0; i < node.values.size(); ++i) count += used >> i & 1;
      if (count >= node.min) body = "\"\"";
      for (size_t i = 0; i < node.values.size(); ++i) {
        bool is_open = (used >> i & 1) == 0 && (node.max < 0 || count < node.max);
        if (!is_open) continue;
        std::string text = (count > 0 ? ", " : "") + Written(node.values[i]);
        body += (body.empty() ? "" : " | ") + EbnfLiteral(text) + " " + Name(index) + "u" +
                std::to_string(used | size_t{1} << i);
      }
      first = Name(index) + "u" + std::to_string(used);
      AddRule(first, body.empty() ? "\"\"" : body);
    }
    return first;
  }

  // Items that are all different, in the order of the values: a rule for each value that may come
  // next and number of items, where that counts.
  std::string InOrder(int index, const SchemaNode& node) {
    int64_t size = static_cast<int64_t>(node.values.size());
    int64_t most = std::max<int64_t>({1, node.min, node.max});
    auto name = [&](int64_t next, int64_t count) {
      return Name(index) + "v" + std::to_string(next) + "c" + std::to_string(count);
    };
    auto may_end = [&](int64_t next, int64_t count) { return count + size - next >= node.min; };
    for (int64_t next = size; next >= 0; --next) {
      for (int64_t count = std::min(next, most); count >= 0; --count) {
        if (!may_end(next, count)) continue;
        std::string body = next == size ? "\"\"" : "";
        if (next < size && may_end(next + 1, count)) body = name(next + 1, count);
        if (next < size && (node.max < 0 || count < node.max)) {
          std::string text =
              (count > 0 ? ", " : "") + Written(node.values[static_cast<size_t>(next)]);
          body += (body.empty() ? "" : " | ") + EbnfLiteral(text) + " " +
                  name(next + 1, std::min(count + 1, most));
        }
        AddRule(name(next, count), body);
      }
    }
    return name(0, 0);
  }

  // A list with a number of wanted items: a rule for each number of items, where that counts, and
  // of wanted ones.
  std::string Containing(int index, const SchemaNode& node) {
    int64_t most_wanted = std::max<int64_t>(node.wanted_min, node.wanted_max);
    int64_t most_items = std::max<int64_t>({node.min, node.max, most_wanted}) + 1;
    auto name = [&](int64_t items, int64_t wanted) {
      return Name(index) + "w" + std::to_string(std::min(items, most_items)) + "c" +
             std::to_string(wanted);
    };
    std::set<std::string> live;  // rules from which a list can end
    for (int64_t items = most_items; items >= 0; --items) {
      for (int64_t wanted = std::min(items, most_wanted); wanted >= 0; --wanted) {
        std::string comma = items > 0 ? "\", \" " : "", self = name(items, wanted), body;
        bool may_end = items >= node.min && wanted >= node.wanted_min;
        bool is_full = node.max >= 0 && items >= node.max;
        if (may_end) body = "\"\"";
        auto add = [&](int part, int64_t next) {
          std::string after = name(items + 1, next);
          bool is_open = part != SchemaNode::kNone && !is_full;
          if (!is_open || (live.count(after) == 0 && !(after == self && !body.empty()))) return;
          body += (body.empty() ? "" : " | ") + comma + Name(part) + " " + after;
        };
        bool is_counted = wanted < most_wanted;
        if (is_counted) add(node.wanted, wanted + 1);
        if (!is_counted && node.wanted_max < 0) add(node.wanted, wanted);
        add(node.rest, wanted);
        if (body.empty()) continue;
        live.insert(self);
        AddRule(self, body);
      }
    }
    return name(0, 0);
  }

  struct ObjectRules {
    int index;
    const SchemaNode& node;
    bool counts;
    std::string member;                       // of an additional one
    std::map<ObjectPlace, std::string> done;  // rule names; "" for a place that leads nowhere
  };

  std::string Object(int index, const SchemaNode& node) {
    int64_t required = std::count_if(node.properties.begin(), node.properties.end(),
                                     [](const auto& property) { return property.is_required; });
    bool counts = node.min > required || node.max >= 0;
    ObjectRules rules{index, node, counts, "", {}};
    std::string members;
    for (const SchemaNode::Additional& additional : node.additional) {
      if (additional.node == SchemaNode::kNone) continue;
      members += (members.empty() ? "" : " | ") +
                 ("\"\\\"\" " + Texts(additional.names, TextPlace::kInJsonString)) + " \": \" " +
                 Name(additional.node);
    }
    if (node.rest != SchemaNode::kNone) {
      members += (members.empty() ? "" : " | ") + Key(index, node) + " \": \" " + Name(node.rest);
    }
    if (!members.empty()) {
      rules.member = Name(index) + "m";
      AddRule(rules.member, members);
    }
    // From the last property to the first, so that no call goes deep.
    std::vector<std::set<ObjectPlace>> places = PlacesOf(node, counts);
    for (size_t next = places.size(); next-- > 0;) {
      for (const ObjectPlace& place : places[next]) AddPlace(place, &rules);
    }
    return "\"{\" " + rules.done[{0, 0, false, {}}] + " \"}\"";
  }

  void AddPlace(const ObjectPlace& place, ObjectRules* rules) {
    std::string body = place.next == rules->node.properties.size() ? ObjectRest(place, *rules)
                                                                   : NextProperty(place, *rules);
    std::string name;
    if (!body.empty()) {
      name = Name(rules->index) + "p" + std::to_string(place.next) + "c" +
             std::to_string(place.count) + (place.follows ? "f" : "");
      for (int written : place.written) name += "w" + std::to_string(written);
      AddRule(name, body);
    }
    rules->done[place] = name;
  }

  static std::string NextProperty(const ObjectPlace& place, ObjectRules& rules) {
    const SchemaNode::Property& property = rules.node.properties[place.next];
    std::string after, body;
    if (MayTake(rules.node, place))
      after = rules.done[After(rules.node, place, true, rules.counts)];
    if (!after.empty()) {
      std::string text = (place.follows ? ", " : "") + Json(property.name).Dump() + ": ";
      body = EbnfLiteral(text) + " " + Name(property.node) + " " + after;
    }
    if (!MayLeave(rules.node, place)) return body;
    std::string without = rules.done[After(rules.node, place, false, rules.counts)];
    if (without.empty()) return body;
    return body.empty() ? without : body + " | " + without;
  }

  // Behind the named properties: the additional ones.
  static std::string ObjectRest(const ObjectPlace& place, const ObjectRules& rules) {
    const SchemaNode& node = rules.node;
    int64_t min = rules.counts ? std::max<int64_t>(0, node.min - place.count) : 0;
    int64_t max = node.max < 0 ? -1 : node.max - place.count;
    bool is_open = !rules.member.empty() && max != 0;
    if (!is_open) return min == 0 ? "\"\"" : "";
    if (min > 1) return "";  // a second one might repeat the first one's name
    return Listed(rules.member, place.follows, min, max);
  }

  std::string Key(int index, const SchemaNode& node) {
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
  std::set<std::string> texts_;                           // rules of characters that are written
  std::map<std::string, std::string> shared_, automata_;  // names of rules
};

}  // namespace

std::string SchemaEbnf(const Schema& schema) { return SchemaWriter(schema).Run(); }

}  // namespace mlc
