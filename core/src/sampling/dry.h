// DRY ("don't repeat yourself"), after P. E. Weidmann 2024 (text-generation-webui, pull request
// 5677): a token that would make a repetition longer is penalized, the more the longer it is.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "sampling/logits.h"

namespace mlc {

// What is to be subtracted from the logit of each token that would go on with a repetition of at
// least `dry_allowed_length` tokens. `newest_first`: the known tokens; only the last
// `dry_penalty_last_n` of them are read. A breaker is in no repetition, and never penalized. Takes
// time in the order of the number of tokens.
std::unordered_map<int32_t, float> DryPenalties(const SamplingParams& params,
                                                const std::vector<int32_t>& newest_first);

}  // namespace mlc
