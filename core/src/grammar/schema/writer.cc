// Writes a schema as EBNF: a rule for each node, and rules inside of it.
#include <algorithm>
#include <map>
#include <set>

#include "grammar/schema/ebnf_rules.h"
#include "grammar/schema/object_places.h"
#include "grammar/schema/schema.h"
#include "grammar/text/automaton_ebnf.h"
#include "grammar/text/ebnf_text.h"
#include "grammar/text/work_budget.h"

namespace mlc {
namespace {

using Kind = SchemaNode::Kind;

constexpr size_t kMostInAnyOrder = 7;  // different items: a rule for each set

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
  explicit SchemaWriter(const Schema& schema)
      : schema_(schema), names_(schema.nodes.size()), is_named_(schema.nodes.size()) {}

  std::string Run() {
    for (int index : Order()) {
      if (!WorkBudget::SpendParts(0)) break;
      size_t at = static_cast<size_t>(index);
      std::string own = RawName(index);
      names_[at] = rules_.Add(own, Body(index));
      // Others of its cycle name it already.
      if (is_named_[at] && names_[at] != own) rules_.Write(own, names_[at]);
    }
    return "root ::= " + Name(schema_.root) + "\n" + rules_.text();
  }

 private:
  static std::string RawName(int node) { return "n" + std::to_string(node); }

  std::string Name(int node) {
    const std::string& name = names_[static_cast<size_t>(node)];
    if (!name.empty()) return name;
    is_named_[static_cast<size_t>(node)] = true;
    return RawName(node);
  }

  // The nodes that the root needs, each behind those that it refers to, but for cycles.
  std::vector<int> Order() const {
    enum : char { kNew, kBegun, kDone };
    std::vector<char> states(schema_.nodes.size(), kNew);
    std::vector<int> order, left = {schema_.root};
    auto add = [&](int index) {
      if (index != SchemaNode::kNone && states[static_cast<size_t>(index)] == kNew) {
        left.push_back(index);
      }
    };
    while (!left.empty()) {
      int index = left.back();
      char& state = states[static_cast<size_t>(index)];
      if (state == kNew) {
        state = kBegun;
        const SchemaNode& node = schema_.nodes[static_cast<size_t>(index)];
        for (int part : node.parts) add(part);
        for (const auto& additional : node.additional) add(additional.node);
        for (const auto& property : node.properties) add(property.node);
        add(node.rest);
        add(node.wanted);
        continue;
      }
      left.pop_back();
      if (state == kBegun) order.push_back(index);
      state = kDone;
    }
    return order;
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
    std::string key = text->Key() + (place == TextPlace::kPlain ? 'p' : 's');
    auto [found, is_new] = automata_.emplace(std::move(key), "");
    if (!is_new) return found->second;
    std::string rules, prefix = "a" + std::to_string(automata_.size() - 1) + "_";
    found->second = AutomatonToEbnf(*text, place, prefix, &rules);
    rules_.Append(rules);
    return found->second;
  }

  // A rule that alike expressions share.
  std::string Shared(const std::string& expression) {
    return rules_.Add("e" + std::to_string(rules_.num_bodies()), expression);
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
    rules_.Write(rule, body);
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
    rules_.Write(rule + limit, least + more);
    rules_.Write(more, R"("" | )" + EbnfClass(JsonStringRanges()) + " " + more +
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

  std::string Union(const std::vector<int>& parts) {
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
      std::string rule = RawName(index) + "i" + std::to_string(i);
      bool may_end = i >= node.min;
      tail = rules_.Add(rule, item + " " + tail + (may_end ? " | \"\"" : ""));
    }
    return "\"[\" " + tail + " \"]\"";
  }

  std::string ArrayRest(const SchemaNode& node, int64_t prefix) {
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
        body += (body.empty() ? "" : " | ") + EbnfLiteral(text) + " " +
                rules_.Known(RawName(index) + "u" + std::to_string(used | size_t{1} << i));
      }
      first = rules_.Add(RawName(index) + "u" + std::to_string(used), body.empty() ? "\"\"" : body);
    }
    return first;
  }

  // Items that are all different, in the order of the values: a rule for each value that may come
  // next and number of items, where that counts.
  std::string InOrder(int index, const SchemaNode& node) {
    int64_t size = static_cast<int64_t>(node.values.size());
    int64_t most = std::max<int64_t>({1, node.min, node.max});
    auto name = [&](int64_t next, int64_t count) {
      return RawName(index) + "v" + std::to_string(next) + "c" + std::to_string(count);
    };
    auto may_end = [&](int64_t next, int64_t count) { return count + size - next >= node.min; };
    for (int64_t next = size; next >= 0; --next) {
      for (int64_t count = std::min(next, most); count >= 0; --count) {
        if (!may_end(next, count)) continue;
        std::string body = next == size ? "\"\"" : "";
        if (next < size && may_end(next + 1, count)) body = rules_.Known(name(next + 1, count));
        if (next < size && (node.max < 0 || count < node.max)) {
          std::string text =
              (count > 0 ? ", " : "") + Written(node.values[static_cast<size_t>(next)]);
          body += (body.empty() ? "" : " | ") + EbnfLiteral(text) + " " +
                  rules_.Known(name(next + 1, std::min(count + 1, most)));
        }
        rules_.Add(name(next, count), body);
      }
    }
    return rules_.Known(name(0, 0));
  }

  // A list with a number of wanted items: a rule for each number of items, where that counts, and
  // of wanted ones.
  std::string Containing(int index, const SchemaNode& node) {
    int64_t most_wanted = std::max<int64_t>(node.wanted_min, node.wanted_max);
    int64_t most_items = std::max<int64_t>({node.min, node.max, most_wanted}) + 1;
    auto name = [&](int64_t items, int64_t wanted) {
      return RawName(index) + "w" + std::to_string(std::min(items, most_items)) + "c" +
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
        rules_.Write(self, body);
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
      rules.member = rules_.Add(RawName(index) + "m", members);
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
      name = RawName(rules->index) + "p" + std::to_string(place.next) + "c" +
             std::to_string(place.count) + (place.follows ? "f" : "");
      for (int written : place.written) name += "w" + std::to_string(written);
      name = rules_.Add(name, body);
    }
    rules->done[place] = name;
  }

  std::string NextProperty(const ObjectPlace& place, ObjectRules& rules) {
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
    std::vector<std::string> names;
    for (const auto& property : node.properties) names.push_back(property.name);
    return rules_.AddOtherName(RawName(index) + "k", names);
  }

  const Schema& schema_;
  EbnfRules rules_;
  std::vector<std::string> names_;  // the rules of the nodes; "" of those not written yet
  std::vector<bool> is_named_;      // nodes that were referred to before they were written
  std::set<std::string> texts_;     // rules of characters that are written
  std::map<std::string, std::string> automata_;  // names of rules
};

}  // namespace

std::string SchemaEbnf(const Schema& schema) { return SchemaWriter(schema).Run(); }

}  // namespace mlc
