// From a folder, a library and a device to a model that computes.
#ifndef MLC_CHAT_LOAD_MODEL_LOADER_H_
#define MLC_CHAT_LOAD_MODEL_LOADER_H_

#include <functional>
#include <memory>
#include <string>

#include "base/json.h"
#include "chat/load/model_bundle.h"
#include "model/model.h"
#include "runtime/device.h"

namespace mlc {

// Called with 0.0 .. 1.0 and what is being done; false cancels.
using ChatProgress = std::function<bool(double fraction, const char* what)>;

// In place of a device: no weights, no library, answers from a script. For tests and benchmarks of
// what stands around a model.
constexpr char kFakeDevice[] = "fake";

struct ModelFiles {
  std::string folder, library;
  Device device;
  bool is_fake = false;

  std::string device_name() const { return is_fake ? kFakeDevice : device.name(); }
  // {"model": folder, "model_lib": see LibraryPath; "fake" needs none}. `device`: "auto", "cpu:0",
  // "fake". Errors name the field below `place` ("draft.").
  static Result<ModelFiles> Parse(const Json& json, const std::string& device,
                                  const std::string& place = "");
};

struct ModelAndBundle {
  std::unique_ptr<Model> model;
  ModelBundle bundle;
};

// Reports to `progress`, which may be empty, as `what`. `source`: where config, tokenizer and
// weights are, if not in `files.folder`.
Result<ModelAndBundle> LoadModelFrom(const ByteSource& source, const ModelFiles& files,
                                     const ChatProgress& progress, const char* what);
Result<ModelAndBundle> LoadModelFiles(const ModelFiles& files, const ChatProgress& progress,
                                      const char* what);
// What the model would be, without loading its weights, and what is free where it would lie.
struct InspectedModel {
  ModelInfo info;
  int64_t available_bytes = 0;
};
Result<InspectedModel> InspectModelFrom(const ByteSource& source, const ModelFiles& files);
Result<InspectedModel> InspectModelFiles(const ModelFiles& files);

}  // namespace mlc

#endif  // MLC_CHAT_LOAD_MODEL_LOADER_H_
