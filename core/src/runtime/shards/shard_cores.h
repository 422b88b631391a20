// Which cores the threads of each shard of a model run on, where the process may use those of
// several NUMA nodes: an equal part of them, node by node. So a shard's weights and pages can lie
// in the memory that is near to it. On one node a bound thread could only lose: it waits for its
// core when another program uses it.
#pragma once

#include <string>
#include <vector>

#include "platform/cores.h"

namespace mlc {

class ShardCores {
 public:
  // Of the cores that the calling thread may use. 0 shards: nothing is bound.
  ShardCores(int num_shards, const std::string& system);
  ~ShardCores();
  ShardCores(const ShardCores&) = delete;
  ShardCores& operator=(const ShardCores&) = delete;

  // Whether there are several nodes, and a core for each shard.
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
