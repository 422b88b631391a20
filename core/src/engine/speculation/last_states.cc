#include "engine/speculation/last_states.h"

#include <algorithm>

namespace mlc {

void LastStates::Take(SequenceId id, int first, int count, const float* states, int width) {
  if (count <= 0) return;
  const float* state = states + ptrdiff_t{width} * (count - 1);
  last_[id] = {first + count - 1, ++now_, {state, state + width}};
  if (last_.size() <= kMost) return;
  last_.erase(std::min_element(last_.begin(), last_.end(), [](const auto& a, const auto& b) {
    return a.second.taken < b.second.taken;
  }));
}

const float* LastStates::Find(const Sequence& sequence) const {
  auto found = last_.find(sequence.id);
  bool is_there = found != last_.end() && found->second.position == sequence.num_tokens() - 2;
  return is_there ? found->second.state.data() : nullptr;
}

}  // namespace mlc
