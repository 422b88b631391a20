#include "chat/load/model_loader.h"

#include "chat/load/library_path.h"
#include "model/fake_model.h"
#include "model/param_specs.h"
#include "model/runner/device_runner.h"
#include "model/runner/sharded_runner.h"
#include "runtime/shards/shard_devices.h"

namespace mlc {
namespace {

ModelInfo FakeDraftInfo(const ChatConfig& config) {
  ModelInfo info = FakeModel::InfoFor(config);
  info.draft_kind = "mtp";
  info.takes_states = true;
  return info;
}

void LoadFakeModel(const ModelFiles& files, ModelAndBundle* loaded) {
  const ChatConfig& config = loaded->bundle.config;
  FakeModel::Script script = FakeModel::Words(config.vocab_size, config.eos_token_ids);
  loaded->model = std::make_unique<FakeModel>(FakeModel::InfoFor(config), script);
  ModelInfo draft = FakeDraftInfo(config);
  if (files.draft_kind == draft.draft_kind) {
    loaded->draft = std::make_unique<FakeModel>(std::move(draft), script);
  }
}

// The part that drafts: what `files` ask for, or the model's own. `part`: of the library; null:
// none.
Result<std::string> DraftKindOf(const ModelFiles& files, const ModelInfo& model,
                                const ModelInfo* part) {
  if (model.num_shards == 1) {
    bool has_own = part != nullptr && model.takes_cores;
    return files.draft_kind.value_or(has_own ? part->draft_kind : "");
  }
  std::string kind = files.draft_kind.value_or("");
  if (kind.empty()) return kind;
  return Unsupported("engine setting 'speculative_mode' " + kind +
                     ": a library of several shards has no part that drafts; use small_draft, "
                     "prompt_lookup or tensor_parallel_shards 1")
      .WithParam("speculative_mode");
}

Status LoadCompiled(const ByteSource& source, const ModelFiles& files, const ChatProgress& progress,
                    const char* what, ModelAndBundle* loaded) {
  LoadProgress on_weights = [&progress, what](double fraction) {
    return !progress || progress(fraction, what);
  };
  MLC_ASSIGN_OR_RETURN(std::unique_ptr<DeviceRunner> model,
                       DeviceRunner::Open(loaded->bundle.config, files.library, files.device));
  MLC_ASSIGN_OR_RETURN(std::string draft_kind, DraftKindOf(files, model->info(), nullptr));
  if (model->info().num_shards > 1) {
    MLC_ASSIGN_OR_RETURN(loaded->model,
                         ShardedRunner::Make(std::move(model), source, on_weights, files.strips));
    return Status();
  }
  MLC_RETURN_IF_ERROR(model->LoadWeights(source, on_weights, files.strips));
  if (!draft_kind.empty()) {
    std::string strips = files.strips.empty() ? "" : files.strips + "draft-";
    MLC_ASSIGN_OR_RETURN(loaded->draft, model->LoadDraft(draft_kind, source, on_weights, strips));
  }
  MLC_ASSIGN_OR_RETURN(loaded->bundle.tower, model->LoadTower(loaded->bundle.config));
  loaded->model = std::move(model);
  return Status();
}

}  // namespace

Result<ModelFiles> ModelFiles::Parse(const Json& json, const std::string& device,
                                     const std::string& place) {
  auto in_place = [&](Status status) {
    std::string param = place + status.param();
    return std::move(status).WithParam(std::move(param));
  };
  ModelFiles files;
  files.is_fake = device == kFakeDevice;
  Result<std::string> folder = GetString(json, "model");
  if (!folder.ok()) return in_place(folder.status());
  files.folder = *folder;
  if (files.is_fake) return files;
  std::optional<std::string> named;
  if (const Json* given = json.Find("model_lib"); given != nullptr && !given->is_null()) {
    Result<std::string> text = GetString(json, "model_lib");
    if (!text.ok()) return in_place(text.status());
    named = *text;
  }
  Result<std::string> library = LibraryPath(files.folder, named);
  if (!library.ok()) return in_place(library.status());
  files.library = *library;
  Result<std::string> strips = GetStringOr(json, "strips", "");
  if (!strips.ok()) return in_place(strips.status());
  files.strips = *strips;
  MLC_ASSIGN_OR_RETURN(files.device, ParseDevice(device));
  return files;
}

Result<ModelAndBundle> LoadModelFiles(const ModelFiles& files, const ChatProgress& progress,
                                      const char* what) {
  return LoadModelFrom(FolderSource(files.folder), files, progress, what);
}

Result<ModelAndBundle> LoadModelFrom(const ByteSource& source, const ModelFiles& files,
                                     const ChatProgress& progress, const char* what) {
  ModelAndBundle loaded;
  MLC_ASSIGN_OR_RETURN(loaded.bundle, LoadModelBundle(source));
  const ChatConfig& config = loaded.bundle.config;
  if (files.is_fake && config.image_token_id) {
    loaded.bundle.tower = std::make_shared<FakeTower>(FakeModel::InfoFor(config).embedding_size);
  }
  if (files.is_fake) {
    LoadFakeModel(files, &loaded);
  } else {
    MLC_RETURN_IF_ERROR(LoadCompiled(source, files, progress, what, &loaded));
  }
  return loaded;
}

Result<InspectedModel> InspectModelFiles(const ModelFiles& files) {
  return InspectModelFrom(FolderSource(files.folder), files);
}

Result<InspectedModel> InspectModelFrom(const ByteSource& source, const ModelFiles& files) {
  MLC_ASSIGN_OR_RETURN(ChatConfig config, LoadChatConfig(source));
  InspectedModel inspected;
  if (files.is_fake) {
    inspected.available_bytes = AvailableMemoryBytes(files.device);
    inspected.info = FakeModel::InfoFor(config);
    ModelInfo draft = FakeDraftInfo(config);
    if (files.draft_kind == draft.draft_kind) inspected.draft = std::move(draft);
    inspected.takes_pictures = config.image_token_id.has_value();
    return inspected;
  }
  MLC_ASSIGN_OR_RETURN(LibraryMetadata metadata,
                       DeviceRunner::Inspect(config, files.library, files.device));
  CountWidenedTables(source, metadata.params, &metadata.info);
  inspected.info = metadata.info;
  MLC_ASSIGN_OR_RETURN(std::vector<Device> devices,
                       DevicesOfShards(files.device, metadata.info.num_shards));
  inspected.available_bytes = AvailableMemoryBytes(devices);
  inspected.takes_pictures = metadata.tower.has_value();
  const ModelInfo* part = metadata.draft == nullptr ? nullptr : &metadata.draft->info;
  MLC_ASSIGN_OR_RETURN(std::string kind, DraftKindOf(files, metadata.info, part));
  if (part != nullptr && part->draft_kind == kind) inspected.draft = *part;
  return inspected;
}

}  // namespace mlc
