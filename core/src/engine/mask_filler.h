// Fills the grammars' masks of a step on a thread of its own, while the model computes the step.
//
//   filler.Begin(items);     // drafts are known
//   ... the model ...
//   filler.End();            // now the commit may use them
//
// What is filled ahead never decides what is generated: a mask that is missing is filled by the
// commit. It is worth it where masks take longer than waking a thread does, as those of patterns,
// and of many sequences, may; by the times of the sequences' own masks.
#ifndef MLC_ENGINE_MASK_FILLER_H_
#define MLC_ENGINE_MASK_FILLER_H_

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "engine/step.h"

namespace mlc {

class MaskFiller {
 public:
  // Steps whose masks take less than `worthwhile_s` all together are left to the commit.
  explicit MaskFiller(double worthwhile_s) : worthwhile_s_(worthwhile_s) {}
  ~MaskFiller();

  // For the items that want logits. Until End nobody else may use their sequences' grammars, and
  // `items` must stay.
  void Begin(const std::vector<StepItem>& items);
  // Waits for the mask that is being filled, if one is, and leaves the rest.
  void End();

 private:
  void Loop();

  double worthwhile_s_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<const StepItem*> waiting_;
  bool at_work_ = false, closing_ = false;
  std::atomic<bool> stop_{false};
  std::thread thread_;  // once it is needed
};

// Begin, and End when the scope is left, however that may be.
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

#endif  // MLC_ENGINE_MASK_FILLER_H_
