#include "grammar/text/automaton.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/utf8.h"
#include "grammar/text/automaton_memo.h"
#include "grammar/text/minimize.h"
#include "grammar/text/work_budget.h"

namespace mlc {
namespace {

using State = Automaton::State;
using Edge = Automaton::Edge;

void AddEdge(char32_t first, int target, std::vector<Edge>* edges) {
  if (edges->empty() || edges->back().target != target) edges->push_back({first, target});
}

std::vector<State> Reachable(std::vector<State> states) {
  std::vector<int> names(states.size(), -1), order = {0};
  names[0] = 0;
  for (size_t i = 0; i < order.size(); ++i) {
    for (const Edge& edge : states[static_cast<size_t>(order[i])].edges) {
      int& name = names[static_cast<size_t>(edge.target)];
      if (name >= 0) continue;
      name = static_cast<int>(order.size());
      order.push_back(edge.target);
    }
  }
  std::vector<State> out;
  out.reserve(order.size());
  for (int index : order) {
    out.push_back(std::move(states[static_cast<size_t>(index)]));
    Rename(names, &out.back().edges);
  }
  return out;
}

// The states of an intersection, as they are found: few of them stay, so they share one list of
// edges.
struct Product {
  std::vector<bool> accepts;
  std::vector<Edge> edges;
  std::vector<size_t> begins = {0};  // of each state's edges; the end of the last one's

  size_t size() const { return accepts.size(); }
};

// The numbers of pairs of states, in the order in which they are asked for.
class PairNumbers {
 public:
  // Of a pair that is new: `fresh`.
  int Of(int64_t pair, int fresh) {
    if (2 * (count_ + 1) > slots_.size()) Grow();
    Slot& slot = Find(pair);
    if (slot.number < 0) {
      slot = {pair, fresh};
      ++count_;
    }
    return slot.number;
  }

 private:
  struct Slot {
    int64_t pair = 0;
    int number = -1;
  };

  Slot& Find(int64_t pair) {
    size_t at = static_cast<size_t>(static_cast<uint64_t>(pair) * 0x9E3779B97F4A7C15u >> 20);
    while (true) {
      Slot& slot = slots_[at++ & (slots_.size() - 1)];
      if (slot.number < 0 || slot.pair == pair) return slot;
    }
  }

  void Grow() {
    std::vector<Slot> before(2 * slots_.size());
    before.swap(slots_);
    for (const Slot& slot : before) {
      if (slot.number >= 0) Find(slot.pair) = slot;
    }
  }

  std::vector<Slot> slots_ = std::vector<Slot>(64);  // a power of two
  size_t count_ = 0;
};

// Those from which a text is accepted.
std::vector<bool> LiveStates(const Product& all) {
  std::vector<size_t> ends(all.size() + 1, 0), before(all.edges.size());  // by target
  for (const Edge& edge : all.edges) ++ends[static_cast<size_t>(edge.target)];
  for (size_t i = 0, sum = 0; i <= all.size(); ++i) ends[i] = std::exchange(sum, sum + ends[i]);
  std::vector<size_t> left;
  for (size_t i = 0; i < all.size(); ++i) {
    for (size_t x = all.begins[i]; x < all.begins[i + 1]; ++x) {
      before[ends[static_cast<size_t>(all.edges[x].target)]++] = i;
    }
    if (all.accepts[i]) left.push_back(i);
  }
  std::vector<bool> live = all.accepts;
  while (!left.empty()) {
    size_t state = left.back();
    left.pop_back();
    for (size_t x = state == 0 ? 0 : ends[state - 1]; x < ends[state]; ++x) {
      if (!live[before[x]]) left.push_back(before[x]);
      live[before[x]] = true;
    }
  }
  return live;
}

// One dead state stands for all. A full minimization would take quadratic time.
std::vector<State> MergeDead(const Product& all) {
  const size_t dead = all.size();
  const std::vector<bool> live = LiveStates(all);
  std::vector<int> names(dead + 1, -1);
  std::vector<size_t> order;
  auto name_of = [&](size_t state) {
    size_t one = state < dead && live[state] ? state : dead;
    if (names[one] < 0) {
      names[one] = static_cast<int>(order.size());
      order.push_back(one);
    }
    return names[one];
  };
  name_of(0);
  std::vector<State> states;
  std::vector<Edge> edges;
  for (size_t i = 0; i < order.size(); ++i) {
    const size_t state = order[i];
    edges.clear();
    if (state == dead) {
      AddEdge(0, static_cast<int>(i), &edges);
      states.push_back({false, edges});
      continue;
    }
    for (size_t x = all.begins[state]; x < all.begins[state + 1]; ++x) {
      AddEdge(all.edges[x].first, name_of(static_cast<size_t>(all.edges[x].target)), &edges);
    }
    states.push_back({static_cast<bool>(all.accepts[state]), edges});
  }
  return states;
}

}  // namespace

int Automaton::State::Target(char32_t c) const {
  auto after = std::upper_bound(edges.begin(), edges.end(), c,
                                [](char32_t at, const Edge& edge) { return at < edge.first; });
  return std::prev(after)->target;
}

Automaton::Automaton(std::vector<State> states) {
  states = Reachable(std::move(states));
  std::vector<int> classes = EqualStates(states);
  std::vector<State> merged(static_cast<size_t>(*std::max_element(classes.begin(), classes.end())) +
                            1);
  for (size_t i = 0; i < states.size(); ++i) {
    State& state = merged[static_cast<size_t>(classes[i])];
    if (!state.edges.empty()) continue;
    state = std::move(states[i]);
    Rename(classes, &state.edges);
  }
  // The first state that is met has the first class.
  states_ = std::make_shared<States>(Reachable(std::move(merged)));
}

Automaton Automaton::OfLength(int64_t min, int64_t max) {
  auto make = [min, max] { return Result<Automaton>(CountedTexts(min, max)); };
  return *AutomatonMemo::Remember('l', {}, std::to_string(min) + " " + std::to_string(max), make);
}

Automaton Automaton::CountedTexts(int64_t min, int64_t max) {
  int64_t count = max < 0 ? min + 1 : max + 2;
  std::vector<State> states;
  for (int64_t i = 0; i < count; ++i) {
    bool accepts = i >= min && (max < 0 || i <= max);
    states.push_back({accepts, {{0, static_cast<int>(std::min(i + 1, count - 1))}}});
  }
  return Automaton(std::make_shared<States>(std::move(states)));  // none can be left out
}

Result<Automaton> Automaton::OfTexts(const std::vector<std::string>& texts) {
  std::string key;
  for (const std::string& text : texts) key += std::to_string(text.size()) + " " + text;
  return AutomatonMemo::Remember('t', {}, key, [&texts] { return ListedTexts(texts); });
}

Result<Automaton> Automaton::ListedTexts(const std::vector<std::string>& texts) {
  constexpr int64_t kWorkOfOne = 50;  // of a character: a place in a map of its own
  int64_t characters = 0;
  for (const std::string& text : texts) characters += static_cast<int64_t>(text.size());
  if (!WorkBudget::Spend(kWorkOfOne * characters)) return WorkBudget::Error();
  std::vector<std::map<char32_t, int>> next(2);  // 0: the root; 1: nothing more fits
  std::vector<bool> accepts(2, false);
  for (const std::string& text : texts) {
    size_t at = 0;
    for (char32_t c : ToCodePoints(text)) {
      auto [found, is_new] = next[at].emplace(c, static_cast<int>(next.size()));
      at = static_cast<size_t>(found->second);
      if (!is_new) continue;
      next.emplace_back();
      accepts.push_back(false);
    }
    accepts[at] = true;
  }
  std::vector<State> states;
  for (size_t i = 0; i < next.size(); ++i) {
    State state{accepts[i], {}};
    char32_t expected = 0;
    for (const auto& [c, target] : next[i]) {
      if (c > expected) AddEdge(expected, 1, &state.edges);
      AddEdge(c, target, &state.edges);
      expected = c + 1;
    }
    if (expected <= 0x10FFFF) AddEdge(expected, 1, &state.edges);
    states.push_back(std::move(state));
  }
  return Automaton(std::move(states));
}

Automaton Automaton::Not() const {
  auto make = [this]() -> Result<Automaton> {
    States states = *states_;
    for (State& state : states) state.accepts = !state.accepts;
    return Automaton(std::move(states));
  };
  return *AutomatonMemo::Remember('n', {*this}, "", make);
}

Result<Automaton> Automaton::And(const Automaton& other) const {
  return AutomatonMemo::Remember('a', {*this, other}, "", [&] { return Intersect(other); });
}

Result<Automaton> Automaton::Intersect(const Automaton& other) const {
  constexpr int64_t kWorkOfOne = 8;  // of an edge: it is looked up by name
  const int64_t width = static_cast<int64_t>(other.states().size());
  PairNumbers numbers;  // of `width` * first + second
  std::vector<std::pair<int, int>> order = {{0, 0}};
  numbers.Of(0, 0);
  Product all;
  for (size_t i = 0; i < order.size(); ++i) {
    const State& a = (*states_)[static_cast<size_t>(order[i].first)];
    const State& b = other.states()[static_cast<size_t>(order[i].second)];
    int last = -1;
    for (size_t x = 0, y = 0; x < a.edges.size() && y < b.edges.size();) {
      std::pair<int, int> both = {a.edges[x].target, b.edges[y].target};
      int fresh = static_cast<int>(order.size());
      int target = numbers.Of(width * both.first + both.second, fresh);
      if (target == fresh) order.push_back(both);
      if (target != last) {
        all.edges.push_back({std::max(a.edges[x].first, b.edges[y].first), target});
      }
      last = target;
      char32_t x_end = x + 1 < a.edges.size() ? a.edges[x + 1].first : 0x110000;
      char32_t y_end = y + 1 < b.edges.size() ? b.edges[y + 1].first : 0x110000;
      x += x_end <= y_end;
      y += y_end <= x_end;
    }
    all.accepts.push_back(a.accepts && b.accepts);
    all.begins.push_back(all.edges.size());
    if (order.size() > 6 * kMaxAutomatonStates) return Unsupported("it is too large together");
    if (!WorkBudget::Spend(kWorkOfOne * static_cast<int64_t>(a.edges.size() + b.edges.size()))) {
      return WorkBudget::Error();
    }
  }
  return Automaton(std::make_shared<States>(MergeDead(all)));
}

bool Automaton::is_empty() const {
  return std::none_of(states().begin(), states().end(), [](const State& s) { return s.accepts; });
}

int64_t Automaton::ShortestLength() const {
  std::vector<int64_t> lengths(states().size(), -1);
  std::vector<size_t> order = {0};
  lengths[0] = 0;
  for (size_t i = 0; i < order.size(); ++i) {
    const State& state = states()[order[i]];
    if (state.accepts) return lengths[order[i]];
    for (const Edge& edge : state.edges) {
      size_t target = static_cast<size_t>(edge.target);
      if (lengths[target] >= 0) continue;
      lengths[target] = lengths[order[i]] + 1;
      order.push_back(target);
    }
  }
  return -1;
}

int64_t Automaton::LongestLength() const {
  // From the states that lead nowhere back: a state is done when all that it leads to are.
  std::vector<std::vector<size_t>> back(states().size());
  std::vector<int64_t> left(states().size(), 0), lengths(states().size(), -1);
  std::vector<size_t> done;
  for (size_t i = 0; i < states().size(); ++i) {
    const std::vector<Edge>& edges = states()[i].edges;
    bool is_dead =
        !states()[i].accepts && edges.size() == 1 && edges[0].target == static_cast<int>(i);
    for (const Edge& edge : edges) {
      if (!is_dead) back[static_cast<size_t>(edge.target)].push_back(i);
    }
    if (!is_dead) left[i] = static_cast<int64_t>(edges.size());
    if (is_dead) done.push_back(i);
  }
  for (size_t i = 0; i < done.size(); ++i) {
    int64_t& length = lengths[done[i]];
    if (length < 0 && states()[done[i]].accepts) length = 0;
    for (size_t before : back[done[i]]) {
      if (length >= 0) lengths[before] = std::max(lengths[before], length + 1);
      if (--left[before] == 0) done.push_back(before);
    }
  }
  return done.size() == states().size() ? lengths[0] : -1;
}

std::string Automaton::Key() const {
  std::string key;
  for (const State& state : states()) {
    key.append(state.accepts ? "+" : "-").append(std::to_string(state.edges.size())).append(":");
    const char* edges = reinterpret_cast<const char*>(state.edges.data());
    key.append(edges, state.edges.size() * sizeof(Edge));
  }
  return key;
}

bool Automaton::Accepts(std::string_view text) const {
  int at = 0;
  for (char32_t c : ToCodePoints(text)) at = states()[static_cast<size_t>(at)].Target(c);
  return states()[static_cast<size_t>(at)].accepts;
}

}  // namespace mlc
