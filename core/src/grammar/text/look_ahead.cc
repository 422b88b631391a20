// Each thread of reading takes along what the rest of the text must still be: states of the
// automata that it looks ahead with. A thread ends when the rest can no longer be that.
#include "grammar/text/look_ahead.h"

#include <algorithm>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "grammar/text/work_budget.h"

namespace mlc {
namespace {

constexpr size_t kMostThreads = 500;  // of one state
constexpr int kUnread = -2;           // what the rest must be is not known yet
constexpr int64_t kWorkOfStep = 10;   // of a thread, for each range of characters

using When = Way::When;
// A set of texts, and the state in it: the rest must lead from there to acceptance.
using Wants = std::set<std::pair<int, int>>;

struct Thread {
  int part;
  int has_ended;  // 1: '$' was passed, behind which no character may follow
  int wants;      // the number of a Wants
  auto key() const { return std::tie(part, has_ended, wants); }
  bool operator<(const Thread& other) const { return key() < other.key(); }
  bool operator==(const Thread& other) const { return key() == other.key(); }
};
using Threads = std::vector<Thread>;  // sorted, each once

enum class Last { kNone, kNoWord, kWord, kBeyond };

bool IsWord(char32_t c) {
  return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || c == '_' || (c >= 'a' && c <= 'z');
}

Last LastOf(char32_t c) {
  if (c >= 0x80) return Last::kBeyond;
  return IsWord(c) ? Last::kWord : Last::kNoWord;
}

template <typename T>
void SortUnique(std::vector<T>* all) {
  std::sort(all->begin(), all->end());
  all->erase(std::unique(all->begin(), all->end()), all->end());
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
    for (const std::vector<Way>& all : ways) {
      for (const Way& way : all) AddCuts(way, &cuts_);
    }
    SortUnique(&cuts_);
    for (const std::vector<Way>& all : ways) {
      sets_.emplace_back();
      for (const Way& way : all) sets_.back().push_back(ClassesOf(way));
    }
    has_edges_ = std::any_of(ways.begin(), ways.end(), [](const std::vector<Way>& all) {
      return std::any_of(all.begin(), all.end(), [](const Way& way) {
        return way.when == When::kWordEdge || way.when == When::kNoWordEdge;
      });
    });
  }

  Result<Automaton> Run(int begin) {
    Add({{begin, 0, NumberOf({})}}, Last::kNone);
    std::vector<Automaton::State> states;
    for (size_t i = 0; i < order_.size(); ++i) {
      states.push_back(StateOf(order_[i]));
      if (is_too_large_ || order_.size() > 2 * kMaxAutomatonStates) {
        return Unsupported("it is too large");
      }
      if (!WorkBudget::Spend(std::exchange(work_, 0))) return WorkBudget::Error();
    }
    return Automaton(std::move(states));
  }

 private:
  static std::vector<Automaton::Edge> NoWord() {
    return {{0, 1},   {'0', 2}, {':', 1}, {'A', 2}, {'[', 1},
            {'_', 2}, {'`', 1}, {'a', 2}, {'{', 1}, {0x80, 2}};
  }

  // Texts that begin with one of some characters. The edges lead to 1 for those, to 2 for others.
  int AddNext(std::vector<Automaton::Edge> edges, bool may_end) {
    looks_.push_back(Automaton({{may_end, std::move(edges)}, {true, {{0, 1}}}, {false, {{0, 2}}}}));
    return static_cast<int>(looks_.size()) - 1;
  }

  static void AddCuts(const Way& way, std::vector<char32_t>* cuts) {
    for (const auto& [first, last] : way.set) {
      cuts->push_back(first);
      if (last < 0x10FFFF) cuts->push_back(last + 1);
    }
  }

  // Between two of the cuts of all ways, characters are alike: a class, by the number of its end.
  size_t ClassOf(char32_t c) const {
    return static_cast<size_t>(std::upper_bound(cuts_.begin(), cuts_.end(), c) - cuts_.begin());
  }

  std::vector<bool> ClassesOf(const Way& way) const {
    std::vector<bool> classes(cuts_.size() + 1);
    for (const auto& [first, last] : way.set) {
      for (size_t i = ClassOf(first); i <= ClassOf(last); ++i) classes[i] = true;
    }
    return classes;
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

  int NumberOf(Wants wants) {
    auto [found, is_new] = numbers_.emplace(std::move(wants), static_cast<int>(wants_.size()));
    if (is_new) wants_.push_back(&found->first);
    return found->second;
  }

  const Wants& WantsOf(const Thread& thread) const {
    return *wants_[static_cast<size_t>(thread.wants)];
  }

  // The same with one more; -1 if no rest is that.
  int WithWant(const Thread& thread, int look) {
    auto [known, is_new] = with_want_.try_emplace({thread.wants, look}, -1);
    if (!is_new) return known->second;
    Wants wants = WantsOf(thread);
    return known->second = Want({look, 0}, &wants) ? NumberOf(std::move(wants)) : -1;
  }

  // With all that is reached without a character.
  Threads Close(Threads left, Last last) {
    std::set<Thread> threads(left.begin(), left.end());
    while (!left.empty() && threads.size() <= kMostThreads) {
      Thread thread = left.back();
      left.pop_back();
      for (const Way& way : ways_[static_cast<size_t>(thread.part)]) {
        work_ += kWorkOfStep;
        bool has_ended = thread.has_ended != 0 || way.when == When::kAtEnd;
        Thread next{way.target, has_ended, thread.wants};
        bool is_open = way.when == When::kAlways || way.when == When::kAtEnd ||
                       (way.when == When::kAtBegin && last == Last::kNone);
        int look = way.when == When::kLook ? way.look : -1;
        if (way.when == When::kWordEdge || way.when == When::kNoWordEdge) {
          look = NextAt(way.when == When::kWordEdge, last);
        }
        if (look >= 0) next.wants = WithWant(thread, look);
        is_open = is_open || (look >= 0 && next.wants >= 0);
        if (is_open && threads.insert(next).second) left.push_back(next);
      }
    }
    // Where every rest is accepted, nothing else that is read matters.
    Thread free_rest{end_, 0, NumberOf({})};
    bool is_open = !ways_[static_cast<size_t>(end_)].empty();
    if (is_open && threads.count(free_rest) != 0) return {free_rest};
    is_too_large_ = is_too_large_ || threads.size() > kMostThreads;
    return Threads(threads.begin(), threads.end());
  }

  // The characters at which threads begin to read something else.
  std::vector<char32_t> CutsOf(const Threads& threads) const {
    std::vector<char32_t> cuts = {0};
    for (char32_t c = 1; has_edges_ && c <= 0x80; ++c) {
      if (LastOf(c) != LastOf(c - 1)) cuts.push_back(c);
    }
    for (const Thread& thread : threads) {
      if (thread.has_ended != 0) continue;
      for (const Way& way : ways_[static_cast<size_t>(thread.part)]) {
        AddCuts(way, &cuts);
      }
      for (const auto& want : WantsOf(thread)) {
        for (const Automaton::Edge& edge : StateAt(want).edges) cuts.push_back(edge.first);
      }
    }
    SortUnique(&cuts);
    return cuts;
  }

  // The threads behind a character.
  Threads Step(const Threads& threads, char32_t c) {
    Threads out;
    const size_t char_class = ClassOf(c);
    for (const Thread& thread : threads) {
      work_ += kWorkOfStep;
      if (thread.has_ended != 0) continue;
      int wants = kUnread;
      const std::vector<std::vector<bool>>& sets = sets_[static_cast<size_t>(thread.part)];
      for (size_t i = 0; i < sets.size(); ++i) {
        if (!sets[i][char_class]) continue;
        if (wants == kUnread) wants = WantsBehind(thread.wants, c);
        int target = ways_[static_cast<size_t>(thread.part)][i].target;
        if (wants >= 0) out.push_back({target, 0, wants});
      }
    }
    SortUnique(&out);
    return out;
  }

  // What the rest must be behind a character; -1 if no rest is that.
  int WantsBehind(int number, char32_t c) {
    auto [known, is_new] = behind_.try_emplace({number, c}, -1);
    if (!is_new) return known->second;
    const Wants& before = *wants_[static_cast<size_t>(number)];
    Wants wants;
    bool is_open = std::all_of(before.begin(), before.end(), [&](const auto& want) {
      return Want({want.first, StateAt(want).Target(c)}, &wants);
    });
    return known->second = is_open ? NumberOf(std::move(wants)) : -1;
  }

  Automaton::State StateOf(const Threads& threads) {
    Automaton::State state;
    state.accepts = std::any_of(threads.begin(), threads.end(), [&](const Thread& thread) {
      const Wants& wants = WantsOf(thread);
      return thread.part == end_ && std::all_of(wants.begin(), wants.end(), [&](const auto& want) {
               return StateAt(want).accepts;
             });
    });
    for (char32_t c : CutsOf(threads)) {
      Last last = has_edges_ ? LastOf(c) : Last::kNoWord;
      int target = Add(Step(threads, c), last);
      bool is_same = !state.edges.empty() && state.edges.back().target == target;
      if (!is_same) state.edges.push_back({c, target});
    }
    return state;
  }

  // The state of texts behind which these threads begin, and `last`.
  int Add(Threads threads, Last last) {
    auto [begun, is_unknown] = states_.emplace(KeyOf(threads, last, false), -1);
    int& state = begun->second;
    if (!is_unknown) return state;
    threads = Close(std::move(threads), last);
    auto closed = states_.emplace(KeyOf(threads, last, true), static_cast<int>(order_.size()));
    if (closed.second) order_.push_back(std::move(threads));
    return state = closed.first->second;
  }

  static std::string KeyOf(const Threads& threads, Last last, bool is_closed) {
    std::string key{static_cast<char>(last), static_cast<char>(is_closed)};
    for (const Thread& thread : threads) {
      key.append(reinterpret_cast<const char*>(&thread), sizeof(thread));
    }
    return key;
  }

  const Ways& ways_;
  int end_, next_word_, next_no_word_, no_word_or_end_;
  std::vector<Automaton> looks_;
  bool has_edges_ = false, is_too_large_ = false;
  std::vector<char32_t> cuts_;                        // of all ways, sorted
  std::vector<std::vector<std::vector<bool>>> sets_;  // of each way of each part: which classes
  std::map<Wants, int> numbers_;
  std::vector<const Wants*> wants_;  // by number
  std::map<std::pair<int, int>, int> with_want_;
  std::map<std::pair<int, char32_t>, int> behind_;
  std::unordered_map<std::string, int> states_;
  std::deque<Threads> order_;  // of the states, by number
  int64_t work_ = 0;
};

}  // namespace

Result<Automaton> DetermineWithLooks(const Ways& ways, int begin, int end,
                                     std::vector<Automaton> looks) {
  return LookAhead(ways, end, std::move(looks)).Run(begin);
}

}  // namespace mlc
