// The collective of shards on GPUs of one machine, by a library of their vendor: NVIDIA's NCCL, or
// AMD's RCCL, which has the same functions. The library is opened when a model of several shards is
// loaded; its headers are not needed to build.
//
// The calls are launches on the stream of the calling thread, so recorded steps have them too. When
// a shard fails, the communicators of all are aborted, which ends what the others wait for; Reset
// makes new ones.
//
// MLC_NCCL_LIBRARY and MLC_RCCL_LIBRARY name another library.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "runtime/shards/collective.h"

namespace mlc {

class NcclCollective : public ShardGroup {
 public:
  // Whether the vendor of the device has such a library.
  static bool IsFor(Device device);
  // Errors: kUnavailable: the library is missing, or is another one.
  static Status Check(Device device);
  // Errors: the same; or it cannot connect the devices.
  static Result<std::unique_ptr<ShardGroup>> Make(const std::vector<Device>& devices);
  ~NcclCollective() override;

  Collective* shard(int rank) override;
  void Fail(int rank) override;
  Status Reset() override;

 private:
  class Shard;
  struct Library;
  NcclCollective(std::unique_ptr<Library> library, const std::vector<Device>& devices);
  Status Connect();

  std::unique_ptr<Library> library_;
  std::vector<std::unique_ptr<Shard>> shards_;
  std::mutex mutex_;  // of aborting
};

}  // namespace mlc
