#include "model/model_config.h"

#include <algorithm>

#include "model/adapter_spec.h"
#include "model/memory_usage.h"
#include "model/param_specs.h"

namespace mlc {
namespace {

constexpr int64_t kMaxTokens = int64_t{1} << 24;  // in any window or chunk
constexpr int64_t kSupportedSchema = 3;
constexpr int64_t kMaxPageBytes = int64_t{1} << 32;  // for one layer; also the limit of its state
constexpr size_t kMaxLayers = 4096;
constexpr int64_t kMaxDraftHeads = 16;

// An integer field in [low, high].
Result<int> GetBounded(const Json& object, std::string_view key, int64_t low, int64_t high) {
  MLC_ASSIGN_OR_RETURN(int64_t value, GetInt(object, key));
  if (value < low || value > high) {
    return InvalidArgument("field '" + std::string(key) + "' is " + std::to_string(value) +
                           ", which is not between " + std::to_string(low) + " and " +
                           std::to_string(high))
        .WithParam(std::string(key));
  }
  return static_cast<int>(value);
}

// "eos_token_id": an id or a list of ids.
Result<std::vector<int32_t>> GetTokenIds(const Json& object, std::string_view key) {
  std::vector<int32_t> ids;
  const Json* value = object.Find(key);
  if (value == nullptr || value->is_null()) return ids;
  Json::Array list = value->is_array() ? value->as_array() : Json::Array{*value};
  for (const Json& id : list) {
    if (!id.is_int() || id.as_int() < 0 || id.as_int() > INT32_MAX) {
      return InvalidArgument("field '" + std::string(key) +
                             "' must be a token id or a list of them")
          .WithParam(std::string(key));
    }
    ids.push_back(static_cast<int32_t>(id.as_int()));
  }
  return ids;
}

Result<std::optional<Pooling>> GetPooling(const Json& object, std::string_view key) {
  MLC_ASSIGN_OR_RETURN(std::string word, GetStringOr(object, key, ""));
  if (word == "mean") return std::optional(Pooling::kMean);
  if (word == "last") return std::optional(Pooling::kLast);
  if (word == "cls") return std::optional(Pooling::kCls);
  if (word.empty()) return std::optional<Pooling>();
  return InvalidArgument("field '" + std::string(key) + "' must be 'cls', 'mean' or 'last', not '" +
                         word + "'")
      .WithParam(std::string(key));
}

// "embedding_pooling", our own field, or MLC-LLM's "embedding_metadata": {"pooling_strategy":
// "mean", "normalize": true}.
Status ReadEmbedding(const Json& json, ChatConfig* config) {
  MLC_ASSIGN_OR_RETURN(config->embedding_pooling, GetPooling(json, "embedding_pooling"));
  const Json* metadata = json.Find("embedding_metadata");
  if (metadata == nullptr || !metadata->is_object()) return Status();
  if (!config->embedding_pooling) {
    MLC_ASSIGN_OR_RETURN(config->embedding_pooling, GetPooling(*metadata, "pooling_strategy"));
  }
  const Json* kind = metadata->Find("model_type");
  config->is_reranker = kind != nullptr && kind->is_string() && kind->as_string() == "reranker";
  const Json* normalize = metadata->Find("normalize");
  if (normalize != nullptr && normalize->is_bool()) {
    config->embedding_normalize = normalize->as_bool();
  }
  return Status();
}

// Our converter writes "weight_layout", MLC-LLM's does not.
bool IsMlcLlms(const Json& json) {
  const Json* inner = json.Find("model_config");
  return inner != nullptr && inner->is_object() && inner->Find("weight_layout") == nullptr;
}

Result<ChatConfig> ReadChatConfig(std::string_view text) {
  MLC_ASSIGN_OR_RETURN(Json json, Json::Parse(text));
  if (!json.is_object()) return Corrupt("must be a JSON object");
  ChatConfig config;
  MLC_ASSIGN_OR_RETURN(config.model_type, GetString(json, "model_type"));
  MLC_ASSIGN_OR_RETURN(config.quantization, GetString(json, "quantization"));
  MLC_ASSIGN_OR_RETURN(config.context_window_size,
                       GetBounded(json, "context_window_size", -1, kMaxTokens));
  MLC_ASSIGN_OR_RETURN(int64_t window, GetIntOr(json, "sliding_window_size", -1));
  config.sliding_window_size = window > 0 && window <= kMaxTokens ? static_cast<int>(window) : -1;
  MLC_ASSIGN_OR_RETURN(config.vocab_size, GetBounded(json, "vocab_size", 1, INT32_MAX));
  MLC_ASSIGN_OR_RETURN(config.eos_token_ids, GetTokenIds(json, "eos_token_id"));
  MLC_ASSIGN_OR_RETURN(std::vector<int32_t> bos, GetTokenIds(json, "bos_token_id"));
  if (!bos.empty()) config.bos_token_id = bos.front();
  MLC_ASSIGN_OR_RETURN(std::vector<int32_t> image, GetTokenIds(json, "image_token_id"));
  if (!image.empty()) config.image_token_id = image.front();
  if (const Json* pictures = json.Find("pictures")) config.pictures = *pictures;
  MLC_ASSIGN_OR_RETURN(config.tool_call_format, GetStringOr(json, "tool_call_format", ""));
  MLC_ASSIGN_OR_RETURN(config.reasoning_format, GetStringOr(json, "reasoning_format", ""));
  MLC_RETURN_IF_ERROR(ReadEmbedding(json, &config));
  config.is_mlc_llms = IsMlcLlms(json);
  const Json* conv_template = json.Find("conv_template");
  if (conv_template != nullptr && conv_template->is_object()) config.conv_template = *conv_template;
  return config;
}

// "slot_runs": [[blocks, width], ...]. Together they are a page of `num_elements`.
Result<std::vector<SlotRun>> ReadSlotRuns(const Json& layer, int page_size, int64_t num_elements) {
  const Json* list = layer.Find("slot_runs");
  std::vector<SlotRun> runs;
  Status bad = InvalidArgument("field 'slot_runs' must hold [blocks, width] that make up a page")
                   .WithParam("slot_runs");
  if (list == nullptr || !list->is_array()) return bad;
  int64_t left = num_elements / page_size;
  for (const Json& run : list->as_array()) {
    bool is_pair = run.is_array() && run.as_array().size() == 2;
    if (!is_pair || !run.as_array()[0].is_int() || !run.as_array()[1].is_int()) return bad;
    SlotRun read{run.as_array()[0].as_int(), run.as_array()[1].as_int()};
    if (read.blocks < 1 || read.width < 1 || read.blocks > left / read.width) return bad;
    left -= read.blocks * read.width;
    runs.push_back(read);
  }
  if (left != 0 || num_elements % page_size != 0) return bad;
  return runs;
}

Result<LayerPages> ReadLayer(const Json& json, int page_size) {
  LayerPages layer;
  MLC_ASSIGN_OR_RETURN(layer.page_shape, ReadShape(json, "page_shape"));
  MLC_ASSIGN_OR_RETURN(layer.dtype, ReadDType(json, "dtype"));
  MLC_ASSIGN_OR_RETURN(layer.sliding_window_size,
                       GetBounded(json, "sliding_window_size", -1, kMaxTokens));
  std::optional<int64_t> bytes = TensorBytes(layer.page_shape, layer.dtype);
  if (!bytes || *bytes > kMaxPageBytes) {
    return InvalidArgument("field 'page_shape' is too large").WithParam("page_shape");
  }
  layer.page_bytes = *bytes;
  int64_t num_elements = *bytes / *TensorBytes({1}, layer.dtype);
  MLC_ASSIGN_OR_RETURN(layer.slot_runs, ReadSlotRuns(json, page_size, num_elements));
  return layer;
}

// "kv_cache": {"page_size": 16, "layers": [{"page_shape": ..., "slot_runs": ..., "dtype": ...,
// "sliding_window_size": -1}, ...]}. A model whose layers all have states has no layers here.
Status ReadPages(const Json& json, LibraryMetadata* out) {
  const Json* pages = json.Find("kv_cache");
  if (pages == nullptr) return InvalidArgument("field 'kv_cache' is missing").WithParam("kv_cache");
  MLC_ASSIGN_OR_RETURN(out->info.page_size, GetBounded(*pages, "page_size", 1, 1024));
  const Json* layers = pages->Find("layers");
  bool is_list = layers != nullptr && layers->is_array();
  const Json* states = json.Find("states");
  bool has_states = states != nullptr && states->is_array() && !states->as_array().empty();
  size_t least = has_states ? 0 : 1;
  if (!is_list || layers->as_array().size() < least || layers->as_array().size() > kMaxLayers) {
    return InvalidArgument("field 'layers' must be a list of " + std::to_string(least) + " to " +
                           std::to_string(kMaxLayers))
        .WithParam("layers");
  }
  for (const Json& json_layer : layers->as_array()) {
    MLC_ASSIGN_OR_RETURN(LayerPages layer, ReadLayer(json_layer, out->info.page_size));
    out->layers.push_back(std::move(layer));
  }
  // of a library that does not name its precision
  DType first = out->layers.empty() ? DType::kFloat32 : out->layers[0].dtype;
  const char* own = first == DType::kFloat16 ? "f16" : first == DType::kBFloat16 ? "bf16" : "f32";
  out->info.kv_cache_dtype = own;
  if (pages->Find("dtype") != nullptr) {
    MLC_ASSIGN_OR_RETURN(out->info.kv_cache_dtype, GetString(*pages, "dtype"));
  }
  return Status();
}

// "states": [{"layer": 3, "shape": [2, 1024], "dtype": "float32"}, ...], if any layer is recurrent.
Status ReadStates(const Json& json, LibraryMetadata* out) {
  const Json* states = json.Find("states");
  if (states == nullptr) return Status();
  if (!states->is_array() || states->as_array().size() > kMaxLayers) {
    return InvalidArgument("field 'states' must be a list").WithParam("states");
  }
  for (const Json& state : states->as_array()) {
    LayerStates layer;
    MLC_ASSIGN_OR_RETURN(layer.shape, ReadShape(state, "shape"));
    MLC_ASSIGN_OR_RETURN(layer.dtype, ReadDType(state, "dtype"));
    std::optional<int64_t> bytes = TensorBytes(layer.shape, layer.dtype);
    if (!bytes || *bytes > kMaxPageBytes) {
      return InvalidArgument("field 'shape' is too large").WithParam("shape");
    }
    layer.bytes = *bytes;
    out->states.push_back(std::move(layer));
  }
  return Status();
}

void SetLayers(LibraryMetadata* out) {
  std::vector<LayerState> layers;
  for (const LayerPages& pages : out->layers) {
    layers.push_back(
        {LayerKind::kAttention, pages.page_bytes, std::max(pages.sliding_window_size, 0)});
  }
  for (const LayerStates& state : out->states) {
    layers.push_back({LayerKind::kRecurrent, state.bytes, 0});
  }
  out->info.SetLayers(layers, out->functions["batch_prefill"].Takes("windowed_indices"));
  for (LayerPages& pages : out->layers) {
    pages.is_windowed = out->info.has_windowed_pages() && pages.sliding_window_size > 0;
  }
}

void ReadCpuFeatures(const Json& json, LibraryMetadata* out) {
  const Json* features = json.Find("cpu_features");
  if (features == nullptr || !features->is_array()) return;  // an older library
  for (const Json& feature : features->as_array()) {
    if (feature.is_string()) out->cpu_features.push_back(feature.as_string());
  }
}

// "token_types": how many types rows may have. "head": {"size", "scores"}: what follows the pooling
// of an encoder.
Status ReadEncoder(const Json& json, ModelInfo* info) {
  if (json.Find("token_types") != nullptr) {
    MLC_ASSIGN_OR_RETURN(info->token_types, GetBounded(json, "token_types", 1, kMaxTokens));
  }
  const Json* head = json.Find("head");
  if (head == nullptr || !info->is_encoder) return Status();
  MLC_ASSIGN_OR_RETURN(info->head_size, GetBounded(*head, "size", 1, kMaxTokens));
  const Json* scores = head->Find("scores");
  info->is_reranker = scores != nullptr && scores->is_bool() && scores->as_bool();
  return Status();
}

// Embeddings may be wider than hidden states: what more layers get of a row stands behind it.
Status SetEmbeddingSize(const FunctionSpec& step, ModelInfo* info) {
  for (const InputSpec& input : step.inputs) {
    if (input.name != "embeddings" || input.row.size() != 1) continue;
    if (input.row[0] <= 0 || input.row[0] > kMaxTokens) {
      return InvalidArgument("the width of the input 'embeddings' is out of bounds")
          .WithParam("embeddings");
    }
    info->embedding_size = static_cast<int>(input.row[0]);
  }
  return Status();
}

// "encoder": whether rows see later rows. "hidden_layers": the layers whose states a step gives.
Status ReadStep(const Json& json, LibraryMetadata* out) {
  const Json* encoder = json.Find("encoder");
  out->info.is_encoder = encoder != nullptr && encoder->is_bool() && encoder->as_bool();
  MLC_ASSIGN_OR_RETURN(out->functions, ReadFunctionSpecs(json));
  const FunctionSpec& step = out->functions["batch_prefill"];
  MLC_RETURN_IF_ERROR(SetEmbeddingSize(step, &out->info));
  out->info.token_trees = step.Takes("copy_source");
  if (!step.Gives("hidden_states")) return Status();
  MLC_ASSIGN_OR_RETURN(out->info.hidden_size, GetBounded(json, "hidden_size", 1, kMaxTokens));
  const Json* layers = json.Find("hidden_layers");
  if (layers == nullptr || !step.Gives("layer_states")) return Status();
  if (!layers->is_array() || layers->as_array().size() > kMaxLayers) {
    return InvalidArgument("field 'hidden_layers' must be a list").WithParam("hidden_layers");
  }
  out->info.num_chosen_layers = static_cast<int>(layers->as_array().size());
  return Status();
}

// "draft": the kind, functions, pages, parameters and memory of the part that drafts. Medusa's
// "heads" have no pages and no steps: one function makes all their logits. A part that copies no
// pages reads the model's. Drafts are chosen on the host.
Status ReadDraft(const Json& json, LibraryMetadata* model) {
  const Json* own = json.Find("draft");
  if (own == nullptr) return Status();
  LibraryMetadata out;
  ModelInfo& info = out.info = model->info;
  MLC_ASSIGN_OR_RETURN(info.draft_kind, GetString(*own, "kind"));
  info.token_trees = false;
  info.weight_bytes = info.table_bytes = info.tower_bytes = 0;
  MLC_ASSIGN_OR_RETURN(info.hidden_size, GetBounded(json, "hidden_size", 1, kMaxTokens));
  MLC_ASSIGN_OR_RETURN(out.functions, ReadFunctionSpecs(*own, "draft_"));
  info.takes_states = out.functions.count("batch_prefill") > 0;
  bool fuses = out.functions.count("fuse_states") > 0;  // states of chosen layers to one (Eagle 3)
  info.num_chosen_layers = fuses ? std::max(info.num_chosen_layers, 1) : 0;
  info.head_size = fuses ? info.hidden_size : 0;
  if (info.takes_states) {
    MLC_RETURN_IF_ERROR(ReadPages(*own, &out));
    SetLayers(&out);
    info.reads_target_pages = out.functions.count("copy_kv_pages") == 0;
    if (info.reads_target_pages) info.SetLayers({});
  } else {
    info.SetLayers({});
    MLC_ASSIGN_OR_RETURN(int heads, GetBounded(*own, "heads", 1, kMaxDraftHeads));
    info.head_size = heads * info.vocab_size;
  }
  MLC_ASSIGN_OR_RETURN(out.params, ReadParams(*own, &info.weight_bytes, &info.table_bytes));
  MLC_RETURN_IF_ERROR(ReadMemoryUsage(*own, &info));
  model->draft = std::make_shared<LibraryMetadata>(std::move(out));
  return Status();
}

Result<LibraryMetadata> ReadMetadata(const std::string& text) {
  MLC_ASSIGN_OR_RETURN(Json json, Json::Parse(text));
  MLC_ASSIGN_OR_RETURN(int64_t schema, GetInt(json, "schema_version"));
  if (schema != kSupportedSchema) {
    return Unsupported("was compiled for version " + std::to_string(schema) +
                       " of the library format; this engine reads version " +
                       std::to_string(kSupportedSchema) + ": compile the model again");
  }
  LibraryMetadata out;
  ModelInfo& info = out.info;
  MLC_ASSIGN_OR_RETURN(info.model_type, GetString(json, "model_type"));
  MLC_ASSIGN_OR_RETURN(info.quantization, GetString(json, "quantization"));
  MLC_ASSIGN_OR_RETURN(info.context_window_size,
                       GetBounded(json, "context_window_size", 1, kMaxTokens));
  if (json.Find("attention_sink_size") != nullptr) {
    MLC_ASSIGN_OR_RETURN(info.attention_sink_size,
                         GetBounded(json, "attention_sink_size", 0, kMaxTokens));
  }
  MLC_ASSIGN_OR_RETURN(info.prefill_chunk_size,
                       GetBounded(json, "prefill_chunk_size", 1, kMaxTokens));
  MLC_ASSIGN_OR_RETURN(info.max_batch_size, GetBounded(json, "max_batch_size", 1, 65536));
  MLC_ASSIGN_OR_RETURN(info.vocab_size, GetBounded(json, "vocab_size", 1, 1 << 24));
  if (json.Find("hidden_size") != nullptr) {
    MLC_ASSIGN_OR_RETURN(info.embedding_size, GetBounded(json, "hidden_size", 1, kMaxTokens));
  }
  MLC_RETURN_IF_ERROR(ReadStep(json, &out));
  MLC_RETURN_IF_ERROR(ReadEncoder(json, &info));
  MLC_RETURN_IF_ERROR(ReadPages(json, &out));
  MLC_RETURN_IF_ERROR(ReadStates(json, &out));
  MLC_ASSIGN_OR_RETURN(info.adapters, ReadAdapterSpec(json));
  SetLayers(&out);
  MLC_ASSIGN_OR_RETURN(out.params, ReadParams(json, &info.weight_bytes, &info.table_bytes));
  MLC_RETURN_IF_ERROR(ReadMemoryUsage(json, &info));
  ReadCpuFeatures(json, &out);
  if (const Json* sampling = json.Find("sampling"); sampling != nullptr) {
    MLC_ASSIGN_OR_RETURN(out.sampling_version, GetBounded(*sampling, "version", 0, 1 << 16));
  }
  MLC_ASSIGN_OR_RETURN(std::string layout, GetStringOr(json, "folder_layout", ""));
  if (!layout.empty()) out.is_for_mlc_llms = layout == "mlc";
  if (const Json* target = json.Find("target"); target != nullptr && target->is_object()) {
    MLC_ASSIGN_OR_RETURN(out.target_kind, GetStringOr(*target, "kind", ""));
  }
  MLC_ASSIGN_OR_RETURN(out.tower, ReadTowerSpec(json, &info.tower_bytes));
  MLC_RETURN_IF_ERROR(ReadDraft(json, &out).In("draft"));
  MLC_ASSIGN_OR_RETURN(int num_shards, ReadNumShards(json));
  if (num_shards > 1 && (out.tower || out.draft != nullptr || info.adapters != nullptr)) {
    return Unsupported(
               "was compiled for several shards, which take no pictures, adapters or part that "
               "drafts; compile it with --tensor-parallel-shards 1")
        .WithParam("tensor_parallel_shards");
  }
  if (!info.SetShards(num_shards)) {
    return InvalidArgument("the memory of all shards is too large")
        .WithParam("tensor_parallel_shards");
  }
  return out;
}

}  // namespace

Result<ChatConfig> ParseChatConfig(std::string_view text, const std::string& path) {
  Result<ChatConfig> config = ReadChatConfig(text);
  if (config.ok()) return config;
  return Corrupt(path + ": " + config.status().message() +
                 "; `mlc_llm gen_config` writes this file")
      .WithParam(config.status().param());
}

Result<LibraryMetadata> ParseLibraryMetadata(const std::string& json, const std::string& path) {
  Result<LibraryMetadata> metadata = ReadMetadata(json);
  if (metadata.ok()) return metadata;
  const Status& status = metadata.status();
  StatusCode code =
      status.code() == StatusCode::kUnsupported ? StatusCode::kUnsupported : StatusCode::kCorrupt;
  return Status(code, path + ": bad metadata: " + status.message()).WithParam(status.param());
}

Status CheckLibraryFitsModel(const LibraryMetadata& library, const ChatConfig& model) {
  struct Field {
    const char* name;
    std::string library, model;
  };
  const Field fields[] = {
      {"model_type", library.info.model_type, model.model_type},
      {"quantization", library.info.quantization, model.quantization},
      {"vocab_size", std::to_string(library.info.vocab_size), std::to_string(model.vocab_size)}};
  for (const Field& field : fields) {
    if (field.library == field.model) continue;
    return InvalidArgument(std::string("the model library was compiled for another model: its ") +
                           field.name + " is " + field.library + ", the model's is " + field.model +
                           "; compile a library for this one (mlc_llm compile)")
        .WithParam("model_lib");
  }
  if (library.is_for_mlc_llms.value_or(model.is_mlc_llms) == model.is_mlc_llms) return Status();
  std::string theirs = "MLC-LLM's converter", ours = "mlc_llm's own converter";
  return InvalidArgument("the model library reads weights in the order of " +
                         (model.is_mlc_llms ? ours : theirs) + ", and the folder was made by " +
                         (model.is_mlc_llms ? theirs : ours) +
                         "; compile a library for this folder (mlc_llm compile)")
      .WithParam("model_lib");
}

}  // namespace mlc
