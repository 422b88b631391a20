# Generated from codegen/schema by `python -m codegen`. Do not edit.
# Schema hash: 5c6e83c1dd599df1
"""What the core hands to the kernels that sample on a GPU: records of 32-bit words.

A float's word is its bits. The core has the same in core/src/sampling/sampler_words.gen.h.
"""

from __future__ import annotations

SAMPLER_VERSION = 28476  # of the words below, and of what they mean

# One token to be chosen. The mask and the changes lie in a list of words beside the tasks.
ROW = 0  # int32_t: Of the step's logits.
LIMIT = 1  # int32_t: Tokens that may be chosen: the first ones.
MASK_START = 2  # int32_t: Where the mask begins; -1: all tokens may be chosen.
CHANGES_START = 3  # int32_t: Where the changes begin.
NUM_CHANGES = 4  # int32_t: How many there are.
TOP_K = 5  # int32_t: 0: all tokens; 1: the likeliest token, whatever follows.
SCALE = 6  # float: 1 / temperature, 1e6 at most.
TOP_P = 7  # float: As in requests.
MIN_P = 8  # float: As in requests.
TOP_N_SIGMA = 9  # float: As in requests; 0: all tokens.
XTC_THRESHOLD = 10  # float: As in requests; over 1: none is excluded.
UNIFORM = 11  # float: A random number in [0, 1).
TASK_WORDS = 12

# What happens to a finite logit before the mask.
TOKEN = 0  # int32_t: Whose logit it is.
BIAS = 1  # float: Is added first.
REPETITION = 2  # float: Then divides a positive logit, multiplies another one.
PENALTY = 3  # float: Is subtracted last.
LOGIT_CHANGE_WORDS = 4
