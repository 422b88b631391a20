#include "model/runner/adapter_pool.h"

#include <utility>

namespace mlc {

Status AdapterPool::Allocate(int num_groups) {
  tensors_.clear();
  for (auto& [shape, dtype] : metadata_->adapter_tensors()) {
    shape.insert(shape.begin(), num_groups);
    MLC_ASSIGN_OR_RETURN(Tensor tensor, Tensor::Empty(shape, dtype, device_));
    tensors_.push_back(std::move(tensor));
  }
  return Status();
}

Status AdapterPool::Write(const std::vector<int32_t>& groups, const AdapterWeights& adapter) {
  std::vector<char> zeros;
  for (size_t i = 0; i < tensors_.size(); ++i) {
    Tensor& to = tensors_[i];
    int64_t bytes = to.bytes() / to.shape()[0];  // of a group
    const std::vector<char>& from = adapter.tensors[i];
    if (from.empty()) zeros.resize(static_cast<size_t>(bytes));
    for (size_t group = 0; group < groups.size(); ++group) {
      const char* data =
          from.empty() ? zeros.data() : from.data() + group * static_cast<size_t>(bytes);
      MLC_RETURN_IF_ERROR(to.Write(groups[group] * bytes, data, bytes));
    }
  }
  return Status();
}

}  // namespace mlc
