// The description of a model in its folder (mlc-chat-config.json) and in its library (the
// metadata).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/status.h"
#include "model/function_specs.h"
#include "model/model.h"
#include "model/tower_spec.h"
#include "runtime/weights.h"

namespace mlc {

// How hidden states become a text's vector: the mean of all, the last one, or the first one, which
// is that of the token [CLS].
enum class Pooling { kMean, kLast, kCls };

// The contents of mlc-chat-config.json. `path` is for error messages.
struct ChatConfig {
  std::string model_type, quantization;
  int context_window_size = 0;
  int sliding_window_size = -1;
  int vocab_size = 0;
  std::vector<int32_t> eos_token_ids;
  std::optional<int32_t> bos_token_id;
  std::optional<int32_t> image_token_id;  // the token that stands for rows of a picture
  Json pictures;                          // picture_settings.h; null: none are read
  std::optional<Pooling> embedding_pooling;
  bool embedding_normalize = true;  // whether vectors are scaled to length 1
  bool is_reranker = false;         // gives a score of two texts, and no vectors
  Json conv_template;               // MLC-LLM's object, or null
  // Names of formats (chat/tools/formats.h); "": found from the chat template.
  std::string tool_call_format, reasoning_format;
  bool is_mlc_llms = false;  // whether MLC-LLM's converter made the folder, and not ours
};
Result<ChatConfig> ParseChatConfig(std::string_view text, const std::string& path);

// A part of a layer's page: `blocks` blocks, one after another. In each block every slot has
// `width` elements, slot after slot.
struct SlotRun {
  int64_t blocks = 0, width = 0;
};

// The pages of one layer that writes keys and values; other layers may read them.
struct LayerPages {
  Shape page_shape;
  DType dtype = DType::kFloat32;
  std::vector<SlotRun> slot_runs;
  int64_t page_bytes = 0;
  int sliding_window_size = -1;  // tokens that a row looks back; -1: all
  bool is_windowed = false;      // its pages are those of the layers with a window
};

// A tensor of a recurrent layer's state; a layer may have several.
struct LayerStates {
  Shape shape;  // of one slot
  DType dtype = DType::kFloat32;
  int64_t bytes = 0;
};

// A library's metadata (docs/model-library.md).
struct LibraryMetadata {
  ModelInfo info;
  // Of the weights of one group of ranks in the pool of adapters: A and B of each layer.
  std::vector<AdapterTensor> adapter_tensors() const;
  std::vector<LayerPages> layers;   // in the order of the library's kv_pages
  std::vector<LayerStates> states;  // in the order of the library's states
  std::vector<ParamSpec> params;
  FunctionSpecs functions;
  std::optional<TowerSpec> tower;
  std::vector<std::string> cpu_features;  // CPU features that its code may use
  int sampling_version = 0;               // version of the functions that choose tokens; 0: none
  std::string target_kind;                // TVM's target: "llvm", "opencl"; "": unknown
  // Where both converters store weights of this family otherwise: whose folders the library reads.
  std::optional<bool> is_for_mlc_llms;
  // The part that drafts, as a model of its own. Its parameters stand behind the model's. Null:
  // none.
  std::shared_ptr<const LibraryMetadata> draft;
};
Result<LibraryMetadata> ParseLibraryMetadata(const std::string& json, const std::string& path);

// Whether the library was compiled for this model. Errors: kInvalidArgument naming the field.
Status CheckLibraryFitsModel(const LibraryMetadata& library, const ChatConfig& model);

}  // namespace mlc
