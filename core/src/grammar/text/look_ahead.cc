// Each thread of reading takes along what the rest of the text must still be: states of the
// automata that it looks ahead with. A thread ends when the rest can no longer be that.
#include "grammar/text/look_ahead.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "grammar/text/work_budget.h"

namespace mlc {
namespace {

constexpr size_t kMostThreads = 500;  // of one state
constexpr int64_t kWorkOfStep = 10;   // of a thread, for each range of characters

using When = Way::When;
// A set of texts, and the state in it: the rest must lead from there to acceptance.
using Wants = std::set<std::pair<int, int>>;

struct Thread {
  int part;
  bool has_ended;  // '$' was passed, behind which no character may follow
  Wants wants;
  bool operator<(const Thread& other) const {
    return std::tie(part, has_ended, wants) < std::tie(other.part, other.has_ended, other.wants);
  }
};
using Threads = std::set<Thread>;

enum class Last { kNone, kNoWord, kWord, kBeyond };

bool IsWord(char32_t c) {
  return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || c == '_' || (c >= 'a' && c <= 'z');
}

Last LastOf(char32_t c) {
  if (c >= 0x80) return Last::kBeyond;
  return IsWord(c) ? Last::kWord : Last::kNoWord;
}

class LookAhead {
 public:
  LookAhead(const Ways& ways, int end, std::vector<Automaton> looks)
      : ways_(ways), end_(end), looks_(std::move(looks)) {
    next_word_ = AddNext(
        {{0, 2}, {'0', 1}, {':', 2}, {'A', 1}, {'[', 2}, {'_', 1}, {'`', 2}, {'a', 1}, {'{', 2}},
        false);
    next_no_word_ = AddNext(NoWord(), false);
    no_word_or_end_ = AddNext(NoWord(), true);
    has_edges_ = std::any_of(ways.begin(), ways.end(), [](const std::vector<Way>& all) {
      return std::any_of(all.begin(), all.end(), [](const Way& way) {
        return way.when == When::kWordEdge || way.when == When::kNoWordEdge;
      });
    });
  }

  Result<Automaton> Run(int begin) {
    Add({Close({{begin, false, {}}}, Last::kNone), Last::kNone});
    std::vector<Automaton::State> states;
    for (size_t i = 0; i < order_.size(); ++i) {
      states.push_back(StateOf(*order_[i]));
      if (is_too_large_ || order_.size() > 2 * kMaxAutomatonStates) {
        return Unsupported("it is too large");
      }
      if (!WorkBudget::Spend(std::exchange(work_, 0))) return WorkBudget::Error();
    }
    return Automaton(std::move(states));
  }

 private:
  using Key = std::pair<Threads, Last>;  // of a state

  static std::vector<Automaton::Edge> NoWord() {
    return {{0, 1},   {'0', 2}, {':', 1}, {'A', 2}, {'[', 1},
            {'_', 2}, {'`', 1}, {'a', 2}, {'{', 1}, {0x80, 2}};
  }

  // Texts that begin with one of some characters. The edges lead to 1 for those, to 2 for others.
  int AddNext(std::vector<Automaton::Edge> edges, bool may_end) {
    looks_.push_back(Automaton({{may_end, std::move(edges)}, {true, {{0, 1}}}, {false, {{0, 2}}}}));
    return static_cast<int>(looks_.size()) - 1;
  }

  const Automaton::State& StateAt(const std::pair<int, int>& want) const {
    return looks_[static_cast<size_t>(want.first)].states()[static_cast<size_t>(want.second)];
  }

  // Adds what the rest must be. False if no rest is that.
  bool Want(std::pair<int, int> want, Wants* wants) const {
    const Automaton::State& state = StateAt(want);
    bool is_last = state.edges.size() == 1 && state.edges[0].target == want.second;
    if (!is_last) wants->insert(want);
    return !is_last || state.accepts;
  }

  // What must come next at the edge of a word, or away from one; -1 where neither is known.
  int NextAt(bool is_edge, Last last) const {
    if (last == Last::kBeyond) return -1;
    if (last == Last::kWord) return is_edge ? no_word_or_end_ : next_word_;
    if (is_edge) return next_word_;
    // Readers disagree about an empty text.
    return last == Last::kNone ? next_no_word_ : no_word_or_end_;
  }

  // With all that is reached without a character.
  Threads Close(Threads threads, Last last) {
    std::vector<Thread> left(threads.begin(), threads.end());
    while (!left.empty() && threads.size() <= kMostThreads) {
      Thread thread = std::move(left.back());
      left.pop_back();
      for (const Way& way : ways_[static_cast<size_t>(thread.part)]) {
        work_ += kWorkOfStep;
        Thread next{way.target, thread.has_ended || way.when == When::kAtEnd, thread.wants};
        bool is_open = way.when == When::kAlways || way.when == When::kAtEnd ||
                       (way.when == When::kAtBegin && last == Last::kNone);
        if (way.when == When::kLook) is_open = Want({way.look, 0}, &next.wants);
        if (way.when == When::kWordEdge || way.when == When::kNoWordEdge) {
          int look = NextAt(way.when == When::kWordEdge, last);
          is_open = look >= 0 && Want({look, 0}, &next.wants);
        }
        if (is_open && threads.insert(next).second) left.push_back(std::move(next));
      }
    }
    is_too_large_ = is_too_large_ || threads.size() > kMostThreads;
    return threads;
  }

  // The characters at which threads begin to read something else.
  std::set<char32_t> CutsOf(const Threads& threads) const {
    std::set<char32_t> cuts = {0};
    for (char32_t c = 1; has_edges_ && c <= 0x80; ++c) {
      if (LastOf(c) != LastOf(c - 1)) cuts.insert(c);
    }
    for (const Thread& thread : threads) {
      if (thread.has_ended) continue;
      for (const Way& way : ways_[static_cast<size_t>(thread.part)]) {
        for (const auto& [first, last] : way.set) {
          cuts.insert(first);
          if (last < 0x10FFFF) cuts.insert(last + 1);
        }
      }
      for (const auto& want : thread.wants) {
        for (const Automaton::Edge& edge : StateAt(want).edges) cuts.insert(edge.first);
      }
    }
    return cuts;
  }

  // The threads behind a character.
  Threads Step(const Threads& threads, char32_t c) {
    Threads out;
    for (const Thread& thread : threads) {
      work_ += kWorkOfStep;
      if (thread.has_ended) continue;
      Wants wants;
      bool is_open = std::all_of(thread.wants.begin(), thread.wants.end(), [&](const auto& want) {
        return Want({want.first, StateAt(want).Target(c)}, &wants);
      });
      if (!is_open) continue;
      for (const Way& way : ways_[static_cast<size_t>(thread.part)]) {
        bool reads = std::any_of(way.set.begin(), way.set.end(), [c](const auto& range) {
          return range.first <= c && c <= range.second;
        });
        if (reads) out.insert({way.target, false, wants});
      }
    }
    return out;
  }

  Automaton::State StateOf(const Key& key) {
    Automaton::State state;
    state.accepts = std::any_of(key.first.begin(), key.first.end(), [&](const Thread& thread) {
      return thread.part == end_ &&
             std::all_of(thread.wants.begin(), thread.wants.end(),
                         [&](const auto& want) { return StateAt(want).accepts; });
    });
    for (char32_t c : CutsOf(key.first)) {
      Last last = has_edges_ ? LastOf(c) : Last::kNoWord;
      int target = Add({Close(Step(key.first, c), last), last});
      bool is_same = !state.edges.empty() && state.edges.back().target == target;
      if (!is_same) state.edges.push_back({c, target});
    }
    return state;
  }

  int Add(Key key) {
    auto [found, is_new] = names_.emplace(std::move(key), static_cast<int>(order_.size()));
    if (is_new) order_.push_back(&found->first);
    return found->second;
  }

  const Ways& ways_;
  int end_, next_word_, next_no_word_, no_word_or_end_;
  std::vector<Automaton> looks_;
  bool has_edges_ = false, is_too_large_ = false;
  std::map<Key, int> names_;       // the states
  std::vector<const Key*> order_;  // by number
  int64_t work_ = 0;
};

}  // namespace

Result<Automaton> DetermineWithLooks(const Ways& ways, int begin, int end,
                                     std::vector<Automaton> looks) {
  return LookAhead(ways, end, std::move(looks)).Run(begin);
}

}  // namespace mlc
