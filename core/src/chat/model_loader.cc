#include "chat/model_loader.h"

#include "model/fake_model.h"
#include "model/tvm_model.h"

namespace mlc {
namespace {

Result<std::unique_ptr<Model>> LoadFakeModel(const ChatConfig& config) {
  FakeModel::Script script = FakeModel::Words(config.vocab_size, config.eos_token_ids);
  return std::unique_ptr<Model>(new FakeModel(FakeModel::InfoFor(config), std::move(script)));
}

Result<std::unique_ptr<Model>> LoadTVMModel(const FolderSource& source, const ChatConfig& config,
                                            const ModelFiles& files, const ChatProgress& progress,
                                            const char* what) {
  LoadProgress on_weights = [&progress, what](double fraction) {
    return !progress || progress(fraction, what);
  };
  MLC_ASSIGN_OR_RETURN(std::unique_ptr<TVMModel> model,
                       TVMModel::Load(source, config, files.library, files.device, on_weights));
  return std::unique_ptr<Model>(std::move(model));
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
  Result<std::string> library = GetString(json, "model_lib");
  if (!library.ok()) return in_place(library.status());
  files.library = *library;
  MLC_ASSIGN_OR_RETURN(files.device, ParseDevice(device));
  return files;
}

Result<ModelAndBundle> LoadModelFiles(const ModelFiles& files, const ChatProgress& progress,
                                      const char* what) {
  FolderSource source(files.folder);
  ModelAndBundle loaded;
  MLC_ASSIGN_OR_RETURN(loaded.bundle, LoadModelBundle(source));
  const ChatConfig& config = loaded.bundle.config;
  MLC_ASSIGN_OR_RETURN(loaded.model, files.is_fake
                                         ? LoadFakeModel(config)
                                         : LoadTVMModel(source, config, files, progress, what));
  return loaded;
}

Result<ModelInfo> InspectModelFiles(const ModelFiles& files) {
  MLC_ASSIGN_OR_RETURN(ChatConfig config, LoadChatConfig(FolderSource(files.folder)));
  if (files.is_fake) return FakeModel::InfoFor(config);
  return TVMModel::Inspect(config, files.library, files.device);
}

}  // namespace mlc
