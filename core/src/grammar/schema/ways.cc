// In how many ways a denied schema is broken: in the easy ones, and in more where no value fits
// those.
#include <algorithm>

#include "grammar/schema/reader.h"

namespace mlc {
namespace {

constexpr size_t kMostWays = 10'000;  // to break a denied schema

using Terms = std::vector<Term>;

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

}  // namespace mlc
