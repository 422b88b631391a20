// The tensors that hold recurrent states, slot after slot.
#pragma once

#include <cstdint>
#include <vector>

#include "model/model_config.h"
#include "runtime/tensor.h"

namespace mlc {

// States in the form of model.h: a state is its tensors, one after another in the library's order.
class StatePool {
 public:
  // `metadata` must outlive the pool.
  StatePool(const LibraryMetadata* metadata, Device device)
      : metadata_(metadata), device_(device) {}

  const std::vector<Tensor>& tensors() const { return tensors_; }
  Status Allocate(int num_slots);
  Status Read(int32_t slot, char* out) const;
  Status Write(int32_t slot, const char* data);

 private:
  const LibraryMetadata* metadata_;
  Device device_;
  std::vector<Tensor> tensors_;
};

}  // namespace mlc
