// From a folder, a library and a device to a model that computes.
#ifndef MLC_CHAT_MODEL_LOADER_H_
#define MLC_CHAT_MODEL_LOADER_H_

#include <functional>
#include <memory>
#include <string>

#include "base/json.h"
#include "chat/model_bundle.h"
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

  // {"model": folder, "model_lib": file, which "fake" needs not}. `device`: "auto", "cpu:0",
  // "fake". Errors name the field below `place` ("draft.").
  static Result<ModelFiles> Parse(const Json& json, const std::string& device,
                                  const std::string& place = "");
};

struct ModelAndBundle {
  std::unique_ptr<Model> model;
  ModelBundle bundle;
};

// Reports to `progress`, which may be empty, as `what`.
Result<ModelAndBundle> LoadModelFiles(const ModelFiles& files, const ChatProgress& progress,
                                      const char* what);
// What the model would be, without loading its weights.
Result<ModelInfo> InspectModelFiles(const ModelFiles& files);

}  // namespace mlc

#endif  // MLC_CHAT_MODEL_LOADER_H_
