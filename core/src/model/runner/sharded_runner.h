// A compiled model whose layers several shards of this process compute together. Each shard is a
// DeviceRunner with its part of the weights and of each page, and has a thread with its part of the
// workers; the kernels between shards meet in a collective. On the CPU each shard has cores of its
// own (shard_cores.h), and loads its weights there; otherwise it has a device of its own
// (shard_devices.h). A page here is the pages of all shards, one after another.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "model/runner/device_runner.h"
#include "runtime/shards/collective.h"
#include "runtime/shards/shard_devices.h"
#include "runtime/shards/shard_threads.h"

namespace mlc {

class ShardedRunner : public Model {
 public:
  // Loads the weights of all shards (see DeviceRunner::LoadWeights). `first` has none yet, and says
  // how many shards there are.
  static Result<std::unique_ptr<ShardedRunner>> Make(std::unique_ptr<DeviceRunner> first,
                                                     const ByteSource& source,
                                                     const LoadProgress& progress,
                                                     const std::string& strips_prefix = "");

  const ModelInfo& info() const override { return shards_.front()->info(); }
  int64_t AvailableBytes() const override { return AvailableMemoryBytes(devices_); }
  Status AllocatePages(const std::vector<int>& num_pages) override;
  Status CopyPages(const std::vector<int32_t>& source,
                   const std::vector<int32_t>& destination) override;
  Status ReadPages(const std::vector<int32_t>& pages, char* out) const override;
  Status WritePages(const std::vector<int32_t>& pages, const char* data) override;
  Status ClearSlots(int num_slots, size_t group, char* page) const override;
  Status AllocateStates(int num_slots) override;
  Status ReadState(int32_t slot, char* out) const override;
  Status WriteState(int32_t slot, const char* data) override;
  Status AllocateAdapters(int num_groups) override;
  Status WriteAdapter(const std::vector<int32_t>& groups, const AdapterWeights& adapter) override;
  int64_t DiscardPages(const std::vector<int32_t>& pages) override;
  int64_t DropWeights() override;
  int64_t TouchWeights() override;
  // An error of one shard ends the step of all. The next step may succeed.
  Result<Outputs> Forward(const Batch& batch) override;
  // The first shard computes it: a head has no parts.
  Result<const float*> RunHead(const std::vector<float>& vectors, int num_vectors) override {
    return shards_.front()->RunHead(vectors, num_vectors);
  }
  DeviceSampler* sampler() override { return shards_.front()->sampler(); }  // it has the logits

 private:
  ShardedRunner() = default;
  // Calls f(shard, offset of its part of the page) for all shards.
  template <typename F>
  Status ForPartsOf(int32_t page, F f) const;
  int64_t PartBytes(size_t group) const;

  std::vector<Device> devices_;
  std::unique_ptr<ShardGroup> group_;
  std::vector<std::unique_ptr<DeviceRunner>> shards_;
  std::unique_ptr<ShardThreads> threads_;
  int first_windowed_ = 0;  // the first page of the second group (kv/page_groups.h)
};

}  // namespace mlc
