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
constexpr size_t kMostWays = 10'000;     // to break a denied schema

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

// What is easily said of a value: its types, the members that it has and lacks, its listed values.
struct Outline {
  unsigned types = kAllTypes;
  std::set<std::string_view> required, absent;
  std::vector<const Json*> lists, denied;  // lists of values, and single ones
  std::vector<const Json*> constants;
  std::vector<const Term*> objects, members;

  void Add(const Term& term) {
    if (term.part == Term::kAbsent) {
      if (term.negated) types &= kObjectType;
      absent.insert(term.name);
    } else if (term.part == Term::kPresent || term.part == Term::kMember) {
      required.insert(term.name);
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
      if (names->as_array()[i].is_string()) required.insert(names->as_array()[i].as_string());
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
};

std::string KeyOf(const Terms& terms, int level) {
  std::string key(1, static_cast<char>(level));
  constexpr size_t kUsual = 32;
  key.reserve(terms.size() * kUsual);
  for (const Term& term : terms) AddKey(term, &key);
  return key;
}

const Json* NamedIn(const Term& object, std::string_view name) {
  const Json* named = object.schema->Find("properties");
  return named != nullptr && named->is_object() ? named->Find(name) : nullptr;
}

}  // namespace

// Whether no value fits all terms, as far as this is seen without making nodes. Otherwise, and
// where it is hard to tell, false.
bool SchemaReader::Contradict(const Terms& own, int level) {
  return Contradict(own, level, KeyOf(own, level));
}

bool SchemaReader::Contradict(const Terms& own, int level, std::string key) {
  auto known = contradict_.find(key);
  if (known != contradict_.end()) return known->second;
  bool found = FindContradiction(own, level);
  // Without a budget it is not known.
  return WorkBudget::is_spent() ? found : contradict_.emplace(std::move(key), found).first->second;
}

bool SchemaReader::FindContradiction(const Terms& own, int level) {
  if (!WorkBudget::Spend(kWorkOfLook * static_cast<int64_t>(own.size()))) return false;
  Outline outline;
  for (const Term& term : own) outline.Add(term);
  if (outline.HasNoValue()) return true;
  if (!outline.is_object() || level >= kMostLevels) return false;
  for (std::string_view name : outline.required) {
    if (outline.absent.count(name) != 0) return true;
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

// The same of whole schemas.
bool SchemaReader::ContradictWhole(const Terms& terms, int level) {
  std::string key = KeyOf(terms, kMostLevels + 1 + level);  // no key of the above
  auto known = contradict_.find(key);
  if (known != contradict_.end()) return known->second;
  bool found = FindWholeContradiction(terms, level);
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
  return Contradict(flat.own, level);
}

// Which alternatives of a choice may hold beside everything else. All of them where that is hard to
// tell.
std::vector<bool> SchemaReader::PossibleOf(const Term& choice,
                                           const std::vector<Terms>& alternatives,
                                           const Flat& flat) {
  const std::string own_key = KeyOf(flat.own, 0);
  std::string key;
  AddKey(choice, &key);
  key += own_key;
  auto known = possible_.find(key);
  if (known != possible_.end()) return known->second.branches;
  const int64_t num_reports = num_reports_;
  std::vector<bool> possible;
  Flat both;
  both.own = flat.own;
  for (const Terms& alternative : alternatives) {
    bool is_read = true;
    for (const Term& term : alternative) is_read = is_read && Flatten(term, &both).ok();
    bool is_never = both.is_never && !both.given_up;
    std::string all = own_key;
    for (size_t i = flat.own.size(); i < both.own.size(); ++i) AddKey(both.own[i], &all);
    bool contradicts = is_never || (!both.is_never && Contradict(both.own, 0, std::move(all)));
    possible.push_back(!is_read || !contradicts);
    Terms own = std::move(both.own);
    own.erase(own.begin() + static_cast<std::ptrdiff_t>(flat.own.size()), own.end());
    both = Flat();
    both.own = std::move(own);
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

namespace {

// How much a schema says, roughly.
int64_t SizeOf(const Json& json, int level = 0) {
  if (level > 3) return 10;
  int64_t size = 1;
  if (json.is_array()) {
    for (const Json& item : json.as_array()) size += SizeOf(item, level + 1);
  } else if (json.is_object()) {
    for (const auto& [name, value] : json.as_object()) size += 1 + SizeOf(value, level + 1);
  }
  return size;
}

// How much a denied keyword adds to a schema, roughly. A member that is not there adds nothing; one
// that has another value adds what that value is.
int64_t WeightOf(const Terms& terms) {
  int64_t weight = 0;
  for (const Term& term : terms) {
    bool is_list = term.part == "items" || term.part == "contains";
    if (is_list) weight += 100;
    if (term.part == "additionalProperties") weight += 12;  // more than a member with a constant
    if (term.part == Term::kMember || term.is_whole()) weight += 1 + 2 * SizeOf(*term.schema);
    if (term.part != Term::kAbsent) weight += 1;
  }
  return weight;
}

}  // namespace

// Keeps the few ways that add least. False if these are all.
bool SchemaReader::KeepEasy(const Term& choice, const std::vector<Terms>& alternatives,
                            std::vector<bool>* possible) {
  auto allowed = ways_.find({choice.schema, std::string(choice.part)});
  size_t most = allowed == ways_.end() ? most_ways_ : std::max(most_ways_, allowed->second);
  std::vector<std::pair<int64_t, size_t>> weights;
  for (size_t i = 0; i < alternatives.size(); ++i) {
    if ((*possible)[i]) weights.emplace_back(WeightOf(alternatives[i]), i);
  }
  if (weights.size() <= most) return false;
  std::sort(weights.begin(), weights.end());
  for (size_t i = most; i < weights.size(); ++i) (*possible)[weights[i].second] = false;
  return true;
}

// Allows more ways where no value fits those that were kept. False if there is no such choice.
bool SchemaReader::AllowMoreWays() {
  std::set<std::pair<const Json*, std::string>> lacking;
  for (int node : EmptyUnions(&out_)) {
    auto cut = cuts_.find(node);
    if (cut != cuts_.end()) lacking.insert(cut->second);
  }
  for (const auto& choice : lacking) {
    size_t& ways = ways_[choice];
    ways = std::max(ways, std::min(most_ways_, kMostWays)) + 1;
  }
  return !lacking.empty();
}

// Takes choices of which one alternative is left into the terms that hold anyway, as long as there
// are any.
Status SchemaReader::Settle(Flat* flat) {
  std::vector<std::pair<const Json*, std::string>> settled;
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
    Flat next = *flat;
    next.choices.erase(next.choices.begin() + static_cast<std::ptrdiff_t>(i) - 1);
    for (const Term& term : (*alternatives)[only]) MLC_RETURN_IF_ERROR(Flatten(term, &next));
    if (next.given_up) continue;  // the node of the choice tells of it
    *flat = std::move(next);
    if (flat->is_never) return Status();
    settled.push_back(std::move(key));
    i = 0;  // what holds now may settle other choices
  }
  return Status();
}

}  // namespace mlc
