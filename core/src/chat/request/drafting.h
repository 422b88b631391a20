// Sets up speculative decoding: makes a drafter from EngineConfig and the JSON of a load.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "chat/load/model_loader.h"
#include "chat/protocol/protocol.gen.h"
#include "engine/engine.h"

namespace mlc {

// The files of the draft model: `model_json`'s "draft": {"model", "model_lib"}, else the config's
// `additional_models`; none when no draft model is wanted. Errors: a mode without the model that it
// needs, a model without the mode that uses it, an unknown mode.
Result<std::optional<ModelFiles>> DraftFiles(const protocol::EngineConfig& config,
                                             const Json& model_json, const std::string& device);

// kInvalidArgument unless both have the same tokens with the same ids.
Status CheckSameVocabulary(const Tokenizer& target, const Tokenizer& draft);

// The model for the memory plan: adds the memory of the draft model (or null), the rows of logits
// that drafts need, and the table of `lookup`.
ModelInfo WithDrafting(const protocol::EngineConfig& config, ModelInfo model,
                       const ModelInfo* draft, Lookup lookup);

// kInvalidArgument if `config`, with the mode of the model's own part, gives drafts a shape but no
// mode.
Status CheckDraftShape(const protocol::EngineConfig& config);

// Where drafts are looked up. `config`: as it was given, without the mode of the model's own part:
// a table is only kept for those who ask for drafts.
Lookup LookupFor(const protocol::EngineConfig& config, bool has_drafter);

// ModelFiles::draft_kind; and the error when the model has no such part.
std::optional<std::string> DraftKind(const protocol::EngineConfig& config);
Status NoDraftPart(const std::string& kind);
// `config` with the mode of the model's own part, if `config` leaves the mode out. `part`: null or
// what was loaded.
protocol::EngineConfig WithOwnDraft(protocol::EngineConfig config, const ModelInfo* part);

// The drafter for the mode of `config`; null when the mode has none, as prompt_lookup. `draft`: the
// model of small_draft, or the part of the target that drafts. kUnsupported when drafts may branch
// and the `target`'s library cannot compute that.
Result<std::unique_ptr<Drafter>> MakeDrafter(const protocol::EngineConfig& config,
                                             const ModelInfo& target, const Tokenizer& tokenizer,
                                             const EngineOptions& options,
                                             std::unique_ptr<Model> draft);

}  // namespace mlc
