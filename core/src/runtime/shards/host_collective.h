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

class HostCollective : public ShardGroup {
 public:
  explicit HostCollective(int count);
  ~HostCollective() override;
  HostCollective(const HostCollective&) = delete;
  HostCollective& operator=(const HostCollective&) = delete;

  Collective* shard(int rank) override;
  Status Reset() override;

 private:
  class Shard;
  // Waits until all shards have called it. False: one has failed.
  bool Meet();

  // The barrier: how many have come, and the number of the meeting (its lowest bit is the sense of
  // the textbook's sense-reversing barrier).
  alignas(64) std::atomic<int> arrived_{0};
  alignas(64) std::atomic<uint32_t> meeting_{0};
  std::vector<std::unique_ptr<Shard>> shards_;
};

}  // namespace mlc
