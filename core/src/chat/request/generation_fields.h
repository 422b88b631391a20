// What chats, completions and saved states say about how an answer is generated.
#pragma once

#include <optional>

#include "chat/load/model_bundle.h"
#include "chat/protocol/protocol.gen.h"
#include "engine/request.h"

namespace mlc {

// The longest answer of a request that does not limit it: a model that repeats itself must end. The
// descriptions of `max_tokens` and `max_output_tokens` in the schema name this number.
constexpr int kDefaultMaxTokens = 4096;

// A field that is added here must be in both kinds of request, else `Of` does not compile.
struct GenerationFields : protocol::SamplingFields {
  int64_t n = 1;
  std::optional<int64_t> max_tokens;
  bool logprobs = false;
  int64_t top_logprobs = 0;
  std::optional<protocol::Stop> stop;
  std::optional<int64_t> priority, timeout_ms;
  std::optional<std::string> logit_processor;
  std::optional<protocol::Lora> lora;
  std::optional<std::string> model;  // it may be, or end in, the name of an adapter
  std::optional<protocol::DebugConfig> debug_config;

  static GenerationFields Of(const protocol::ChatCompletionRequest& request);
  static GenerationFields Of(const protocol::CompletionRequest& request);
};

// The engine's request for a finished prompt: sampling, limits, stops. It uses the model's defaults
// for absent fields, and a random seed if there is none. The caller sets the id.
Result<Request> BuildGeneration(const ModelBundle& model, const GenerationFields& request,
                                Prompt prompt, std::optional<Grammar> grammar = std::nullopt);

}  // namespace mlc
