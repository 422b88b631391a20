// Generated from codegen/schema by `python -m codegen`. Do not edit.
// Schema hash: 5c6e83c1dd599df1
//
// What the core hands to the kernels that sample on a GPU: records of 32-bit words, a float as its
// bits. The kernels have the same in compiler/kernels/gpu/sampler_words_gen.py.
#pragma once

#include <cstdint>

namespace mlc {

// Of the records below; a library of another version is not asked to sample.
inline constexpr int kSamplerVersion = 28476;

// One token to be chosen. The mask and the changes lie in a list of words beside the tasks.
struct TaskWords {
  int32_t row = 0;            // Of the step's logits.
  int32_t limit = 0;          // Tokens that may be chosen: the first ones.
  int32_t mask_start = -1;    // Where the mask begins; -1: all tokens may be chosen.
  int32_t changes_start = 0;  // Where the changes begin.
  int32_t num_changes = 0;    // How many there are.
  int32_t top_k = 0;          // 0: all tokens; 1: the likeliest token, whatever follows.
  float scale = 1;            // 1 / temperature, 1e6 at most.
  float top_p = 1;            // As in requests.
  float min_p = 0;            // As in requests.
  float top_n_sigma = 0;      // As in requests; 0: all tokens.
  float xtc_threshold = 2;    // As in requests; over 1: none is excluded.
  float uniform = 0;          // A random number in [0, 1).
};
static_assert(sizeof(TaskWords) == 12 * sizeof(int32_t));

// What happens to a finite logit before the mask.
struct LogitChange {
  int32_t token = 0;     // Whose logit it is.
  float bias = 0;        // Is added first.
  float repetition = 1;  // Then divides a positive logit, multiplies another one.
  float penalty = 0;     // Is subtracted last.
};
static_assert(sizeof(LogitChange) == 4 * sizeof(int32_t));

}  // namespace mlc
