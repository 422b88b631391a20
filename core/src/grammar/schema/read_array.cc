// Nodes of lists.
#include <algorithm>

#include "grammar/schema/reader.h"

namespace mlc {
namespace {

using Kind = SchemaNode::Kind;

// Longer lists would be valid but are not written: the matcher's states cost too much.
constexpr int64_t kMaxItems = 20000;
constexpr int64_t kMaxCountingRules = 4000;  // of one list that counts

// The conditions of one schema on items: on the first ones, and on those after them.
struct Items {
  const Json* first = nullptr;
  const Json* rest = nullptr;
  std::string first_path, rest_path;
  size_t count() const { return first == nullptr ? 0 : first->as_array().size(); }
};

Result<Items> ItemsOf(const Term& term) {
  const Json& schema = *term.schema;
  Items items;
  auto set = [&](const char* key, const Json** place, std::string* path) {
    *place = schema.Find(key);
    *path = PointerTo(term.path, key);
  };
  set("prefixItems", &items.first, &items.first_path);
  set("items", &items.rest, &items.rest_path);
  // Up to the draft of 2019, `items` could be a list.
  if (items.rest != nullptr && items.rest->is_array()) {
    set("items", &items.first, &items.first_path);
    set("additionalItems", &items.rest, &items.rest_path);
  }
  if (items.first != nullptr && !items.first->is_array()) {
    return InvalidArgument(items.first_path + " must be a list of schemas");
  }
  if (items.rest == nullptr) set("unevaluatedItems", &items.rest, &items.rest_path);
  return items;
}

}  // namespace

Result<SchemaNode> SchemaReader::ReadArray(const Facts& facts) {
  SchemaNode node;
  node.kind = Kind::kArray;
  node.min = facts.min_items;
  node.max = facts.max_items < 0 ? -1 : std::min(facts.max_items, kMaxItems);
  if (node.min > kMaxItems) {
    MLC_RETURN_IF_ERROR(LeaveOut("minItems", "it is over 20000"));
    node.min = 0;
  }
  std::vector<Items> all;
  size_t first = 0;
  for (const Term& term : facts.arrays) {
    MLC_ASSIGN_OR_RETURN(Items items, ItemsOf(term));
    bool is_unevaluated = term.schema->Find("unevaluatedItems") != nullptr;
    if (is_unevaluated && HasInPlace(*term.schema) &&
        !(term.sees_all && facts.arrays.size() == 1)) {
      MLC_RETURN_IF_ERROR(LeaveOut(PointerTo(term.path, "unevaluatedItems"),
                                   "what is evaluated depends on the value; write items"));
      if (items.rest == term.schema->Find("unevaluatedItems")) items.rest = nullptr;
    }
    first = std::max(first, items.count());
    all.push_back(std::move(items));
  }
  Terms denied;  // what no item fits
  for (const Term& term : facts.denied_contains) {
    denied.push_back(WholeTerm(*term.schema->Find("contains"), PointerTo(term.path, "contains")));
    denied.back().negated = true;
  }
  for (size_t i = 0; i < first; ++i) {
    Terms terms;
    for (const Items& items : all) {
      bool is_first = i < items.count();
      if (is_first) {
        terms.push_back(
            WholeTerm(items.first->as_array()[i], PointerTo(items.first_path, std::to_string(i))));
      } else if (items.rest != nullptr) {
        terms.push_back(WholeTerm(*items.rest, items.rest_path));
      }
    }
    terms.insert(terms.end(), denied.begin(), denied.end());
    MLC_ASSIGN_OR_RETURN(int part, Read(std::move(terms)));
    node.parts.push_back(part);
  }
  Terms rest;
  for (const Items& items : all) {
    if (items.rest != nullptr) rest.push_back(WholeTerm(*items.rest, items.rest_path));
  }
  bool is_closed = rest.empty() && first > 0 && node.min <= static_cast<int64_t>(first);
  if (!is_closed) rest.insert(rest.end(), denied.begin(), denied.end());
  if (!rest.empty()) {
    MLC_ASSIGN_OR_RETURN(node.rest, Read(rest));
  } else if (!is_closed) {
    node.rest = AnyNode();
  }
  MLC_RETURN_IF_ERROR(ReadContains(facts, rest, &node));
  MLC_RETURN_IF_ERROR(ReadUnique(facts, &node));
  return node;
}

Status SchemaReader::ReadContains(const Facts& facts, const Terms& items, SchemaNode* node) {
  for (const Term& term : facts.arrays) {
    const Json* wanted = term.schema->Find("contains");
    if (wanted == nullptr) continue;
    MLC_ASSIGN_OR_RETURN(int64_t min, ReadCount(*term.schema, "minContains", 1, term.path));
    MLC_ASSIGN_OR_RETURN(int64_t max, ReadCount(*term.schema, "maxContains", -1, term.path));
    if (min == 0 && max < 0) continue;
    if (max >= 0 && min > max) {
      *node = SchemaNode();  // nothing fits
      return Status();
    }
    Term item = WholeTerm(*wanted, PointerTo(term.path, "contains"));
    MLC_RETURN_IF_ERROR(WantItems(item, min, max, items, node));
  }
  for (const Term& term : facts.denied_items) {
    Term item = WholeTerm(*term.schema->Find("items"), PointerTo(term.path, "items"));
    item.negated = true;
    MLC_RETURN_IF_ERROR(WantItems(item, 1, -1, items, node));
  }
  return Status();
}

// `min` to `max` of the items fit `wanted`; all of them fit `items`.
Status SchemaReader::WantItems(const Term& wanted, int64_t min, int64_t max, const Terms& items,
                               SchemaNode* node) {
  int64_t most_items = std::max<int64_t>({node->min, node->max, 0}) + 2;
  bool is_large = most_items * (std::max(min, max) + 2) > kMaxCountingRules;
  if (!node->parts.empty() || node->wanted != SchemaNode::kNone || is_large) {
    return LeaveOut(wanted.path, is_large ? "counting so many items takes too many rules"
                                          : "it stands beside prefixItems or another contains");
  }
  Terms both = items;
  both.push_back(wanted);
  MLC_ASSIGN_OR_RETURN(int counted, Read(both));
  if (max >= 0) {
    both.back().negated = !both.back().negated;
    MLC_ASSIGN_OR_RETURN(node->rest, Read(both));
  }
  node->wanted = counted;
  node->wanted_min = min;
  node->wanted_max = max;
  return Status();
}

Status SchemaReader::ReadUnique(const Facts& facts, SchemaNode* node) {
  for (const Term& term : facts.arrays) {
    const Json* unique = term.schema->Find("uniqueItems");
    bool is_asked = unique != nullptr && unique->is_bool() && unique->as_bool();
    if (!is_asked || (node->max >= 0 && node->max <= 1)) continue;
    int64_t first = static_cast<int64_t>(node->parts.size());
    if (node->rest == SchemaNode::kNone && first <= 1) continue;
    std::vector<Json> values;
    bool is_listed = node->parts.empty() && node->wanted == SchemaNode::kNone &&
                     ListValues(out_, node->rest, &values);
    int64_t counts = std::max<int64_t>({1, node->min, node->max}) + 1;
    if (!is_listed && remembers_) {
      node->is_unique = true;
      continue;
    }
    if (!is_listed || static_cast<int64_t>(values.size()) * counts > kMaxCountingRules) {
      MLC_RETURN_IF_ERROR(LeaveOut(PointerTo(term.path, "uniqueItems"),
                                   "a grammar does not remember what was written; write the "
                                   "values of the items as an enum"));
      continue;
    }
    if (node->min > static_cast<int64_t>(values.size())) *node = SchemaNode();
    if (node->kind == Kind::kNever || values.empty()) return Status();
    node->values = std::move(values);
    node->rest = SchemaNode::kNone;
    return Status();
  }
  return Status();
}

}  // namespace mlc
