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

std::string NameOf(const Term& choice) {
  std::string name = choice.negated ? "not " : "";
  return name.append(choice.part).append(" ").append(choice.name);
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
  // What says something about members by their names.
  struct Object {
    const Term* term;
    const Json* named;  // null: none
    bool is_closed;
    const Json* Find(std::string_view name) const { return named ? named->Find(name) : nullptr; }
  };
  std::vector<Object> objects;
  std::vector<const Term*> members;

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
    const Json* named = schema.Find("properties");
    if (named != nullptr && !named->is_object()) named = nullptr;
    bool is_closed = IsClosed(term);
    if (named != nullptr || is_closed) objects.push_back({&term, named, is_closed});
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

  void Clear() { ReturnTo(Outline()); }

  // Takes back what was added to a copy of `known`.
  void ReturnTo(const Outline& known) {
    num_terms = known.num_terms;
    types = known.types;
    auto cut = [](auto* all, const auto& first) {
      all->erase(all->begin() + static_cast<std::ptrdiff_t>(first.size()), all->end());
    };
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
                          [&](const Object& one) { return one.is_closed || one.Find(name); }) &&
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
    for (const Outline::Object& object : outline.objects) {
      const Json* value = object.Find(name);
      if (value == nullptr && object.is_closed) return true;
      if (value != nullptr) conditions.push_back(WholeTerm(*value, object.term->path));
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

// What holds beside the choices of a node: looked at once for all of them.
struct SchemaReader::Beside {
  Outline known, both;  // `both`: with an alternative
  bool is_known = false, contradicts = false;
};

// Which alternatives of a choice may hold beside everything else. All of them where that is hard to
// tell. `key`: KeyOf() the choice. `possible` has those that may hold beside a part of it, or
// nothing; those that may not are not looked at again.
void SchemaReader::Narrow(const Term& choice, std::string key,
                          const std::vector<Terms>& alternatives, const Flat& flat, Beside* beside,
                          std::vector<bool>* possible) {
  const size_t choice_size = key.size();
  key += flat.own_key;
  auto known = possible_.find(key);
  if (known != possible_.end()) *possible = known->second.branches;
  if (known != possible_.end()) return;
  const int64_t num_reports = num_reports_;
  if (!beside->is_known) {
    beside->known.Clear();
    for (const Term& term : flat.own) beside->known.Add(term);
    beside->is_known = true;
    auto anyway = contradict_.find(flat.own_key);
    bool is_judged = anyway != contradict_.end();
    beside->contradicts = is_judged ? anyway->second : Contradict(beside->known, Outline(), 0);
    if (!is_judged && !WorkBudget::is_spent()) {
      contradict_.emplace(flat.own_key, beside->contradicts);
    }
    beside->both = beside->known;
  }
  possible->resize(alternatives.size(), true);
  std::vector<std::optional<Flat>> own_flats;
  const auto& flats = FlatsOf(choice, key.substr(0, choice_size), alternatives, &own_flats);
  for (size_t i = 0; i < flats.size(); ++i) {
    if (!(*possible)[i] || !flats[i]) continue;
    const Flat& more = *flats[i];
    if (more.is_never || beside->contradicts) {
      (*possible)[i] = more.is_never && more.given_up.has_value();
      continue;
    }
    beside->both.ReturnTo(beside->known);
    for (const Term& term : more.own) beside->both.Add(term);
    (*possible)[i] = !Contradict(beside->both, beside->known, 0);
  }
  bool is_of_round = num_reports_ != num_reports;
  if (!WorkBudget::is_spent()) possible_.emplace(std::move(key), Possible{*possible, is_of_round});
}

std::vector<bool> SchemaReader::PossibleOf(const Term& choice,
                                           const std::vector<Terms>& alternatives,
                                           const Flat& flat) {
  Beside beside;
  std::vector<bool> possible;
  Narrow(choice, KeyOf(choice), alternatives, flat, &beside, &possible);
  return possible;
}

// What Alternatives() says, remembered until branches are found to overlap.
Result<const std::vector<SchemaReader::Terms>*> SchemaReader::KnownAlternatives(
    const Term& choice, const std::string& key) {
  auto known = alternatives_.find(key);
  if (known == alternatives_.end()) {
    MLC_ASSIGN_OR_RETURN(std::vector<Terms> alternatives, Alternatives(choice));
    known = alternatives_.emplace(key, std::move(alternatives)).first;
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
  std::vector<std::vector<bool>> all(flat->choices.size());  // what is known of each choice
  Beside beside;
  flat->own_key = OwnKeyOf(flat->own);
  for (size_t i = 0; i < flat->choices.size() && settled.size() < kMostChoicesSeen; ++i) {
    const Term& choice = flat->choices[i];
    auto is_choice = [&choice](const auto& one) {
      return one.first == choice.schema && one.second == NameOf(choice);
    };
    bool is_known = std::any_of(settled.begin(), settled.end(), is_choice);
    if (is_known || choice.part == "additionalProperties") continue;
    std::string key = KeyOf(choice);
    MLC_ASSIGN_OR_RETURN(const std::vector<Terms>* alternatives, KnownAlternatives(choice, key));
    std::vector<bool>& possible = all[i];
    Narrow(choice, std::move(key), *alternatives, *flat, &beside, &possible);
    int64_t count = std::count(possible.begin(), possible.end(), true);
    if (count == 0) flat->is_never = true;
    if (count == 0) return Status();
    if (count > 1) continue;
    size_t only =
        static_cast<size_t>(std::find(possible.begin(), possible.end(), true) - possible.begin());
    Flat more;
    for (const Term& term : (*alternatives)[only]) MLC_RETURN_IF_ERROR(Flatten(term, &more));
    if (more.given_up) continue;  // the node of the choice tells of it
    settled.emplace_back(choice.schema, NameOf(choice));
    flat->choices.erase(flat->choices.begin() + static_cast<std::ptrdiff_t>(i));
    all.erase(all.begin() + static_cast<std::ptrdiff_t>(i));
    flat->own.insert(flat->own.end(), more.own.begin(), more.own.end());
    flat->choices.insert(flat->choices.end(), more.choices.begin(), more.choices.end());
    all.resize(flat->choices.size());
    flat->is_never = flat->is_never || more.is_never;
    flat->own_key = OwnKeyOf(flat->own);
    if (flat->is_never) return Status();
    beside.is_known = false;
    i = SIZE_MAX;  // from the first: what holds now may settle other choices
  }
  return Status();
}

}  // namespace mlc
