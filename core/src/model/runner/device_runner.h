// A compiled model on one device: it owns the library, the weights, the pages and states, the
// sampler, and what executes steps. Nothing above it knows a device.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "model/model.h"
#include "model/model_config.h"
#include "model/runner/adapter_pool.h"
#include "model/runner/page_pool.h"
#include "model/runner/state_pool.h"
#include "model/runner/step_executor.h"
#include "model/runner/tvm_sampler.h"
#include "model/tower.h"
#include "runtime/model_library.h"
#include "runtime/weights.h"

namespace mlc {

class DeviceRunner : public Model {
 public:
  // Opens the library at `library_path`. Checks it against `config`, the folder's
  // mlc-chat-config.json. If it is the program of one of several shards, see sharded_runner.h.
  static Result<std::unique_ptr<DeviceRunner>> Open(const ChatConfig& config,
                                                    const std::string& library_path, Device device);

  // Of another shard, with this one's library, on a device of the same kind.
  Result<std::unique_ptr<DeviceRunner>> ForShard(Device device) const;

  // Loads the weights, those of shard `rank`. Nothing else may be called before. `strips_prefix`:
  // see Weights::Load.
  Status LoadWeights(const ByteSource& source, const LoadProgress& progress,
                     const std::string& strips_prefix = "", int rank = 0);

  // The library's part that drafts as a model of its own, which shares this one's library and
  // weights and loads only the others. Null when the library has none of that kind.
  Result<std::unique_ptr<DeviceRunner>> LoadDraft(const std::string& kind, const ByteSource& source,
                                                  const LoadProgress& progress,
                                                  const std::string& strips_prefix = "") const;

  // The library's tower, with what the folder says of pictures. Null when the library has none; a
  // folder that says nothing is an error then.
  Result<std::shared_ptr<const Tower>> LoadTower(const ChatConfig& config) const;

  // Reads a library's metadata without its weights, and checks it against `config`.
  static Result<LibraryMetadata> Inspect(const ChatConfig& config, const std::string& library_path,
                                         Device device);

  Device device() const { return device_; }
  const ModelInfo& info() const override { return metadata_.info; }
  int64_t AvailableBytes() const override { return AvailableMemoryBytes(device_); }
  Status AllocatePages(const std::vector<int>& num_pages) override;
  Status CopyPages(const std::vector<int32_t>& source,
                   const std::vector<int32_t>& destination) override {
    return pages_->Copy(source, destination);
  }
  Status ReadPages(const std::vector<int32_t>& pages, char* out) const override {
    return pages_->Read(pages, out);
  }
  Status WritePages(const std::vector<int32_t>& pages, const char* data) override {
    return pages_->Write(pages, data);
  }
  Status ClearSlots(int num_slots, size_t group, char* page) const override {
    return pages_->ClearSlots(num_slots, group, page);
  }
  // Recorded steps are recorded anew: what their launches use has changed.
  void ForgetRecords() { executor_->SetPages(pages_->layers()); }
  Status AllocateStates(int num_slots) override;
  Status ReadState(int32_t slot, char* out) const override { return states_.Read(slot, out); }
  Status WriteState(int32_t slot, const char* data) override { return states_.Write(slot, data); }
  Status AllocateAdapters(int num_groups) override;
  Status WriteAdapter(const std::vector<int32_t>& groups, const AdapterWeights& adapter) override {
    return adapters_.Write(groups, adapter);
  }
  int64_t DiscardPages(const std::vector<int32_t>& pages) override {
    return pages_->Discard(pages);
  }
  int64_t DropWeights() override { return weights_->Drop(); }
  int64_t TouchWeights() override { return weights_->Touch(); }
  Result<Outputs> Forward(const Batch& batch) override;
  Result<const float*> RunHead(const std::vector<float>& vectors, int num_vectors) override;
  DeviceSampler* sampler() override { return sampler_.get(); }

 private:
  DeviceRunner(std::shared_ptr<ModelLibrary> library, LibraryMetadata metadata, Device device);
  // `shared`: parameters before its own weights.
  Status Start(Weights weights, std::vector<Tensor> shared);

  std::shared_ptr<ModelLibrary> library_;
  LibraryMetadata metadata_;
  Device device_;
  std::shared_ptr<PagePool> pages_;  // the target's, if this part reads them
  StatePool states_;
  AdapterPool adapters_;
  std::shared_ptr<Weights> weights_ = std::make_shared<Weights>();
  TensorList params_;
  std::unique_ptr<TVMSampler> sampler_;  // null: the host samples
  std::unique_ptr<StepExecutor> executor_;
  StepTensors made_;  // by the last step, on the host
  Tensor scores_;     // by the last call of the head, on the host
};

}  // namespace mlc
