// How likely the tokens of prompts were: `prompt_logprobs` of requests.
//
// Every row of a scored prompt has logits, which are many: a step takes a few such rows at a time.
#ifndef MLC_ENGINE_SCORING_H_
#define MLC_ENGINE_SCORING_H_

#include <vector>

#include "engine/commit.h"
#include "engine/device_choice.h"
#include "engine/step.h"

namespace mlc {

// How many rows may be scored in a step: what 64 MB of logits hold, at least one.
int MaxScoredRows(int vocab_size);

// Scores the rows of all items that are to be scored. `logits`: of each item.
void ScorePrompts(const LogitRows& rows, const std::vector<StepItem>& items,
                  const std::vector<ItemLogits>& logits, std::vector<SamplerScratch>* scratch);

}  // namespace mlc

#endif  // MLC_ENGINE_SCORING_H_
