// Which cores the threads of each shard of a model run on: an equal part of those that the process
// may use, by NUMA node. So a shard's weights and pages can lie in the memory that is near to it.
#pragma once

#include <vector>

#include "platform/cores.h"

namespace mlc {

class ShardCores {
 public:
  // Of the cores that the calling thread may use. 0 shards: nothing is bound.
  explicit ShardCores(int num_shards);
  ~ShardCores();
  ShardCores(const ShardCores&) = delete;
  ShardCores& operator=(const ShardCores&) = delete;

  // Whether there is a core for each shard.
  bool has_cores() const { return !shards_.empty(); }
  // The CPUs of a shard's threads.
  const Cpus& of(int rank) const { return shards_[static_cast<size_t>(rank)]; }

  // Whether all shards' threads together shall run on those: there is a core for each of them, and
  // for each thread of other models in this process that are bound. Two models whose threads had to
  // wait for each other on the same cores would be slower than without. Call it once.
  bool Take(int num_threads);

 private:
  std::vector<Cpus> shards_;  // none: nothing is bound
  int num_cores_ = 0, num_taken_ = 0;
};

}  // namespace mlc
