// Nodes of listed values, of texts and of numbers.
#include <algorithm>
#include <cmath>

#include "base/utf8.h"
#include "grammar/schema/check.h"
#include "grammar/schema/reader.h"
#include "grammar/text/formats.h"
#include "grammar/text/multiples.h"
#include "grammar/text/regex_ebnf.h"
#include "grammar/text/work_budget.h"

namespace mlc {
namespace {

using Kind = SchemaNode::Kind;

// Longer texts would be valid but are not written: the matcher's states cost too much.
constexpr int64_t kMaxLength = 20000;
// Beside a pattern that does not bound them itself.
constexpr int64_t kMaxLengthBeside = 100, kMaxLengthCounted = 1000;
// The most states of an automaton, and what it may cost where there is another way, and at all. A
// state behind which any character may follow costs 1: the compiler takes up to 30 ms for it.
constexpr size_t kMostStates = 2500;
constexpr double kLowCost = 24, kMostCost = 400;

// JSON strings hold these: as they are, or as the escapes of one letter.
const Automaton& Writable() {
  static const Automaton* writable = [] {
    using Edge = Automaton::Edge;
    std::vector<Edge> edges = {{0, 1},    {'\b', 0}, {0x0B, 1},   {'\f', 0},
                               {0x0E, 1}, {' ', 0},  {0xD800, 1}, {0xE000, 0}};
    return new Automaton({{true, edges}, {false, {{0, 1}}}});
  }();
  return *writable;
}

// By the part of the printable ASCII characters that may follow each state.
double CostOf(const Automaton& texts) {
  constexpr char32_t kFirst = ' ', kEnd = '~' + 1;
  auto is_dead = [&texts](int index) {
    const Automaton::State& state = texts.states()[static_cast<size_t>(index)];
    return !state.accepts && state.edges.size() == 1 && state.edges[0].target == index;
  };
  double cost = 0;
  for (const Automaton::State& state : texts.states()) {
    for (size_t i = 0; i < state.edges.size(); ++i) {
      char32_t end = i + 1 < state.edges.size() ? state.edges[i + 1].first : kEnd;
      char32_t first = std::max(state.edges[i].first, kFirst), last = std::min(end, kEnd);
      if (first < last && !is_dead(state.edges[i].target)) cost += last - first;
    }
  }
  return cost / (kEnd - kFirst);
}

bool IsAffordable(const Automaton& texts, double most) {
  return texts.states().size() <= kMostStates && CostOf(texts) <= most;
}

// The numerals of values that are denied, without an exponent; "" for none.
Result<std::string> ExcludedNumerals(const Facts& facts) {
  std::string excluded;
  for (const Json* value : facts.excluded) {
    if (!value->is_number()) continue;
    MLC_ASSIGN_OR_RETURN(Decimal decimal, ToDecimal(*value));
    std::string zeros = decimal.fraction.empty() ? "(\\.0*)?" : "\\." + decimal.fraction + "0*";
    excluded += (excluded.empty() ? "" : "|") + std::string(decimal.negative ? "-" : "") +
                std::string(decimal.is_zero() ? "-?" : "") + decimal.whole + zeros;
  }
  return excluded;
}

bool ExcludesTexts(const Facts& facts) {
  return std::any_of(facts.excluded.begin(), facts.excluded.end(),
                     [](const Json* value) { return value->is_string(); });
}

// Whether patterns with at most so many repetitions may be small enough: judged by how their states
// grow from a few repetitions to twice as many, since each attempt takes long.
bool MayFit(const Facts& facts, int repeats) {
  constexpr int kFew = 6;
  constexpr double kMostExpected = 600;  // more states are made, of which some are equal
  for (const Facts::Pattern& pattern : facts.patterns) {
    if (pattern.negated) continue;
    Result<Automaton> few = Automaton::Matching(pattern.text, kFew);
    Result<Automaton> more = few.ok() ? Automaton::Matching(pattern.text, 2 * kFew) : few;
    if (!more.ok()) return false;
    double states = static_cast<double>(more->states().size());
    double power = std::log2(states / static_cast<double>(few->states().size()));
    if (states * std::pow(repeats / (2.0 * kFew), power) > kMostExpected) return false;
  }
  return true;
}

}  // namespace

// Checks each value that a schema lists against all other conditions.
Result<SchemaNode> SchemaReader::ReadListed(const Facts& facts, const Terms& own) {
  SchemaNode node;
  node.kind = Kind::kValues;
  ValueCheck check(references_);
  const Json* first = facts.lists.empty() ? &facts.kept[0] : facts.lists[0];
  std::set<std::string> seen;
  for (const Json& value : first->as_array()) {
    bool fits = true;
    for (const Term& term : own) {
      bool is_judged = fits && !WorkBudget::is_spent();
      std::optional<bool> verdict = is_judged ? check.Fits(value, term)
                                    : fits    ? std::optional<bool>()
                                              : false;
      if (!verdict) {
        MLC_RETURN_IF_ERROR(LeaveOut(facts.values_path,
                                     "whether its values fit all that stands beside it is not "
                                     "known; leave out those that do not"));
      }
      fits = verdict.value_or(true) && fits;
    }
    if (fits && seen.insert(TextOf(value)).second) node.values.push_back(value);
  }
  return node;
}

// The texts that patterns, formats and excluded values allow. The caller handles lengths.
Result<Automaton> SchemaReader::Texts(const Facts& facts) {
  Automaton all = Writable();
  for (const Facts::Pattern& pattern : facts.patterns) {
    Result<Automaton> one = Automaton::Matching(pattern.text);
    if (!one.ok() && pattern.is_format && !pattern.negated) {
      std::string part = FormatOfLength(pattern.text, facts.min_length, -1);
      if (!part.empty()) one = Automaton::Matching(part);
    }
    if (one.ok()) one = AgreedTexts(pattern.text, pattern.negated, *one);
    Result<Automaton> both = one.ok() ? all.And(*one) : one;
    if (both.ok()) {
      all = std::move(both).value();
    } else {
      MLC_RETURN_IF_ERROR(LeaveOut(pattern.path, both.status().message()));
    }
  }
  std::vector<std::string> excluded;
  for (const Json* value : facts.excluded) {
    if (value->is_string()) excluded.push_back(value->as_string());
  }
  if (excluded.empty()) return all;
  Result<Automaton> listed = Automaton::OfTexts(excluded);
  Result<Automaton> both = listed.ok() ? all.And(listed->Not()) : listed;
  if (both.ok()) return both;
  MLC_RETURN_IF_ERROR(LeaveOut(facts.excluded_path, both.status().message()));
  return all;
}

Result<SchemaNode> SchemaReader::ReadString(const Facts& facts) {
  SchemaNode node;
  int64_t min = facts.min_length, max = facts.max_length;
  if (min > kMaxLength) {
    MLC_RETURN_IF_ERROR(LeaveOut(facts.length_path, "it is over 20000"));
    min = 0;
  }
  if (max >= 0 && min > max) return node;  // nothing fits
  node.kind = Kind::kString;
  node.min = min;
  node.max = max < 0 ? -1 : std::min(max, kMaxLength);
  if (facts.patterns.empty() && !ExcludesTexts(facts)) return node;
  bool is_single =
      facts.patterns.size() == 1 && !ExcludesTexts(facts) && !facts.patterns[0].negated;
  if (min > 0 && is_single) {
    Result<Automaton> one = Automaton::Matching(facts.patterns[0].text);
    bool is_long_anyway = one.ok() && one->ShortestLength() >= min;
    if (is_long_anyway) min = 0;
  }
  bool is_bounded = min > 0 || max >= 0;
  if (is_single && (is_bounded || wants_automata_) && facts.patterns[0].is_format) {
    Facts whole = facts;
    whole.patterns[0].text = FormatOfLength(facts.patterns[0].text, min, max);
    Result<std::string> ebnf = RegexToEbnf(whole.patterns[0].text, {true, {0, -1}, nullptr});
    if (!whole.patterns[0].text.empty() && ebnf.ok()) {
      return ReadPatterns(whole, {0, -1}, is_single, std::move(node));
    }
  }
  return ReadPatterns(facts, {min, max}, is_single, std::move(node));
}

// Formats are annotations where nothing asks for more. One that contradicts what stands beside it,
// such as `date-time` beside a pattern of times without an offset, is read as one.
Result<SchemaNode> SchemaReader::ReadWithoutFormats(const Facts& facts) {
  Facts without = facts;
  auto may_go = [](const Facts::Pattern& one) { return one.is_format && !one.is_below_not; };
  auto first = std::find_if(facts.patterns.begin(), facts.patterns.end(), may_go);
  if (first == facts.patterns.end()) return SchemaNode();
  without.patterns.erase(std::remove_if(without.patterns.begin(), without.patterns.end(), may_go),
                         without.patterns.end());
  std::string why = "no text of the format fits what stands beside it; it is an annotation here";
  ++num_reports_;
  if (told_.insert(first->path + "\n" + why).second) out_.warnings.push_back({first->path, why});
  return ReadString(without);
}

// One pattern that says little takes few rules; one that counts much is counted by the matcher.
// `unbound` is what holds without any pattern.
Result<SchemaNode> SchemaReader::ReadPatterns(const Facts& facts, LengthRange length,
                                              bool is_single, SchemaNode unbound) {
  bool may_be_expression = is_single && !wants_automata_ && IsAnchored(facts.patterns[0].text);
  bool has_expression =
      may_be_expression && RegexToEbnf(facts.patterns[0].text, {true, length, nullptr}).ok();
  Result<Automaton> texts = AffordableTexts(facts, length, has_expression);
  bool is_affordable = texts.ok() && IsAffordable(*texts, kMostCost);
  if (may_be_expression && !(texts.ok() && IsAffordable(*texts, kLowCost))) {
    Result<std::string> ebnf =
        RegexToEbnf(facts.patterns[0].text, {/*in_json_string=*/true, length, &regex_cost_});
    if (ebnf.ok()) {
      unbound.expression = std::move(ebnf).value();
      return unbound;
    }
  }
  bool is_kept = has_expression || is_affordable;
  if (!is_kept && is_single && !facts.length_path.empty()) {
    return ReadUncounted(facts, std::move(unbound));
  }
  if (is_affordable) {
    if (texts->is_empty()) return ReadWithoutFormats(facts);
    unbound.min = 0;
    unbound.max = -1;
    unbound.text = std::make_shared<Automaton>(std::move(texts).value());
    return unbound;
  }
  bool is_told = !texts.ok() && texts.status().code() == StatusCode::kInvalidArgument;
  if (is_told) return texts.status();
  std::string why = texts.ok() ? "it takes too many rules" : texts.status().message();
  const std::string& path = facts.patterns.empty() ? facts.excluded_path : facts.patterns[0].path;
  MLC_RETURN_IF_ERROR(LeaveOut(path, why));
  return unbound;
}

// All texts that fit, or where these take too many rules the ones with fewer repetitions.
Result<Automaton> SchemaReader::AffordableTexts(const Facts& facts, LengthRange length,
                                                bool has_expression) {
  Result<Automaton> texts = BoundedTexts(facts, length.min, length.max);
  bool is_too_large = texts.ok() ? !IsAffordable(*texts, kMostCost)
                                 : texts.status().code() == StatusCode::kUnsupported;
  if (!is_too_large || has_expression || facts.patterns.empty()) return texts;
  struct Narrower {
    int repeats;
    int64_t longest;
  };
  constexpr Narrower kNarrower[] = {{40, kMaxLengthBeside},
                                    {28, kMaxLengthBeside},
                                    {12, kMaxLengthBeside},
                                    {40, 50},
                                    {12, 50},
                                    {40, 25},
                                    {12, 25}};
  for (const Narrower& one : kNarrower) {
    bool is_shorter = one.longest < kMaxLengthBeside;
    bool is_asked = length.min > 0 || length.max >= 0;
    // When lenient, leaving the length out is better than short texts.
    if (is_shorter && (!is_asked || strictness_ == Strictness::kLenient)) break;
    if (!MayFit(facts, one.repeats)) continue;
    Result<Automaton> narrow =
        NarrowTexts(facts, length.min, length.max, one.repeats, std::max(length.min, one.longest));
    if (narrow.ok() && !narrow->is_empty() && IsAffordable(*narrow, kMostCost)) return narrow;
  }
  return texts;
}

// A pattern that cannot be counted is kept, and its length left out.
Result<SchemaNode> SchemaReader::ReadUncounted(const Facts& facts, SchemaNode unbound) {
  Facts without = facts;
  without.length_path.clear();
  without.min_length = 0;
  without.max_length = -1;
  MLC_ASSIGN_OR_RETURN(SchemaNode uncounted, ReadString(without));
  if (uncounted.text == nullptr && uncounted.expression.empty()) return unbound;
  MLC_RETURN_IF_ERROR(LeaveOut(facts.length_path,
                               "counting what the pattern matches takes too many rules; write "
                               "the length into the pattern"));
  return uncounted;
}

// A part of the texts, with fewer repetitions. Denied patterns are still denied completely.
Result<Automaton> SchemaReader::NarrowTexts(const Facts& facts, int64_t min, int64_t max, int most,
                                            int64_t longest) {
  Automaton all = Writable();
  for (const Facts::Pattern& pattern : facts.patterns) {
    Result<Automaton> one = Automaton::Matching(pattern.text, pattern.negated ? -1 : most);
    if (one.ok()) one = AgreedTexts(pattern.text, pattern.negated, *one);
    if (!one.ok()) return one.status();
    MLC_ASSIGN_OR_RETURN(all, all.And(*one));
  }
  std::vector<std::string> excluded;
  for (const Json* value : facts.excluded) {
    if (value->is_string()) excluded.push_back(value->as_string());
  }
  MLC_ASSIGN_OR_RETURN(Automaton listed, Automaton::OfTexts(excluded));
  MLC_ASSIGN_OR_RETURN(all, all.And(listed.Not()));
  int64_t most_read = all.LongestLength();
  bool is_short = max < 0 || (most_read >= 0 && most_read <= max);
  if (is_short && (min == 0 || all.ShortestLength() >= min)) return all;
  if (min > kMaxLengthCounted) return Unsupported("its lengths take too many rules");
  Result<Automaton> both =
      all.And(Automaton::OfLength(min, max < 0 ? longest : std::min(max, longest)));
  return both;
}

// Texts() of a length. Where nothing else bounds them, long ones are not written if that takes too
// many rules.
Result<Automaton> SchemaReader::BoundedTexts(const Facts& facts, int64_t min, int64_t max) {
  bool is_single = facts.patterns.size() == 1 && !facts.patterns[0].negated;
  if (is_single) {  // large ones have another way
    Result<Automaton> one = Automaton::Matching(facts.patterns[0].text);
    if (!one.ok()) return Unsupported(one.status().message());
  }
  MLC_ASSIGN_OR_RETURN(Automaton texts, Texts(facts));
  if (min == 0 && max < 0 && IsAffordable(texts, kMostCost)) return texts;
  bool is_bounded = min > 0 || max >= 0;
  if (is_bounded && std::max(min, max) <= kMaxLengthCounted) {
    Result<Automaton> both = texts.And(Automaton::OfLength(min, max));
    if (both.ok() && IsAffordable(*both, kMostCost)) return both;
  }
  int64_t most = std::max(min, kMaxLengthBeside);
  if (max >= 0) most = std::min(most, max);
  if (most > kMaxLengthCounted) return Unsupported("its lengths take too many rules");
  Result<Automaton> both = texts.And(Automaton::OfLength(min, most));
  if (both.ok()) return both;
  return both.status();
}

// The numerals of `regex` that meet the other conditions; none if all of them do.
Status SchemaReader::JoinNumerals(const std::string& regex, Result<Automaton> one,
                                  const std::string& path, std::optional<Automaton>* numerals) {
  if (!*numerals) {
    Result<Automaton> all = Automaton::MatchingWhole(regex);
    if (!all.ok()) return LeaveOut(path, all.status().message());
    *numerals = std::move(all).value();
  }
  Result<Automaton> both = one.ok() ? (*numerals)->And(*one) : one;
  if (both.ok() && both->states().size() > kMostStates)
    both = Unsupported("it takes too many rules");
  if (!both.ok()) return LeaveOut(path, both.status().message());
  *numerals = std::move(both).value();
  return Status();
}

Status SchemaReader::NarrowNumerals(const Facts& facts, const std::string& regex,
                                    std::optional<Automaton>* numerals) {
  bool is_integer = (facts.types & kFractionType) == 0;
  if ((facts.types & kIntegerType) == 0) {
    // No whole ones, for readers of 15 digits either.
    constexpr char kFractions[] =
        "-?(0\\.[0-9]{0,14}[1-9]|[1-9][0-9]{0,5}\\.[0-9]{0,8}[1-9]|[1-9][0-9]{0,10}\\.[0-9]{0,3}[1-"
        "9])";
    MLC_RETURN_IF_ERROR(
        JoinNumerals(regex, Automaton::MatchingWhole(kFractions), facts.range_path, numerals));
  }
  for (const Facts::Step& step : facts.steps) {
    Result<Automaton> multiples = MultiplesOf(step.of);
    if (multiples.ok() && step.negated) {
      // Without an exponent, so that it is a number that is no multiple.
      Result<Automaton> plain = Automaton::MatchingWhole("-?[0-9]+(\\.[0-9]+)?");
      multiples = plain.ok() ? multiples->Not().And(*plain) : plain;
    }
    MLC_RETURN_IF_ERROR(JoinNumerals(regex, std::move(multiples), step.path, numerals));
  }
  if (!facts.steps.empty() && !is_integer) {  // what a reader rounds may be no multiple
    MLC_RETURN_IF_ERROR(
        JoinNumerals(regex, Automaton::OfLength(1, 14), facts.steps[0].path, numerals));
  }
  MLC_ASSIGN_OR_RETURN(std::string excluded, ExcludedNumerals(facts));
  if (excluded.empty()) return Status();
  // The same with an exponent is not told apart: none is written.
  Result<Automaton> listed = Automaton::MatchingWhole(excluded + "|.*[eE].*");
  if (listed.ok()) listed = listed->Not();
  return JoinNumerals(regex, std::move(listed), facts.excluded_path, numerals);
}

Result<SchemaNode> SchemaReader::ReadNumeral(const Facts& facts) {
  SchemaNode node;
  node.kind = Kind::kNumeral;
  bool is_integer = (facts.types & kFractionType) == 0;
  Result<std::string> regex = is_integer ? IntegerRegex(facts.range) : NumberRegex(facts.range);
  if (!regex.ok()) {
    MLC_RETURN_IF_ERROR(LeaveOut(facts.range_path, regex.status().message()));
    regex = is_integer ? IntegerRegex({}) : NumberRegex({});
  }
  if (regex->empty()) return SchemaNode();
  std::optional<Automaton> numerals;
  MLC_RETURN_IF_ERROR(NarrowNumerals(facts, *regex, &numerals));
  if (numerals) {
    if (numerals->is_empty()) return SchemaNode();
    node.text = std::make_shared<Automaton>(std::move(*numerals));
    return node;
  }
  bool is_any = !is_integer && !facts.range.min && !facts.range.max;
  node.expression = "number";  // of the rules that all share
  if (!is_any) {
    MLC_ASSIGN_OR_RETURN(node.expression, RegexToEbnf(*regex));
  }
  return node;
}

}  // namespace mlc
