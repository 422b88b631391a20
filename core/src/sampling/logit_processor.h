// The caller's own change of logits, before a token is chosen from them.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/status.h"

namespace mlc {

// Changes `logits` [vocab_size] in place. `tokens`: the prompt's `num_prompt` ids, then those of
// the answer so far; an id below zero stands for a row of a picture. It is called on the engine's
// thread, and holds up all requests until it returns. An error ends the request.
using LogitProcessor = std::function<Status(const std::vector<int32_t>& tokens, int num_prompt,
                                            float* logits, int vocab_size)>;

// Calls it, and checks what it leaves: every logit is a number or -infinity, and one is a number.
// Error: kInvalidArgument with Reason::kLogitProcessorFailed.
Status RunLogitProcessor(const LogitProcessor& processor, const std::vector<int32_t>& tokens,
                         int num_prompt, float* logits, int vocab_size);

// The error of a processor that failed, with what it said.
Status LogitProcessorFailed(const std::string& message);

}  // namespace mlc
