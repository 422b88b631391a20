#include "grammar/text/automaton_ebnf.h"

#include <map>

#include "grammar/text/ebnf_text.h"

namespace mlc {
namespace {

class AutomatonWriter {
 public:
  AutomatonWriter(const Automaton& automaton, TextPlace place, const std::string& prefix)
      : states_(automaton.states()), place_(place), prefix_(prefix) {}

  std::string Run(std::string* rules) {
    MarkLive();
    if (!live_[0]) return "";
    for (size_t i = 0; i < states_.size(); ++i) {
      if (live_[i] && !IsAnything(i)) *rules += Name(i) + " ::= " + Body(i) + "\n";
    }
    return Name(0);
  }

 private:
  bool in_string() const { return place_ == TextPlace::kInJsonString; }

  // All that follows is accepted.
  bool IsAnything(size_t index) const {
    const Automaton::State& state = states_[index];
    return in_string() && state.accepts && state.edges.size() == 1 &&
           state.edges[0].target == static_cast<int>(index);
  }

  std::string Name(size_t index) const {
    return IsAnything(index) ? "text" : prefix_ + std::to_string(index);
  }

  std::map<int, CodePointRanges> Targets(size_t index) const {
    std::map<int, CodePointRanges> targets;
    const std::vector<Automaton::Edge>& edges = states_[index].edges;
    for (size_t i = 0; i < edges.size(); ++i) {
      char32_t last = i + 1 < edges.size() ? edges[i + 1].first - 1 : 0x10FFFF;
      targets[edges[i].target].emplace_back(edges[i].first, last);
    }
    return targets;
  }

  // Characters of the set that are written as they are.
  CodePointRanges Plain(const CodePointRanges& set) const {
    static const CodePointRanges encodable = {{1, 0xD7FF}, {0xE000, 0x10FFFF}};
    return IntersectRanges(set, in_string() ? JsonStringRanges() : encodable);
  }

  // States from which a text can end.
  void MarkLive() {
    live_.assign(states_.size(), false);
    std::vector<std::vector<size_t>> back(states_.size());
    std::vector<size_t> left;
    for (size_t i = 0; i < states_.size(); ++i) {
      for (const auto& [target, set] : Targets(i)) {
        bool is_written = !Plain(set).empty() || (in_string() && !EbnfEscapes(set).empty());
        if (is_written) back[static_cast<size_t>(target)].push_back(i);
      }
      if (states_[i].accepts) left.push_back(i);
      live_[i] = states_[i].accepts;
    }
    while (!left.empty()) {
      size_t state = left.back();
      left.pop_back();
      for (size_t before : back[state]) {
        if (!live_[before]) left.push_back(before);
        live_[before] = true;
      }
    }
  }

  std::string Body(size_t index) const {
    std::string body;
    if (states_[index].accepts) body = in_string() ? "\"\\\"\"" : "\"\"";
    auto add = [&body](const std::string& part) { body += (body.empty() ? "" : " | ") + part; };
    for (const auto& [target, set] : Targets(index)) {
      size_t next = static_cast<size_t>(target);
      if (!live_[next]) continue;
      CodePointRanges plain = Plain(set);
      std::string escapes = in_string() ? EbnfEscapes(set) : "";
      if (!plain.empty()) add(EbnfClass(plain) + " " + Name(next));
      if (!escapes.empty()) add(escapes + " " + Name(next));
    }
    return body;
  }

  const std::vector<Automaton::State>& states_;
  TextPlace place_;
  const std::string& prefix_;
  std::vector<bool> live_;
};

}  // namespace

std::string AutomatonToEbnf(const Automaton& automaton, TextPlace place, const std::string& prefix,
                            std::string* rules) {
  return AutomatonWriter(automaton, place, prefix).Run(rules);
}

}  // namespace mlc
