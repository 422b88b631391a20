#include "model/runner/device_runner.h"

#include "model/param_specs.h"
#include "model/picture_settings.h"
#include "model/runner/library_functions.h"
#include "model/runner/library_tower.h"
#include "model/runner/step_executor.h"
#include "model/vit_tower.h"
#include "platform/cpu_features.h"
#include "platform/memory.h"
#include "runtime/shards/shard_devices.h"

namespace mlc {
namespace {

Status CheckFunction(const LibraryMetadata& metadata, const char* name, const char* result,
                     const std::string& path) {
  auto found = metadata.functions.find(name);
  bool is_there = found != metadata.functions.end();
  if (is_there && (result == nullptr || found->second.Gives(result))) return Status();
  std::string missing = is_there ? "result '" + std::string(result) + "' of" : "function";
  return Corrupt(path + ": has no " + missing + " '" + name + "'").WithParam("model_lib");
}

bool HasSamePages(const LibraryMetadata& part, const LibraryMetadata& model) {
  auto same = [](const LayerPages& a, const LayerPages& b) {
    return a.page_shape == b.page_shape && a.dtype == b.dtype && a.is_windowed == b.is_windowed;
  };
  return part.info.page_size == model.info.page_size &&
         std::equal(part.layers.begin(), part.layers.end(), model.layers.begin(),
                    model.layers.end(), same);
}

Status CheckFunctions(const LibraryMetadata& metadata, const std::string& path) {
  const ModelInfo& info = metadata.info;
  if (info.head_size > 0) {
    HeadNames head = HeadOf(metadata);
    MLC_RETURN_IF_ERROR(CheckFunction(metadata, head.function, head.result, path));
  }
  bool has_steps = info.draft_kind.empty() || info.takes_states;
  if (!has_steps) return Status();
  MLC_RETURN_IF_ERROR(CheckFunction(metadata, kEmbed, kEmbeddings, path));
  MLC_RETURN_IF_ERROR(
      CheckFunction(metadata, kStep, info.is_encoder ? kHiddenStates : kLogits, path));
  if (info.reads_target_pages) return Status();
  return CheckFunction(metadata, kCopyPages, nullptr, path);
}

// An instruction that the CPU does not have would kill the process.
Status CheckCpu(const LibraryMetadata& metadata, const std::string& path) {
  std::vector<std::string> missing = MissingCpuFeatures(metadata.cpu_features);
  if (missing.empty()) return Status();
  return Unsupported(path + ": was compiled for CPUs with " + missing.front() +
                     ", which this one lacks; compile the model for this machine (mlc_llm compile "
                     "--device cpu)")
      .WithParam("model_lib");
}

Status CheckDevice(const LibraryMetadata& metadata, const std::string& path, Device device) {
  std::string kind = device.kind() == "cpu" ? "llvm" : device.kind();
  if (metadata.target_kind.empty() || metadata.target_kind == kind) return Status();
  std::string compiled = metadata.target_kind == "llvm" ? "cpu" : metadata.target_kind;
  return InvalidArgument(path + ": was compiled for the device '" + compiled +
                         "' and is to run on '" + device.name() +
                         "'; compile it again with --device " + device.kind() +
                         ", or leave model_lib out")
      .WithParam("model_lib");
}

struct OpenLibrary {
  std::unique_ptr<ModelLibrary> library;
  LibraryMetadata metadata;
};

Result<OpenLibrary> OpenFor(const ChatConfig& config, const std::string& path, Device device) {
  OpenLibrary open;
  MLC_ASSIGN_OR_RETURN(open.library, ModelLibrary::Load(path, device));
  MLC_ASSIGN_OR_RETURN(open.metadata, ParseLibraryMetadata(open.library->metadata_json(), path));
  MLC_RETURN_IF_ERROR(CheckDevice(open.metadata, path, device));
  MLC_RETURN_IF_ERROR(CheckCpu(open.metadata, path));
  MLC_RETURN_IF_ERROR(CheckFunctions(open.metadata, path));
  if (const auto& draft = open.metadata.draft) {
    MLC_RETURN_IF_ERROR(CheckFunctions(*draft, path));
  }
  Status fits = CheckLibraryFitsModel(open.metadata, config);
  if (!fits.ok()) return std::move(fits).In(path);
  MLC_RETURN_IF_ERROR(DevicesOfShards(device, open.metadata.info.num_shards).status());
  open.metadata.info.takes_cores = device.kind() == "cpu";
  open.metadata.info.has_own_memory = HasOwnMemory(device);
  open.metadata.info.max_pages = PagePool::MostPages(open.metadata, device);
  return open;
}

}  // namespace

Result<LibraryMetadata> DeviceRunner::Inspect(const ChatConfig& config,
                                              const std::string& library_path, Device device) {
  MLC_ASSIGN_OR_RETURN(OpenLibrary open, OpenFor(config, library_path, device));
  return std::move(open.metadata);
}

Result<std::unique_ptr<DeviceRunner>> DeviceRunner::Open(const ChatConfig& config,
                                                         const std::string& library_path,
                                                         Device device) {
  MLC_ASSIGN_OR_RETURN(OpenLibrary open, OpenFor(config, library_path, device));
  return std::unique_ptr<DeviceRunner>(
      new DeviceRunner(std::move(open.library), std::move(open.metadata), device));
}

Result<std::unique_ptr<DeviceRunner>> DeviceRunner::ForShard(Device device) const {
  MLC_ASSIGN_OR_RETURN(std::shared_ptr<ModelLibrary> library, library_->WithOwnMachine(device));
  return std::unique_ptr<DeviceRunner>(new DeviceRunner(std::move(library), metadata_, device));
}

Status DeviceRunner::LoadWeights(const ByteSource& source, const LoadProgress& progress,
                                 const std::string& strips_prefix, int rank) {
  MLC_ASSIGN_OR_RETURN(std::vector<ParamSpec> params, ParamsOfShard(metadata_.params, rank));
  Result<Weights> weights = Weights::Load(source, params, device_, progress, strips_prefix);
  if (!weights.ok()) {
    Status error = weights.status();
    return error.param() == "model_lib" ? std::move(error).In(library_->path()) : error;
  }
  metadata_.info.library_id = library_->id();
  metadata_.info.weights_id = weights->id();
  CountWidenedTables(source, metadata_.params, &metadata_.info);
  return Start(std::move(weights).value(), {}).In(library_->path());
}

Result<std::unique_ptr<DeviceRunner>> DeviceRunner::LoadDraft(
    const std::string& kind, const ByteSource& source, const LoadProgress& progress,
    const std::string& strips_prefix) const {
  if (metadata_.draft == nullptr || metadata_.draft->info.draft_kind != kind) {
    return std::unique_ptr<DeviceRunner>();
  }
  LibraryMetadata metadata = *metadata_.draft;
  if (metadata.info.reads_target_pages && !HasSamePages(metadata, metadata_)) {
    return Corrupt("its part that drafts reads pages that are not the model's; compile it again")
        .WithParam("model_lib");
  }
  MLC_ASSIGN_OR_RETURN(Weights weights,
                       Weights::Load(source, metadata.params, device_, progress, strips_prefix));
  metadata.info.library_id = info().library_id;
  metadata.info.weights_id = info().weights_id;
  metadata.info.takes_cores = info().takes_cores;
  metadata.info.max_pages = PagePool::MostPages(metadata, device_);
  std::unique_ptr<DeviceRunner> runner(new DeviceRunner(library_, std::move(metadata), device_));
  if (runner->info().reads_target_pages) runner->pages_ = pages_;
  MLC_RETURN_IF_ERROR(runner->Start(std::move(weights), weights_->tensors()));
  return runner;
}

Status DeviceRunner::Start(Weights weights, std::vector<Tensor> shared) {
  *weights_ = std::move(weights);
  shared.insert(shared.end(), weights_->tensors().begin(), weights_->tensors().end());
  params_ = TensorList(shared);
  MLC_ASSIGN_OR_RETURN(executor_, MakeStepExecutor(library_.get(), metadata_, params_, device_));
  return Status();
}

Result<std::shared_ptr<const Tower>> DeviceRunner::LoadTower(const ChatConfig& config) const {
  if (!metadata_.tower) return std::shared_ptr<const Tower>();
  bool is_described = !config.pictures.is_null();
  if (!is_described || !config.image_token_id) {
    std::string missing = is_described ? "image_token_id" : "pictures";
    return InvalidArgument("the model library has a vision tower, and mlc-chat-config.json no '" +
                           missing + "'; write it again (mlc_llm gen_config)")
        .WithParam(std::move(missing));
  }
  MLC_ASSIGN_OR_RETURN(PictureSettings settings, PictureSettings::Parse(config.pictures));
  MLC_ASSIGN_OR_RETURN(auto program,
                       LoadTowerProgram(library_, metadata_, params_, weights_, device_));
  return VitTower::Make(std::move(settings), std::move(program),
                        info().weights_id + " " + info().library_id, info().embedding_size);
}

DeviceRunner::DeviceRunner(std::shared_ptr<ModelLibrary> library, LibraryMetadata metadata,
                           Device device)
    : library_(std::move(library)),
      metadata_(std::move(metadata)),
      device_(device),
      pages_(std::make_shared<PagePool>(library_.get(), &metadata_, device)),
      states_(&metadata_, device),
      adapters_(&metadata_, device),
      sampler_(TVMSampler::For(library_.get(), metadata_, device)) {}

Status DeviceRunner::AllocatePages(const std::vector<int>& num_pages) {
  MLC_RETURN_IF_ERROR(pages_->Allocate(num_pages));
  executor_->SetPages(pages_->layers());
  return Status();
}

Status DeviceRunner::AllocateStates(int num_slots) {
  MLC_RETURN_IF_ERROR(states_.Allocate(num_slots));
  executor_->SetStates(states_.tensors());
  return Status();
}

Status DeviceRunner::AllocateAdapters(int num_groups) {
  MLC_RETURN_IF_ERROR(adapters_.Allocate(num_groups));
  executor_->SetAdapters(adapters_.tensors());
  return Status();
}

Result<Outputs> DeviceRunner::Forward(const Batch& batch) {
  // this step uses their memory again, unless it reads them
  StepTensors last = batch.target_states.empty() ? StepTensors() : made_;
  made_ = {};
  weights_->Restore();
  // the target may have allocated them anew
  if (info().reads_target_pages) executor_->SetPages(pages_->layers());
  MLC_ASSIGN_OR_RETURN(StepTensors made, executor_->Run(batch));
  Outputs outputs;
  if (batch.keeps_logits) {
    sampler_->SetLogits(std::move(made.logits));
  } else if (!batch.logit_rows.empty()) {
    MLC_ASSIGN_OR_RETURN(made_.logits, made.logits.OnHost());
    outputs.logits = static_cast<float*>(made_.logits.data());
  }
  if (batch.hidden_rows.empty()) return outputs;
  MLC_ASSIGN_OR_RETURN(made_.hidden_states, made.hidden_states.OnHost());
  outputs.hidden_states = static_cast<const float*>(made_.hidden_states.data());
  if (!made.layer_states.defined()) return outputs;
  MLC_ASSIGN_OR_RETURN(made_.layer_states, made.layer_states.OnHost());
  outputs.layer_states = static_cast<const float*>(made_.layer_states.data());
  return outputs;
}

Result<const float*> DeviceRunner::RunHead(const std::vector<float>& vectors, int num_vectors) {
  if (info().head_size == 0) return Unsupported("the model has no head for vectors");
  weights_->Restore();
  MLC_ASSIGN_OR_RETURN(Tensor made, executor_->RunHead(vectors.data(), num_vectors));
  MLC_ASSIGN_OR_RETURN(scores_, made.OnHost());
  return static_cast<const float*>(scores_.data());
}

}  // namespace mlc
