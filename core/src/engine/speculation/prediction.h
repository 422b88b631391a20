// Drafts from a prediction: a text that the caller expects the answer to resemble, such as a file
// before a small change (OpenAI's "predicted outputs").
#pragma once

#include "engine/drafts.h"
#include "engine/sequence.h"

namespace mlc {

// Finds where the answer so far goes on in its request's prediction, and returns at most
// `max_drafts` tokens from there. The place is where most of the answer's last tokens occur; of
// equal places, the one nearest to the answer's length. None if fewer than two tokens agree (one,
// when the answer has only one). The time is linear in the prediction.
Drafts LookUpPrediction(const Sequence& sequence, int max_drafts);

}  // namespace mlc
