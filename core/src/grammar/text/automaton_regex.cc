// Converts regular expressions to automata: first to a nondeterministic one. Its sets of states
// then become the states of the deterministic one.
#include <algorithm>
#include <climits>
#include <unordered_map>

#include "grammar/text/automaton.h"
#include "grammar/text/automaton_memo.h"
#include "grammar/text/look_ahead.h"
#include "grammar/text/work_budget.h"
#include "text/regex/regex_ast.h"

namespace mlc {
namespace {

using RegexKind = RegexNode::Kind;

constexpr size_t kMaxParts = 6000;        // when repetitions are written out
constexpr int64_t kMaxWork = 12'000'000;  // steps to the sets of states, of one pattern

// What they count for: about 10 ns each.
constexpr int64_t kWorkOfSet = 10, kWorkOfBorder = 10, kWorkOfPart = 3;

}  // namespace

class AutomatonBuilder {
 public:
  static Result<Automaton> Build(const RegexNode& root, bool is_whole) {
    AutomatonBuilder builder;
    int begin = builder.AddPart(), end = builder.AddPart();
    const CodePointRanges all = {{0, 0x10FFFF}};
    if (!is_whole) {
      builder.ways_[static_cast<size_t>(begin)].push_back({Way::When::kCharacter, begin, all});
      builder.ways_[static_cast<size_t>(end)].push_back({Way::When::kCharacter, end, all});
    }
    MLC_RETURN_IF_ERROR(builder.Add(root, begin, end));
    return builder.Determine(begin, end);
  }

  // The texts at the beginning of which what is looked ahead for stands, or the others.
  static Result<Automaton> BuildLook(const RegexNode& look) {
    AutomatonBuilder builder;
    builder.is_look_ = true;
    int begin = builder.AddPart(), end = builder.AddPart();
    builder.Link(end, end, Way::When::kCharacter, {{0, 0x10FFFF}});
    MLC_RETURN_IF_ERROR(builder.AddSequence(look, begin, end));
    MLC_ASSIGN_OR_RETURN(Automaton ahead, builder.Determine(begin, end));
    return look.negated ? ahead.Not() : ahead;
  }

 private:
  // A part, and whether '$' was passed, behind which no character may follow.
  static int EntryOf(int part, bool ended) { return 2 * part + ended; }
  static int PartOf(int entry) { return entry / 2; }
  static bool HasEnded(int entry) { return entry % 2 != 0; }
  using Entries = std::vector<int>;  // sorted
  struct HashOf {
    size_t operator()(const std::vector<int>& all) const {
      size_t hash = all.size();
      for (int one : all) hash = (hash ^ static_cast<size_t>(one)) * 0x9E3779B97F4A7C15u;
      return hash ^ (hash >> 32);
    }
  };
  // Where parts begin to be reached, and where they have just ended.
  struct Border {
    char32_t at;
    int part;
    int change;  // 1 or -1
  };

  int AddPart() {
    ++work_;
    ways_.emplace_back();
    return static_cast<int>(ways_.size()) - 1;
  }

  void Link(int from, int to, Way::When when, CodePointRanges set = {}) {
    ways_[static_cast<size_t>(from)].push_back({when, to, std::move(set)});
  }

  Status Add(const RegexNode& node, int from, int to) {
    if (ways_.size() > kMaxParts) return Unsupported("it is too large");
    switch (node.kind) {
      case RegexKind::kSet:
        Link(from, to, Way::When::kCharacter, node.set);
        return Status();
      case RegexKind::kSequence:
        return AddSequence(node, from, to);
      case RegexKind::kAlternatives:
        for (const RegexNodePtr& child : node.children) {
          MLC_RETURN_IF_ERROR(Add(*child, from, to));
        }
        return Status();
      case RegexKind::kRepeat:
        return AddRepeat(node, from, to);
      case RegexKind::kAssert:
        return AddAssert(node.assertion, from, to);
      case RegexKind::kLook:
        return AddLook(node, from, to);
      default:
        return Unsupported("atomic groups have no grammar");
    }
  }

  Status AddLook(const RegexNode& node, int from, int to) {
    if (node.behind) return Unsupported("look-behind has no grammar");
    MLC_ASSIGN_OR_RETURN(Automaton look, BuildLook(node));
    Link(from, to, Way::When::kLook);
    ways_[static_cast<size_t>(from)].back().look = static_cast<int>(looks_.size());
    looks_.push_back(std::move(look));
    looks_ahead_ = true;
    return Status();
  }

  Status AddAssert(RegexNode::Assert assertion, int from, int to) {
    bool is_edge = assertion == RegexNode::Assert::kWordEdge;
    bool looks_back = is_edge || assertion == RegexNode::Assert::kNoWordEdge ||
                      assertion == RegexNode::Assert::kLineBegin;
    if (is_look_ && looks_back) {
      return Unsupported("'^' and \\b have no grammar where a pattern looks ahead");
    }
    if (assertion == RegexNode::Assert::kLineBegin) {
      Link(from, to, Way::When::kAtBegin);
    } else if (assertion == RegexNode::Assert::kLineEnd) {
      Link(from, to, Way::When::kAtEnd);
    } else if (looks_back) {
      Link(from, to, is_edge ? Way::When::kWordEdge : Way::When::kNoWordEdge);
      looks_ahead_ = true;
    } else {
      return Unsupported("\\A, \\z and \\Z have no grammar");
    }
    return Status();
  }

  Status AddSequence(const RegexNode& node, int from, int to) {
    for (const RegexNodePtr& child : node.children) {
      int next = AddPart();
      MLC_RETURN_IF_ERROR(Add(*child, from, next));
      from = next;
    }
    Link(from, to, Way::When::kAlways);
    return Status();
  }

  Status AddRepeat(const RegexNode& node, int from, int to) {
    for (int i = 0; i < node.min; ++i) {
      int next = AddPart();
      MLC_RETURN_IF_ERROR(Add(*node.children[0], from, next));
      from = next;
    }
    if (node.max < 0) {  // a place of its own, that nothing else leads back to
      int loop = AddPart();
      Link(from, loop, Way::When::kAlways);
      MLC_RETURN_IF_ERROR(Add(*node.children[0], loop, loop));
      from = loop;
    }
    for (int i = node.min; i < node.max; ++i) {
      Link(from, to, Way::When::kAlways);
      int next = AddPart();
      MLC_RETURN_IF_ERROR(Add(*node.children[0], from, next));
      from = next;
    }
    Link(from, to, Way::When::kAlways);
    return Status();
  }

  // Whether every rest of a text is accepted: then nothing else that is reached matters.
  bool HasFreeRest(const Entries& entries) const {
    bool is_open = !ways_[static_cast<size_t>(end_)].empty();
    return is_open && std::count(entries.begin(), entries.end(), EntryOf(end_, false)) != 0;
  }

  // With all that is reached without a character.
  Entries Close(bool at_begin, const std::vector<int>& parts) {
    Entries entries;
    auto add = [&](int entry) {
      if (seen_[static_cast<size_t>(entry)]) return;
      seen_[static_cast<size_t>(entry)] = true;
      entries.push_back(entry);
    };
    for (int part : parts) add(EntryOf(part, false));
    work_ += kWorkOfSet;
    for (size_t i = 0; i < entries.size(); ++i) {
      int entry = entries[i];
      for (const Way& way : ways_[static_cast<size_t>(PartOf(entry))]) {
        work_ += kWorkOfPart;
        bool is_open = way.when == Way::When::kAlways || way.when == Way::When::kAtEnd ||
                       (way.when == Way::When::kAtBegin && at_begin);
        if (is_open) {
          add(EntryOf(way.target, HasEnded(entry) || way.when == Way::When::kAtEnd));
        }
      }
    }
    for (int entry : entries) seen_[static_cast<size_t>(entry)] = false;
    if (HasFreeRest(entries)) return {EntryOf(end_, false)};
    std::sort(entries.begin(), entries.end());
    return entries;
  }

  std::vector<Border> BordersOf(const Entries& entries) {
    std::vector<Border> borders;
    for (int entry : entries) {
      if (HasEnded(entry)) continue;
      for (const Way& way : ways_[static_cast<size_t>(PartOf(entry))]) {
        for (const auto& [first, last] : way.set) {
          borders.push_back({first, way.target, 1});
          if (last < 0x10FFFF) borders.push_back({last + 1, way.target, -1});
        }
      }
    }
    std::sort(borders.begin(), borders.end(),
              [](const Border& a, const Border& b) { return a.at < b.at; });
    work_ += kWorkOfBorder * static_cast<int64_t>(borders.size());
    return borders;
  }

  // Goes over the characters from border to border and keeps the parts that are reached.
  Automaton::State StateOf(const Entries& entries) {
    Automaton::State state;
    std::vector<Border> borders = BordersOf(entries);
    std::vector<int> parts;
    std::vector<std::pair<int, int>> reached;  // sorted parts, and how many ways lead there
    for (size_t i = 0; i < borders.size() || state.edges.empty();) {
      bool is_first = state.edges.empty() && (borders.empty() || borders[0].at > 0);
      char32_t at = is_first ? 0 : borders[i].at;
      for (; i < borders.size() && borders[i].at == at; ++i) {
        auto place = std::lower_bound(reached.begin(), reached.end(),
                                      std::make_pair(borders[i].part, INT_MIN));
        bool is_there = place != reached.end() && place->first == borders[i].part;
        if (!is_there) place = reached.insert(place, {borders[i].part, 0});
        place->second += borders[i].change;
        if (place->second == 0) reached.erase(place);
      }
      parts.clear();
      for (const auto& [part, count] : reached) parts.push_back(part);
      work_ += kWorkOfPart * static_cast<int64_t>(parts.size());
      int target = NameOf(parts);
      bool is_same = !state.edges.empty() && state.edges.back().target == target;
      if (!is_same) state.edges.push_back({at, target});
    }
    return state;
  }

  // The number of the state for those parts and what they lead to.
  int NameOf(const std::vector<int>& parts) {
    auto known = by_parts_.find(parts);
    if (known != by_parts_.end()) return known->second;
    int name = Add(Close(false, parts));
    by_parts_.emplace(parts, name);
    return name;
  }

  int Add(Entries entries) {
    auto [found, is_new] = names_.emplace(std::move(entries), static_cast<int>(order_.size()));
    if (is_new) order_.push_back(&found->first);
    return found->second;
  }

  Result<Automaton> Determine(int begin, int end) {
    if (!WorkBudget::Spend(work_)) return WorkBudget::Error();
    if (looks_ahead_) return DetermineWithLooks(ways_, begin, end, std::move(looks_));
    end_ = end;
    seen_.assign(2 * ways_.size(), false);
    Add(Close(true, {begin}));
    std::vector<Automaton::State> states;
    for (size_t i = 0; i < order_.size(); ++i) {
      int64_t work_before = work_;
      const Entries& entries = *order_[i];
      Automaton::State state = StateOf(entries);
      for (bool ended : {false, true}) {
        bool is_at_end = std::binary_search(entries.begin(), entries.end(), EntryOf(end, ended));
        state.accepts = state.accepts || is_at_end;
      }
      states.push_back(std::move(state));
      if (order_.size() > 2 * kMaxAutomatonStates || work_ > kMaxWork) {
        return Unsupported("it is too large");
      }
      if (!WorkBudget::Spend(work_ - work_before)) return WorkBudget::Error();
    }
    return Automaton(std::move(states));
  }

  Ways ways_;
  int end_ = -1;
  std::vector<Automaton> looks_;  // what ways look ahead for
  bool looks_ahead_ = false;      // at these, or at the edges of words
  bool is_look_ = false;          // the expression is what another one looks ahead for
  std::vector<bool> seen_;        // by entry, while a set is closed
  std::unordered_map<Entries, int, HashOf> names_;              // the states
  std::vector<const Entries*> order_;                           // by number
  std::unordered_map<std::vector<int>, int, HashOf> by_parts_;  // before they are closed
  int64_t work_ = 0;
};

namespace {

RegexNode* InnermostPart(RegexNode* node) {
  bool is_group = node->kind == RegexKind::kSequence || node->kind == RegexKind::kAlternatives;
  while (is_group && node->children.size() == 1) {
    node = node->children[0].get();
    is_group = node->kind == RegexKind::kSequence || node->kind == RegexKind::kAlternatives;
  }
  return node;
}

bool IsBegin(const RegexNode& node) {
  return node.kind == RegexKind::kAssert && node.assertion == RegexNode::Assert::kLineBegin;
}

// Takes what `^(?=...)` and `^(?!...)` say out of the expression, each as one that begins with '^'.
std::vector<std::pair<RegexNodePtr, bool>> TakeLooks(RegexNode* root) {
  std::vector<std::pair<RegexNodePtr, bool>> looks;
  RegexNode* node = InnermostPart(root);
  if (node->kind != RegexKind::kSequence || node->children.empty() ||
      !IsBegin(*node->children[0])) {
    return looks;
  }
  std::vector<RegexNodePtr>& children = node->children;
  while (children.size() > 1 && children[1]->kind == RegexKind::kLook && !children[1]->behind) {
    RegexNodePtr whole = MakeRegexNode(RegexKind::kSequence);
    whole->children.push_back(MakeRegexAssert(RegexNode::Assert::kLineBegin));
    for (RegexNodePtr& child : children[1]->children) whole->children.push_back(std::move(child));
    looks.emplace_back(std::move(whole), children[1]->negated);
    children.erase(children.begin() + 1);
  }
  return looks;
}

// A pattern that may match anywhere matches with the fewest repetitions at its ends, too.
void ShortenEnds(RegexNode* root) {
  RegexNode* node = InnermostPart(root);
  auto shorten = [](RegexNode* part) {
    if (part->kind == RegexKind::kRepeat) part->max = part->min;
  };
  if (node->kind != RegexKind::kSequence || node->children.empty()) return shorten(node);
  shorten(node->children.front().get());
  shorten(node->children.back().get());
}

void Narrow(int most, RegexNode* node) {
  if (node->kind == RegexKind::kRepeat && node->max > most) node->max = std::max(node->min, most);
  if (node->kind == RegexKind::kLook) return;  // fewer there may be more here
  for (RegexNodePtr& child : node->children) Narrow(most, child.get());
}

Result<Automaton> BuildAll(std::string_view pattern, bool is_whole, int most) {
  bool is_in_budget = WorkBudget::Spend(static_cast<int64_t>(pattern.size()));
  if (!is_in_budget) return WorkBudget::Error();
  MLC_ASSIGN_OR_RETURN(RegexNodePtr root, ParseRegex(pattern, RegexSyntax::kEcmaScript));
  if (!is_whole) ShortenEnds(root.get());
  if (most >= 0) Narrow(most, root.get());
  std::vector<std::pair<RegexNodePtr, bool>> looks = TakeLooks(root.get());
  MLC_ASSIGN_OR_RETURN(Automaton all, AutomatonBuilder::Build(*root, is_whole));
  for (const auto& [look, is_negated] : looks) {
    MLC_ASSIGN_OR_RETURN(Automaton ahead, AutomatonBuilder::Build(*look, false));
    MLC_ASSIGN_OR_RETURN(all, all.And(is_negated ? ahead.Not() : ahead));
  }
  return all;
}

}  // namespace

Result<Automaton> Automaton::Matching(std::string_view pattern, int most) {
  std::string key = std::to_string(most) + " " + std::string(pattern);
  return AutomatonMemo::Remember('m', {}, key, [&] { return BuildAll(pattern, false, most); });
}

Result<Automaton> Automaton::MatchingWhole(std::string_view pattern) {
  return AutomatonMemo::Remember('w', {}, std::string(pattern),
                                 [&] { return BuildAll(pattern, true, -1); });
}

// ECMAScript's \\d and \\w are ASCII, Python's are not; what matches here matches in both, but not
// what does not. Python's '$' also matches before a last line break.
Result<Automaton> AgreedTexts(const std::string& pattern, bool negated, const Automaton& matching) {
  Automaton out = negated ? matching.Not() : matching;
  bool denies = negated || pattern.find("(?!") != std::string::npos;
  const char* kClasses[] = {"\\d", "\\D", "\\w", "\\W", "\\s", "\\S", "\\b", "\\B"};
  bool has_class = std::any_of(std::begin(kClasses), std::end(kClasses), [&](const char* one) {
    return pattern.find(one) != std::string::npos;
  });
  if (denies && has_class) {
    MLC_ASSIGN_OR_RETURN(Automaton ascii, Automaton::MatchingWhole("[\\u0000-\\u007F]*"));
    MLC_ASSIGN_OR_RETURN(out, out.And(ascii));
  }
  if (denies && pattern.find('$') != std::string::npos) {
    MLC_ASSIGN_OR_RETURN(Automaton broken, Automaton::Matching("\\n$"));
    MLC_ASSIGN_OR_RETURN(out, out.And(broken.Not()));
  }
  return out;
}

}  // namespace mlc
