// The collective of shards that are threads of this process: they read each other's memory.
//
//   HostCollective group(2);
//   group.shard(1)->Sum(x, 2048, sum);   // on the second shard's thread, while the first does it
//   too
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/shards/collective.h"

namespace mlc {

class HostCollective {
 public:
  explicit HostCollective(int count);
  ~HostCollective();
  HostCollective(const HostCollective&) = delete;
  HostCollective& operator=(const HostCollective&) = delete;

  Collective* shard(int rank);
  // A shard cannot go on: the calls of the other shards return an error, now and until Reset.
  void Fail(int rank);
  // The shard that failed first; -1: none.
  int failed() const { return failed_.load(std::memory_order_acquire); }
  // Call it while no shard is in a call.
  void Reset();

 private:
  class Shard;
  // Waits until all shards have called it. False: one has failed.
  bool Meet();

  // The barrier: how many have come, and the number of the meeting (its lowest bit is the sense of
  // the textbook's sense-reversing barrier).
  alignas(64) std::atomic<int> arrived_{0};
  alignas(64) std::atomic<uint32_t> meeting_{0};
  std::atomic<int> failed_{-1};
  std::vector<std::unique_ptr<Shard>> shards_;
};

}  // namespace mlc
