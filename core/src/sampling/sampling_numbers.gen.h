// Generated from codegen/schema by `python -m codegen`. Do not edit.
// Schema hash: fcfd0a30cf6eed61
#ifndef MLC_SAMPLING_SAMPLING_NUMBERS_GEN_H_
#define MLC_SAMPLING_SAMPLING_NUMBERS_GEN_H_

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
};

}  // namespace mlc

#endif  // MLC_SAMPLING_SAMPLING_NUMBERS_GEN_H_
