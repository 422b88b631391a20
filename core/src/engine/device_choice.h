// Which tokens of a step the model's device chooses, so that their logits stay where they are.
//
// The device chooses for sequences that want nothing else of their logits. The host does for those
// that want logprobs, for prompts whose end several choices begin from, for drafts that branch, and
// where the library or the device cannot; rows of both kinds may share a step.
#ifndef MLC_ENGINE_DEVICE_CHOICE_H_
#define MLC_ENGINE_DEVICE_CHOICE_H_

#include <vector>

#include "engine/commit.h"
#include "engine/step.h"
#include "model/device_sampler.h"

namespace mlc {

// What the commit of an item gets.
struct ItemLogits {
  // [num_scored + 1 + drafts, LogitRows::stride]; null: tokens are chosen
  const float* logits = nullptr;
  std::vector<int32_t> chosen = {};  // as SequenceCommit has them
};

class DeviceChoice {
 public:
  // `sampler`: the model's, or null.
  DeviceChoice(DeviceSampler* sampler, LogitRows rows) : sampler_(sampler), rows_(rows) {}

  // Whether the step is to keep its logits on the device.
  bool IsFor(const std::vector<StepItem>& items) const;
  // Of each item, in order, once the model has computed the step. `logits`: the model's; null when
  // it kept them. What is returned holds until the next call.
  Result<std::vector<ItemLogits>> Assign(const std::vector<StepItem>& items, const float* logits);

 private:
  Result<std::vector<ItemLogits>> AssignKept(const std::vector<StepItem>& items);

  DeviceSampler* sampler_;
  LogitRows rows_;
  std::vector<float> host_rows_;
};

// How the next token of `sequence` is to be chosen from row `row`; kInternal when its grammar has
// no mask.
Result<SampleTask> MakeSampleTask(int vocab_size, int row, Sequence* sequence);

}  // namespace mlc

#endif  // MLC_ENGINE_DEVICE_CHOICE_H_
