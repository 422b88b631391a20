// Looks ahead before a node is made for each alternative of a choice: those that contradict what
// holds anyway are dropped. Where one alternative is left, it holds. Without this, schemas with
// many choices (`if` beside `if`, branches of which each denies the others) become a node for each
// combination.
#include <algorithm>

#include "grammar/schema/reader.h"
#include "grammar/text/work_budget.h"

namespace mlc {
namespace {

constexpr int kMostLevels = 3;           // of members within members that are looked at
constexpr size_t kMostCompared = 64;     // listed values that are compared one by one
constexpr int64_t kWorkOfLook = 20;      // for each term that is looked at
constexpr size_t kMostChoicesSeen = 64;  // of one value

bool HasReference(const Json& json) {
  auto refers = [](const auto& member) {
    return IsReference(member.first) || HasReference(member.second);
  };
  if (json.is_array()) {
    return std::any_of(json.as_array().begin(), json.as_array().end(), HasReference);
  }
  return json.is_object() && std::any_of(json.as_object().begin(), json.as_object().end(), refers);
}

// Whether one of two schemas says what the other says. A reference may mean another schema there.
bool AreAlike(const Json& a, const Json& b) {
  if (&a == &b) return true;
  return WorkBudget::Spend(kWorkOfLook) && a == b && !HasReference(a);
}

using Terms = std::vector<Term>;

const Json* NamedIn(const Term& object, std::string_view name) {
  const Json* named = object.schema->Find("properties");
  return named != nullptr && named->is_object() ? named->Find(name) : nullptr;
}

bool Contains(const std::vector<std::string_view>& names, size_t first, std::string_view name) {
  return std::find(names.begin() + static_cast<std::ptrdiff_t>(first), names.end(), name) !=
         names.end();
}

}  // namespace

// What is easily said of a value: its types, the members that it has and lacks, its listed values.
struct SchemaReader::Outline {
  int64_t num_terms = 0;
  unsigned types = kAllTypes;
  std::vector<std::string_view> required, absent;
  std::vector<const Json*> lists, denied;  // lists of values, and single ones
  std::vector<const Json*> constants;
  std::vector<const Term*> objects, members;

  void Add(const Term& term) {
    ++num_terms;
    if (term.part == Term::kAbsent) {
      if (term.negated) types &= kObjectType;
      absent.push_back(term.name);
    } else if (term.part == Term::kPresent || term.part == Term::kMember) {
      required.push_back(term.name);
      if (term.part == Term::kPresent) return;
      types &= kObjectType;
      members.push_back(&term);
    } else if (term.negated) {
      AddContrary(term);
    } else if (term.part == Term::kOwn) {
      AddOwn(term);
    }
  }

  void AddOwn(const Term& term) {
    const Json& schema = *term.schema;
    if (schema.Find("type") != nullptr) types &= TypesNamedIn(schema);
    if (const Json* list = schema.Find("enum"); list != nullptr && list->is_array()) {
      lists.push_back(list);
    }
    if (const Json* constant = schema.Find("const")) constants.push_back(constant);
    const Json* names = schema.Find("required");
    for (size_t i = 0; names != nullptr && names->is_array() && i < names->as_array().size(); ++i) {
      if (names->as_array()[i].is_string()) required.push_back(names->as_array()[i].as_string());
    }
    objects.push_back(&term);
  }

  void AddContrary(const Term& term) {
    const Json* value = term.schema->is_object() ? term.schema->Find(term.part) : nullptr;
    if (value == nullptr) return;
    if (term.part == "type") types &= ~TypesNamedIn(*term.schema);
    if (term.part == "const") denied.push_back(value);
    for (size_t i = 0; term.part == "enum" && value->is_array() && i < value->as_array().size();
         ++i) {
      denied.push_back(&value->as_array()[i]);
    }
  }

  // Takes back what was added to a copy of `known`.
  void ReturnTo(const Outline& known) {
    num_terms = known.num_terms;
    types = known.types;
    auto cut = [](auto* all, const auto& first) { all->resize(first.size()); };
    cut(&required, known.required);
    cut(&absent, known.absent);
    cut(&lists, known.lists);
    cut(&denied, known.denied);
    cut(&constants, known.constants);
    cut(&objects, known.objects);
    cut(&members, known.members);
  }

  // Whether the value may be an object only. Members say nothing about any other value.
  bool is_object() const { return (types & ~static_cast<unsigned>(kObjectType)) == 0; }

  bool Allows(const Json& value) const {
    auto same = [&value](const Json* other) { return EqualValues(*other, value); };
    auto lists_it = [&value](const Json* list) {
      return list->as_array().size() > kMostCompared ||
             std::any_of(list->as_array().begin(), list->as_array().end(),
                         [&](const Json& other) { return EqualValues(other, value); });
    };
    return (types & TypeOf(value)) != 0 && std::none_of(denied.begin(), denied.end(), same) &&
           std::all_of(constants.begin(), constants.end(), same) &&
           std::all_of(lists.begin(), lists.end(), lists_it);
  }

  // Whether no listed value is left.
  bool HasNoValue() const {
    if (types == 0) return true;
    if (!constants.empty()) return !Allows(*constants[0]);
    if (lists.empty() || lists[0]->as_array().size() > kMostCompared) return false;
    const Json::Array& values = lists[0]->as_array();
    return std::none_of(values.begin(), values.end(),
                        [this](const Json& one) { return Allows(one); });
  }

  // The required members to look at, where `known` is looked at and the other terms came behind it.
  std::vector<std::string_view> NamesBehind(const Outline& known) const {
    std::vector<std::string_view> names = required;
    auto is_seen = [&](std::string_view name) {
      auto object = objects.begin() + static_cast<std::ptrdiff_t>(known.objects.size());
      auto member = members.begin() + static_cast<std::ptrdiff_t>(known.members.size());
      return !Contains(absent, known.absent.size(), name) &&
             std::none_of(object, objects.end(),
                          [&](const Term* one) { return IsClosed(*one) || NamedIn(*one, name); }) &&
             std::none_of(member, members.end(),
                          [&](const Term* one) { return one->name == name; });
    };
    // Members say something about objects only.
    size_t seen = known.is_object() ? known.required.size() : 0;
    auto end = names.begin() + static_cast<std::ptrdiff_t>(seen);
    names.erase(std::remove_if(names.begin(), end, is_seen), end);
    std::sort(names.begin(), names.end());
    names.erase(std::unique(names.begin(), names.end()), names.end());
    return names;
  }
};

// Whether no value fits the outline, as far as this is seen without making nodes. Otherwise, and
// where it is hard to tell, false. It begins as `known`, which does not contradict itself.
bool SchemaReader::Contradict(const Outline& outline, const Outline& known, int level) {
  if (!WorkBudget::Spend(kWorkOfLook * outline.num_terms)) return false;
  if (outline.HasNoValue()) return true;
  if (!outline.is_object() || level >= kMostLevels) return false;
  for (std::string_view name : outline.NamesBehind(known)) {
    if (Contains(outline.absent, 0, name)) return true;
    Terms conditions;
    for (const Term* object : outline.objects) {
      const Json* value = NamedIn(*object, name);
      if (value == nullptr && IsClosed(*object)) return true;
      if (value != nullptr) conditions.push_back(WholeTerm(*value, object->path));
    }
    for (const Term* member : outline.members) {
      if (member->name != name) continue;
      conditions.push_back(WholeTerm(*member->schema, member->path));
      conditions.back().negated = true;
    }
    if (!conditions.empty() && ContradictWhole(conditions, level + 1)) return true;
  }
  return false;
}

// The same of whole schemas. It is remembered, as many alternatives ask for the same.
bool SchemaReader::ContradictWhole(const Terms& terms, int level) {
  std::string key = KeyOf(terms);
  key += static_cast<char>(level);
  auto known = contradict_.find(key);
  if (known != contradict_.end()) return known->second;
  bool found = FindWholeContradiction(terms, level);
  // Without a budget it is not known.
  return WorkBudget::is_spent() ? found : contradict_.emplace(std::move(key), found).first->second;
}

bool SchemaReader::FindWholeContradiction(const Terms& terms, int level) {
  std::vector<const Json*> named;  // what the terms name, perhaps by references
  for (const Term& term : terms) {
    Term plain = term;
    plain.negated = false;
    Result<Term> direct = Direct(std::move(plain));
    if (!direct.ok()) return false;
    for (size_t i = 0; i < named.size(); ++i) {
      if (terms[i].negated != term.negated && AreAlike(*named[i], *direct->schema)) return true;
    }
    named.push_back(direct->schema);
  }
  Flat flat;
  for (const Term& term : terms) {
    if (!Flatten(term, &flat).ok()) return false;
  }
  if (flat.is_never) return !flat.given_up;
  Outline outline;
  for (const Term& term : flat.own) outline.Add(term);
  return Contradict(outline, Outline(), level);
}

// The alternatives of a choice, flattened; none where one cannot be read. They are remembered, but
// where they depend on other terms, or something is reported: then they are in `own`.
const std::vector<std::optional<SchemaReader::Flat>>& SchemaReader::FlatsOf(
    const Term& choice, const std::string& key, const std::vector<Terms>& alternatives,
    std::vector<std::optional<Flat>>* own) {
  auto known = flats_.find(key);
  if (known != flats_.end()) return known->second;
  const int64_t num_reports = num_reports_;
  for (const Terms& alternative : alternatives) {
    std::optional<Flat>& flat = own->emplace_back(std::in_place);
    for (const Term& term : alternative) {
      if (flat && !Flatten(term, &*flat).ok()) flat.reset();
    }
  }
  bool is_kept = choice.part != "additionalProperties" && num_reports == num_reports_;
  return is_kept ? flats_.emplace(key, std::move(*own)).first->second : *own;
}

// Which alternatives of a choice may hold beside everything else. All of them where that is hard to
// tell.
std::vector<bool> SchemaReader::PossibleOf(const Term& choice,
                                           const std::vector<Terms>& alternatives,
                                           const Flat& flat) {
  const std::string& own_key = flat.own_key;
  std::string key;
  AddKey(choice, &key);
  std::string choice_key = key;
  key += own_key;
  auto known = possible_.find(key);
  if (known != possible_.end()) return known->second.branches;
  const int64_t num_reports = num_reports_;
  Outline without;
  for (const Term& term : flat.own) without.Add(term);
  auto anyway = contradict_.find(own_key);
  bool is_judged = anyway != contradict_.end();
  bool contradicts_anyway = is_judged ? anyway->second : Contradict(without, Outline(), 0);
  if (!is_judged && !WorkBudget::is_spent()) contradict_.emplace(own_key, contradicts_anyway);
  std::vector<bool> possible;
  std::vector<std::optional<Flat>> own_flats;
  Outline both = without;
  for (const std::optional<Flat>& more : FlatsOf(choice, choice_key, alternatives, &own_flats)) {
    both.ReturnTo(without);
    for (size_t i = 0; more && i < more->own.size(); ++i) both.Add(more->own[i]);
    possible.push_back(!more ||
                       (more->is_never ? more->given_up.has_value()
                                       : !contradicts_anyway && !Contradict(both, without, 0)));
  }
  bool is_of_round = num_reports_ != num_reports;
  if (!WorkBudget::is_spent()) possible_.emplace(std::move(key), Possible{possible, is_of_round});
  return possible;
}

// Forgets what the last round found out that may differ in the next one: of choices with other
// alternatives, and where it was reported that something is left out.
void SchemaReader::ForgetChanged() {
  auto is_changed = [this](const std::string& key) {
    return changed_.count(key.substr(0, sizeof(const Json*))) != 0;
  };
  for (auto one = alternatives_.begin(); one != alternatives_.end();) {
    one = is_changed(one->first) ? alternatives_.erase(one) : std::next(one);
  }
  for (auto one = flats_.begin(); one != flats_.end();) {
    one = is_changed(one->first) ? flats_.erase(one) : std::next(one);
  }
  for (auto one = possible_.begin(); one != possible_.end();) {
    bool is_kept = !one->second.is_of_round && !is_changed(one->first);
    one = is_kept ? std::next(one) : possible_.erase(one);
  }
  changed_.clear();
}

// What Alternatives() says, remembered until branches are found to overlap.
Result<const std::vector<SchemaReader::Terms>*> SchemaReader::KnownAlternatives(
    const Term& choice) {
  std::string key;
  AddKey(choice, &key);
  auto known = alternatives_.find(key);
  if (known == alternatives_.end()) {
    MLC_ASSIGN_OR_RETURN(std::vector<Terms> alternatives, Alternatives(choice));
    known = alternatives_.emplace(std::move(key), std::move(alternatives)).first;
  }
  return &known->second;
}

// False where a keyword has no grammar, which is then the last refusal: all is as before.
Result<bool> SchemaReader::Try(const std::function<Status()>& read) {
  size_t num_nodes = out_.nodes.size(), num_one_ofs = one_ofs_.size();
  size_t num_given_up = out_.given_up.size();
  int64_t regex_cost = regex_cost_, num_optional = num_optional_;
  int any_node = any_node_;
  Status status = read();
  if (status.ok()) return true;
  bool is_refused =
      refusal_ && status.message() == CannotEnforce(refusal_->path, refusal_->message).message();
  if (!is_refused || !WorkBudget::Spend(static_cast<int64_t>(nodes_.size()))) return status;
  auto forget = [first = static_cast<int>(num_nodes)](auto* map, auto node_of) {
    for (auto one = map->begin(); one != map->end();) {
      one = node_of(*one) >= first ? map->erase(one) : std::next(one);
    }
  };
  forget(&nodes_, [](const auto& one) { return one.second; });
  forget(&same_, [](const auto& one) { return one.second; });
  forget(&given_up_, [](const auto& one) { return one.first; });
  forget(&out_.outlines, [](const auto& one) { return one.first; });
  forget(&cuts_, [](const auto& one) { return one.first; });
  out_.nodes.resize(num_nodes);
  out_.given_up.resize(num_given_up);
  one_ofs_.resize(num_one_ofs);
  regex_cost_ = regex_cost;
  num_optional_ = num_optional;
  any_node_ = any_node;
  return false;
}

// The same where nothing may be given up.
Result<bool> SchemaReader::Do(const std::function<Status()>& read) {
  MLC_RETURN_IF_ERROR(read());
  return true;
}

// Takes choices of which one alternative is left into the terms that hold anyway, as long as there
// are any.
Status SchemaReader::Settle(Flat* flat) {
  std::vector<std::pair<const Json*, std::string>> settled;
  flat->own_key = OwnKeyOf(flat->own);
  for (size_t i = 0; i < flat->choices.size() && settled.size() < kMostChoicesSeen;) {
    const Term choice = flat->choices[i++];
    std::pair<const Json*, std::string> key{choice.schema, choice.negated ? "not " : ""};
    key.second.append(choice.part).append(" ").append(choice.name);
    bool is_known = std::find(settled.begin(), settled.end(), key) != settled.end();
    if (is_known || choice.part == "additionalProperties") continue;
    MLC_ASSIGN_OR_RETURN(const std::vector<Terms>* alternatives, KnownAlternatives(choice));
    std::vector<bool> possible = PossibleOf(choice, *alternatives, *flat);
    int64_t count = std::count(possible.begin(), possible.end(), true);
    if (count == 0) flat->is_never = true;
    if (count == 0) return Status();
    if (count > 1) continue;
    size_t only =
        static_cast<size_t>(std::find(possible.begin(), possible.end(), true) - possible.begin());
    Flat more;
    for (const Term& term : (*alternatives)[only]) MLC_RETURN_IF_ERROR(Flatten(term, &more));
    if (more.given_up) continue;  // the node of the choice tells of it
    flat->choices.erase(flat->choices.begin() + static_cast<std::ptrdiff_t>(i) - 1);
    flat->own.insert(flat->own.end(), more.own.begin(), more.own.end());
    flat->choices.insert(flat->choices.end(), more.choices.begin(), more.choices.end());
    flat->is_never = flat->is_never || more.is_never;
    flat->own_key = OwnKeyOf(flat->own);
    if (flat->is_never) return Status();
    settled.push_back(std::move(key));
    i = 0;  // what holds now may settle other choices
  }
  return Status();
}

}  // namespace mlc
