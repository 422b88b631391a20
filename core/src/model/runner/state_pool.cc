#include "model/runner/state_pool.h"

#include <utility>

namespace mlc {

Status StatePool::Allocate(int num_slots) {
  tensors_.clear();
  for (const LayerStates& layer : metadata_->states) {
    Shape shape = layer.shape;
    shape.insert(shape.begin(), num_slots);
    MLC_ASSIGN_OR_RETURN(Tensor slots, Tensor::Empty(shape, layer.dtype, device_));
    tensors_.push_back(std::move(slots));
  }
  return Status();
}

Status StatePool::Read(int32_t slot, char* out) const {
  for (size_t i = 0; i < tensors_.size(); ++i) {
    int64_t bytes = metadata_->states[i].bytes;
    MLC_RETURN_IF_ERROR(tensors_[i].Read(slot * bytes, out, bytes));
    out += bytes;
  }
  return Status();
}

Status StatePool::Write(int32_t slot, const char* data) {
  for (size_t i = 0; i < tensors_.size(); ++i) {
    int64_t bytes = metadata_->states[i].bytes;
    MLC_RETURN_IF_ERROR(tensors_[i].Write(slot * bytes, data, bytes));
    data += bytes;
  }
  return Status();
}

}  // namespace mlc
