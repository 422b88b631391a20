// Nodes of objects.
#include <algorithm>
#include <string_view>
#include <unordered_set>

#include "grammar/schema/check.h"
#include "grammar/schema/reader.h"

namespace mlc {
namespace {

using Kind = SchemaNode::Kind;

constexpr int64_t kMaxRules = 4000;  // to count the members of one object
// For all objects together: the compiler takes quadratic time.
constexpr int64_t kMaxOptional = 12000, kMaxOptionalHere = 2000;
constexpr size_t kMaxKeyCharacters = 12000;  // to tell other names from the named ones
constexpr size_t kMaxClasses = 24;           // of names, by the patterns that they match
constexpr size_t kMaxNameStates = 4000;
constexpr size_t kMaxImplications = 12;

const Json* MapOf(const Term& term, const char* key) {
  const Json* map = term.schema->Find(key);
  return map != nullptr && map->is_object() ? map : nullptr;
}

// Removes the last of the members that may be left out.
void KeepOptional(int64_t most, SchemaNode* node) {
  for (SchemaNode::Property& property : node->properties) {
    if (!property.is_required && --most < 0) property.node = SchemaNode::kNone;
  }
}

bool IsFalse(const std::vector<Term>& terms) {
  return std::any_of(terms.begin(), terms.end(), [](const Term& term) {
    return term.schema->is_bool() && !term.schema->as_bool();
  });
}

int CountRequired(const SchemaNode& node) {
  return static_cast<int>(std::count_if(node.properties.begin(), node.properties.end(),
                                        [](const auto& property) { return property.is_required; }));
}

// The largest number of sets of written members to remember. It depends on the implications, `more`
// included, of which one member is already passed and the other is still to come.
int64_t WaysOf(const SchemaNode& node, const std::pair<int, int>* more) {
  std::vector<int> change(node.properties.size() + 1, 0);
  auto add = [&change](const std::pair<int, int>& pair) {
    ++change[static_cast<size_t>(std::min(pair.first, pair.second))];
    --change[static_cast<size_t>(std::max(pair.first, pair.second))];
  };
  for (const auto& pair : node.implies) add(pair);
  if (more != nullptr) add(*more);
  int open = 0, most = 0;
  for (int one : change) most = std::max(most, open += one);
  return int64_t{1} << std::min(most, 20);
}

}  // namespace

// The conditions on members, by their names.
struct SchemaReader::Members {
  struct Pattern {
    const Term* term;
    std::string text;
    Term value;
    Automaton names;
  };
  std::vector<Pattern> patterns;
  // The conditions on members that a schema neither names nor matches with a pattern.
  std::vector<std::pair<const Term*, Term>> additional;
  std::optional<Term> unevaluated;  // and what they must fit that no schema speaks of
  bool is_closed = false;           // nothing is said of others: none are written

  // The terms for a member of which `named` says which schemas name it, and `fits` which patterns
  // it matches. `is_known`: whether any says a word.
  template <typename Fits>
  Terms TermsOf(const std::vector<Term>& objects, const std::string* name, Fits fits,
                bool* is_known) const {
    Terms terms;
    bool is_seen = false, is_evaluated = false;
    for (const Term& object : objects) {
      bool is_covered = false, speaks = false;
      const Json* named = name == nullptr ? nullptr : MapOf(object, "properties");
      const Json* value = named == nullptr ? nullptr : named->Find(*name);
      if (value != nullptr) {
        terms.push_back(WholeTerm(*value, Path(Path(object.path, "properties"), *name)));
        is_covered = true;
      }
      for (const Pattern& pattern : patterns) {
        if (pattern.term != &object || !fits(pattern)) continue;
        terms.push_back(pattern.value);
        is_covered = true;
      }
      for (const auto& [owner, value] : additional) {
        if (owner != &object || is_covered) continue;
        terms.push_back(value);
        speaks = true;
      }
      speaks = speaks || is_covered;
      is_seen = is_seen || speaks;
      is_evaluated = is_evaluated || (speaks && !object.is_hidden);
    }
    if (!is_evaluated && unevaluated) terms.push_back(*unevaluated);
    *is_known = is_seen || unevaluated.has_value();
    return terms;
  }
};

Result<SchemaNode> SchemaReader::ReadObject(const Facts& facts) {
  SchemaNode node;
  node.kind = Kind::kObject;
  node.min = facts.min_members;
  node.max = facts.max_members;
  node.forbids_others = std::any_of(facts.objects.begin(), facts.objects.end(), IsClosed);
  Members members;
  MLC_RETURN_IF_ERROR(GatherMembers(facts, &members));
  MLC_RETURN_IF_ERROR(ReadNamed(facts, &members, &node));
  MLC_RETURN_IF_ERROR(ReadOthers(facts, &members, &node));
  MLC_RETURN_IF_ERROR(ReadNames(facts, &node));
  MLC_RETURN_IF_ERROR(ReadImplied(facts, &node));
  MLC_RETURN_IF_ERROR(CheckCounts(facts, &node));
  return node;
}

Status SchemaReader::GatherMembers(const Facts& facts, Members* members) {
  bool names_some = false;
  for (const Term& object : facts.objects) {
    MLC_RETURN_IF_ERROR(GatherOthers(object, members));
    MLC_RETURN_IF_ERROR(GatherPatterns(object, members));
    names_some = names_some || MapOf(object, "properties") || MapOf(object, "patternProperties");
  }
  members->is_closed = names_some && members->additional.empty() && !members->unevaluated;
  return Status();
}

Status SchemaReader::GatherOthers(const Term& object, Members* members) {
  for (const char* key : {"additionalProperties", "unevaluatedProperties"}) {
    const Json* value = object.schema->Find(key);
    if (value == nullptr) continue;
    Term term = WholeTerm(*value, Path(object.path, key));
    bool is_unevaluated = key[0] == 'u';
    if (is_unevaluated && !object.sees_all && HasInPlace(*object.schema)) {
      MLC_RETURN_IF_ERROR(LeaveOut(term.path,
                                   "what is evaluated depends on what holds "
                                   "elsewhere; write additionalProperties"));
    } else if (is_unevaluated && object.sees_all) {
      members->unevaluated = term;
    } else if (!is_unevaluated || object.schema->Find("additionalProperties") == nullptr) {
      members->additional.emplace_back(&object, term);
    }
  }
  return Status();
}

Status SchemaReader::GatherPatterns(const Term& object, Members* members) {
  const Json* patterns = MapOf(object, "patternProperties");
  for (size_t i = 0; patterns != nullptr && i < patterns->as_object().size(); ++i) {
    const auto& [text, value] = patterns->as_object()[i];
    Path path(Path(object.path, "patternProperties"), text);
    Result<Automaton> names = Automaton::Matching(text);
    if (!names.ok()) {
      MLC_RETURN_IF_ERROR(LeaveOut(path, names.status().message()));
      continue;
    }
    members->patterns.push_back({&object, text, WholeTerm(value, path), std::move(names).value()});
  }
  return Status();
}

// The members that any schema names, in the order of their first occurrence.
Status SchemaReader::ReadNamed(const Facts& facts, Members* members, SchemaNode* node) {
  std::vector<const std::string*> names;
  std::unordered_set<std::string_view> seen, required, absent;
  auto add = [&](const std::string& name) {
    if (seen.insert(name).second) names.push_back(&name);
  };
  for (const Term& object : facts.objects) {
    const Json* named = MapOf(object, "properties");
    for (size_t i = 0; named != nullptr && i < named->as_object().size(); ++i) {
      add(named->as_object()[i].first);
    }
  }
  for (const Facts::Name& name : facts.required) required.insert(name.name);
  for (const Facts::Name& name : facts.required) add(name.name);
  for (const Facts::Implication& one : facts.implications) {
    if (!members->is_closed) add(one.first);
    if (seen.count(one.first) != 0) add(one.second);
  }
  for (const Facts::Name& name : facts.absent) absent.insert(name.name);
  for (const Facts::Name& name : facts.absent) add(name.name);
  node->properties.reserve(names.size());
  for (const std::string* one : names) {
    const std::string& name = *one;
    bool is_known = false;
    auto fits = [&name](const Members::Pattern& pattern) { return pattern.names.Accepts(name); };
    Terms terms = members->TermsOf(facts.objects, &name, fits, &is_known);
    for (const Term& member : facts.members) {
      if (member.name != name) continue;
      Term contrary = WholeTerm(*member.schema, member.path);
      contrary.negated = true;
      terms.push_back(std::move(contrary));
    }
    int part = SchemaNode::kNone;
    bool is_absent = absent.count(name) != 0;
    if (!is_absent && terms.empty()) part = AnyNode();
    if (!is_absent && !terms.empty()) {
      MLC_ASSIGN_OR_RETURN(part, Read(std::move(terms)));
    }
    node->properties.push_back({name, part, required.count(name) != 0});
  }
  return Status();
}

// The members with other names: a class of names for each set of patterns that they match.
Status SchemaReader::ReadOthers(const Facts& facts, Members* members, SchemaNode* node) {
  struct Class {
    Automaton names;
    std::vector<const Members::Pattern*> matched;
  };
  std::vector<Class> classes;
  std::vector<std::string> unmatched;
  if (!members->patterns.empty()) {
    // Of the named ones, those that match no pattern matter to the names that match none only.
    std::vector<std::string> named;
    for (const auto& property : node->properties) {
      bool is_matched = std::any_of(
          members->patterns.begin(), members->patterns.end(),
          [&](const Members::Pattern& pattern) { return pattern.names.Accepts(property.name); });
      (is_matched ? named : unmatched).push_back(property.name);
    }
    Result<Automaton> texts = Automaton::OfTexts(named);
    if (!texts.ok()) {
      return CannotEnforce(members->patterns[0].value.path, texts.status().message());
    }
    classes.push_back({texts->Not(), {}});
  }
  for (const Members::Pattern& pattern : members->patterns) {
    std::vector<Class> split;
    for (Class& one : classes) {
      Result<Automaton> inside = one.names.And(pattern.names);
      bool is_apart = inside.ok() && inside->is_empty();
      Result<Automaton> outside = is_apart ? one.names : one.names.And(pattern.names.Not());
      bool is_large = !inside.ok() || !outside.ok() || split.size() >= kMaxClasses;
      if (is_large)
        return CannotEnforce(pattern.value.path, "telling the names takes too many rules");
      if (!outside->is_empty()) split.push_back({std::move(outside).value(), one.matched});
      one.matched.push_back(&pattern);
      if (!inside->is_empty()) split.push_back({std::move(inside).value(), one.matched});
    }
    classes = std::move(split);
  }
  for (Class& one : classes) {
    bool is_known = false;
    auto fits = [&one](const Members::Pattern& pattern) {
      return std::find(one.matched.begin(), one.matched.end(), &pattern) != one.matched.end();
    };
    Terms terms = members->TermsOf(facts.objects, nullptr, fits, &is_known);
    if ((!is_known && members->is_closed) || IsFalse(terms)) continue;
    Result<Automaton> names = one.names;
    if (one.matched.empty()) {
      names = Automaton::OfTexts(unmatched);
      if (names.ok()) names = one.names.And(names->Not());
      if (names.ok() && names->is_empty()) continue;
    }
    if (names.ok() && names->states().size() > kMaxNameStates) {
      names = Unsupported("telling the names takes too many rules");
    }
    if (!names.ok()) {  // such members are not written
      MLC_RETURN_IF_ERROR(LeaveOut(members->patterns[0].value.path, names.status().message()));
      continue;
    }
    int part = AnyNode();
    if (!terms.empty()) {
      MLC_ASSIGN_OR_RETURN(part, Read(std::move(terms)));
    }
    node->additional.push_back({std::make_shared<Automaton>(std::move(names).value()), part});
  }
  if (!members->patterns.empty() || members->is_closed) return Status();
  bool is_known = false;
  Terms terms =
      members->TermsOf(facts.objects, nullptr, [](const auto&) { return false; }, &is_known);
  if (terms.empty()) node->rest = AnyNode();
  if (!terms.empty() && !IsFalse(terms)) {
    MLC_ASSIGN_OR_RETURN(node->rest, Read(std::move(terms)));
  }
  return Status();
}

Status SchemaReader::ReadImplied(const Facts& facts, SchemaNode* node) {
  auto find = [node](const std::string& name) {
    auto found = std::find_if(node->properties.begin(), node->properties.end(),
                              [&](const auto& property) { return property.name == name; });
    return found == node->properties.end() ? -1
                                           : static_cast<int>(found - node->properties.begin());
  };
  for (const Facts::Implication& one : facts.implications) {
    int first = find(one.first), second = find(one.second);
    if (first < 0 || second < 0 || first == second) continue;
    if (node->properties[static_cast<size_t>(second)].is_required) continue;
    auto pair = std::make_pair(first, second);
    int64_t ways = WaysOf(*node, &pair);
    bool is_large = static_cast<int64_t>(node->properties.size()) * ways > 4 * kMaxRules;
    if (node->implies.size() >= kMaxImplications || is_large) {
      MLC_RETURN_IF_ERROR(LeaveOut(one.path, "remembering so many members takes too many rules"));
      continue;
    }
    node->implies.emplace_back(first, second);
  }
  return Status();
}

// Leaves out limits that need too many rules to count.
Status SchemaReader::CheckCounts(const Facts& facts, SchemaNode* node) {
  int64_t total = static_cast<int64_t>(node->properties.size());
  bool is_open = node->rest != SchemaNode::kNone || !node->additional.empty();
  if (is_open && node->min > total + 1) {
    MLC_RETURN_IF_ERROR(LeaveOut(facts.min_members_path,
                                 "a grammar cannot keep other names from being written twice"));
    node->min = 0;
  }
  int64_t optional = total - CountRequired(*node);
  num_optional_ += optional;
  if (optional > kMaxOptionalHere || num_optional_ > kMaxOptional) {
    std::string path =
        facts.objects.empty() ? "the schema" : PointerTo(facts.objects[0].path, "properties");
    MLC_RETURN_IF_ERROR(LeaveOut(path, "too many of them may be left out: at most " +
                                           std::to_string(kMaxOptionalHere) +
                                           " of one object and " + std::to_string(kMaxOptional) +
                                           " in all, others must be required"));
    KeepOptional(num_optional_ > kMaxOptional ? 8 : kMaxOptionalHere / 4, node);
  }
  bool needs_count = node->min > CountRequired(*node) || node->max >= 0;
  int64_t cap = std::min(std::max(node->min, node->max), total);
  if (needs_count && (total + 1) * (cap + 1) * WaysOf(*node, nullptr) > kMaxRules) {
    const std::string& path = node->max >= 0 ? facts.max_members_path : facts.min_members_path;
    MLC_RETURN_IF_ERROR(LeaveOut(path, "counting so many properties takes too many rules"));
    node->min = 0;
    node->max = -1;
  }
  if (node->rest == SchemaNode::kNone) return Status();
  size_t characters = 0;
  for (const SchemaNode::Property& property : node->properties) characters += property.name.size();
  if (characters <= kMaxKeyCharacters) return Status();
  MLC_RETURN_IF_ERROR(LeaveOut(PointerTo(facts.objects[0].path, "additionalProperties"),
                               "too many named properties to tell others from them"));
  node->rest = SchemaNode::kNone;
  return Status();
}

}  // namespace mlc
