// Generated from codegen/schema by `python -m codegen`. Do not edit.
// Schema hash: 5c6e83c1dd599df1
#pragma once

#include <cstdint>

namespace mlc {

// The numbers by which a request wants its tokens chosen; as they stand here they change nothing.
// Ranges are checked by the protocol.
struct SamplingNumbers {
  // How far the choice of tokens strays from the likeliest; 0 always takes the likeliest. Absent:
  // the model's own default, else 1.
  double temperature = 1;
  // Keeps the likeliest tokens that together reach this probability; 0 keeps the likeliest alone.
  // Absent: the model's own default, else 1.
  double top_p = 1;
  // Keeps this many of the likeliest tokens; 0 or -1 keeps all. Absent: the model's own default,
  // else 0.
  int32_t top_k = 0;
  // Keeps tokens at least this probable, relative to the likeliest. Absent: the model's own
  // default, else 0.
  double min_p = 0;
  // Lowers a token's logit by this much for each time it occurs in the answer. Absent: the model's
  // own default, else 0.
  double frequency_penalty = 0;
  // Lowers a token's logit by this much once it occurs in the answer. Absent: the model's own
  // default, else 0.
  double presence_penalty = 0;
  // Divides a positive logit, and multiplies a negative one, of tokens that occurred. Absent: the
  // model's own default, else 1.
  double repetition_penalty = 1;
  // Keeps tokens whose logit is at most this many standard deviations below the largest; 0 or less
  // keeps all. Absent: the model's own default, else 0.
  double top_n_sigma = 0;
  // How often (of 1) the likeliest tokens are excluded, all but the last one that `xtc_threshold`
  // counts among them. Absent: the model's own default, else 0.
  double xtc_probability = 0;
  // From which probability on `xtc_probability` counts a token among the likeliest; over 0.5 there
  // is no second one. Absent: the model's own default, else 0.1.
  double xtc_threshold = 0.1;
  // Lowers the logit of a token that would go on with a repetition, in prompt and answer: by this
  // much times `dry_base` to the power of what the repetition is longer than `dry_allowed_length`.
  // Absent: the model's own default, else 0.
  double dry_multiplier = 0;
  // How fast `dry_multiplier` grows with a repetition. Absent: the model's own default, else 1.75.
  double dry_base = 1.75;
  // `dry_multiplier` begins at repetitions of this length. Absent: the model's own default, else 2.
  int32_t dry_allowed_length = 2;
  // Among how many of the last tokens `dry_multiplier` looks for repetitions; -1: all, 0: none.
  // Absent: the model's own default, else -1.
  int32_t dry_penalty_last_n = -1;
};

}  // namespace mlc
