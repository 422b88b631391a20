// Loads a model from a folder, a library and a device.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/json.h"
#include "chat/load/model_bundle.h"
#include "model/model.h"
#include "runtime/device.h"

namespace mlc {

// Called with 0.0 .. 1.0 and the current work. Returning false cancels the load.
using ChatProgress = std::function<bool(double fraction, const char* what)>;

// A name that replaces a device: no weights and no library; a script answers. It is for tests and
// benchmarks of everything except the model.
constexpr char kFakeDevice[] = "fake";

struct ModelFiles {
  std::string folder, library;
  std::string strips;  // see Weights::Load; "": no strips are kept
  Device device;
  bool is_fake = false;
  // The part that drafts and is loaded too (ModelInfo); "": none. Absent, InspectModelFrom finds
  // the model's own, if its steps compute on CPU cores. There trials cost at most a few percent; a
  // GPU replays its steps faster when no states are read.
  std::optional<std::string> draft_kind = "";

  std::string device_name() const { return is_fake ? kFakeDevice : device.name(); }
  // Reads {"model": folder, "model_lib": see LibraryPath; "fake" needs none, "strips": what the
  // path of a file begins with that keeps the laid-out weights; absent: none}. `device`: "auto",
  // "cpu:0", "fake". Errors name the field with the prefix `place` ("draft.").
  static Result<ModelFiles> Parse(const Json& json, const std::string& device,
                                  const std::string& place = "");
};

struct ModelAndBundle {
  std::unique_ptr<Model> model;
  // its part that drafts, which shares its weights; null: not wanted, or it has none of that kind
  std::unique_ptr<Model> draft;
  ModelBundle bundle;
};

// Reports progress to `progress`, which may be empty; `what` is the text. `source`: where config,
// tokenizer and weights are, if they are not in `files.folder`.
Result<ModelAndBundle> LoadModelFrom(const ByteSource& source, const ModelFiles& files,
                                     const ChatProgress& progress, const char* what);
Result<ModelAndBundle> LoadModelFiles(const ModelFiles& files, const ChatProgress& progress,
                                      const char* what);
// Describes the model without loading its weights, and the free memory of its device.
struct InspectedModel {
  ModelInfo info;
  std::optional<ModelInfo> draft;  // of what LoadModelFrom loads as `draft`
  int64_t available_bytes = 0;
  bool takes_pictures = false;  // whether it has a tower
};
Result<InspectedModel> InspectModelFrom(const ByteSource& source, const ModelFiles& files);
Result<InspectedModel> InspectModelFiles(const ModelFiles& files);

}  // namespace mlc
