// The weights of adapters that rows may choose, in groups of 8 ranks.
#pragma once

#include <cstdint>
#include <vector>

#include "model/adapter_file.h"
#include "model/model_config.h"
#include "runtime/tensor.h"

namespace mlc {

class AdapterPool {
 public:
  // `metadata` must outlive the pool.
  AdapterPool(const LibraryMetadata* metadata, Device device)
      : metadata_(metadata), device_(device) {}

  // A and B of each layer: [num_groups, ...].
  const std::vector<Tensor>& tensors() const { return tensors_; }
  Status Allocate(int num_groups);
  // Writes the groups of an adapter to these groups.
  Status Write(const std::vector<int32_t>& groups, const AdapterWeights& adapter);

 private:
  const LibraryMetadata* metadata_;
  Device device_;
  std::vector<Tensor> tensors_;
};

}  // namespace mlc
