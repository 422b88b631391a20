// What the shards of a model do together. Each shard is a thread with weights and pages of its own;
// the kernels between shards call these functions (compiler/kernels/common/shards.py), all shards
// the same ones in the same order. An implementation is for one kind of memory: HostCollective for
// shards of this process; one for GPUs would call NCCL.
#pragma once

#include <cstdint>

#include "base/status.h"

namespace mlc {

// One shard's side. Tensors are float32, in the shard's memory. An error ends the step of all
// shards.
class Collective {
 public:
  virtual ~Collective() = default;
  virtual int rank() const = 0;   // of the shard, from 0 on
  virtual int count() const = 0;  // of all shards
  // sum[i] = x[i] of the first shard + x[i] of the second one + ..., on every shard. The order of
  // the additions is fixed, so the result has the same bits on all shards and in all runs.
  virtual Status Sum(const float* x, int64_t size, float* sum) = 0;
  // On the first shard: row r of `joined` is row r of all shards' x, side by side. On the others
  // nothing is written.
  virtual Status Join(const float* x, int64_t rows, int64_t width, float* joined) = 0;
};

// The collective of the kernels that the calling thread runs while this object lives.
class WithCollective {
 public:
  explicit WithCollective(Collective* collective);
  ~WithCollective();
  WithCollective(const WithCollective&) = delete;
  WithCollective& operator=(const WithCollective&) = delete;
};

}  // namespace mlc
