// Generated from codegen/schema by `python -m codegen`. Do not edit.
// Schema hash: 5c6e83c1dd599df1
//
// The int32 inputs of a step (docs/step-inputs.md): n rows of b sequences.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace mlc {

// Their values, one after another.
struct StepValues {
  // [n] The token of each row.
  std::vector<int32_t> tokens;
  // [n] Of each row in its sequence.
  std::vector<int32_t> positions;
  // [n] Where its key and value go: page * page_size + offset.
  std::vector<int32_t> slots;
  // [n] The sequence of each row, a number below b.
  std::vector<int32_t> row_sequence;
  // [b_plus_1] Where the pages of each sequence begin in `page_indices`.
  std::vector<int32_t> page_indptr;
  // [p] The pages of all sequences, one sequence after another.
  std::vector<int32_t> page_indices;
  // [n] The same as `slots`, in the pages of layers with a window, if these have their own.
  std::vector<int32_t> windowed_slots;
  // [p] The pages of layers with a window, as many as in `page_indices`; -1: no row reads it.
  std::vector<int32_t> windowed_indices;
  // [n] The type of each row: of a first or of a second text.
  std::vector<int32_t> token_types;
  // [n] The last position that each row sees. The rows of one picture may see each other.
  std::vector<int32_t> last_seen;
  // [n, 3] The positions of each row for rotations: time, height, width.
  std::vector<int32_t> rotary;
  // [u] The rows that have adapters, each once for every group of 8 ranks of its adapters.
  std::vector<int32_t> adapter_rows;
  // [u] That group, in the pool of adapters.
  std::vector<int32_t> adapter_groups;
  // [u] By how much the group counts: the bits of a float32.
  std::vector<int32_t> adapter_scales;
  // [c] Slots of this step's rows that branches of a token tree need in their own pages.
  std::vector<int32_t> copy_source;
  // [c] Where these slots are copied to.
  std::vector<int32_t> copy_destination;
  // [c] The same as `copy_source`, in the pages of layers with a window.
  std::vector<int32_t> windowed_copy_source;
  // [c] The same as `copy_destination`, in the pages of layers with a window.
  std::vector<int32_t> windowed_copy_destination;
  // [b] The slot of the recurrent state from which each sequence goes on; -1: an empty state.
  std::vector<int32_t> state_source;
  // [b_plus_1] Where the rows of each sequence begin.
  std::vector<int32_t> row_indptr;
  // [n] The slot for the recurrent state after each row; -1: it is not kept.
  std::vector<int32_t> state_writes;
  // [m] The rows that want logits, ascending.
  std::vector<int32_t> logit_rows;
  // [h] The rows that want hidden states: after the last norm, and of the chosen layers.
  std::vector<int32_t> hidden_rows;
};

struct StepInput {
  const char* name;
  std::vector<int32_t> StepValues::* values;
  const char* size;  // the run-time size: "n"
  int width;         // numbers of each entry
  bool always;       // whether every library takes it
  // What each entry gets if a step leaves it out: the value of another input, or a number. Without
  // both a step cannot leave it out, or it may have no entries.
  std::vector<int32_t> StepValues::* copied;
  std::optional<int32_t> unset;
  const char* description;
};

inline constexpr StepInput kStepInputs[] = {
    {"tokens", &StepValues::tokens, "n", 1, false, nullptr, std::nullopt, "The token of each row."},
    {"positions", &StepValues::positions, "n", 1, true, nullptr, std::nullopt,
     "Of each row in its sequence."},
    {"slots", &StepValues::slots, "n", 1, true, nullptr, std::nullopt,
     "Where its key and value go: page * page_size + offset."},
    {"row_sequence", &StepValues::row_sequence, "n", 1, true, nullptr, std::nullopt,
     "The sequence of each row, a number below b."},
    {"page_indptr", &StepValues::page_indptr, "b_plus_1", 1, true, nullptr, std::nullopt,
     "Where the pages of each sequence begin in `page_indices`."},
    {"page_indices", &StepValues::page_indices, "p", 1, true, nullptr, std::nullopt,
     "The pages of all sequences, one sequence after another."},
    {"windowed_slots", &StepValues::windowed_slots, "n", 1, false, nullptr, std::nullopt,
     "The same as `slots`, in the pages of layers with a window, if these have their own."},
    {"windowed_indices", &StepValues::windowed_indices, "p", 1, false, nullptr, std::nullopt,
     "The pages of layers with a window, as many as in `page_indices`; -1: no row reads it."},
    {"token_types", &StepValues::token_types, "n", 1, false, nullptr, 0,
     "The type of each row: of a first or of a second text."},
    {"last_seen", &StepValues::last_seen, "n", 1, false, &StepValues::positions, std::nullopt,
     "The last position that each row sees. The rows of one picture may see each other."},
    {"rotary", &StepValues::rotary, "n", 3, false, &StepValues::positions, std::nullopt,
     "The positions of each row for rotations: time, height, width."},
    {"adapter_rows", &StepValues::adapter_rows, "u", 1, false, nullptr, std::nullopt,
     "The rows that have adapters, each once for every group of 8 ranks of its adapters."},
    {"adapter_groups", &StepValues::adapter_groups, "u", 1, false, nullptr, std::nullopt,
     "That group, in the pool of adapters."},
    {"adapter_scales", &StepValues::adapter_scales, "u", 1, false, nullptr, std::nullopt,
     "By how much the group counts: the bits of a float32."},
    {"copy_source", &StepValues::copy_source, "c", 1, false, nullptr, std::nullopt,
     "Slots of this step's rows that branches of a token tree need in their own pages."},
    {"copy_destination", &StepValues::copy_destination, "c", 1, false, nullptr, std::nullopt,
     "Where these slots are copied to."},
    {"windowed_copy_source", &StepValues::windowed_copy_source, "c", 1, false, nullptr,
     std::nullopt, "The same as `copy_source`, in the pages of layers with a window."},
    {"windowed_copy_destination", &StepValues::windowed_copy_destination, "c", 1, false, nullptr,
     std::nullopt, "The same as `copy_destination`, in the pages of layers with a window."},
    {"state_source", &StepValues::state_source, "b", 1, false, nullptr, -1,
     "The slot of the recurrent state from which each sequence goes on; -1: an empty state."},
    {"row_indptr", &StepValues::row_indptr, "b_plus_1", 1, false, nullptr, std::nullopt,
     "Where the rows of each sequence begin."},
    {"state_writes", &StepValues::state_writes, "n", 1, false, nullptr, -1,
     "The slot for the recurrent state after each row; -1: it is not kept."},
    {"logit_rows", &StepValues::logit_rows, "m", 1, false, nullptr, std::nullopt,
     "The rows that want logits, ascending."},
    {"hidden_rows", &StepValues::hidden_rows, "h", 1, false, nullptr, std::nullopt,
     "The rows that want hidden states: after the last norm, and of the chosen layers."},
};

}  // namespace mlc
