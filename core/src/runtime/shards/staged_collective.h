// The collective of shards on devices that nothing connects: each copies its tensor to the host,
// the host adds, and each copies the result back.
#pragma once

#include <memory>
#include <vector>

#include "runtime/shards/host_collective.h"

namespace mlc {

class StagedCollective : public ShardGroup {
 public:
  explicit StagedCollective(const std::vector<Device>& devices);
  ~StagedCollective() override;

  Collective* shard(int rank) override;
  void Fail(int rank) override;
  Status Reset() override;

 private:
  class Shard;
  HostCollective host_;
  std::vector<std::unique_ptr<Shard>> shards_;
};

}  // namespace mlc
