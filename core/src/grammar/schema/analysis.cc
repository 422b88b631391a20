#include <algorithm>
#include <utility>

#include "base/utf8.h"
#include "grammar/schema/facts.h"
#include "grammar/schema/schema.h"
#include "grammar/text/work_budget.h"

namespace mlc {
namespace {

using Kind = SchemaNode::Kind;

const SchemaNode& NodeAt(const Schema& schema, int index) {
  return schema.nodes[static_cast<size_t>(index)];
}

Kind KindOf(const Json& value) {
  switch (value.type()) {
    case Json::Type::kNull:
      return Kind::kNull;
    case Json::Type::kBool:
      return Kind::kBoolean;
    case Json::Type::kString:
      return Kind::kString;
    case Json::Type::kArray:
      return Kind::kArray;
    case Json::Type::kObject:
      return Kind::kObject;
    default:
      return Kind::kNumeral;
  }
}

// Whether the node is a union of which a part has no grammar: more values fit it than are written.
bool HasGivenUp(const Schema& schema, int index) {
  return std::any_of(schema.given_up.begin(), schema.given_up.end(),
                     [index](const Schema::GivenUp& one) { return one.node == index; });
}

// An alternative of a node. `is_outline`: it is not what is written, but what else might be.
struct Part {
  const SchemaNode* node;
  bool is_outline;
};

// The alternatives of a node, false when they are not all known; `steps` bounds what circles could
// cost.
bool CollectParts(const Schema& schema, int index, bool is_outline, int* steps,
                  std::vector<Part>* out) {
  if (--*steps < 0) return false;
  if (HasGivenUp(schema, index)) {
    auto outline = schema.outlines.find(index);
    return outline != schema.outlines.end() &&
           CollectParts(schema, outline->second, true, steps, out);
  }
  const SchemaNode& node = NodeAt(schema, index);
  if (node.kind != Kind::kUnion) {
    out->push_back({&node, is_outline});
    return !is_outline || !node.is_implied;  // other types may be written
  }
  return std::all_of(node.parts.begin(), node.parts.end(),
                     [&](int part) { return CollectParts(schema, part, is_outline, steps, out); });
}

bool HaveNoneInCommon(const std::vector<Json>& a, const std::vector<Json>& b) {
  if (a.size() * b.size() > 1000000) return false;
  if (!WorkBudget::Spend(static_cast<int64_t>(a.size() * b.size()))) return false;
  return std::none_of(a.begin(), a.end(), [&](const Json& value) {
    return std::any_of(b.begin(), b.end(),
                       [&](const Json& other) { return EqualValues(value, other); });
  });
}

const SchemaNode::Property* FindProperty(const SchemaNode& object, const std::string& name) {
  auto found = std::find_if(object.properties.begin(), object.properties.end(),
                            [&name](const SchemaNode::Property& one) { return one.name == name; });
  return found == object.properties.end() ? nullptr : &*found;
}

// Whether a member of the name is never written.
bool NeverHas(const SchemaNode& object, const std::string& name) {
  const SchemaNode::Property* property = FindProperty(object, name);
  if (property != nullptr) return property->node == SchemaNode::kNone;
  auto accepts = [&name](const SchemaNode::Additional& one) { return one.names->Accepts(name); };
  return object.rest == SchemaNode::kNone &&
         std::none_of(object.additional.begin(), object.additional.end(), accepts);
}

// Whether one requires a member that the other never has.
bool LacksRequired(const SchemaNode& object, const SchemaNode& other) {
  return std::any_of(other.properties.begin(), other.properties.end(), [&](const auto& property) {
    return property.is_required && NeverHas(object, property.name);
  });
}

bool AreDisjointNodes(const Schema& schema, int a, int b, int* steps);

// Whether `object` requires a member that values of `other` cannot have, or only with a value that
// does not fit here. Then no value fits both, in whichever of them the member is optional.
bool HasSeparator(const Schema& schema, const SchemaNode& object, const SchemaNode& other,
                  int* steps) {
  return std::any_of(object.properties.begin(), object.properties.end(), [&](const auto& property) {
    if (!property.is_required || property.node == SchemaNode::kNone) return false;
    const SchemaNode::Property* same = FindProperty(other, property.name);
    if (same == nullptr) return other.forbids_others && NeverHas(other, property.name);
    return same->node != SchemaNode::kNone &&
           AreDisjointNodes(schema, property.node, same->node, steps);
  });
}

bool AreDisjointObjects(const Schema& schema, const Part& first, const Part& second, int* steps) {
  const SchemaNode &a = *first.node, &b = *second.node;
  if (HasSeparator(schema, a, b, steps) || HasSeparator(schema, b, a, steps)) return true;
  if (first.is_outline || second.is_outline) return false;
  // Members without a condition are not written but would be valid, so both directions are checked.
  return LacksRequired(a, b) && LacksRequired(b, a);
}

// The node of an item of a list: kNone where nothing is known of it.
int ItemAt(const SchemaNode& list, size_t index) {
  if (list.wanted != SchemaNode::kNone || !list.values.empty()) return SchemaNode::kNone;
  return index < list.parts.size() ? list.parts[index] : list.rest;
}

// The most items of a list, -1 where there is no limit.
int64_t MostItems(const Schema& schema, const SchemaNode& list) {
  constexpr int64_t kLongest = 20000;  // longer ones fit, but are not written
  int64_t most = list.max < kLongest ? list.max : -1;
  bool is_closed = list.wanted == SchemaNode::kNone && list.rest != SchemaNode::kNone &&
                   NodeAt(schema, list.rest).kind == Kind::kNever;
  int64_t first = static_cast<int64_t>(list.parts.size());
  return is_closed && (most < 0 || first < most) ? first : most;
}

bool AreDisjointLists(const Schema& schema, const SchemaNode& a, const SchemaNode& b, int* steps) {
  int64_t most_a = MostItems(schema, a), most_b = MostItems(schema, b);
  if ((most_a >= 0 && b.min > most_a) || (most_b >= 0 && a.min > most_b)) return true;
  size_t there = static_cast<size_t>(std::max(a.min, b.min));
  there = std::min(there, std::max(a.parts.size(), b.parts.size()) + 1);
  for (size_t i = 0; i < there; ++i) {
    int one = ItemAt(a, i), other = ItemAt(b, i);
    bool is_known = one != SchemaNode::kNone && other != SchemaNode::kNone;
    if (is_known && AreDisjointNodes(schema, one, other, steps)) return true;
  }
  return false;
}

bool FitsTexts(const SchemaNode& node, const std::string& text) {
  if (node.text != nullptr) return node.text->Accepts(text);
  if (!node.expression.empty()) return true;
  int64_t length = static_cast<int64_t>(ToCodePoints(text).size());
  return length >= node.min && (node.max < 0 || length <= node.max);
}

// Values that are listed, against any node.
bool NoneFits(const std::vector<Json>& values, const SchemaNode& node) {
  if (node.kind == Kind::kValues) return HaveNoneInCommon(values, node.values);
  return std::none_of(values.begin(), values.end(), [&node](const Json& value) {
    if (node.is_implied || KindOf(value) == node.kind) {
      bool is_text = value.is_string() && node.kind == Kind::kString && !node.is_implied;
      // A format is written in the part of it that validators agree about: a text that it leaves
      // out may fit all the same.
      return !is_text || node.text != nullptr || FitsTexts(node, value.as_string());
    }
    return false;
  });
}

bool AreDisjointParts(const Schema& schema, const Part& first, const Part& second, int* steps) {
  const SchemaNode &a = *first.node, &b = *second.node;
  if (a.kind == Kind::kNever || b.kind == Kind::kNever) return true;
  if (a.kind == Kind::kAny || b.kind == Kind::kAny) return false;
  if (a.kind == Kind::kValues) return NoneFits(a.values, b);
  if (b.kind == Kind::kValues) return NoneFits(b.values, a);
  if (a.kind != b.kind) return !a.is_implied && !b.is_implied;
  if (a.kind == Kind::kArray) return AreDisjointLists(schema, a, b, steps);
  return a.kind == Kind::kObject && AreDisjointObjects(schema, first, second, steps);
}

bool AreDisjointNodes(const Schema& schema, int a, int b, int* steps) {
  if (!WorkBudget::Spend(20)) return false;
  std::vector<Part> first, second;
  bool is_known = CollectParts(schema, a, false, steps, &first) &&
                  CollectParts(schema, b, false, steps, &second);
  if (!is_known) return false;
  return std::all_of(first.begin(), first.end(), [&](const Part& one) {
    return std::all_of(second.begin(), second.end(), [&](const Part& other) {
      return AreDisjointParts(schema, one, other, steps);
    });
  });
}

class EmptinessCheck {
 public:
  explicit EmptinessCheck(Schema* schema) : schema_(*schema), has_value_(schema->nodes.size()) {}

  void Run() {
    for (bool changed = true; changed;) {
      changed = false;
      for (size_t i = schema_.nodes.size(); i-- > 0;) {
        if (has_value_[i] || !HasValue(schema_.nodes[i])) continue;
        has_value_[i] = changed = true;
      }
    }
  }

  void Remove() {
    for (SchemaNode& node : schema_.nodes) {
      if (node.kind == Kind::kUnion) Erase(&node.parts);
      for (SchemaNode::Property& property : node.properties) {
        if (!has(property.node)) property.node = SchemaNode::kNone;
      }
      if (node.kind == Kind::kArray) ShortenPrefix(&node);
      if (node.wanted != SchemaNode::kNone && !has(node.wanted)) LoseWanted(&node);
      auto is_empty = [this](const SchemaNode::Additional& one) { return !has(one.node); };
      node.additional.erase(
          std::remove_if(node.additional.begin(), node.additional.end(), is_empty),
          node.additional.end());
      if (node.rest != SchemaNode::kNone && !has(node.rest)) node.rest = SchemaNode::kNone;
    }
  }

  bool has(int index) const {
    return index != SchemaNode::kNone && has_value_[static_cast<size_t>(index)];
  }

 private:
  bool HasValue(const SchemaNode& node) const {
    auto is_filled = [this](int index) { return has(index); };
    switch (node.kind) {
      case Kind::kNever:
        return false;
      case Kind::kValues:
        return !node.values.empty();
      case Kind::kUnion:
        return std::any_of(node.parts.begin(), node.parts.end(), is_filled);
      case Kind::kArray:
        return (node.max < 0 || node.min <= node.max) && Longest(node) >= node.min;
      case Kind::kObject:
        return HasMembers(node);
      default:
        return true;
    }
  }

  // Items that can be had, INT64_MAX when there is no end.
  int64_t Longest(const SchemaNode& node) const {
    if (!node.values.empty()) return static_cast<int64_t>(node.values.size());
    if (node.wanted != SchemaNode::kNone) {
      bool has_wanted = has(node.wanted),
           has_rest = node.rest != SchemaNode::kNone && has(node.rest);
      if (!has_wanted && node.wanted_min > 0) return -1;
      bool is_endless = has_rest || (has_wanted && node.wanted_max < 0);
      int64_t most = is_endless ? INT64_MAX : has_wanted ? node.wanted_max : 0;
      bool is_short = node.max >= 0 && node.wanted_min > node.max;
      return is_short || node.wanted_min > most ? -1 : most;
    }
    for (size_t i = 0; i < node.parts.size(); ++i) {
      if (!has(node.parts[i])) return static_cast<int64_t>(i);
    }
    bool has_rest = node.rest != SchemaNode::kNone && has(node.rest);
    return has_rest ? INT64_MAX : static_cast<int64_t>(node.parts.size());
  }

  bool HasMembers(const SchemaNode& node) const {
    std::vector<bool> must, can;
    for (const SchemaNode::Property& property : node.properties) {
      must.push_back(property.is_required);
      can.push_back(has(property.node));
    }
    // What a required member asks for is required, and what asks for a member that cannot exist
    // cannot exist either.
    for (bool changed = true; std::exchange(changed, false);) {
      for (auto [one, other] : node.implies) {
        size_t first = static_cast<size_t>(one), second = static_cast<size_t>(other);
        changed |= (must[first] && !must[second]) || (can[first] && !can[second]);
        must[second] = must[second] || must[first];
        can[first] = can[first] && can[second];
      }
    }
    for (size_t i = 0; i < must.size(); ++i) {
      if (must[i] && !can[i]) return false;
    }
    int64_t required = std::count(must.begin(), must.end(), true);
    int64_t possible = std::count(can.begin(), can.end(), true);
    possible += (node.rest != SchemaNode::kNone && has(node.rest)) ||
                std::any_of(node.additional.begin(), node.additional.end(),
                            [this](const auto& one) { return has(one.node); });
    return possible >= node.min && (node.max < 0 || (required <= node.max && node.min <= node.max));
  }

  // Nothing is wanted that must be there.
  static void LoseWanted(SchemaNode* node) {
    node->wanted = SchemaNode::kNone;
    node->wanted_min = 0;
  }

  void ShortenPrefix(SchemaNode* node) {
    auto is_empty = [this](int index) { return !has(index); };
    auto first = std::find_if(node->parts.begin(), node->parts.end(), is_empty);
    if (first == node->parts.end()) return;
    node->parts.erase(first, node->parts.end());
    node->rest = SchemaNode::kNone;
  }

  void Erase(std::vector<int>* parts) {
    auto is_empty = [this](int index) { return !has(index); };
    parts->erase(std::remove_if(parts->begin(), parts->end(), is_empty), parts->end());
  }

  Schema& schema_;
  std::vector<bool> has_value_;
};

}  // namespace

bool AreDisjoint(const Schema& schema, int a, int b) {
  int steps = 5000;  // members of members, and circles
  return AreDisjointNodes(schema, a, b, &steps);
}

bool ListValues(const Schema& schema, int index, std::vector<Json>* values) {
  int steps = 100;
  std::vector<Part> parts;
  bool is_known = index != SchemaNode::kNone && !HasGivenUp(schema, index) &&
                  CollectParts(schema, index, false, &steps, &parts);
  if (!is_known) return false;
  for (const auto& [part, is_outline] : parts) {
    if (part->kind != Kind::kValues || is_outline) return false;
    for (const Json& value : part->values) {
      bool is_new = std::none_of(values->begin(), values->end(),
                                 [&](const Json& other) { return EqualValues(value, other); });
      if (is_new) values->push_back(value);
    }
  }
  return true;
}

std::vector<int> EmptyUnions(Schema* schema) {
  std::vector<int> out;
  if (schema->given_up.empty()) return out;
  EmptinessCheck check(schema);
  check.Run();
  for (const Schema::GivenUp& one : schema->given_up) {
    if (!check.has(one.node)) out.push_back(one.node);
  }
  return out;
}

Result<bool> RemoveEmpty(Schema* schema) {
  EmptinessCheck check(schema);
  check.Run();
  for (const Schema::GivenUp& one : schema->given_up) {
    if (!check.has(one.node)) return CannotEnforce(one.what.path, one.what.message);
  }
  check.Remove();
  return check.has(schema->root);
}

}  // namespace mlc
