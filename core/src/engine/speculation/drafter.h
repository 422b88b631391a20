// Who guesses the next tokens of sequences. A guess is never wrong, only useless: the target model
// verifies it (engine/commit).
#ifndef MLC_ENGINE_SPECULATION_DRAFTER_H_
#define MLC_ENGINE_SPECULATION_DRAFTER_H_

#include <vector>

#include "engine/drafts.h"
#include "engine/sequence.h"

namespace mlc {

struct DraftTask {
  Sequence* sequence;
  int max_drafts;  // one behind the other, at least 1
  int width = 1;   // side by side: at most so many of each depth
};

class Drafter {
 public:
  virtual ~Drafter() = default;
  // Whether drafts take no time beside a step of the target.
  virtual bool is_free() const = 0;
  // The drafts of each task, 0 to max_drafts deep, depth first. The sequences are as before. An
  // error is the end of this drafter.
  virtual Result<std::vector<Drafts>> Draft(const std::vector<DraftTask>& tasks) = 0;
  // Forgets what it keeps of sequences, where that takes memory.
  virtual void Clear() {}
  // What one more draft of each of `num_tasks` takes, as measured; 0 when it was not.
  virtual double seconds_per_draft(int num_tasks) const = 0;
};

}  // namespace mlc

#endif  // MLC_ENGINE_SPECULATION_DRAFTER_H_
