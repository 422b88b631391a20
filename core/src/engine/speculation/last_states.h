// The target's hidden state behind the last computed row of each sequence.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "engine/sequence.h"
#include "kv/kv_cache.h"

namespace mlc {

class LastStates {
 public:
  static constexpr size_t kMost = 1024;  // one for each sequence

  // As Drafter::TakeStates, of states with `width` numbers.
  void Take(SequenceId id, int first, int count, const float* states, int width);
  // The state of the row before the sequence's last token; null: it is not known.
  const float* Find(const Sequence& sequence) const;
  void Clear() { last_.clear(); }
  size_t size() const { return last_.size(); }

 private:
  struct Last {
    int position = 0;
    int64_t taken = 0;  // when
    std::vector<float> state = {};
  };

  std::unordered_map<SequenceId, Last> last_;
  int64_t now_ = 0;  // number of calls of Take
};

}  // namespace mlc
