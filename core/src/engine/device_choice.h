// Decides which tokens of a step the model's device chooses, so that their logits stay on the
// device.
//
// The device chooses for sequences that need only the token. The host chooses for requests that
// want logprobs or have a logit processor, for a prompt whose end is shared by several choices, for
// drafts that branch, and when the library or the device cannot choose. One step may have rows of
// both kinds.
#pragma once

#include <vector>

#include "engine/commit.h"
#include "engine/step.h"
#include "model/device_sampler.h"

namespace mlc {

// The input of the commit of one item.
struct ItemLogits {
  // [num_scored + 1 + drafts, LogitRows::stride]; null: use `chosen`
  const float* logits = nullptr;
  std::vector<int32_t> chosen = {};  // like SequenceCommit::chosen
};

class DeviceChoice {
 public:
  // `sampler`: the model's sampler, or null.
  DeviceChoice(DeviceSampler* sampler, LogitRows rows) : sampler_(sampler), rows_(rows) {}

  // Whether the step should keep its logits on the device.
  bool IsFor(const std::vector<StepItem>& items) const;
  // Call it after the model has computed the step. Returns one entry for each item, in order.
  // `logits`: the model's; null when the model kept them on the device. The result is valid until
  // the next call.
  Result<std::vector<ItemLogits>> Assign(const std::vector<StepItem>& items, const float* logits);

 private:
  Result<std::vector<ItemLogits>> AssignKept(const std::vector<StepItem>& items);

  DeviceSampler* sampler_;
  LogitRows rows_;
  std::vector<float> host_rows_;
};

// Describes how the device chooses the next token of `sequence` from row `row`. Returns kInternal
// when the mask of its grammar cannot be filled.
Result<SampleTask> MakeSampleTask(int vocab_size, int row, Sequence* sequence);

}  // namespace mlc
