// What a schema says again at another place, or in a later round, is not read again.
#include "grammar/schema/reader.h"
#include "grammar/text/work_budget.h"

namespace mlc {
namespace {

void AddDecimal(const Decimal& decimal, std::string* key) {
  *key += decimal.negative ? '-' : '+';
  AddSized(decimal.whole, key);
  AddSized(decimal.fraction, key);
}

void AddBound(const std::optional<NumberBound>& bound, std::string* key) {
  *key += !bound ? 'n' : bound->exclusive ? 'x' : 'i';
  if (bound) AddDecimal(bound->value, key);
}

}  // namespace

// SetKeyOf() of the first terms that say the same; "" where that depends on the place.
std::string SchemaReader::SameKeyOf(const Terms& terms) {
  if (!has_one_base_) return "";
  std::vector<const Json*> firsts;
  firsts.reserve(terms.size());
  for (const Term& term : terms) {
    // Such terms are of a map of schemas.
    bool is_of_map =
        term.part == "dependencies" || term.part == Term::kAbsent || term.part == Term::kPresent;
    firsts.push_back(is_of_map ? term.schema : &same_schemas_.FirstOf(*term.schema));
  }
  return SetKeyOf(terms, &firsts);
}

// A short text in place of KeyOf().
std::string SchemaReader::OwnKeyOf(const Terms& own) {
  int number = own_keys_.emplace(KeyOf(own), static_cast<int>(own_keys_.size())).first->second;
  return {reinterpret_cast<const char*>(&number), sizeof(number)};
}

// All that ReadString() looks at.
std::string SchemaReader::KeyOfTexts(const Facts& facts) const {
  std::string key = "s";
  for (int64_t number : {facts.min_length, facts.max_length, int64_t{facts.length_path.empty()},
                         int64_t{wants_automata_}}) {
    key += std::to_string(number) + ' ';
  }
  for (const Facts::Pattern& one : facts.patterns) {
    key += static_cast<char>('0' + one.negated + 2 * one.is_format + 4 * one.is_below_not);
    AddSized(one.text, &key);
  }
  for (const Json* value : facts.excluded) {
    if (value->is_string()) AddSized("-" + value->as_string(), &key);
  }
  return key;
}

// All that ReadNumeral() looks at.
std::string SchemaReader::KeyOfNumerals(const Facts& facts) {
  std::string key = "n" + std::to_string(facts.types) + ' ';
  AddBound(facts.range.min, &key);
  AddBound(facts.range.max, &key);
  for (const Facts::Step& step : facts.steps) {
    key += step.negated ? '!' : '*';
    AddDecimal(step.of, &key);
  }
  for (const Json* value : facts.excluded) {
    if (value->is_number()) AddSized(value->Dump(), &key);
  }
  return key;
}

// What `read` gave for the key before, or gives now. Reports are made at each place.
Result<SchemaNode> SchemaReader::ReadRemembered(std::string key,
                                                const std::function<Result<SchemaNode>()>& read) {
  auto known = leaves_.find(key);
  if (known != leaves_.end() && regex_cost_ + known->second.regex_cost <= kMaxRegexCost) {
    regex_cost_ += known->second.regex_cost;
    return known->second.node;
  }
  const int64_t num_reports = num_reports_, cost = regex_cost_;
  Result<SchemaNode> node = read();
  bool is_kept = node.ok() && num_reports == num_reports_ && !WorkBudget::is_spent();
  if (is_kept) leaves_.insert_or_assign(std::move(key), Leaf{*node, regex_cost_ - cost});
  return node;
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

}  // namespace mlc
