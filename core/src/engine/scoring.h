// Computes the log probabilities of prompts: `prompt_logprobs` of requests.
//
// Every row of a scored prompt has logits, and these need much memory. So a step takes only a few
// such rows.
#pragma once

#include <vector>

#include "engine/commit.h"
#include "engine/device_choice.h"
#include "engine/step.h"

namespace mlc {

// The number of rows that one step may score: at least one, at most 64 MB of logits.
int MaxScoredRows(int vocab_size);

// Scores the rows of all items that want scores. `logits`: one entry for each item.
void ScorePrompts(const LogitRows& rows, const std::vector<StepItem>& items,
                  const std::vector<ItemLogits>& logits, std::vector<SamplerScratch>* scratch);

}  // namespace mlc
