// Checks whether a request can run at all.
#include <string>
#include <vector>

#include "engine/engine.h"

namespace mlc {

Status PromptTooLong(const LengthLimit& limit, const std::string& count, const char* param) {
  std::string advice = limit.advice.empty() ? "" : " " + limit.advice;
  return InvalidArgument("This model's maximum context length is " + std::to_string(limit.tokens) +
                         " tokens. However, your " + param + " resulted in " + count +
                         ". Please reduce the length of the " + param + "." + advice)
      .WithParam(param)
      .WithReason(Reason::kContextLengthExceeded);
}

Status CheckMakesVectors(const ModelInfo& model) {
  if (!model.is_reranker) return Status();
  return Unsupported("the model is a reranker ('" + model.model_type +
                     "'), which gives scores of pairs of texts, and neither texts nor vectors; "
                     "ask it to rerank (engine.rerank.create, POST /v1/rerank)")
      .WithParam("model");
}

Status CheckReranks(const ModelInfo& model) {
  if (model.is_reranker) return Status();
  return Unsupported("the model ('" + model.model_type +
                     "') is no reranker; load one, which is an encoder of the class "
                     "...ForSequenceClassification with one label")
      .WithParam("model");
}

Status CheckWritesText(const ModelInfo& model) {
  if (!model.is_encoder) return Status();
  if (model.is_reranker) return CheckMakesVectors(model);
  return Unsupported("the model is an encoder ('" + model.model_type +
                     "'), which makes vectors of texts and writes none; ask it for embeddings "
                     "(engine.embeddings.create, POST /v1/embeddings)")
      .WithParam("model");
}

namespace {

// Models read a row of a table for each type; libraries without types read none.
Status CheckTypes(const std::vector<int32_t>& types, int num_types) {
  if (num_types == 0) return Status();
  for (int32_t type : types) {
    if (type < num_types) continue;
    return Corrupt("tokenizer.json gives tokens the type " + std::to_string(type) +
                   ", and the model has " + std::to_string(num_types) + " types")
        .WithParam("type_id");
  }
  return Status();
}

}  // namespace

Status Engine::Check(const Request& request) const {
  int prompt = request.prompt.size();
  int answer = request.pooling || request.max_tokens == 0 ? 0 : 1;  // the least number of tokens
  if (request.pooling && info().hidden_size == 0) {
    return Unsupported(
               "the model library gives no hidden states, which embeddings are made of; "
               "compile the model again (mlc_llm compile)")
        .WithParam("model_lib");
  }
  if (!request.pooling) MLC_RETURN_IF_ERROR(CheckWritesText(info()));
  MLC_ICHECK(request.token_types.empty() || static_cast<int>(request.token_types.size()) == prompt);
  MLC_RETURN_IF_ERROR(CheckTypes(request.token_types, info().token_types));
  const char* param = request.pooling ? "input" : "messages";
  if (prompt == 0) return InvalidArgument("the prompt is empty").WithParam(param);
  if (request.n < 1) return InvalidArgument("'n' must be at least 1").WithParam("n");
  if (prompt + answer > max_length_) {
    return PromptTooLong(length_limit(), std::to_string(prompt) + " tokens", param);
  }
  if (request.prompt_logprobs && request.prompt.has_rows()) {
    return Unsupported("log probabilities of a prompt are those of tokens; this one has images")
        .WithParam("logprobs");
  }
  for (const Prompt::Span& span : request.prompt.spans()) MLC_RETURN_IF_ERROR(CheckSpan(span));
  return CheckCanPin(request);
}

Status Engine::CheckCanPin(const Request& request) const {
  constexpr char kParam[] = "debug_config.pinned_system_prompt";
  if (!request.pin_prompt) return Status();
  const KVCacheOptions& options = cache_.options();
  if (!options.keep_prefixes) {
    return InvalidArgument(
               "a prompt can only be pinned in a prefix cache; load the engine with "
               "prefix_cache_mode 'radix'")
        .WithParam(kParam);
  }
  if (options.num_states > 0) {
    return Unsupported("prompts of a model with recurrent layers cannot be pinned")
        .WithParam(kParam);
  }
  if (options.window > 0 && request.prompt.size() > options.window) {
    return Unsupported(
               "a prompt cannot be pinned that is longer than the model's sliding window of " +
               std::to_string(options.window) + " tokens")
        .WithParam(kParam);
  }
  return Status();
}

Status Engine::CheckRoomToPin(const Request& request, const std::vector<int32_t>& ids) const {
  if (!request.pin_prompt) return Status();
  if (cache_.HasRoomToPin(request.adapter, ids)) return Status();
  return ResourceExhausted("pinned prompts may take half of the KV cache, " +
                           std::to_string(cache_.max_pinned_pages() * cache_.page_size()) +
                           " tokens, and this one does not fit in what is left; raise "
                           "max_total_seq_length, or reset the engine")
      .WithParam("debug_config.pinned_system_prompt")
      .WithReason(Reason::kPinnedPromptsFull);
}

Status Engine::CheckSpan(const Prompt::Span& span) const {
  for (int32_t token : span.tokens) {
    if (token < 0 || token >= info().vocab_size) {
      return InvalidArgument("token id " + std::to_string(token) +
                             " is not in the model's vocabulary of " +
                             std::to_string(info().vocab_size));
    }
  }
  if (span.rows == nullptr) return Status();
  // beside one row of each other sequence
  int room = full_limits_.max_rows - full_limits_.max_sequences + 1;
  if (span.rows->see_each_other() && span.size > room) {
    return InvalidArgument("the " + std::to_string(span.size) +
                           " rows of a picture see each other, so that one step computes them, and "
                           "one has room for " +
                           std::to_string(room) + "; load the engine with a larger " +
                           "prefill_chunk_size, or compile the model with one")
        .WithParam("prefill_chunk_size");
  }
  if (span.rows->width() == info().embedding_size) return Status();
  if (info().embedding_size == 0) {
    return Unsupported("the model '" + info().model_type +
                       "' takes no embedding rows in its prompt");
  }
  return InvalidArgument("embedding rows of the prompt have " + std::to_string(span.rows->width()) +
                         " numbers, the model's have " + std::to_string(info().embedding_size));
}

}  // namespace mlc
