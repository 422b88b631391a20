// Fills the grammars' masks of a step on a thread of its own, while the model computes the step.
//
//   filler.Begin(items);     // drafts are known
//   ... the model ...
//   filler.End();            // now the commit may use them
//
// Filling ahead never changes the generated text, because the commit fills every mask that is
// missing. It pays when the masks take longer than waking a thread, for example masks of patterns
// or of many sequences. The measured times of each sequence's masks decide.
#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "engine/step.h"

namespace mlc {

class MaskFiller {
 public:
  // If the masks of a step take less than `worthwhile_s` in total, the commit fills them.
  explicit MaskFiller(double worthwhile_s) : worthwhile_s_(worthwhile_s) {}
  ~MaskFiller();

  // Begins to fill the masks of the items that want logits. Until End, nobody else may use the
  // grammars of these sequences, and `items` must stay valid.
  void Begin(const std::vector<StepItem>& items);
  // Waits for the mask that is being filled. The other masks stay unfilled.
  void End();

 private:
  void Loop();

  double worthwhile_s_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<const StepItem*> waiting_;
  bool at_work_ = false, closing_ = false;
  std::atomic<bool> stop_{false};
  std::thread thread_;  // started when it is needed
};

// Calls Begin, and calls End when the scope ends in any way.
class MasksAhead {
 public:
  MasksAhead(MaskFiller* filler, const std::vector<StepItem>& items) : filler_(filler) {
    filler_->Begin(items);
  }
  ~MasksAhead() { filler_->End(); }
  MasksAhead(const MasksAhead&) = delete;
  MasksAhead& operator=(const MasksAhead&) = delete;

 private:
  MaskFiller* filler_;
};

}  // namespace mlc
