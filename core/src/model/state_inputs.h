// The arguments that the kernels of recurrent layers get from a batch (docs/model-library.md).
#ifndef MLC_MODEL_STATE_INPUTS_H_
#define MLC_MODEL_STATE_INPUTS_H_

#include <array>
#include <cstdint>
#include <vector>

#include "model/model.h"

namespace mlc {

class StateInputs {
 public:
  void Set(const Batch& batch);

  // In the order of the library's arguments: state_source [b], row_indptr [b + 1], state_writes
  // [n]. Valid until the next Set.
  std::array<const std::vector<int32_t>*, 3> parts() const {
    return {&source_, &row_indptr_, &writes_};
  }

 private:
  std::vector<int32_t> source_;      // the slot from which a sequence continues; -1: none
  std::vector<int32_t> row_indptr_;  // the rows of sequence s are [s] to [s + 1]
  std::vector<int32_t> writes_;      // the slot for the state after each row; -1: it is not kept
};

}  // namespace mlc

#endif  // MLC_MODEL_STATE_INPUTS_H_
