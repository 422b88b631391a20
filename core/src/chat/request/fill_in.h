// Fill in the middle: a model writes what belongs between a beginning and an end.
#pragma once

#include <optional>
#include <string>

#include "base/json.h"
#include "chat/load/model_bundle.h"
#include "chat/protocol/protocol.gen.h"

namespace mlc {

// The tokens around the parts of a prompt with which the model was trained to fill gaps: those that
// `tokenizer_config` names (`fim_pre_token`, `fim_suf_token`, `fim_mid_token`; our converter writes
// a GGUF file's there), or those of a known family. Null: the model has none.
std::optional<FillMarkers> FindFillMarkers(const Tokenizer& tokenizer,
                                           const Json& tokenizer_config);

// `prompt` with `suffix` behind the gap: each text with the model's tokens around its parts.
// Errors: kUnsupported when the model has no such tokens; kInvalidArgument for token ids.
Result<protocol::Prompt> FillPrompt(const ModelBundle& model, protocol::Prompt prompt,
                                    const std::string& suffix);

}  // namespace mlc
