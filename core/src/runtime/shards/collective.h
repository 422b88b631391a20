// What the shards of a model do together. Each shard is a thread with weights and pages of its own;
// the kernels between shards call these functions (compiler/kernels/common/shards.py), all shards
// the same ones in the same order. An implementation is for one kind of memory (MakeShardGroup).
//
//   MLC_ASSIGN_OR_RETURN(std::unique_ptr<ShardGroup> group, MakeShardGroup(devices));
//   WithCollective with(group->shard(rank));  // on the shard's thread, before its kernels
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "runtime/device.h"

namespace mlc {

// One shard's side. Tensors are float32, in the memory of the shard's device. On a device a call
// may return before its work is done, as a launch of a kernel does; later launches see the results.
// An error ends the step of all shards.
class Collective {
 public:
  virtual ~Collective() = default;
  virtual int rank() const = 0;   // of the shard, from 0 on
  virtual int count() const = 0;  // of all shards
  // sum[i] = x[i] of the first shard + x[i] of the second one + ..., on every shard. Through the
  // host the order of the additions is fixed, so the result has the same bits in all runs; NCCL
  // chooses its own order.
  virtual Status Sum(const float* x, int64_t size, float* sum) = 0;
  // On the first shard: row r of `joined` is row r of all shards' x, side by side. On the others
  // `joined` is undefined. Kernels of a device see x as one row.
  virtual Status Join(const float* x, int64_t rows, int64_t width, float* joined) = 0;
};

// All shards of a model.
class ShardGroup {
 public:
  virtual ~ShardGroup() = default;
  virtual Collective* shard(int rank) = 0;
  // A shard cannot go on: the calls of the other shards return an error, and what they wait for
  // ends, now and until Reset.
  virtual void Fail(int rank) {
    int none = -1;
    failed_.compare_exchange_strong(none, rank, std::memory_order_acq_rel);
  }
  // The shard that failed first; -1: none.
  int failed() const { return failed_.load(std::memory_order_acquire); }
  // Begins anew. Call it while no shard is in a call.
  virtual Status Reset() {
    failed_.store(-1, std::memory_order_release);
    return Status();
  }

 protected:
  Status HasFailed() const { return Internal("shard " + std::to_string(failed()) + " has failed"); }

 private:
  std::atomic<int> failed_{-1};
};

// The group for devices of one kind, a shard on each: NCCL for CUDA, RCCL for ROCm, the host's
// memory for CPU threads, and copies through it for all others. Errors: kUnavailable, with what to
// install.
Result<std::unique_ptr<ShardGroup>> MakeShardGroup(const std::vector<Device>& devices);

// The collective of the kernels that the calling thread runs while this object lives.
class WithCollective {
 public:
  explicit WithCollective(Collective* collective);
  ~WithCollective();
  WithCollective(const WithCollective&) = delete;
  WithCollective& operator=(const WithCollective&) = delete;
};

}  // namespace mlc
