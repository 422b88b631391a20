// The automaton of Aho and Corasick over bytes: a state is the longest suffix of the text that
// begins a stop string.
#include "text/stop_matcher.h"

#include <map>
#include <queue>

namespace mlc {

struct StopMatcher::Automaton {
  struct Node {
    std::map<unsigned char, int> next;
    int fail = 0;
    int depth = 0;
    int hit = -1;  // the longest stop string that ends here, also as a suffix
    int hit_length = 0;
  };
  std::vector<Node> nodes = std::vector<Node>(1);

  void Add(const std::string& stop, int index);
  void Link();
  int Step(int state, unsigned char byte) const;
};

void StopMatcher::Automaton::Add(const std::string& stop, int index) {
  int state = 0;
  for (unsigned char byte : stop) {
    auto [child, is_new] = nodes[state].next.emplace(byte, static_cast<int>(nodes.size()));
    int depth = nodes[state].depth + 1;
    state = child->second;
    if (is_new) {
      nodes.emplace_back();
      nodes.back().depth = depth;
    }
  }
  if (state == 0 || nodes[state].hit >= 0) return;  // empty, or listed twice
  nodes[state].hit = index;
  nodes[state].hit_length = static_cast<int>(stop.size());
}

// Breadth first, so that the fallback of a node is already complete.
void StopMatcher::Automaton::Link() {
  std::queue<int> queue;
  queue.push(0);
  while (!queue.empty()) {
    int state = queue.front();
    queue.pop();
    for (const auto& [byte, child] : nodes[state].next) {
      Node& node = nodes[child];
      node.fail = state == 0 ? 0 : Step(nodes[state].fail, byte);
      if (node.hit < 0) {
        node.hit = nodes[node.fail].hit;
        node.hit_length = nodes[node.fail].hit_length;
      }
      queue.push(child);
    }
  }
}

int StopMatcher::Automaton::Step(int state, unsigned char byte) const {
  for (;; state = nodes[state].fail) {
    auto child = nodes[state].next.find(byte);
    if (child != nodes[state].next.end()) return child->second;
    if (state == 0) return 0;
  }
}

StopMatcher::StopMatcher(std::vector<std::string> stops) {
  auto automaton = std::make_shared<Automaton>();
  for (size_t i = 0; i < stops.size(); ++i) automaton->Add(stops[i], static_cast<int>(i));
  automaton->Link();
  automaton_ = std::move(automaton);
}

StopMatcher::Out StopMatcher::Put(std::string_view text) {
  Out out;
  if (stopped_index_ < 0) {
    for (size_t i = 0; i < text.size() && stopped_index_ < 0; ++i) {
      state_ = automaton_->Step(state_, static_cast<unsigned char>(text[i]));
      held_ += text[i];
      const Automaton::Node& node = automaton_->nodes[state_];
      if (node.hit < 0) continue;
      stopped_index_ = node.hit;
      held_.resize(held_.size() - node.hit_length);
    }
    // After a hit, all held text may be released. Otherwise the bytes of the state stay.
    size_t keep = stopped_index_ < 0 ? automaton_->nodes[state_].depth : 0;
    out.text = held_.substr(0, held_.size() - keep);
    held_.erase(0, out.text.size());
  }
  out.stopped = stopped_index_ >= 0;
  out.index = stopped_index_;
  return out;
}

std::string StopMatcher::Finish() {
  std::string text;
  text.swap(held_);
  state_ = 0;
  stopped_index_ = -1;
  return text;
}

}  // namespace mlc
