#include "chat/request/drafting.h"

#include <algorithm>

#include "engine/speculation/assistant.h"
#include "engine/speculation/draft_model.h"
#include "engine/speculation/layer_drafter.h"
#include "engine/speculation/medusa.h"

namespace mlc {
namespace {

using protocol::SpeculativeMode;

// The modes of parts of the model itself, by ModelInfo::draft_kind.
constexpr std::pair<const char*, SpeculativeMode> kParts[] = {{kMtp, SpeculativeMode::kMtp},
                                                              {kEagle, SpeculativeMode::kEagle},
                                                              {kMedusa, SpeculativeMode::kMedusa}};

SpeculativeMode ModeOf(const protocol::EngineConfig& config) {
  return config.speculative_mode.value_or(SpeculativeMode::kDisable);
}

Status Invalid(const char* param, std::string message) {
  return InvalidArgument(std::move(message)).WithParam(param);
}

Status CheckMode(const protocol::EngineConfig& config, bool has_draft) {
  SpeculativeMode mode = ModeOf(config);
  if (mode == SpeculativeMode::kSmallDraft && !has_draft) {
    return Invalid("speculative_mode",
                   "speculative_mode small_draft needs a draft model: name one in "
                   "additional_models");
  }
  if (mode != SpeculativeMode::kSmallDraft && has_draft) {
    return Invalid("additional_models",
                   "additional_models are draft models, which speculative_mode small_draft uses "
                   "and no other; Medusa's heads and Eagle's layers are converted with their model "
                   "(mlc_llm convert_weight --draft)");
  }
  return Status();
}

// "FOLDER,LIBRARY", as MLC-LLM writes it.
Result<ModelFiles> FilesOfPair(const std::string& pair, const std::string& device) {
  size_t comma = pair.rfind(',');
  Json json;
  json.Set("model", pair.substr(0, comma));
  if (comma != std::string::npos) json.Set("model_lib", pair.substr(comma + 1));
  Result<ModelFiles> files = ModelFiles::Parse(json, device, "");
  if (files.ok() || comma != std::string::npos) return files;
  return Invalid("additional_models", "additional_models: '" + pair +
                                          "' names no library; write MODEL,LIBRARY (the Python "
                                          "package finds or compiles one)");
}

}  // namespace

Result<std::optional<ModelFiles>> DraftFiles(const protocol::EngineConfig& config,
                                             const Json& model_json, const std::string& device) {
  const Json* draft = model_json.Find("draft");
  const auto& models = config.additional_models;
  bool is_in_config = draft == nullptr && models && !models->empty();
  MLC_RETURN_IF_ERROR(CheckMode(config, draft != nullptr || is_in_config));
  if (DraftKind(config)) MLC_RETURN_IF_ERROR(CheckDraftShape(config));
  if (is_in_config && models->size() > 1) {
    return Invalid("additional_models", "additional_models: one draft model can be used, not " +
                                            std::to_string(models->size()));
  }
  std::optional<ModelFiles> files;
  if (draft != nullptr) {
    if (!draft->is_object()) return Invalid("draft", "'draft' must be an object");
    MLC_ASSIGN_OR_RETURN(files, ModelFiles::Parse(*draft, device, "draft."));
  } else if (is_in_config) {
    MLC_ASSIGN_OR_RETURN(files, FilesOfPair(models->front(), device));
  }
  return files;
}

std::optional<std::string> DraftKind(const protocol::EngineConfig& config) {
  // For many sequences at once drafts seldom pay, and each could need 16 rows of logits.
  bool has_many = config.mode == protocol::EngineMode::kServer;
  if (!config.speculative_mode && !has_many) return std::nullopt;
  auto of_mode = [&](const auto& part) { return part.second == config.speculative_mode; };
  auto found = std::find_if(std::begin(kParts), std::end(kParts), of_mode);
  return found == std::end(kParts) ? "" : found->first;
}

protocol::EngineConfig WithOwnDraft(protocol::EngineConfig config, const ModelInfo* part) {
  if (config.speculative_mode || part == nullptr) return config;
  for (const auto& [kind, mode] : kParts) {
    if (part->draft_kind == kind) config.speculative_mode = mode;
  }
  return config;
}

Status CheckDraftShape(const protocol::EngineConfig& config) {
  if (ModeOf(config) != SpeculativeMode::kDisable) return Status();
  const char* what = " needs a speculative_mode, such as prompt_lookup: nothing drafts by itself";
  if (config.spec_draft_length) {
    return Invalid("spec_draft_length", std::string("spec_draft_length") + what);
  }
  if (config.spec_tree_width.value_or(1) > 1) {
    return Invalid("spec_tree_width", std::string("spec_tree_width over 1") + what);
  }
  return Status();
}

Status NoDraftPart(const std::string& kind) {
  std::string setting = "engine setting 'speculative_mode' " + kind;
  std::string text =
      kind == kMtp ? " needs a model with an MTP layer, or Gemma 4's assistant (mlc_llm "
                     "convert_weight --draft DIR): this one has none, or an older mlc_llm "
                     "converted or compiled it; use prompt_lookup, or convert and compile it "
                     "again"
                   : " needs a model that was converted and compiled with such a draft (mlc_llm "
                     "convert_weight --draft DIR), and this one was not; use small_draft "
                     "or prompt_lookup";
  return Unsupported(setting + text).WithParam("speculative_mode");
}

Status CheckSameVocabulary(const Tokenizer& target, const Tokenizer& draft) {
  auto refuse = [](const std::string& why) {
    return Invalid("additional_models",
                   "the draft model must have the vocabulary of its target: " + why);
  };
  if (target.vocab_size() != draft.vocab_size()) {
    return refuse(std::to_string(draft.vocab_size()) + " tokens instead of " +
                  std::to_string(target.vocab_size()));
  }
  for (int32_t id = 0; id < target.vocab_size(); ++id) {
    if (target.IdToToken(id) == draft.IdToToken(id)) continue;
    return refuse("token " + std::to_string(id) + " is '" + draft.IdToToken(id) + "' instead of '" +
                  target.IdToToken(id) + "'");
  }
  return Status();
}

Lookup LookupFor(const protocol::EngineConfig& config, bool has_drafter) {
  if (!config.speculative_mode) return has_drafter ? Lookup::kOwnText : Lookup::kNone;
  return ModeOf(config) == SpeculativeMode::kDisable ? Lookup::kNone : Lookup::kAllTexts;
}

ModelInfo WithDrafting(const protocol::EngineConfig& config, ModelInfo model,
                       const ModelInfo* draft, Lookup lookup) {
  if (ModeOf(config) == SpeculativeMode::kDisable) return model;
  if (lookup == Lookup::kAllTexts) model.step_bytes += NgramTable::kBytes;
  int64_t length = config.spec_draft_length.value_or(0), width = config.spec_tree_width.value_or(1);
  if (length == 0) length = kMaxDrafts;
  int64_t drafts = std::max(length, std::min<int64_t>(length * width, kMaxTreeDrafts));
  model.logit_row_bytes *= 1 + std::min<int64_t>(drafts, model.prefill_chunk_size);
  if (draft == nullptr) return model;
  model.weight_bytes += draft->weight_bytes;
  model.table_bytes += draft->table_bytes;
  int64_t draft_bytes = draft->page_bytes + draft->windowed_page_bytes;
  model.page_bytes += draft_bytes * model.page_size / std::max(1, draft->page_size);
  model.step_bytes += draft->step_bytes;
  if (draft->reads_target_pages) {  // it has no rows of prompts
    model.logit_row_bytes += width * draft->row_bytes;
  } else {
    model.row_bytes += draft->row_bytes;
  }
  model.decode_row_bytes += draft->decode_row_bytes;
  model.logit_row_bytes += width * draft->logit_row_bytes;
  if (!draft->draft_kind.empty()) {  // of each row: what the target gives, and a copy
    model.row_bytes += int64_t{2 * 4} * draft->hidden_size * (1 + draft->num_chosen_layers);
  }
  if (draft->takes_states && !draft->reads_target_pages) {  // states that wait
    model.step_bytes += int64_t{LayerDrafter::kMostWaitingInAll} * draft->state_size() * 4;
  }
  return model;
}

Result<std::unique_ptr<Drafter>> MakeDrafter(const protocol::EngineConfig& config,
                                             const ModelInfo& target, const Tokenizer& tokenizer,
                                             const EngineOptions& options,
                                             std::unique_ptr<Model> draft) {
  std::string kind = DraftKind(config).value_or("");
  std::string there = draft != nullptr ? draft->info().draft_kind : "";
  MLC_RETURN_IF_ERROR(CheckMode(config, draft != nullptr && there.empty()));
  MLC_RETURN_IF_ERROR(CheckDraftShape(config));
  if (options.draft_shape.width > 1 && target.state_bytes > 0) {
    return Unsupported(
               "engine setting 'spec_tree_width' is over 1, and the model has recurrent layers, "
               "whose states do not branch; leave it out")
        .WithParam("spec_tree_width");
  }
  if (options.draft_shape.width > 1 && !target.token_trees) {
    return Unsupported(
               "engine setting 'spec_tree_width' over 1 needs a model library that computes token "
               "trees; compile the model again (mlc_llm compile)")
        .WithParam("spec_tree_width");
  }
  if (kind != there) return NoDraftPart(kind);
  if (kind == kEagle && draft->info().num_chosen_layers > target.num_chosen_layers) {
    return Corrupt(
               "the model library gives no states of layers, which its draft reads; compile "
               "the model again")
        .WithParam("model_lib");
  }
  // The target has no logits for more tokens either, though its tokenizer may know some.
  int own = tokenizer.vocab_size();
  if (!there.empty()) own = std::min(own, draft->info().vocab_size);
  std::unique_ptr<Drafter> drafter;
  if (draft != nullptr && draft->info().reads_target_pages) {
    MLC_ASSIGN_OR_RETURN(drafter, AssistantDrafter::Create(std::move(draft), own));
  } else if (kind == kMedusa) {
    MLC_ASSIGN_OR_RETURN(drafter, MedusaDrafter::Create(std::move(draft), own));
  } else if (kind == kMtp || kind == kEagle) {
    MLC_ASSIGN_OR_RETURN(drafter,
                         LayerDrafter::Create(std::move(draft), own, options.max_total_tokens));
  } else if (draft != nullptr) {
    MLC_ASSIGN_OR_RETURN(drafter,
                         DraftModel::Create(std::move(draft), own, options.max_total_tokens));
  }
  return drafter;
}

}  // namespace mlc
