#include "chat/request/generation_fields.h"

#include <algorithm>
#include <random>

#include "chat/request/sampling_fields.gen.h"

namespace mlc {
namespace {

template <typename Asked>
GenerationFields SharedFields(const Asked& request) {
  GenerationFields out;
  static_cast<protocol::SamplingFields&>(out) = request;
  out.n = request.n;
  out.max_tokens = request.max_tokens;
  out.stop = request.stop;
  out.priority = request.priority;
  out.timeout_ms = request.timeout_ms;
  out.debug_config = request.debug_config;
  out.logit_processor = request.logit_processor;
  out.lora = request.lora;
  out.model = request.model;
  return out;
}

uint64_t RandomSeed() {
  std::random_device device;
  return static_cast<uint64_t>(device()) << 32 | device();
}

// Those of llama.cpp.
std::vector<std::string> DefaultBreakers() { return {"\n", ":", "\"", "*"}; }

SamplingParams BuildSampling(const ModelBundle& model, const GenerationFields& request) {
  SamplingParams params;
  static_cast<SamplingNumbers&>(params) = ReadSampling(request, model.sampling_defaults);
  params.top_k = std::max(0, params.top_k);
  params.seed = request.seed ? static_cast<uint64_t>(*request.seed) : RandomSeed();
  params.logprobs = request.logprobs;
  params.top_logprobs = static_cast<int>(request.top_logprobs);
  if (params.has_dry()) {
    params.dry_breakers = model.dry_breakers->Find(
        *model.tokenizer, request.dry_sequence_breakers.value_or(DefaultBreakers()));
  }
  return params;
}

Status AddLogitBias(const GenerationFields& request, int32_t vocab_size, SamplingParams* params) {
  if (!request.logit_bias) return Status();
  for (const auto& [token, bias] : *request.logit_bias) {
    if (token < 0 || token >= vocab_size) {
      return InvalidArgument("token id " + std::to_string(token) +
                             " is not in the model's vocabulary of " + std::to_string(vocab_size))
          .WithParam("logit_bias." + std::to_string(token));
    }
    params->logit_bias.emplace_back(static_cast<int32_t>(token), static_cast<float>(bias));
  }
  return Status();
}

std::vector<std::string> StopStrings(const ModelBundle& model, const GenerationFields& request) {
  std::vector<std::string> stops = model.stop_strings;
  if (request.stop && request.stop->text() != nullptr) stops.push_back(*request.stop->text());
  if (request.stop && request.stop->texts() != nullptr) {
    stops.insert(stops.end(), request.stop->texts()->begin(), request.stop->texts()->end());
  }
  return stops;
}

// "model": "ADAPTER" or "BASE:ADAPTER". A name without an adapter is that of the model alone.
AdapterUses AdaptersOfModel(const AdapterTable& table, const std::string& name) {
  for (const std::string& adapter : {name, name.substr(name.rfind(':') + 1)}) {
    Result<AdapterUses> found = table.Find({{adapter, 1.0f}});
    if (found.ok()) return *found;
  }
  return {};
}

Status ChooseAdapters(const ModelBundle& model, const GenerationFields& request, Request* out) {
  std::vector<std::pair<std::string, float>> names;
  if (request.lora && request.lora->name() != nullptr) {
    names.emplace_back(*request.lora->name(), 1.0f);
  } else if (request.lora) {
    for (const protocol::LoraUse& use : *request.lora->uses()) {
      names.emplace_back(use.name, static_cast<float>(use.scale));
    }
  }
  MLC_ASSIGN_OR_RETURN(out->adapters, model.adapters->Find(names));
  if (!request.lora && request.model) {
    out->adapters = AdaptersOfModel(*model.adapters, *request.model);
  }
  out->adapter = KeyOf(out->adapters);
  return Status();
}

}  // namespace

GenerationFields GenerationFields::Of(const protocol::ChatCompletionRequest& request) {
  GenerationFields out = SharedFields(request);
  if (request.max_completion_tokens) out.max_tokens = request.max_completion_tokens;
  out.logprobs = request.logprobs;
  out.top_logprobs = request.top_logprobs.value_or(0);
  return out;
}

GenerationFields GenerationFields::Of(const protocol::CompletionRequest& request) {
  GenerationFields out = SharedFields(request);
  out.logprobs = request.logprobs.has_value();
  out.top_logprobs = request.logprobs.value_or(0);
  return out;
}

Result<Request> BuildGeneration(const ModelBundle& model, const GenerationFields& request,
                                Prompt prompt, std::optional<Grammar> grammar) {
  Request out;
  out.prompt = std::move(prompt);
  out.sampling = BuildSampling(model, request);
  MLC_RETURN_IF_ERROR(AddLogitBias(request, model.config.vocab_size, &out.sampling));
  if (request.logit_processor) {
    MLC_ASSIGN_OR_RETURN(out.logit_processor,
                         model.logit_processors->Find(*request.logit_processor));
  }
  MLC_RETURN_IF_ERROR(ChooseAdapters(model, request, &out));
  out.n = static_cast<int>(request.n);
  out.max_tokens = static_cast<int>(
      std::min<int64_t>(request.max_tokens.value_or(kDefaultMaxTokens), INT32_MAX));
  out.stop_strings = StopStrings(model, request);
  out.stop_token_ids = model.stop_token_ids;
  out.grammar = std::move(grammar);
  out.priority = static_cast<int>(request.priority.value_or(0));
  if (request.timeout_ms) out.timeout = std::chrono::milliseconds(*request.timeout_ms);
  if (const auto& debug = request.debug_config) {
    out.ignore_eos = debug->ignore_eos;
    out.pin_prompt = debug->pinned_system_prompt;
    out.jump_forward =
        debug->grammar_execution_mode == protocol::GrammarExecutionMode::kJumpForward;
  }
  return out;
}

}  // namespace mlc
