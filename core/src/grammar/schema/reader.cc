#include "grammar/schema/reader.h"

#include <algorithm>

#include "grammar/text/formats.h"
#include "grammar/text/work_budget.h"

namespace mlc {
namespace {

using Kind = SchemaNode::Kind;

constexpr int kMaxNesting = 96;  // of schemas within each other, references included
constexpr int64_t kMaxNodes = 20000;
constexpr int64_t kMaxParts = 100'000;  // of all nodes together
constexpr size_t kMaxAlternatives = 2000;
// The work of making and comparing sets of texts. There is one such budget for all rounds, and one
// for the last round. A unit takes about 10 ns.
constexpr int64_t kMaxWork = kMaxSchemaWork / 2;
constexpr int kMaxRounds = 12;  // of taking apart branches of oneOf that overlap
// Parts of the first round, and of all rounds. Those of 435 schemas whose branches are told apart
// have at most 1,855, and 39,000 in all.
constexpr int64_t kMostTold = 10'000, kMostOfRounds = 60'000;

std::string NameOf(const std::string& path) { return path.empty() ? "the schema" : path; }

}  // namespace

Status SchemaReader::LeaveOut(const std::string& path, const std::string& why) {
  ++num_reports_;
  if (strictness_ == Strictness::kStrict) {
    refusal_ = {path, why};
    return CannotEnforce(path, why);
  }
  if (told_.insert(path + "\n" + why).second) out_.warnings.push_back({path, why});
  return Status();
}

void SchemaReader::SetLimits(int64_t nodes, int64_t parts) {
  most_nodes_ = std::min(nodes, kMaxNodes);
  most_parts_ = std::min(parts, kMaxParts);
}

Result<Schema> SchemaReader::Run() {
  SetLimits(kMaxNodes, kMaxParts);
  std::optional<WorkBudget> budget(std::in_place, kMaxWork);
  MLC_ASSIGN_OR_RETURN(const std::vector<Overlap> overlaps, Round());
  if (overlaps.empty()) return std::move(out_);
  // What denies other branches makes a schema larger, in all ways to do so perhaps far larger.
  const int64_t num_nodes = static_cast<int64_t>(out_.nodes.size()), num_parts = parts_read_;
  bool is_full = num_nodes >= kMaxNodes || num_parts >= kMostTold;
  int64_t parts_left = kMostOfRounds;
  bool is_whole = !WorkBudget::is_spent();
  Schema with_overlaps = std::move(out_);
  std::set<std::string> told = std::move(told_);
  SetLimits(2 * num_nodes + 500, 2 * num_parts + 2000);
  for (int round = 1; !is_full && round < kMaxRounds && !WorkBudget::is_spent(); ++round) {
    most_parts_ = std::min(most_parts_, parts_left);
    Result<std::vector<Overlap>> next = Round();
    parts_left -= parts_read_;
    if (!next.ok() && most_ways_ == 1) break;
    if (!next.ok()) most_ways_ = 1;
    if (!next.ok()) SetLimits(2 * num_nodes + 2000, 2 * num_parts + 20'000);
    bool is_done = next.ok() && next->empty() && !AllowMoreWays();
    if (is_done) return std::move(out_);
  }
  // Branches that still overlap cannot be separated.
  has_given_up_ = true;
  if (!is_whole) {
    overlaps_.clear();
    overlap_paths_.clear();
    alternatives_.clear();
    flats_.clear();
    possible_.clear();
    most_ways_ = kAllWays;
    SetLimits(kMaxNodes, kMaxParts);
    budget.reset();
    budget.emplace(kMaxWork);
    MLC_ASSIGN_OR_RETURN(const std::vector<Overlap> left, Round());
    return GiveUpOverlaps(left);
  }
  out_ = std::move(with_overlaps);
  told_ = std::move(told);
  return GiveUpOverlaps(overlaps);
}

Result<Schema> SchemaReader::GiveUpOverlaps(const std::vector<Overlap>& overlaps) {
  for (const Overlap& one : overlaps) {
    MLC_RETURN_IF_ERROR(LeaveOut(
        one.path, "a value may fit both branch " + std::to_string(one.first) + " and branch " +
                      std::to_string(one.second) +
                      "; tell them apart by a required property with constants, or write anyOf"));
  }
  return std::move(out_);
}

// The overlaps that were not known before.
Result<std::vector<SchemaReader::Overlap>> SchemaReader::Round() {
  out_ = Schema();
  nodes_.clear();
  same_.clear();
  checked_.clear();
  ForgetChanged();
  told_.clear();
  given_up_.clear();
  one_ofs_.clear();
  cuts_.clear();
  any_node_ = SchemaNode::kNone;
  regex_cost_ = num_optional_ = parts_read_ = 0;
  MLC_ASSIGN_OR_RETURN(out_.root, ReadOne(document_, Path()));
  std::vector<Overlap> found;
  constexpr size_t kMaxBranches = 200;
  for (const OneOf& one_of : one_ofs_) {
    if (one_of.parts.size() > kMaxBranches) {
      MLC_RETURN_IF_ERROR(LeaveOut(one_of.path, "it has too many branches"));
      continue;
    }
    const Json* branches = one_of.schema->Find("oneOf");
    size_t before = found.size();
    for (size_t i = 0; i < one_of.parts.size(); ++i) {
      for (size_t j = i + 1; j < one_of.parts.size(); ++j) {
        if (overlaps_.count({branches, i, j}) != 0) continue;
        if (AreDisjoint(out_, one_of.parts[i], one_of.parts[j])) continue;
        if (has_given_up_ && WorkBudget::is_spent()) {
          MLC_RETURN_IF_ERROR(LeaveOut(one_of.path, WorkBudget::Error().message()));
          continue;
        }
        found.push_back({one_of.path, i, j});
        if (has_given_up_) continue;
        overlaps_.insert({branches, i, j});
        overlaps_.insert({branches, j, i});
      }
    }
    if (found.size() == before) continue;
    overlap_paths_.insert(one_of.path);
    changed_.insert(std::string(reinterpret_cast<const char*>(&one_of.schema), sizeof(Json*)));
  }
  return found;
}

int SchemaReader::Add(SchemaNode node) {
  out_.nodes.push_back(std::move(node));
  return static_cast<int>(out_.nodes.size()) - 1;
}

int SchemaReader::AnyNode() {
  if (any_node_ == SchemaNode::kNone) {
    SchemaNode any;
    any.kind = Kind::kAny;
    any_node_ = Add(std::move(any));
  }
  return any_node_;
}

Result<int> SchemaReader::ReadOne(const Json& schema, Path path) {
  return Read({WholeTerm(schema, std::move(path))});
}

Result<int> SchemaReader::Read(Terms terms) {
  for (Term& term : terms) {
    MLC_ASSIGN_OR_RETURN(term, Direct(std::move(term)));
  }
  std::string key = SetKeyOf(terms);
  auto found = nodes_.find(key);
  if (found != nodes_.end()) return found->second;
  std::string same_key = SameKeyOf(terms);
  auto same = same_.find(same_key);
  if (same != same_.end()) return nodes_.emplace(std::move(key), same->second).first->second;
  auto path = [&terms] { return NameOf(terms.empty() ? Path() : terms[0].path); };
  bool is_large = static_cast<int64_t>(out_.nodes.size()) >= most_nodes_;
  bool is_last = most_nodes_ == kMaxNodes && overlaps_.empty();
  bool may_leave_out = strictness_ == Strictness::kLenient && is_last;
  if (may_leave_out && (is_large || depth_ >= kMaxNesting || parts_read_ >= most_parts_)) {
    MLC_RETURN_IF_ERROR(LeaveOut(path(), "the schema is too large, or nested too deeply"));
    return AnyNode();
  }
  if (is_large || !WorkBudget::SpendParts(1)) {
    return InvalidArgument(path() + " makes the schema too large: over " +
                           std::to_string(most_nodes_) + " parts");
  }
  if (depth_ >= kMaxNesting) {
    return InvalidArgument(path() + " is nested over " + std::to_string(kMaxNesting) +
                           " levels deep");
  }
  parts_read_ += static_cast<int64_t>(terms.size());
  if (parts_read_ > most_parts_) {
    return InvalidArgument(path() + " makes the schema too large: its parts are joined over " +
                           std::to_string(most_parts_) + " times");
  }
  int node = Add(SchemaNode());
  nodes_.emplace(std::move(key), node);
  const int64_t num_reports = num_reports_;
  ++depth_;
  Status status = Fill(node, terms);
  --depth_;
  if (!status.ok()) return status;
  if (num_reports == num_reports_ && !same_key.empty()) same_.emplace(std::move(same_key), node);
  return node;
}

Status SchemaReader::Fill(int node, const Terms& terms) {
  Flat flat;
  for (Term term : terms) {
    if (terms.size() == 1 && term.is_whole()) term.sees_all = true;
    MLC_RETURN_IF_ERROR(Flatten(term, &flat));
  }
  if (!flat.is_never) MLC_RETURN_IF_ERROR(Settle(&flat));
  if (flat.is_never && flat.given_up) given_up_.emplace(node, *flat.given_up);
  if (flat.is_never) return Status();
  return flat.choices.empty() ? FillPlain(node, flat.own) : FillChoice(node, std::move(flat));
}

// One node for each alternative of the first choice, with everything else joined to it.
Status SchemaReader::FillChoice(int node, Flat flat) {
  // The other members are known only after everything else.
  std::stable_partition(flat.choices.begin(), flat.choices.end(),
                        [](const Term& choice) { return choice.part != "additionalProperties"; });
  const Term& choice = flat.choices[0];
  bool is_of_others = choice.part == "additionalProperties";
  std::vector<Terms> others;
  const std::vector<Terms>* known = &others;
  if (is_of_others) {
    others = OtherMembers(choice, flat.own);
  } else {
    MLC_ASSIGN_OR_RETURN(known, KnownAlternatives(choice, KeyOf(choice)));
  }
  const std::vector<Terms>& alternatives = *known;
  if (is_of_others && others.empty()) {
    // No other member can be there.
    if (std::any_of(flat.own.begin(), flat.own.end(), IsClosed)) return Status();
    Flat none;
    MLC_RETURN_IF_ERROR(GiveUp(choice, Path(choice.path, choice.part), &none));
    if (none.given_up) given_up_.emplace(node, *none.given_up);
    if (none.is_never) return Status();
    others.push_back({});
  }
  Path where(choice.path, choice.part == "contrary" ? "not" : choice.part);
  if (alternatives.size() > kMaxAlternatives)
    return CannotEnforce(where, "it has too many branches");
  SchemaNode choices;
  choices.kind = Kind::kUnion;
  std::vector<bool> possible = PossibleOf(choice, alternatives, flat);
  bool is_one_of = choice.part == "oneOf" && !choice.negated;
  bool is_part = choice.negated && KeepEasy(choice, alternatives, &possible);
  if (is_part) {
    cuts_[node] = {choice.schema, std::string(choice.part)};
    out_.given_up.push_back({node, {where, "it is denied in too many ways"}});
  }
  for (size_t i = 0; i < alternatives.size(); ++i) {
    if (!possible[i]) {  // the parts of a oneOf have the numbers of its branches
      if (is_one_of) choices.parts.push_back(Add(SchemaNode()));
      continue;
    }
    Terms all = flat.own;
    all.insert(all.end(), flat.choices.begin() + 1, flat.choices.end());
    all.insert(all.end(), alternatives[i].begin(), alternatives[i].end());
    int part = SchemaNode::kNone;
    auto read = [&]() -> Status {
      MLC_ASSIGN_OR_RETURN(part, Read(std::move(all)));
      return Status();
    };
    // A denied schema is broken in one of several ways: those that have no grammar are given up.
    MLC_ASSIGN_OR_RETURN(bool is_read, choice.negated ? Try(read) : Do(read));
    if (!is_read) out_.given_up.push_back({node, *refusal_});
    if (!is_read) continue;
    choices.parts.push_back(part);
    auto given_up = given_up_.find(part);
    if (given_up != given_up_.end()) out_.given_up.push_back({node, given_up->second});
  }
  if (is_one_of) {
    one_ofs_.push_back({choices.parts, choice.schema, where});
  }
  out_.nodes[static_cast<size_t>(node)] = std::move(choices);
  bool is_whole = out_.given_up.empty() || out_.given_up.back().node != node;
  return is_whole || flat.own.empty() ? Status() : AddOutline(node, flat.own);
}

// Notes a node that all values fit which fit this one, whether they are written or not.
Status SchemaReader::AddOutline(int node, const Terms& own) {
  int outline = SchemaNode::kNone;
  MLC_ASSIGN_OR_RETURN(bool is_read, Try([&]() -> Status {
                         outline = Add(SchemaNode());
                         return FillPlain(outline, own);
                       }));
  if (is_read) out_.outlines[node] = outline;
  return Status();
}

// A part for each type. Without `type`, the types to which the other keywords apply: values of
// other types would be valid too, but nobody wants them.
Status SchemaReader::FillPlain(int node, const Terms& own) {
  LeaveOutFn leave_out = [this](const std::string& path, const std::string& why) {
    return LeaveOut(path, why);
  };
  MLC_ASSIGN_OR_RETURN(Facts facts, GatherFacts(own, leave_out));
  SchemaNode out;
  bool is_listed = !facts.lists.empty() || !facts.kept.empty();
  bool is_open = !facts.has_types && facts.meant == 0 && facts.excluded.empty();
  bool is_implied = !facts.has_types && facts.meant != 0;
  if (is_implied) facts.types = facts.meant;
  if (is_listed) {
    MLC_ASSIGN_OR_RETURN(out, ReadListed(facts, own));
  } else if (is_open) {
    out.kind = Kind::kAny;
  } else {
    out.kind = Kind::kUnion;
    for (const char* type : {"object", "array", "string", "number", "integer", "boolean", "null"}) {
      unsigned bits = TypeBitsOf(type);
      // Numbers are one part: `number`, or `integer` where fractions are not allowed.
      bool is_whole = bits == kIntegerType && (facts.types & kFractionType) != 0;
      unsigned wanted = bits == kNumberType ? static_cast<unsigned>(kFractionType) : bits;
      if ((facts.types & wanted) == 0 || is_whole) continue;
      MLC_ASSIGN_OR_RETURN(SchemaNode part, ReadType(type, facts));
      part.is_implied = is_implied;
      out.parts.push_back(Add(std::move(part)));
    }
    if (out.parts.size() == 1) {
      int only = out.parts[0];
      out = std::move(out_.nodes[static_cast<size_t>(only)]);
      out_.nodes[static_cast<size_t>(only)] = SchemaNode();
    }
  }
  out_.nodes[static_cast<size_t>(node)] = std::move(out);
  return Status();
}

Result<SchemaNode> SchemaReader::ReadType(const char* type, const Facts& facts) {
  unsigned bits = TypeBitsOf(type);
  if (bits == kObjectType || bits == kArrayType) {
    auto excludes = [bits](const Json* value) { return TypeOf(*value) == bits; };
    if (std::any_of(facts.excluded.begin(), facts.excluded.end(), excludes)) {
      MLC_RETURN_IF_ERROR(
          LeaveOut(facts.excluded_path, "values that are objects or lists cannot be left out"));
    }
  }
  if (bits == kObjectType) return ReadObject(facts);
  if (bits == kArrayType) return ReadArray(facts);
  if (bits == kStringType) {
    return ReadRemembered(KeyOfTexts(facts), [&] { return ReadString(facts); });
  }
  if (bits == kNumberType || bits == kIntegerType) {
    return ReadRemembered(KeyOfNumerals(facts), [&] { return ReadNumeral(facts); });
  }
  SchemaNode node;
  node.kind = Kind::kValues;
  Json::Array all = bits == kNullType ? Json::Array{Json()} : Json::Array{true, false};
  for (const Json& value : all) {
    bool is_out = std::any_of(facts.excluded.begin(), facts.excluded.end(),
                              [&](const Json* other) { return *other == value; });
    if (!is_out) node.values.push_back(value);
  }
  return node;
}

Result<Schema> ReadSchema(const Json& document, Strictness strictness, bool remembers) {
  return SchemaReader(document, strictness, remembers).Run();
}

}  // namespace mlc
