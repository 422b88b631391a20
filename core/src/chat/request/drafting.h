// Speculative decoding as it is asked for: from EngineConfig and a load's JSON to a drafter.
#ifndef MLC_CHAT_REQUEST_DRAFTING_H_
#define MLC_CHAT_REQUEST_DRAFTING_H_

#include <memory>
#include <optional>

#include "chat/load/model_loader.h"
#include "chat/protocol/protocol.gen.h"
#include "engine/engine.h"

namespace mlc {

// The files of the draft model: `model_json`'s "draft": {"model", "model_lib"}, else the config's
// `additional_models`; none when no draft model is wanted. Errors: a mode without the model that it
// needs, a model without the mode that uses it, a mode that there is not.
Result<std::optional<ModelFiles>> DraftFiles(const protocol::EngineConfig& config,
                                             const Json& model_json, const std::string& device);

// kInvalidArgument when the two do not write the same tokens with the same ids.
Status CheckSameVocabulary(const Tokenizer& target, const Tokenizer& draft);

// The model as memory is planned for it: with what a draft model (or null) takes beside it, and
// with the rows of logits that drafts want.
ModelInfo WithDrafting(const protocol::EngineConfig& config, ModelInfo model,
                       const ModelInfo* draft);

// What drafts in the mode of `config`; null when nothing does. `draft`: the model of small_draft.
// kUnsupported when drafts are to branch and the `target`'s library cannot compute that.
Result<std::unique_ptr<Drafter>> MakeDrafter(const protocol::EngineConfig& config,
                                             const ModelInfo& target, const Tokenizer& tokenizer,
                                             const EngineOptions& options,
                                             std::unique_ptr<Model> draft);

}  // namespace mlc

#endif  // MLC_CHAT_REQUEST_DRAFTING_H_
