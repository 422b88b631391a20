// The names of a model library's functions, and of their arguments and results for which runners
// have code (docs/model-library.md). Most inputs of a step are bound by their table alone.
#pragma once

namespace mlc {

constexpr char kEmbed[] = "embed";
constexpr char kStep[] = "batch_prefill";
constexpr char kHead[] = "get_logits";
constexpr char kFuse[] = "fuse_states";
constexpr char kDecodeTokens[] = "batch_decode_tokens";
constexpr char kCopyPages[] = "copy_kv_pages";

constexpr char kTokens[] = "tokens";
constexpr char kPageIndices[] = "page_indices";
constexpr char kWindowedIndices[] = "windowed_indices";
constexpr char kEmbeddings[] = "embeddings";
constexpr char kPages[] = "kv_pages";
constexpr char kStates[] = "states";
constexpr char kAdapterWeights[] = "adapter_weights";
constexpr char kParams[] = "params";
constexpr char kVectors[] = "vectors";
constexpr char kTargetStates[] = "target_states";

constexpr char kLogits[] = "logits";
constexpr char kRows[] = "rows";
constexpr char kHiddenStates[] = "hidden_states";
constexpr char kLayerStates[] = "layer_states";

}  // namespace mlc
