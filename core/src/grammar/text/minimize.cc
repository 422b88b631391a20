// Classes of states are split until all members of one agree. A state is looked at again only when
// a state that it leads to gets another class, and the largest part of a class that is split keeps
// its name (Hopcroft's "process the smaller half"): a state is renamed log(n) times at most.
#include "grammar/text/minimize.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <numeric>
#include <utility>

#include "grammar/text/work_budget.h"

namespace mlc {
namespace {

using State = Automaton::State;
using Edge = Automaton::Edge;

class Splitter {
 public:
  explicit Splitter(const std::vector<State>& states)
      : states_(states),
        class_of_(states.size()),
        place_(states.size()),
        is_dirty_(states.size(), false),
        before_(states.size()) {
    for (size_t i = 0; i < states.size(); ++i) {
      for (const Edge& edge : states[i].edges) Before(edge.target).push_back(static_cast<int>(i));
    }
    members_.resize(2);
    dirty_.resize(2);
    for (size_t i = 0; i < states.size(); ++i) {
      Join(static_cast<int>(i), states[i].accepts ? 1 : 0);
      MarkDirty(static_cast<int>(i));
    }
  }

  // False where the budget was spent.
  bool Run() {
    while (!left_.empty()) {
      int index = left_.back();
      left_.pop_back();
      if (!Split(index)) return false;
    }
    return true;
  }

  const std::vector<int>& class_of() const { return class_of_; }

 private:
  using Signature = std::vector<std::pair<char32_t, int>>;
  using Groups = std::map<Signature, std::vector<int>>;

  std::vector<int>& Before(int state) { return before_[static_cast<size_t>(state)]; }
  std::vector<int>& Members(int index) { return members_[static_cast<size_t>(index)]; }
  int& ClassOf(int state) { return class_of_[static_cast<size_t>(state)]; }

  void Join(int state, int index) {
    place_[static_cast<size_t>(state)] = Members(index).size();
    Members(index).push_back(state);
    ClassOf(state) = index;
  }

  void Leave(int state) {
    std::vector<int>& members = Members(ClassOf(state));
    size_t place = place_[static_cast<size_t>(state)];
    members[place] = members.back();
    place_[static_cast<size_t>(members[place])] = place;
    members.pop_back();
  }

  void MarkDirty(int state) {
    if (is_dirty_[static_cast<size_t>(state)]) return;
    is_dirty_[static_cast<size_t>(state)] = true;
    std::vector<int>& dirty = dirty_[static_cast<size_t>(ClassOf(state))];
    if (dirty.empty()) left_.push_back(ClassOf(state));
    dirty.push_back(state);
  }

  Signature SignatureOf(int state) {
    const std::vector<Edge>& edges = states_[static_cast<size_t>(state)].edges;
    Signature signature;
    for (const Edge& edge : edges) {
      int target = ClassOf(edge.target);
      if (signature.empty() || signature.back().second != target) {
        signature.emplace_back(edge.first, target);
      }
    }
    is_in_budget_ = WorkBudget::Spend(10 + static_cast<int64_t>(edges.size()));
    return signature;
  }

  // The members that are not dirty are equal to each other, so one of them is enough to compare.
  bool Split(int index) {
    std::vector<int> dirty = std::exchange(dirty_[static_cast<size_t>(index)], {});
    Groups groups;
    for (int state : dirty) {
      groups[SignatureOf(state)].push_back(state);
      if (!is_in_budget_) return false;
    }
    std::vector<int> clean;
    auto is_clean = [this](int state) { return !is_dirty_[static_cast<size_t>(state)]; };
    size_t num_clean = Members(index).size() - dirty.size();
    std::vector<int>* joined = &clean;  // the clean ones belong to it
    if (num_clean > 0) {
      int one = *std::find_if(Members(index).begin(), Members(index).end(), is_clean);
      auto same = groups.find(SignatureOf(one));
      if (same != groups.end()) joined = &same->second;
    }
    std::vector<int>* keeps = joined;
    size_t most = num_clean == 0 ? 0 : joined->size() + num_clean;
    for (auto& [signature, group] : groups) {
      if (group.size() <= most) continue;
      keeps = &group;
      most = group.size();
    }
    if (num_clean > 0 && keeps != joined) {
      std::copy_if(Members(index).begin(), Members(index).end(), std::back_inserter(*joined),
                   is_clean);
    }
    for (int state : dirty) is_dirty_[static_cast<size_t>(state)] = false;
    std::vector<int> moved;
    for (const auto& [signature, group] : groups) {
      if (&group != keeps) MoveOut(group, &moved);
    }
    if (keeps != &clean) MoveOut(clean, &moved);
    for (int state : moved) {
      for (int before : Before(state)) MarkDirty(before);
    }
    return true;
  }

  void MoveOut(const std::vector<int>& group, std::vector<int>* moved) {
    if (group.empty()) return;
    int fresh = static_cast<int>(members_.size());
    members_.emplace_back();
    dirty_.emplace_back();
    for (int state : group) {
      Leave(state);
      Join(state, fresh);
      moved->push_back(state);
    }
  }

  const std::vector<State>& states_;
  std::vector<int> class_of_;
  std::vector<size_t> place_;                      // among the members of its class
  std::vector<bool> is_dirty_;                     // its signature may have changed
  std::vector<std::vector<int>> before_;           // states that lead to a state
  std::vector<std::vector<int>> members_, dirty_;  // by class
  std::vector<int> left_;                          // classes with dirty members
  bool is_in_budget_ = true;
};

}  // namespace

void Rename(const std::vector<int>& names, std::vector<Edge>* edges) {
  size_t kept = 0;
  for (const Edge& edge : *edges) {
    int target = names[static_cast<size_t>(edge.target)];
    if (kept == 0 || (*edges)[kept - 1].target != target) (*edges)[kept++] = {edge.first, target};
  }
  edges->erase(edges->begin() + static_cast<std::ptrdiff_t>(kept), edges->end());
}

std::vector<int> EqualStates(const std::vector<State>& states) {
  std::vector<int> classes(states.size());
  std::iota(classes.begin(), classes.end(), 0);
  if (WorkBudget::is_spent()) return classes;
  Splitter splitter(states);
  if (!splitter.Run()) return classes;
  std::map<int, int> names;
  for (size_t i = 0; i < states.size(); ++i) {
    classes[i] =
        names.emplace(splitter.class_of()[i], static_cast<int>(names.size())).first->second;
  }
  return classes;
}

}  // namespace mlc
