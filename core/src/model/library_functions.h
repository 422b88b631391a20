// The names of a model library's functions that compute steps (docs/model-library.md).
#ifndef MLC_MODEL_LIBRARY_FUNCTIONS_H_
#define MLC_MODEL_LIBRARY_FUNCTIONS_H_

namespace mlc {

constexpr char kEmbed[] = "embed";
constexpr char kPrefill[] = "batch_prefill";
constexpr char kHiddenStates[] = "batch_prefill_to_last_hidden_states";
constexpr char kVerify[] = "batch_verify";
constexpr char kLogits[] = "get_logits";
constexpr char kDecodeTokens[] = "batch_decode_tokens";
constexpr char kCopyPages[] = "copy_kv_pages";

}  // namespace mlc

#endif  // MLC_MODEL_LIBRARY_FUNCTIONS_H_
