// A model that TVM compiled: a library, its weights and its page pool.
#ifndef MLC_MODEL_TVM_MODEL_H_
#define MLC_MODEL_TVM_MODEL_H_

#include <memory>
#include <string>
#include <vector>

#include "model/model.h"
#include "model/model_config.h"
#include "model/tvm_sampler.h"
#include "runtime/kernel_program.h"
#include "runtime/model_library.h"
#include "runtime/weights.h"

namespace mlc {

class TVMModel : public Model {
 public:
  // Loads the library at `library_path` and its weights out of `source`; both are checked against
  // `config`, the folder's mlc-chat-config.json.
  static Result<std::unique_ptr<TVMModel>> Load(const ByteSource& source, const ChatConfig& config,
                                                const std::string& library_path, Device device,
                                                const LoadProgress& progress);

  // What a library's metadata says, without its weights; checked against `config`.
  static Result<ModelInfo> Inspect(const ChatConfig& config, const std::string& library_path,
                                   Device device);

  const ModelInfo& info() const override { return metadata_.info; }
  Status AllocatePages(int num_pages) override;
  Status CopyPages(const std::vector<int32_t>& source,
                   const std::vector<int32_t>& destination) override;
  Status ReadPages(const std::vector<int32_t>& pages, char* out) const override;
  Status WritePages(const std::vector<int32_t>& pages, const char* data) override;
  Status ClearSlots(int num_slots, char* page) const override;
  Result<Outputs> Forward(const Batch& batch) override;
  DeviceSampler* sampler() override { return sampler_.get(); }

 private:
  TVMModel(std::unique_ptr<ModelLibrary> library, LibraryMetadata metadata, Device device)
      : library_(std::move(library)),
        metadata_(std::move(metadata)),
        device_(device),
        sampler_(TVMSampler::For(library_.get(), metadata_.sampling_version, device)) {}
  Result<Tensor> IntTensor(const std::vector<int32_t>& values) const;
  Status LoadPrograms();
  // Each of these gives [rows, width] float32 on the host, until the next step. They run a program
  // where the library has programs; else the virtual machine.
  Result<float*> LogitsOnHost(const Batch& batch);
  Result<float*> HiddenStates(const Batch& batch, const std::vector<int32_t>& rows);
  // Of the logit_rows, whose hidden states stand behind those of the hidden_rows.
  Result<float*> LogitsOfHiddenStates(const Batch& batch, const float* hidden_states);
  Result<float*> RunStep(KernelProgram* program, const Batch& batch,
                         const std::vector<int32_t>& rows);
  // Logits on the device; of a decode step by its program, where there is one.
  Result<Tensor> LogitsOnDevice(const Batch& batch);
  Result<Tensor> DecodeOnDevice(const Batch& batch);
  // The same by the virtual machine, on the device.
  Result<Tensor> CallStep(const char* function, const Batch& batch,
                          const std::vector<int32_t>& rows, int width);
  Result<Tensor> CallHead(const Batch& batch, const float* hidden_states);

  std::unique_ptr<ModelLibrary> library_;
  LibraryMetadata metadata_;
  Device device_;
  std::unique_ptr<TVMSampler> sampler_;  // null: the host samples
  TensorList params_;
  std::vector<Tensor> layers_;  // the pages of each layer
  TensorList pages_;            // the same, as functions take them
  // By function; embed_ is null where the virtual machine runs everything.
  std::unique_ptr<KernelProgram> embed_, prefill_, prefill_to_hidden_states_, head_;
  std::unique_ptr<KernelProgram> verify_;  // null also where the library has no token trees
  std::unique_ptr<KernelProgram> decode_;  // on a device, where the library has it
  std::vector<int32_t> padded_pages_;      // of the decode step at hand
  Tensor logits_;                          // of the last step, on the host
  Tensor hidden_states_;                   // of its hidden_rows, then of its logit_rows
};

}  // namespace mlc

#endif  // MLC_MODEL_TVM_MODEL_H_
