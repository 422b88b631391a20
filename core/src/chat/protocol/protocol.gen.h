// Generated from codegen/schema by `python -m codegen`. Do not edit.
// Schema hash: 5c6e83c1dd599df1
//
// The protocol's requests, responses and configuration. Each type reads itself from JSON by Parse,
// which checks everything the schema says and reports the first fault with the path to it, and
// writes itself by ToJson. Parse ignores members it does not know.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/json.h"
#include "base/status.h"
#include "chat/protocol/wire.h"

namespace mlc::protocol {

// Of all that crosses the wire; the core and a binding must have the same.
inline constexpr char kSchemaHash[] = "5c6e83c1dd599df1";

// What requests are submitted to.
inline constexpr const char* kRoutes[] = {
    "chat.completions", "completions",   "embeddings",   "rerank",      "tokenize",
    "detokenize",       "render",        "input_tokens", "kv.save",     "kv.load",
    "kv.held",          "memory.trim",   "prewarm",      "thermal.set", "adapters.load",
    "adapters.unload",  "adapters.list", "trace"};

// How tokens are chosen.
struct SamplingFields {
  // How far the choice of tokens strays from the likeliest; 0 always takes the likeliest. Absent:
  // the model's own default, else 1. Range: at least 0 and at most 2.
  std::optional<double> temperature;
  // Keeps the likeliest tokens that together reach this probability; 0 keeps the likeliest alone.
  // Absent: the model's own default, else 1. Range: at least 0 and at most 1.
  std::optional<double> top_p;
  // Keeps this many of the likeliest tokens; 0 or -1 keeps all. Absent: the model's own default,
  // else 0. Range: at least -1. Unit: tokens.
  std::optional<int64_t> top_k;
  // Keeps tokens at least this probable, relative to the likeliest. Absent: the model's own
  // default, else 0. Range: at least 0 and at most 1.
  std::optional<double> min_p;
  // Lowers a token's logit by this much for each time it occurs in the answer. Absent: the model's
  // own default, else 0. Range: at least -2 and at most 2.
  std::optional<double> frequency_penalty;
  // Lowers a token's logit by this much once it occurs in the answer. Absent: the model's own
  // default, else 0. Range: at least -2 and at most 2.
  std::optional<double> presence_penalty;
  // Divides a positive logit, and multiplies a negative one, of tokens that occurred. Absent: the
  // model's own default, else 1. Range: above 0 and at most 10.
  std::optional<double> repetition_penalty;
  // Keeps tokens whose logit is at most this many standard deviations below the largest; 0 or less
  // keeps all. Absent: the model's own default, else 0. Range: at least -1 and at most 1000.
  std::optional<double> top_n_sigma;
  // How often (of 1) the likeliest tokens are excluded, all but the last one that `xtc_threshold`
  // counts among them. Absent: the model's own default, else 0. Range: at least 0 and at most 1.
  std::optional<double> xtc_probability;
  // From which probability on `xtc_probability` counts a token among the likeliest; over 0.5 there
  // is no second one. Absent: the model's own default, else 0.1. Range: at least 0 and at most 1.
  std::optional<double> xtc_threshold;
  // Lowers the logit of a token that would go on with a repetition, in prompt and answer: by this
  // much times `dry_base` to the power of what the repetition is longer than `dry_allowed_length`.
  // Absent: the model's own default, else 0. Range: at least 0 and at most 100.
  std::optional<double> dry_multiplier;
  // How fast `dry_multiplier` grows with a repetition. Absent: the model's own default, else 1.75.
  // Range: at least 1 and at most 100.
  std::optional<double> dry_base;
  // `dry_multiplier` begins at repetitions of this length. Absent: the model's own default, else 2.
  // Range: at least 1. Unit: tokens.
  std::optional<int64_t> dry_allowed_length;
  // Among how many of the last tokens `dry_multiplier` looks for repetitions; -1: all, 0: none.
  // Absent: the model's own default, else -1. Range: at least -1. Unit: tokens.
  std::optional<int64_t> dry_penalty_last_n;
  // A token that contains one of these texts ends repetitions that `dry_multiplier` counts, as a
  // special token does. Absent: a line's end, a colon, a quotation mark and an asterisk. Length: at
  // least 1. Items: at most 64.
  std::optional<std::vector<std::string>> dry_sequence_breakers;
  // Adds to the logits of tokens: from token id to bias. Range: at least -100 and at most 100.
  std::optional<std::map<int64_t, double>> logit_bias;
  // Makes the answer repeatable: equal requests with equal seeds get equal answers. Absent: a
  // random one.
  std::optional<int64_t> seed;

  static Result<SamplingFields> Parse(const Json& json, const wire::Path& path = {});
  Json ToJson() const;
};

// Who speaks.
enum class ChatCompletionRole {
  // The instructions that the model follows.
  kSystem,
  // The same as `system`, as newer clients call it.
  kDeveloper,
  // The person, or the program, that asks.
  kUser,
  // The model.
  kAssistant,
  // A tool that the model called.
  kTool,
};
wire::Words WireWords(ChatCompletionRole);

// A text within a message.
struct ChatCompletionContentPartText {
  // The kind of part.
  static constexpr char kType[] = "text";
  // The text.
  std::string text;

  static Result<ChatCompletionContentPartText> Parse(const Json& json, const wire::Path& path = {});
  Json ToJson() const;
};

// How closely the model looks at an image.
enum class ImageDetail {
  // As the model's own configuration says.
  kAuto,
  // At low resolution, in few tokens.
  kLow,
  // At high resolution, in more tokens.
  kHigh,
  // In the image's own size, as far as the model can; else as `high`.
  kOriginal,
};
wire::Words WireWords(ImageDetail);

// Where an image is.
struct ImageURL {
  // The image as a `data:` URL with its bytes in base64, or that base64 alone. Clients take the
  // bytes of its file too. Length: at least 1.
  std::string url;
  // How closely the model looks.
  std::optional<ImageDetail> detail;

  static Result<ImageURL> Parse(const Json& json, const wire::Path& path = {});
  Json ToJson() const;
};

// An image, as an object or as its URL alone.
struct ImageSource {
  std::variant<std::string, ImageURL> value;

  // Each is nullptr when it is not the one that is held.
  const std::string* url() const { return std::get_if<0>(&value); }
  const ImageURL* image() const { return std::get_if<1>(&value); }

  static Result<ImageSource> Parse(const Json& json, const wire::Path& path = {});
  Json ToJson() const;
};

// An image within a message.
struct ChatCompletionContentPartImage {
  // The kind of part.
  static constexpr char kType[] = "image_url";
  // The image.
  ImageSource image_url;

  static Result<ChatCompletionContentPartImage> Parse(const Json& json,
                                                      const wire::Path& path = {});
  Json ToJson() const;
};

// A part of a message.
struct ChatCompletionContentPart {
  std::variant<ChatCompletionContentPartText, ChatCompletionContentPartImage> value;

  // Each is nullptr when it is not the one that is held.
  const ChatCompletionContentPartText* text() const { return std::get_if<0>(&value); }
  const ChatCompletionContentPartImage* image_url() const { return std::get_if<1>(&value); }

  static Result<ChatCompletionContentPart> Parse(const Json& json, const wire::Path& path = {});
  Json ToJson() const;
};

// What a message says: a text, or texts and images in order.
struct ChatCompletionMessageContent {
  std::variant<std::string, std::vector<ChatCompletionContentPart>> value;

  // Each is nullptr when it is not the one that is held.
  const std::string* text() const { return std::get_if<0>(&value); }
  const std::vector<ChatCompletionContentPart>* parts() const { return std::get_if<1>(&value); }

  static Result<ChatCompletionMessageContent> Parse(const Json& json, const wire::Path& path = {});
  Json ToJson() const;
};

// A function call that the model made.
struct FunctionCall {
  // The name of the function to call.
  std::string name;
  // The arguments as JSON text, as the model wrote it; it may be invalid or name arguments that the
  // function does not have.
  std::string arguments;

  static Result<FunctionCall> Parse(const Json& json, const wire::Path& path = {});
  Json ToJson() const;
};

// A tool call that the model made.
struct ChatCompletionMessageToolCall {
  // The call's id, which the tool's answer repeats as `tool_call_id`.
  std::string id;
  // The kind of tool; only functions exist.
  static constexpr char kType[] = "function";
  // The function and its arguments.
  FunctionCall function;

  static Result<ChatCompletionMessageToolCall> Parse(const Json& json, const wire::Path& path = {});
  Json ToJson() const;
};

// A message of the conversation so far.
struct ChatCompletionMessage {
  // Who speaks.
  ChatCompletionRole role = ChatCompletionRole::kSystem;
  // What is said. The assistant may leave it out when it calls tools. Required when `role` is
  // `system` or `developer` or `user` or `tool`.
  std::optional<ChatCompletionMessageContent> content;
  // A name that tells speakers of the same role apart.
  std::optional<std::string> name;
  // The assistant's tool calls.
  std::optional<std::vector<ChatCompletionMessageToolCall>> tool_calls;
  // The call that a tool's message answers. Required when `role` is `tool`.
  std::optional<std::string> tool_call_id;
  // What the assistant thought before it spoke; a model's template may use it.
  std::optional<std::string> reasoning_content;

  static Result<ChatCompletionMessage> Parse(const Json& json, const wire::Path& path = {});
  Json ToJson() const;
};

// What a stream carries beside the answer.
struct StreamOptions {
  // Whether a last chunk, with no choices, carries the usage of the whole request.
  std::optional<bool> include_usage;

  static Result<StreamOptions> Parse(const Json& json, const wire::Path& path = {});
  Json ToJson() const;
};

// Texts at which the answer ends, before them.
struct Stop {
  std::variant<std::string, std::vector<std::string>> value;

  // Each is nullptr when it is not the one that is held.
  const std::string* text() const { return std::get_if<0>(&value); }
  const std::vector<std::string>* texts() const { return std::get_if<1>(&value); }

  static Result<Stop> Parse(const Json& json, const wire::Path& path = {});
  Json ToJson() const;
};

// A function that the model may call.
struct FunctionDefinition {
  // The function's name, by which the model calls it. Length: at least 1.
  std::string name;
  // What the function does; the model chooses by it when to call.
  std::optional<std::string> description;
  // A JSON Schema object for the arguments. Absent: the function takes none.
  std::optional<Json> parameters;
  // Whether the arguments are held to the schema while they are generated.
  std::optional<bool> strict;

  static Result<FunctionDefinition> Parse(const Json& json, const wire::Path& path = {});
  Json ToJson() const;
};

// A tool that the model may call.
struct ChatCompletionTool {
  // The kind of tool; only functions exist.
  static constexpr char kType[] = "function";
  // The function.
  FunctionDefinition function;

  static Result<ChatCompletionTool> Parse(const Json& json, const wire::Path& path = {});
  Json ToJson() const;
};

// How free the model is in calling tools.
enum class ToolChoiceMode {
  // Calls no tool.
  kNone,
  // Answers or calls tools, as it sees fit.
  kAuto,
  // Calls at least one tool.
  kRequired,
};
wire::Words WireWords(ToolChoiceMode);

// A function by its name.
struct NamedFunction {
  // The function's name. Length: at least 1.
  std::string name;

  static Result<NamedFunction> Parse(const Json& json, const wire::Path& path = {});
  Json ToJson() const;
};

// The one tool that the model must call.
struct ChatCompletionNamedToolChoice {
  // The kind of tool; only functions exist.
  static constexpr char kType[] = "function";
  // The function to call.
  NamedFunction function;

  static Result<ChatCompletionNamedToolChoice> Parse(const Json& json, const wire::Path& path = {});
  Json ToJson() const;
};

// Which tools the model may or must call.
struct ToolChoice {
  std::variant<ToolChoiceMode, ChatCompletionNamedToolChoice> value;

  // Each is nullptr when it is not the one that is held.
  const ToolChoiceMode* mode() const { return std::get_if<0>(&value); }
  const ChatCompletionNamedToolChoice* named() const { return std::get_if<1>(&value); }

  static Result<ToolChoice> Parse(const Json& json, const wire::Path& path = {});
  Json ToJson() const;
};

// Any text.
struct ResponseFormatText {
  // The kind of format.
  static constexpr char kType[] = "text";

  static Result<ResponseFormatText> Parse(const Json& json, const wire::Path& path = {});
  Json ToJson() const;
};

// A JSON Schema, as JSON text or as the object itself.
struct JsonSchemaSource {
  std::variant<std::string, Json> value;

  // Each is nullptr when it is not the one that is held.
  const std::string* text() const { return std::get_if<0>(&value); }
  const Json* object() const { return std::get_if<1>(&value); }

  static Result<JsonSchemaSource> Parse(const Json& json, const wire::Path& path = {});
  Json ToJson() const;
};

// A JSON object.
struct ResponseFormatJSONObject {
  // The kind of format.
  static constexpr char kType[] = "json_object";
  // A JSON Schema that the object must match. Absent: any object.
  std::optional<JsonSchemaSource> schema;

  static Result<ResponseFormatJSONObject> Parse(const Json& json, const wire::Path& path = {});
  Json ToJson() const;
};

// A JSON Schema with a name.
struct JSONSchema {
  // The schema's name. Length: at least 1 and at most 64.
  std::string name;
  // What the answer is for; the model may read it.
  std::optional<std::string> description;
  // The JSON Schema.
  std::optional<Json> schema;
  // Whether a schema is refused that the answer cannot be held to in full. Otherwise what cannot be
  // enforced is left out, and `warnings` say so.
  std::optional<bool> strict;

  static Result<JSONSchema> Parse(const Json& json, const wire::Path& path = {});
  Json ToJson() const;
};

// JSON that matches a schema.
struct ResponseFormatJSONSchema {
  // The kind of format.
  static constexpr char kType[] = "json_schema";
  // The schema.
  JSONSchema json_schema;

  static Result<ResponseFormatJSONSchema> Parse(const Json& json, const wire::Path& path = {});
  Json ToJson() const;
};

// Text that a regular expression matches as a whole.
struct ResponseFormatRegex {
  // The kind of format.
  static constexpr char kType[] = "regex";
  // The regular expression, in ECMAScript's syntax. Length: at least 1.
  std::string regex;

  static Result<ResponseFormatRegex> Parse(const Json& json, const wire::Path& path = {});
  Json ToJson() const;
};

// Text that a grammar derives.
struct ResponseFormatGrammar {
  // The kind of format.
  static constexpr char kType[] = "grammar";
  // The grammar in GBNF (EBNF as llama.cpp writes it); its first rule is `root`. Length: at
  // least 1.
  std::string grammar;

  static Result<ResponseFormatGrammar> Parse(const Json& json, const wire::Path& path = {});
  Json ToJson() const;
};

// A stretch of the answer, between two texts, that has a shape.
struct StructuralTag {
  // The text that opens the stretch. Length: at least 1.
  std::string begin;
  // The JSON Schema.
  Json schema;
  // The text that closes the stretch. Length: at least 1.
  std::string end;

  static Result<StructuralTag> Parse(const Json& json, const wire::Path& path = {});
  Json ToJson() const;
};

// Free text in which tagged stretches have a shape.
//
// Give either `tags` and `triggers`, or `format`.
struct ResponseFormatStructuralTag {
  // The kind of format.
  static constexpr char kType[] = "structural_tag";
  // The stretches that may occur. Items: at least 1.
  std::optional<std::vector<StructuralTag>> tags;
  // Texts after which a stretch must follow; each tag's `begin` starts with one of them. Items: at
  // least 1.
  std::optional<std::vector<std::string>> triggers;
  // A structural tag's format object, in full.
  std::optional<Json> format;

  static Result<ResponseFormatStructuralTag> Parse(const Json& json, const wire::Path& path = {});
  Json ToJson() const;
};

// The shape that the answer must have.
struct ResponseFormat {
  std::variant<ResponseFormatText, ResponseFormatJSONObject, ResponseFormatJSONSchema,
               ResponseFormatRegex, ResponseFormatGrammar, ResponseFormatStructuralTag>
      value;

  // Each is nullptr when it is not the one that is held.
  const ResponseFormatText* text() const { return std::get_if<0>(&value); }
  const ResponseFormatJSONObject* json_object() const { return std::get_if<1>(&value); }
  const ResponseFormatJSONSchema* json_schema() const { return std::get_if<2>(&value); }
  const ResponseFormatRegex* regex() const { return std::get_if<3>(&value); }
  const ResponseFormatGrammar* grammar() const { return std::get_if<4>(&value); }
  const ResponseFormatStructuralTag* structural_tag() const { return std::get_if<5>(&value); }

  static Result<ResponseFormat> Parse(const Json& json, const wire::Path& path = {});
  Json ToJson() const;
};

// How long a reasoning model thinks before it answers.
enum class ReasoningEffort {
  // Not at all.
  kNone,
  // As little as it can.
  kMinimal,
  // A little.
  kLow,
  // As it was trained to.
  kMedium,
  // Long.
  kHigh,
  // Longer.
  kXhigh,
};
wire::Words WireWords(ReasoningEffort);

// An adapter of a request.
struct LoraUse {
  // The name under which it was loaded. Length: at least 1.
  std::string name;
  // By how much its change counts. Range: at least -1000 and at most 1000. Default: 1.
  double scale = 1.0;

  static Result<LoraUse> Parse(const Json& json, const wire::Path& path = {});
  Json ToJson() const;
};

// The adapters of a request: the name of one, or several, whose changes add up.
struct Lora {
  std::variant<std::string, std::vector<LoraUse>> value;

  // Each is nullptr when it is not the one that is held.
  const std::string* name() const { return std::get_if<0>(&value); }
  const std::vector<LoraUse>* uses() const { return std::get_if<1>(&value); }

  static Result<Lora> Parse(const Json& json, const wire::Path& path = {});
  Json ToJson() const;
};

// A request that is no conversation.
enum class SpecialRequest {
  // Gives the engine's metrics in `usage.extra`.
  kQueryEngineMetrics,
};
wire::Words WireWords(SpecialRequest);

// How a grammar is followed.
enum class GrammarExecutionMode {
  // Every token is sampled under the grammar's mask.
  kConstraint,
  // Text that the grammar forces is appended without the model.
  kJumpForward,
};
wire::Words WireWords(GrammarExecutionMode);

// Switches for tests and measurements.
struct DebugConfig {
  // Whether the answer goes on over the end-of-text token. Default: false.
  bool ignore_eos = false;
  // Whether the whole pages of the prompt stay in the prefix cache until the engine is reset.
  // Default: false.
  bool pinned_system_prompt = false;
  // Asks for something else than an answer.
  std::optional<SpecialRequest> special_request;
  // How a grammar is followed. Default: `jump_forward`.
  GrammarExecutionMode grammar_execution_mode = GrammarExecutionMode::kJumpForward;

  static Result<DebugConfig> Parse(const Json& json, const wire::Path& path = {});
  Json ToJson() const;
};

// A predicted text, whole or in parts.
struct ChatCompletionPredictionText {
  std::variant<std::string, std::vector<ChatCompletionContentPartText>> value;

  // Each is nullptr when it is not the one that is held.
  const std::string* text() const { return std::get_if<0>(&value); }
  const std::vector<ChatCompletionContentPartText>* parts() const { return std::get_if<1>(&value); }

  static Result<ChatCompletionPredictionText> Parse(const Json& json, const wire::Path& path = {});
  Json ToJson() const;
};

// A text that the answer probably resembles, such as a file before a small change.
struct ChatCompletionPrediction {
  // The kind of prediction.
  static constexpr char kType[] = "content";
  // The text.
  ChatCompletionPredictionText content;

  static Result<ChatCompletionPrediction> Parse(const Json& json, const wire::Path& path = {});
  Json ToJson() const;
};

// A conversation, and how the model is to continue it.
struct ChatCompletionRequest : SamplingFields {
  // The conversation so far, oldest first. Items: at least 1.
  std::vector<ChatCompletionMessage> messages;
  // The model to answer. Absent: the engine's own.
  std::optional<std::string> model;
  // Whether the answer comes in chunks while it is generated. Default: false.
  bool stream = false;
  // Options of the stream.
  std::optional<StreamOptions> stream_options;
  // The longest answer. Absent: 4,096. The end of the context may come first. Range: at least 1.
  // Unit: tokens.
  std::optional<int64_t> max_tokens;
  // The newer name of `max_tokens`; it wins when both are given. Absent: `max_tokens`. Range: at
  // least 1. Unit: tokens.
  std::optional<int64_t> max_completion_tokens;
  // How many answers are generated, each on its own. Range: at least 1 and at most 128. Default: 1.
  int64_t n = 1;
  // Whether the chosen tokens' log probabilities are returned. Default: false.
  bool logprobs = false;
  // How many of the likeliest tokens are returned at each position; needs `logprobs`. Absent: 0.
  // Range: at least 0 and at most 20. Unit: tokens.
  std::optional<int64_t> top_logprobs;
  // Texts at which the answer ends, before them.
  std::optional<Stop> stop;
  // The tools that the model may call. Items: at most 128.
  std::optional<std::vector<ChatCompletionTool>> tools;
  // Which tools are called. Absent: `auto` with tools, `none` without.
  std::optional<ToolChoice> tool_choice;
  // Whether one answer may hold several tool calls. Default: true.
  bool parallel_tool_calls = true;
  // The shape that the answer must have. Absent: any text.
  std::optional<ResponseFormat> response_format;
  // How long a reasoning model thinks before it answers.
  std::optional<ReasoningEffort> reasoning_effort;
  // The longest that a reasoning model thinks; at the limit its thoughts are ended and the answer
  // goes on. Absent: no limit. An extension of this engine. Range: at least 0 and at most
  // 2147483647. Unit: tokens.
  std::optional<int64_t> reasoning_budget;
  // Further variables for the model's chat template, such as `enable_thinking`.
  std::optional<Json> chat_template_kwargs;
  // The name of a logit processor that the program has registered with the engine: a function that
  // changes the logits before each token. Absent: none. An extension of this engine.
  std::optional<std::string> logit_processor;
  // The adapters that change the model for this request. Absent: none. An extension of this engine.
  std::optional<Lora> lora;
  // A label of the end user; it has no effect on the answer.
  std::optional<std::string> user;
  // Requests of higher priority are served first and may take the place of running ones of lower
  // priority. Each level is worth ten seconds of waiting, so that nobody waits for ever. Absent: 0.
  // An extension of this engine. Range: at least -100 and at most 100.
  std::optional<int64_t> priority;
  // The answer must be complete this long after the request came in; else it ends with the error
  // `deadline_exceeded`. Absent: no limit. An extension of this engine. Range: at least 1 and at
  // most 2147483647. Unit: milliseconds.
  std::optional<int64_t> timeout_ms;
  // Whether `usage.extra` carries this request's measurements, such as `ttft_s`. Absent: it does in
  // a stream whose `include_usage` is set, as MLC-LLM's. An extension of this engine.
  std::optional<bool> usage_extra;
  // Whether the answer carries `timings`, and in a stream every chunk, as llama.cpp's.
  std::optional<bool> timings_per_token;
  // Whether a stream begins with chunks that carry `prompt_progress`, as llama.cpp's. They have no
  // choices.
  std::optional<bool> return_progress;
  // Switches for tests and measurements; a server takes them in debug mode only.
  std::optional<DebugConfig> debug_config;
  // Labels of the caller's own; they have no effect.
  std::optional<std::map<std::string, std::string>> metadata;
  // Asks a service to keep the answer; this engine keeps none.
  std::optional<bool> store;
  // A service's price class; it has no effect.
  std::optional<std::string> service_tier;
  // The kinds of output that are asked for; only `text` is offered.
  std::optional<std::vector<std::string>> modalities;
  // How spoken output sounds; spoken output is not offered.
  std::optional<Json> audio;
  // A text that the answer will resemble. It makes the answer faster where the two agree, and never
  // changes it.
  std::optional<ChatCompletionPrediction> prediction;
  // A search of the web; not offered.
  std::optional<Json> web_search_options;
  // The older form of `tools`; use that.
  std::optional<Json> functions;
  // The older form of `tool_choice`; use that.
  std::optional<Json> function_call;

  static Result<ChatCompletionRequest> Parse(const Json& json, const wire::Path& path = {});
  Json ToJson() const;
};

// One prompt of several, or one token of a prompt.
struct PromptItem {
  std::variant<std::string, int64_t, std::vector<int64_t>> value;

  // Each is nullptr when it is not the one that is held.
  const std::string* text() const { return std::get_if<0>(&value); }
  const int64_t* token() const { return std::get_if<1>(&value); }
  const std::vector<int64_t>* tokens() const { return std::get_if<2>(&value); }

  static Result<PromptItem> Parse(const Json& json, const wire::Path& path = {});
  Json ToJson() const;
};

// What is to be continued or embedded: a text, several texts, token ids, or lists of those.
struct Prompt {
  std::variant<std::string, std::vector<PromptItem>> value;

  // Each is nullptr when it is not the one that is held.
  const std::string* text() const { return std::get_if<0>(&value); }
  const std::vector<PromptItem>* items() const { return std::get_if<1>(&value); }

  static Result<Prompt> Parse(const Json& json, const wire::Path& path = {});
  Json ToJson() const;
};

// A text, and how the model is to continue it.
struct CompletionRequest : SamplingFields {
  // What is to be continued.
  Prompt prompt;
  // The model to answer. Absent: the engine's own.
  std::optional<std::string> model;
  // The text that follows what is inserted. Absent: the text is only continued.
  std::optional<std::string> suffix;
  // Whether the answer begins with the prompt. Default: false.
  bool echo = false;
  // How many answers are generated to return the best `n`. Absent: `n`. Range: at least 1 and at
  // most 128.
  std::optional<int64_t> best_of;
  // Whether the answer comes in chunks while it is generated. Default: false.
  bool stream = false;
  // Options of the stream.
  std::optional<StreamOptions> stream_options;
  // The longest answer. Range: at least 0. Default: 16. Unit: tokens.
  int64_t max_tokens = 16;
  // How many answers are generated, each on its own. Range: at least 1 and at most 128. Default: 1.
  int64_t n = 1;
  // How many of the likeliest tokens are returned at each position, beside the chosen one. Absent:
  // none. Range: at least 0 and at most 5. Unit: tokens.
  std::optional<int64_t> logprobs;
  // Texts at which the answer ends, before them.
  std::optional<Stop> stop;
  // The shape that the answer must have. Absent: any text.
  std::optional<ResponseFormat> response_format;
  // The name of a logit processor that the program has registered with the engine: a function that
  // changes the logits before each token. Absent: none. An extension of this engine.
  std::optional<std::string> logit_processor;
  // The adapters that change the model for this request. Absent: none. An extension of this engine.
  std::optional<Lora> lora;
  // A label of the end user; it has no effect on the answer.
  std::optional<std::string> user;
  // Requests of higher priority are served first, as in chats. Absent: 0. An extension of this
  // engine. Range: at least -100 and at most 100.
  std::optional<int64_t> priority;
  // The answer must be complete this long after the request came in; else it ends with the error
  // `deadline_exceeded`. Absent: no limit. An extension of this engine. Range: at least 1 and at
  // most 2147483647. Unit: milliseconds.
  std::optional<int64_t> timeout_ms;
  // Whether the answer carries `timings`, and in a stream every chunk, as llama.cpp's.
  std::optional<bool> timings_per_token;
  // Whether a stream begins with chunks that carry `prompt_progress`, as llama.cpp's. They have no
  // choices.
  std::optional<bool> return_progress;
  // Switches for tests and measurements; a server takes them in debug mode only.
  std::optional<DebugConfig> debug_config;

  static Result<CompletionRequest> Parse(const Json& json, const wire::Path& path = {});
  Json ToJson() const;
};

// How a vector is written.
enum class EmbeddingEncoding {
  // As a list of numbers.
  kFloat,
  // As the base64 of its numbers, little-endian float32.
  kBase64,
};
wire::Words WireWords(EmbeddingEncoding);

// Texts of which vectors are wanted.
struct EmbeddingRequest {
  // A text, several texts, or their token ids.
  Prompt input;
  // The model to use. Absent: the engine's own.
  std::optional<std::string> model;
  // How the vectors are written. Default: `float`.
  EmbeddingEncoding encoding_format = EmbeddingEncoding::kFloat;
  // How many numbers of each vector are kept. Absent: all that the model gives. Range: at least 1.
  std::optional<int64_t> dimensions;
  // A label of the end user; it has no effect.
  std::optional<std::string> user;
  // Requests of higher priority are served first, as in chats. Absent: 0. An extension of this
  // engine. Range: at least -100 and at most 100.
  std::optional<int64_t> priority;
  // The answer must be complete this long after the request came in; else it ends with the error
  // `deadline_exceeded`. Absent: no limit. An extension of this engine. Range: at least 1 and at
  // most 2147483647. Unit: milliseconds.
  std::optional<int64_t> timeout_ms;

  static Result<EmbeddingRequest> Parse(const Json& json, const wire::Path& path = {});
  Json ToJson() const;
};

// A document as an object.
struct RerankDocument {
  // The document's text.
  std::string text;

  static Result<RerankDocument> Parse(const Json& json, const wire::Path& path = {});
  Json ToJson() const;
};

// A document to be judged: its text, or an object with the text.
struct RerankInput {
  std::variant<std::string, RerankDocument> value;

  // Each is nullptr when it is not the one that is held.
  const std::string* text() const { return std::get_if<0>(&value); }
  const RerankDocument* document() const { return std::get_if<1>(&value); }

  static Result<RerankInput> Parse(const Json& json, const wire::Path& path = {});
  Json ToJson() const;
};

// A query, and the documents of which the best ones are wanted.
struct RerankRequest {
  // What the documents are judged by. Length: at least 1.
  std::string query;
  // The documents: texts, or objects with a text. Items: at least 1 and at most 10000.
  std::vector<RerankInput> documents;
  // The model to use. Absent: the engine's own.
  std::optional<std::string> model;
  // How many results are returned, the best first. Absent: one for each document. Range: at
  // least 1.
  std::optional<int64_t> top_n;
  // Whether each result holds its document. Default: false.
  bool return_documents = false;
  // How many tokens of each document are read at most. Absent: as many as fit beside the query.
  // Range: at least 1. Unit: tokens.
  std::optional<int64_t> max_tokens_per_doc;
  // Whether the end of a document is left out that does not fit beside the query. False: such a
  // request is refused. An extension of this engine. Default: true.
  bool truncate = true;
  // Whether scores are the model's own numbers, of any size, instead of numbers from 0 to 1. An
  // extension of this engine. Default: false.
  bool raw_scores = false;
  // Requests of higher priority are served first, as in chats. Absent: 0. An extension of this
  // engine. Range: at least -100 and at most 100.
  std::optional<int64_t> priority;
  // The answer must be complete this long after the request came in; else it ends with the error
  // `deadline_exceeded`. Absent: no limit. An extension of this engine. Range: at least 1 and at
  // most 2147483647. Unit: milliseconds.
  std::optional<int64_t> timeout_ms;

  static Result<RerankRequest> Parse(const Json& json, const wire::Path& path = {});
  Json ToJson() const;
};

// A text of which the tokens are wanted.
struct TokenizeRequest {
  // The text.
  std::string text;
  // Whether the tokens are added that the model expects around a whole text. Default: false.
  bool add_special_tokens = false;

  static Result<TokenizeRequest> Parse(const Json& json, const wire::Path& path = {});
  Json ToJson() const;
};

// Tokens of which the text is wanted.
struct DetokenizeRequest {
  // The token ids. Range: at least 0.
  std::vector<int64_t> tokens;
  // Whether special tokens leave no text. Default: true.
  bool skip_special_tokens = true;

  static Result<DetokenizeRequest> Parse(const Json& json, const wire::Path& path = {});
  Json ToJson() const;
};

// A conversation whose state is to be saved: `messages` or `prompt_tokens`.
struct KVSaveRequest {
  // The file to write, on the engine's machine; an older one is replaced. Length: at least 1.
  std::string path;
  // The conversation, as a request would send it. Absent: `prompt_tokens` is given. Items: at
  // least 1.
  std::optional<std::vector<ChatCompletionMessage>> messages;
  // Further variables for the model's chat template, as the request would send them.
  std::optional<Json> chat_template_kwargs;
  // The prompt's token ids. Absent: `messages` is given. Range: at least 0. Items: at least 1.
  // Unit: tokens.
  std::optional<std::vector<int64_t>> prompt_tokens;

  static Result<KVSaveRequest> Parse(const Json& json, const wire::Path& path = {});
  Json ToJson() const;
};

// A saved state that requests are to find.
struct KVLoadRequest {
  // The file to read, on the engine's machine. Length: at least 1.
  std::string path;

  static Result<KVLoadRequest> Parse(const Json& json, const wire::Path& path = {});
  Json ToJson() const;
};

// A request whose prompts are looked up in the prefix cache: `chat` or `completion`. Nothing is
// computed.
struct KVHeldRequest {
  // A chat, as it would be sent. Absent: `completion` is given.
  std::optional<ChatCompletionRequest> chat;
  // A text to continue, as it would be sent. Absent: `chat` is given.
  std::optional<CompletionRequest> completion;

  static Result<KVHeldRequest> Parse(const Json& json, const wire::Path& path = {});
  Json ToJson() const;
};

// How much memory is given back; each level includes those before it.
enum class TrimLevel {
  // What only the prefix cache holds.
  kCaches,
  // Also the memory of KV pages that no running answer uses.
  kPages,
  // Also the pages of running answers, which are computed again later and stay the same, and
  // weights that can be read from their files again.
  kAll,
};
wire::Words WireWords(TrimLevel);

// How much memory the engine gives back.
struct TrimRequest {
  // How much. Default: `caches`.
  TrimLevel level = TrimLevel::kCaches;

  static Result<TrimRequest> Parse(const Json& json, const wire::Path& path = {});
  Json ToJson() const;
};

// What is made ready before the first request.
struct PrewarmRequest {
  // Whether a step of one token is computed; its result is thrown away. Default: true.
  bool step = true;

  static Result<PrewarmRequest> Parse(const Json& json, const wire::Path& path = {});
  Json ToJson() const;
};

// How hot a device is, by iOS's names. Answers stay the same in every state.
enum class ThermalState {
  // Cool: no limits. Android's none and light.
  kNominal,
  // Smaller chunks of prompts. Android's moderate.
  kFair,
  // Half of the threads and of the answers at a time. Android's severe.
  kSerious,
  // One thread, one answer at a time. Android's critical and higher.
  kCritical,
};
wire::Words WireWords(ThermalState);

// How hot the device is.
struct ThermalHint {
  // The state.
  ThermalState state = ThermalState::kNominal;

  static Result<ThermalHint> Parse(const Json& json, const wire::Path& path = {});
  Json ToJson() const;
};

// An adapter that requests may choose from now on.
struct AdapterLoadRequest {
  // The name that requests use. One that is loaded already is replaced; its requests go on with it.
  // Length: at least 1 and at most 256.
  std::string name;
  // The adapter's file, on the engine's machine; `mlc_llm convert_adapter` makes it of other
  // formats. Length: at least 1.
  std::string path;

  static Result<AdapterLoadRequest> Parse(const Json& json, const wire::Path& path = {});
  Json ToJson() const;
};

// An adapter that no new request may choose; its requests go on with it.
struct AdapterUnloadRequest {
  // Its name. Length: at least 1.
  std::string name;

  static Result<AdapterUnloadRequest> Parse(const Json& json, const wire::Path& path = {});
  Json ToJson() const;
};

// Which adapters are asked for.
struct AdapterListRequest {
  // The adapter of this name alone. Absent: all. Length: at least 1.
  std::optional<std::string> name;

  static Result<AdapterListRequest> Parse(const Json& json, const wire::Path& path = {});
  Json ToJson() const;
};

// The folders that a program gives to the engine, for the whole process.
struct Directories {
  // For files that are kept, such as compiled GPU programs. Absent: `MLC_LLM_HOME`, or `mlc_llm` in
  // the user's cache folder. Length: at least 1.
  std::optional<std::string> cache;
  // For files that are removed again. Absent: `cache` if it is given, else the system's folder for
  // temporary files. Length: at least 1.
  std::optional<std::string> temporary;
  // Where model libraries and device backends also are. Absent: nowhere else. Length: at least 1.
  std::optional<std::vector<std::string>> libraries;

  static Result<Directories> Parse(const Json& json, const wire::Path& path = {});
  Json ToJson() const;
};

// Which model an engine loads.
struct ModelLoadRequest {
  // The model's folder, which holds `mlc-chat-config.json`, weights and tokenizer.
  std::string model;
  // The compiled library: a file, or the name of one among the app's libraries or linked into the
  // program. Absent: the one in the folder `lib` of the model's folder.
  std::optional<std::string> model_lib;
  // Where the model runs, such as `cpu:0`; `auto` takes the first device there is. Default: `auto`.
  std::string device = "auto";
  // The model's name in answers. Absent: the folder's.
  std::optional<std::string> name;

  static Result<ModelLoadRequest> Parse(const Json& json, const wire::Path& path = {});
  Json ToJson() const;
};

// What the engine is for, which sets its other defaults.
enum class EngineMode {
  // At most 16 sequences (4 with recurrent states), 8192 tokens of KV cache.
  kLocal,
  // One conversation: 1 sequence, as long as the context window.
  kInteractive,
  // Many requests: as many sequences as the model and the memory allow.
  kServer,
};
wire::Words WireWords(EngineMode);

// The precision of cached keys and values.
enum class KVCacheDType {
  // Floats of 32 bits.
  kF32,
  // Floats of 16 bits.
  kF16,
  // Floats of 16 bits with the range of 32 bits.
  kBf16,
  // Integers of 8 bits, and a scale for each key and each value of a head.
  kQ8,
};
wire::Words WireWords(KVCacheDType);

// How prompts are taken in beside running answers.
enum class PrefillMode {
  // A chunk of a prompt and the running answers share a step.
  kHybrid,
  // A step takes in chunks of prompts, or continues answers.
  kChunked,
};
wire::Words WireWords(PrefillMode);

// Which hidden states of a text make its vector.
enum class EmbeddingPooling {
  // The mean of those of all its tokens.
  kMean,
  // That of its last token.
  kLast,
  // That of its first token, which many encoders call [CLS].
  kCls,
};
wire::Words WireWords(EmbeddingPooling);

// Whether what was computed is kept for requests that begin alike.
enum class PrefixCacheMode {
  // Kept in a radix tree of token ids.
  kRadix,
  // Not kept.
  kDisable,
};
wire::Words WireWords(PrefixCacheMode);

// How tokens are drafted ahead of the model.
enum class SpeculativeMode {
  // Not at all.
  kDisable,
  // By a smaller model, the one in `additional_models`.
  kSmallDraft,
  // By what followed the last tokens when they came before.
  kPromptLookup,
  // By the layer for further tokens in the model's own checkpoint, or by Gemma 4's assistant.
  kMtp,
  // By an EAGLE head on the model's hidden states.
  kEagle,
  // By Medusa heads on the model's hidden states.
  kMedusa,
};
wire::Words WireWords(SpeculativeMode);

// How an engine runs a model; what is absent follows from the mode, model and memory.
struct EngineConfig {
  // What the engine is for. Absent: `local`.
  std::optional<EngineMode> mode;
  // How many sequences are generated at the same time. Absent: by the mode. Range: at least 1.
  std::optional<int64_t> max_num_sequence;
  // The capacity of the KV cache, all sequences together. Absent: by the mode. Range: at least 1.
  // Unit: tokens.
  std::optional<int64_t> max_total_seq_length;
  // The capacity of the KV cache, said in memory. Absent: by the mode. Range: at least 1. Unit:
  // bytes.
  std::optional<int64_t> kv_cache_bytes;
  // The precision of cached keys and values. It is compiled into the model library, so a library
  // that is given must have the same. Absent: the library's own.
  std::optional<KVCacheDType> kv_cache_dtype;
  // The most that weights, KV cache and temporaries may take. Absent: what is free. Range: at
  // least 1. Unit: bytes.
  std::optional<int64_t> memory_limit_bytes;
  // The share of the device's memory that may be used. Absent: 0.85. Range: above 0 and at most 1.
  std::optional<double> gpu_memory_utilization;
  // The longest sequence. Absent: the model's own. Range: at least 1. Unit: tokens.
  std::optional<int64_t> context_window_size;
  // How far back attention reaches; -1 is all the way. Absent: the model's own. Range: at least -1.
  // Unit: tokens.
  std::optional<int64_t> sliding_window_size;
  // How many first tokens stay in reach of a sliding window. Absent: the model's own. Range: at
  // least 0. Unit: tokens.
  std::optional<int64_t> attention_sink_size;
  // The most tokens of prompts that one step takes in; it takes fewer where that many would last
  // long. Absent: the model's own, and at most 512 on a CPU for a model without pictures. Range: at
  // least 1. Unit: tokens.
  std::optional<int64_t> prefill_chunk_size;
  // How prompts are taken in beside running answers. Absent: `hybrid`.
  std::optional<PrefillMode> prefill_mode;
  // How many requests may wait for their turn; more are refused with the error `queue_full`.
  // Absent: 1024. Range: at least 1 and at most 1000000.
  std::optional<int64_t> max_queued_requests;
  // Whether the engine records what it does for the route `trace`, in Chrome's trace format.
  // Absent: false.
  std::optional<bool> enable_tracing;
  // Which hidden states make the vectors of the route `embeddings`. Absent: what the model's
  // mlc-chat-config.json says under the same name, else `mean`.
  std::optional<EmbeddingPooling> embedding_pooling;
  // Whether the last chunk of a chat's answer has an empty `delta`, as OpenAI's own has. Absent:
  // false; its `content` is then an empty text, as MLC-LLM's is.
  std::optional<bool> openai_last_chunk;
  // Whether a request with a member that no field has is refused, with its path; for programs that
  // write their JSON by hand, as in C. Absent: false; such members are ignored.
  std::optional<bool> refuse_unknown_fields;
  // How many states a recurrent model keeps to roll back to. Absent: 1. Range: at least 1.
  std::optional<int64_t> max_history_size;
  // Whether what was computed is kept for requests that begin alike. Absent: `radix`.
  std::optional<PrefixCacheMode> prefix_cache_mode;
  // How many finished sequences are kept; -1 is as many as the pages hold. Absent: -1. Range: at
  // least -1.
  std::optional<int64_t> prefix_cache_max_num_recycling_seqs;
  // A folder in which the prefix cache is kept in files too, so that it is there after a restart;
  // processes may share it. Its files tell what the prompts were. Without effect for encoders and
  // with `prefix_cache_mode` `disable`; refused in browsers. Absent: none.
  std::optional<std::string> prefix_cache_dir;
  // Of a GPU's engine, the most of the host's memory that keeps what the prefix cache on the device
  // has to drop, and gives it back when a prompt begins alike; 0 is none. Refused on CPUs, whose KV
  // cache is in that memory, and in browsers. Absent: twice the KV cache and at most a quarter of
  // what the host has free, on devices with a memory of their own; else 0. Range: at least 0. Unit:
  // bytes.
  std::optional<int64_t> prefix_cache_ram_bytes;
  // The most that these files may take; the ones that were not used for the longest time go first.
  // Absent: 8 GiB. Range: at least 1. Unit: bytes.
  std::optional<int64_t> prefix_cache_dir_bytes;
  // After how many days without use a file is removed. Absent: 30. Range: at least 1 and at most
  // 36500. Unit: days.
  std::optional<int64_t> prefix_cache_dir_days;
  // How tokens are drafted ahead; the answers are the same with and without. Each mode but
  // `disable` also looks up what followed the last tokens earlier, and drafts what is better.
  // Absent: on CPUs, by the model's own MTP layer, Eagle layer, Medusa heads or Gemma 4's
  // assistant, if it has one, texts keep most of their memory, and `mode` is not `server`; else
  // `disable`.
  std::optional<SpeculativeMode> speculative_mode;
  // The draft model of `small_draft`, which must have the same vocabulary: `MODEL` or
  // `MODEL,LIBRARY`.
  std::optional<std::vector<std::string>> additional_models;
  // The GGUF file with the tower of a GGUF model, as llama.cpp's `--mmproj`; `none` is the text
  // alone. For the Python package, which converts such models; refused elsewhere. Absent: the one
  // beside the model.
  std::optional<std::string> mmproj;
  // How many tokens are drafted a step; 0 adapts to how many are accepted. It needs a
  // `speculative_mode`, or a part that drafts without one. Absent: 0. Range: at least 0. Unit:
  // tokens.
  std::optional<int64_t> spec_draft_length;
  // Whether text that a grammar forces is computed ahead. The answers are the same with and
  // without. Absent: true.
  std::optional<bool> jump_forward;
  // Over 1, drafts form a tree that is verified in one step: at most so many at each depth,
  // `spec_draft_length` deep, 63 in all. The answers are the same. Over 1 it needs a
  // `speculative_mode`, or a part that drafts without one. Absent: 1. Range: at least 1 and at
  // most 16.
  std::optional<int64_t> spec_tree_width;
  // Among how many shards each layer is divided: groups of CPU threads, or GPUs. Absent: the
  // model's own. Range: at least 1.
  std::optional<int64_t> tensor_parallel_shards;
  // Over how many groups of devices the layers are spread. Absent: the model's own. Range: at
  // least 1.
  std::optional<int64_t> pipeline_parallel_stages;
  // Room for the adapters that requests choose, in ranks: four adapters of rank 16 take 64. A
  // library that is given must be compiled with `--lora`. Absent: 0, which is no room. Range: at
  // least 0 and at most 65536.
  std::optional<int64_t> lora_ranks;
  // The most memory that this room may take; an engine whose `lora_ranks` take more is refused, and
  // the error says how many fit. Absent: what the ranks take. Range: at least 1. Unit: bytes.
  std::optional<int64_t> lora_bytes;
  // How many adapters may be loaded at the same time. Absent: as many as the ranks hold. Range: at
  // least 1 and at most 65536.
  std::optional<int64_t> max_loras;
  // Worker threads on the CPU. Absent: the physical cores that are free. Range: at least 1 and at
  // most 1024.
  std::optional<int64_t> num_threads;

  static Result<EngineConfig> Parse(const Json& json, const wire::Path& path = {});
  Json ToJson() const;
};

// The model's answer.
struct ChatCompletionResponseMessage {
  // Always the assistant.
  static constexpr char kRole[] = "assistant";
  // The answer's text; null when it consists of tool calls.
  std::optional<std::string> content;
  // Why the model refused to answer.
  std::optional<std::string> refusal;
  // What the model thought before it answered.
  std::optional<std::string> reasoning_content;
  // The tools that the model calls.
  std::optional<std::vector<ChatCompletionMessageToolCall>> tool_calls;

  static Result<ChatCompletionResponseMessage> Parse(const Json& json, const wire::Path& path = {});
  Json ToJson() const;
};

// One of the likeliest tokens at a position.
struct TopLogprob {
  // The token's text.
  std::string token;
  // Its log probability; -9999 when it is too small to tell.
  double logprob = 0;
  // The UTF-8 bytes of the token, which may be a part of a character.
  std::optional<std::vector<int64_t>> bytes;

  static Result<TopLogprob> Parse(const Json& json, const wire::Path& path = {});
  Json ToJson() const;
};

// A token of the answer and the likeliest ones in its place.
struct ChatCompletionTokenLogprob {
  // The token's text.
  std::string token;
  // Its log probability; -9999 when it is too small to tell.
  double logprob = 0;
  // The UTF-8 bytes of the token, which may be a part of a character.
  std::optional<std::vector<int64_t>> bytes;
  // The likeliest tokens here, likeliest first.
  std::vector<TopLogprob> top_logprobs;

  static Result<ChatCompletionTokenLogprob> Parse(const Json& json, const wire::Path& path = {});
  Json ToJson() const;
};

// The log probabilities of an answer.
struct ChoiceLogprobs {
  // One entry for each token of the content.
  std::optional<std::vector<ChatCompletionTokenLogprob>> content;
  // One entry for each token of a refusal.
  std::optional<std::vector<ChatCompletionTokenLogprob>> refusal;

  static Result<ChoiceLogprobs> Parse(const Json& json, const wire::Path& path = {});
  Json ToJson() const;
};

// Why an answer ended.
enum class FinishReason {
  // The model ended it, or a stop text was reached.
  kStop,
  // `max_tokens`, its default or the context's end was reached.
  kLength,
  // The model called tools and waits for their answers.
  kToolCalls,
  // A filter held back the rest.
  kContentFilter,
  // The engine failed; the error follows.
  kError,
};
wire::Words WireWords(FinishReason);

// One of the answers.
struct ChatCompletionChoice {
  // Which of the `n` answers this is, from 0. Range: at least 0.
  int64_t index = 0;
  // The answer.
  ChatCompletionResponseMessage message;
  // The log probabilities, when they were asked for.
  std::optional<ChoiceLogprobs> logprobs;
  // Why the answer ended.
  wire::OpenEnum<FinishReason> finish_reason = FinishReason::kStop;
  // The stop text that ended the answer, as vLLM gives it; absent if none did.
  std::optional<std::string> stop_reason;

  static Result<ChatCompletionChoice> Parse(const Json& json, const wire::Path& path = {});
  Json ToJson() const;
};

// What the prompt's tokens were.
struct PromptTokensDetails {
  // How many were found in the prefix cache. Range: at least 0. Unit: tokens.
  std::optional<int64_t> cached_tokens;

  static Result<PromptTokensDetails> Parse(const Json& json, const wire::Path& path = {});
  Json ToJson() const;
};

// What the answer's tokens were.
struct CompletionTokensDetails {
  // How many the model spent thinking. Range: at least 0. Unit: tokens.
  std::optional<int64_t> reasoning_tokens;
  // How many came from the request's `prediction`. Absent without one. Range: at least 0. Unit:
  // tokens.
  std::optional<int64_t> accepted_prediction_tokens;
  // How many of the `prediction` were tried and differ from the answer. Absent without one. Range:
  // at least 0. Unit: tokens.
  std::optional<int64_t> rejected_prediction_tokens;

  static Result<CompletionTokensDetails> Parse(const Json& json, const wire::Path& path = {});
  Json ToJson() const;
};

// Measurements of a request, under MLC-LLM's names.
struct CompletionUsageExtra {
  // The length of the prompt. Range: at least 0. Unit: tokens.
  std::optional<int64_t> prompt_tokens;
  // The length of the answers. Range: at least 0. Unit: tokens.
  std::optional<int64_t> completion_tokens;
  // How much of the prompt the model read; the rest was cached. Range: at least 0. Unit: tokens.
  std::optional<int64_t> prefill_tokens;
  // The tokens that were generated one by one. Range: at least 0. Unit: tokens.
  std::optional<int64_t> decode_tokens;
  // The tokens that a grammar forced, without the model. Range: at least 0. Unit: tokens.
  std::optional<int64_t> jump_forward_tokens;
  // How fast the prompt was read. Range: at least 0. Unit: tokens per second.
  std::optional<double> prefill_tokens_per_s;
  // How fast the answer was generated. Range: at least 0. Unit: tokens per second.
  std::optional<double> decode_tokens_per_s;
  // From the request to its first token. Range: at least 0. Unit: seconds.
  std::optional<double> ttft_s;
  // The mean time from token to token. Range: at least 0. Unit: seconds.
  std::optional<double> inter_token_latency_s;
  // From the request to its last token. Range: at least 0. Unit: seconds.
  std::optional<double> end_to_end_latency_s;
  // The tokens that were guessed ahead, by any kind of draft. Absent if there was none. Range: at
  // least 0. Unit: tokens.
  std::optional<int64_t> drafted_tokens;
  // Of them those that are in the answer. Range: at least 0. Unit: tokens.
  std::optional<int64_t> accepted_draft_tokens;
  // How many times as fast the answer was generated as it would have been without drafts, by the
  // measured times of steps. Range: at least 0.
  std::optional<double> draft_gain;

  static Result<CompletionUsageExtra> Parse(const Json& json, const wire::Path& path = {});
  Json ToJson() const;
};

// What a request cost.
struct CompletionUsage {
  // The length of the prompt. Range: at least 0. Unit: tokens.
  int64_t prompt_tokens = 0;
  // The length of all the answers together. Range: at least 0. Unit: tokens.
  int64_t completion_tokens = 0;
  // The sum of the two. Range: at least 0. Unit: tokens.
  int64_t total_tokens = 0;
  // What the prompt's tokens were.
  std::optional<PromptTokensDetails> prompt_tokens_details;
  // What the answer's tokens were.
  std::optional<CompletionTokensDetails> completion_tokens_details;
  // Measurements of this request, when they were asked for.
  std::optional<CompletionUsageExtra> extra;

  static Result<CompletionUsage> Parse(const Json& json, const wire::Path& path = {});
  Json ToJson() const;
};

// Where the time of a request went so far, under llama.cpp's names.
struct Timings {
  // How much of the prompt was cached. Range: at least 0. Unit: tokens.
  int64_t cache_n = 0;
  // How much of the prompt the model read. Range: at least 0. Unit: tokens.
  int64_t prompt_n = 0;
  // How long that took. Range: at least 0. Unit: milliseconds.
  double prompt_ms = 0;
  // The same for each token. Range: at least 0. Unit: milliseconds.
  double prompt_per_token_ms = 0;
  // How fast the prompt was read. Range: at least 0. Unit: tokens per second.
  double prompt_per_second = 0;
  // The tokens that were generated. Range: at least 0. Unit: tokens.
  int64_t predicted_n = 0;
  // From the first of them to the last. Range: at least 0. Unit: milliseconds.
  double predicted_ms = 0;
  // The mean time from token to token. Range: at least 0. Unit: milliseconds.
  double predicted_per_token_ms = 0;
  // How fast they were generated. Range: at least 0. Unit: tokens per second.
  double predicted_per_second = 0;
  // The tokens that were guessed ahead, if any. Range: at least 0. Unit: tokens.
  std::optional<int64_t> draft_n;
  // Of them those that are in the answer. Range: at least 0. Unit: tokens.
  std::optional<int64_t> draft_n_accepted;

  static Result<Timings> Parse(const Json& json, const wire::Path& path = {});
  Json ToJson() const;
};

// What a schema says and the answer was not held to.
struct SchemaWarning {
  // The field of the request that holds the schema.
  std::string param;
  // The JSON pointer of the keyword in the schema.
  std::string path;
  // Why it is left out.
  std::string message;

  static Result<SchemaWarning> Parse(const Json& json, const wire::Path& path = {});
  Json ToJson() const;
};

// The answers to a request.
struct ChatCompletion {
  // The request's id.
  std::string id;
  // The kind of object.
  static constexpr char kObject[] = "chat.completion";
  // When it was made. Range: at least 0. Unit: seconds since 1970, UTC.
  int64_t created = 0;
  // The model that answered.
  std::string model;
  // The `n` answers.
  std::vector<ChatCompletionChoice> choices;
  // What the request cost.
  std::optional<CompletionUsage> usage;
  // Where the time went so far, when `timings_per_token` asks for it.
  std::optional<Timings> timings;
  // What schemas of the request say and the answer was not held to.
  std::optional<std::vector<SchemaWarning>> warnings;
  // Names the configuration that answered; equal ones answer a seed equally.
  std::optional<std::string> system_fingerprint;

  static Result<ChatCompletion> Parse(const Json& json, const wire::Path& path = {});
  Json ToJson() const;
};

// The kind of a tool.
enum class ToolType {
  // A function.
  kFunction,
};
wire::Words WireWords(ToolType);

// A piece of a function call.
struct ChoiceDeltaFunctionCall {
  // The function's name, in the call's first piece.
  std::optional<std::string> name;
  // The next piece of the arguments' JSON text.
  std::optional<std::string> arguments;

  static Result<ChoiceDeltaFunctionCall> Parse(const Json& json, const wire::Path& path = {});
  Json ToJson() const;
};

// A piece of a tool call.
struct ChoiceDeltaToolCall {
  // Which of the message's calls this piece belongs to. Range: at least 0.
  int64_t index = 0;
  // The call's id, in its first piece.
  std::optional<std::string> id;
  // The kind of tool, in the call's first piece.
  std::optional<wire::OpenEnum<ToolType>> type;
  // The function's piece.
  std::optional<ChoiceDeltaFunctionCall> function;

  static Result<ChoiceDeltaToolCall> Parse(const Json& json, const wire::Path& path = {});
  Json ToJson() const;
};

// What a chunk adds to an answer.
struct ChatCompletionChunkDelta {
  // Who speaks, in an answer's first chunk.
  std::optional<ChatCompletionRole> role;
  // The next piece of the text; whole characters only. Never absent in an answer's last chunk,
  // where it may be empty, unless the engine's `openai_last_chunk` is set.
  std::optional<std::string> content;
  // The next piece of what the model thinks.
  std::optional<std::string> reasoning_content;
  // The next piece of a refusal.
  std::optional<std::string> refusal;
  // The next pieces of tool calls.
  std::optional<std::vector<ChoiceDeltaToolCall>> tool_calls;

  static Result<ChatCompletionChunkDelta> Parse(const Json& json, const wire::Path& path = {});
  Json ToJson() const;
};

// A piece of one of the answers.
struct ChatCompletionChunkChoice {
  // Which of the `n` answers this belongs to, from 0. Range: at least 0.
  int64_t index = 0;
  // What is added.
  ChatCompletionChunkDelta delta;
  // The log probabilities of the tokens that are added.
  std::optional<ChoiceLogprobs> logprobs;
  // Why the answer ended; null until its last chunk.
  std::optional<wire::OpenEnum<FinishReason>> finish_reason;
  // The stop text that ended the answer, as vLLM gives it; absent if none did.
  std::optional<std::string> stop_reason;

  static Result<ChatCompletionChunkChoice> Parse(const Json& json, const wire::Path& path = {});
  Json ToJson() const;
};

// How much of a prompt was read so far, under llama.cpp's names.
struct PromptProgress {
  // The length of the prompt. Range: at least 0. Unit: tokens.
  int64_t total = 0;
  // How much of it was cached. Range: at least 0. Unit: tokens.
  int64_t cache = 0;
  // How much of it is done, with what was cached. Range: at least 0. Unit: tokens.
  int64_t processed = 0;
  // How long it took so far. Range: at least 0. Unit: milliseconds.
  double time_ms = 0;

  static Result<PromptProgress> Parse(const Json& json, const wire::Path& path = {});
  Json ToJson() const;
};

// A piece of the answers to a request.
struct ChatCompletionChunk {
  // The request's id, the same in all its chunks.
  std::string id;
  // The kind of object.
  static constexpr char kObject[] = "chat.completion.chunk";
  // When the request began; the same in all chunks. Range: at least 0. Unit: seconds since 1970,
  // UTC.
  int64_t created = 0;
  // The model that answers.
  std::string model;
  // Pieces of the answers; empty in the chunk that carries the usage.
  std::vector<ChatCompletionChunkChoice> choices;
  // What the request cost, in the last chunk, when `include_usage` asks for it.
  std::optional<CompletionUsage> usage;
  // Where the time went so far, when `timings_per_token` asks for it.
  std::optional<Timings> timings;
  // How much of the prompt was read, in the chunks before the answer, when `return_progress` asks
  // for it.
  std::optional<PromptProgress> prompt_progress;
  // What schemas of the request say and the answer is not held to; in the first chunk.
  std::optional<std::vector<SchemaWarning>> warnings;
  // Names the configuration that answers; equal ones answer a seed equally.
  std::optional<std::string> system_fingerprint;

  static Result<ChatCompletionChunk> Parse(const Json& json, const wire::Path& path = {});
  Json ToJson() const;
};

// The log probabilities of an answer; the lists run side by side.
struct CompletionLogprobs {
  // The tokens' texts.
  std::optional<std::vector<std::string>> tokens;
  // Their log probabilities.
  std::optional<std::vector<double>> token_logprobs;
  // At each position from text to log probability, for the likeliest tokens.
  std::optional<std::vector<std::map<std::string, double>>> top_logprobs;
  // Where each token begins in the text. Unit: code points.
  std::optional<std::vector<int64_t>> text_offset;

  static Result<CompletionLogprobs> Parse(const Json& json, const wire::Path& path = {});
  Json ToJson() const;
};

// One of the answers, or a piece of it.
struct CompletionChoice {
  // Which of the answers this is, from 0. Range: at least 0.
  int64_t index = 0;
  // The text, or its next piece.
  std::string text;
  // The log probabilities, when they were asked for.
  std::optional<CompletionLogprobs> logprobs;
  // Why the answer ended; null until its last chunk.
  std::optional<wire::OpenEnum<FinishReason>> finish_reason;
  // The stop text that ended the answer, as vLLM gives it; absent if none did.
  std::optional<std::string> stop_reason;

  static Result<CompletionChoice> Parse(const Json& json, const wire::Path& path = {});
  Json ToJson() const;
};

// The continuations of a prompt; a chunk of a stream has the same form.
struct Completion {
  // The request's id, the same in all its chunks.
  std::string id;
  // The kind of object.
  static constexpr char kObject[] = "text_completion";
  // When it was made. Range: at least 0. Unit: seconds since 1970, UTC.
  int64_t created = 0;
  // The model that answered.
  std::string model;
  // The answers; empty in the chunk that carries the usage.
  std::vector<CompletionChoice> choices;
  // What the request cost; in a stream in the last chunk, when it is asked for.
  std::optional<CompletionUsage> usage;
  // Where the time went so far, when `timings_per_token` asks for it.
  std::optional<Timings> timings;
  // How much of the prompt was read, in the chunks before the answer, when `return_progress` asks
  // for it.
  std::optional<PromptProgress> prompt_progress;
  // What the schema of the request says and the answer is not held to; in the first chunk of a
  // stream.
  std::optional<std::vector<SchemaWarning>> warnings;
  // Names the configuration that answered; equal ones answer a seed equally.
  std::optional<std::string> system_fingerprint;

  static Result<Completion> Parse(const Json& json, const wire::Path& path = {});
  Json ToJson() const;
};

// A vector: its numbers, or their base64.
struct EmbeddingVector {
  std::variant<std::vector<double>, std::string> value;

  // Each is nullptr when it is not the one that is held.
  const std::vector<double>* numbers() const { return std::get_if<0>(&value); }
  const std::string* base64() const { return std::get_if<1>(&value); }

  static Result<EmbeddingVector> Parse(const Json& json, const wire::Path& path = {});
  Json ToJson() const;
};

// The vector of one text.
struct Embedding {
  // Which of the texts this belongs to, from 0. Range: at least 0.
  int64_t index = 0;
  // The kind of object.
  static constexpr char kObject[] = "embedding";
  // The vector.
  EmbeddingVector embedding;

  static Result<Embedding> Parse(const Json& json, const wire::Path& path = {});
  Json ToJson() const;
};

// What a request for embeddings cost.
struct EmbeddingUsage {
  // The length of all texts together. Range: at least 0. Unit: tokens.
  int64_t prompt_tokens = 0;
  // The same. Range: at least 0. Unit: tokens.
  int64_t total_tokens = 0;

  static Result<EmbeddingUsage> Parse(const Json& json, const wire::Path& path = {});
  Json ToJson() const;
};

// The vectors of the texts, in their order.
struct EmbeddingResponse {
  // The kind of object.
  static constexpr char kObject[] = "list";
  // The vectors.
  std::vector<Embedding> data;
  // The model that made them.
  std::string model;
  // What the request cost.
  EmbeddingUsage usage;

  static Result<EmbeddingResponse> Parse(const Json& json, const wire::Path& path = {});
  Json ToJson() const;
};

// How well one document answers the query.
struct RerankResult {
  // Which of the documents it is, from 0. Range: at least 0.
  int64_t index = 0;
  // The score; a larger one is better.
  double relevance_score = 0;
  // The document. Absent: it was not asked for by `return_documents`.
  std::optional<RerankDocument> document;

  static Result<RerankResult> Parse(const Json& json, const wire::Path& path = {});
  Json ToJson() const;
};

// The documents in the order of their scores, the best first.
struct RerankResponse {
  // The answer's id.
  std::string id;
  // The kind of object.
  static constexpr char kObject[] = "list";
  // The model that judged.
  std::string model;
  // The results, the best first.
  std::vector<RerankResult> results;
  // What the request cost.
  EmbeddingUsage usage;

  static Result<RerankResponse> Parse(const Json& json, const wire::Path& path = {});
  Json ToJson() const;
};

// The tokens of a text.
struct TokenizeResponse {
  // The token ids. Range: at least 0.
  std::vector<int64_t> tokens;
  // How many there are. Range: at least 0. Unit: tokens.
  int64_t count = 0;

  static Result<TokenizeResponse> Parse(const Json& json, const wire::Path& path = {});
  Json ToJson() const;
};

// The text of tokens.
struct DetokenizeResponse {
  // The text; bytes that are no UTF-8 are replaced by U+FFFD.
  std::string text;

  static Result<DetokenizeResponse> Parse(const Json& json, const wire::Path& path = {});
  Json ToJson() const;
};

// The length of a conversation as the model would read it.
struct InputTokensResponse {
  // The length of the prompt. Range: at least 0. Unit: tokens.
  int64_t input_tokens = 0;

  static Result<InputTokensResponse> Parse(const Json& json, const wire::Path& path = {});
  Json ToJson() const;
};

// A conversation as the model's chat template writes it.
struct RenderResponse {
  // The text that the model continues.
  std::string prompt;

  static Result<RenderResponse> Parse(const Json& json, const wire::Path& path = {});
  Json ToJson() const;
};

// What was saved.
struct KVSaveResponse {
  // How many tokens the state is of. Range: at least 0. Unit: tokens.
  int64_t tokens = 0;
  // The file's size. Range: at least 0. Unit: bytes.
  int64_t bytes = 0;

  static Result<KVSaveResponse> Parse(const Json& json, const wire::Path& path = {});
  Json ToJson() const;
};

// What was loaded.
struct KVLoadResponse {
  // How many tokens a request that begins like the saved one finds. Range: at least 0. Unit:
  // tokens.
  int64_t tokens = 0;

  static Result<KVLoadResponse> Parse(const Json& json, const wire::Path& path = {});
  Json ToJson() const;
};

// A prompt, and how much of it the prefix cache holds.
struct KVHeldPrompt {
  // The prompt's token ids. Range: at least 0.
  std::vector<int64_t> tokens;
  // How many of the first ones are held. Range: at least 0. Unit: tokens.
  int64_t held = 0;

  static Result<KVHeldPrompt> Parse(const Json& json, const wire::Path& path = {});
  Json ToJson() const;
};

// The prompts of a request that a state of `kv.save` can stand for.
struct KVHeldResponse {
  // Those that consist of tokens alone, in their order: prompts with pictures are left out, and so
  // are requests that choose an adapter or want the prompt's `logprobs`.
  std::vector<KVHeldPrompt> prompts;

  static Result<KVHeldResponse> Parse(const Json& json, const wire::Path& path = {});
  Json ToJson() const;
};

// What was given back.
struct TrimResponse {
  // KV pages whose memory went back to the system. Range: at least 0.
  int64_t pages = 0;
  // The memory of them; 0 on devices that keep their memory. Range: at least 0. Unit: bytes.
  int64_t page_bytes = 0;
  // Weights that the system may drop and read again. Range: at least 0. Unit: bytes.
  int64_t weight_bytes = 0;

  static Result<TrimResponse> Parse(const Json& json, const wire::Path& path = {});
  Json ToJson() const;
};

// What was made ready.
struct PrewarmResponse {
  // Weights that were read into memory from their files. Range: at least 0. Unit: bytes.
  int64_t weight_bytes = 0;

  static Result<PrewarmResponse> Parse(const Json& json, const wire::Path& path = {});
  Json ToJson() const;
};

// The limits that hold now.
struct ThermalLimits {
  // Threads that compute. Range: at least 1.
  int64_t num_threads = 0;
  // Answers that are generated at the same time. Range: at least 1.
  int64_t max_num_sequence = 0;
  // Tokens of one step. Range: at least 1. Unit: tokens.
  int64_t prefill_chunk_size = 0;

  static Result<ThermalLimits> Parse(const Json& json, const wire::Path& path = {});
  Json ToJson() const;
};

// An adapter that requests may choose.
struct AdapterInfo {
  // Its name.
  std::string name;
  // The rank of its matrices. Range: at least 1.
  int64_t rank = 0;
  // What identifies its content.
  std::string hash;

  static Result<AdapterInfo> Parse(const Json& json, const wire::Path& path = {});
  Json ToJson() const;
};

// The adapters that requests may choose.
struct AdapterList {
  // In the order of their names.
  std::vector<AdapterInfo> adapters;
  // How many ranks have room, those of all adapters together. Range: at least 0.
  int64_t ranks = 0;
  // How many of them are free; an adapter takes a multiple of 8. Range: at least 0.
  int64_t free_ranks = 0;

  static Result<AdapterList> Parse(const Json& json, const wire::Path& path = {});
  Json ToJson() const;
};

// Whether a server has a model in memory.
enum class ModelStatus {
  // It is known, and a request loads it.
  kUnloaded,
  // It is being loaded.
  kLoading,
  // It answers at once.
  kLoaded,
  // It is loaded, and gave back what can be computed or read again.
  kSleeping,
  // It ends its last requests, and leaves.
  kLeaving,
  // Its last load failed; it is tried again after some time.
  kFailed,
};
wire::Words WireWords(ModelStatus);

// What a model reads.
enum class InputModality {
  // Texts.
  kText,
  // Pictures: parts `image_url` of messages.
  kImage,
};
wire::Words WireWords(InputModality);

// A model that can answer.
struct ModelObject {
  // The model's name, as requests give it in `model`.
  std::string id;
  // The kind of object.
  static constexpr char kObject[] = "model";
  // When it was made. Range: at least 0. Unit: seconds since 1970, UTC.
  int64_t created = 0;
  // Who offers it.
  std::string owned_by;
  // Whether it is in memory. Absent: nobody says.
  std::optional<wire::OpenEnum<ModelStatus>> status;
  // How far its load is. Range: at least 0 and at most 1.
  std::optional<double> progress;
  // What it reads. Absent: that is known once it is loaded.
  std::optional<std::vector<wire::OpenEnum<InputModality>>> input_modalities;
  // Of an adapter: its model. Absent: it is a model.
  std::optional<std::string> parent;
  // Of an adapter: where it was loaded from. Absent: nobody says.
  std::optional<std::string> root;

  static Result<ModelObject> Parse(const Json& json, const wire::Path& path = {});
  Json ToJson() const;
};

// The models that can answer.
struct ModelList {
  // The kind of object.
  static constexpr char kObject[] = "list";
  // The models.
  std::vector<ModelObject> data;

  static Result<ModelList> Parse(const Json& json, const wire::Path& path = {});
  Json ToJson() const;
};

// A kind of device, and whether this machine has it.
struct DeviceProbe {
  // The device, such as `cuda:0`.
  std::string name;
  // Whether it can be used.
  bool found = false;
  // Why it cannot be used; empty when it can.
  std::string reason;
  // What its driver calls it. Absent: nobody says.
  std::optional<std::string> description;
  // The size of its memory; of the CPU: what is free now. Range: at least 0. Unit: bytes.
  std::optional<int64_t> memory_bytes;
  // The largest tensor it can hold. Range: at least 0. Unit: bytes.
  std::optional<int64_t> max_buffer_bytes;
  // Memory that a work-group shares. Range: at least 0. Unit: bytes.
  std::optional<int64_t> local_memory_bytes;
  // Work-items of a work-group at most. Range: at least 0.
  std::optional<int64_t> max_group_size;
  // Whether it computes with 16-bit floats.
  std::optional<bool> f16;
  // Whether it is the CPU, driven as another device; `auto` passes over it.
  std::optional<bool> is_processor;

  static Result<DeviceProbe> Parse(const Json& json, const wire::Path& path = {});
  Json ToJson() const;
};

// Measurements of one request; `usage.extra` has the same.
struct RequestMetrics {
  // The length of the prompt. Range: at least 0. Unit: tokens.
  std::optional<int64_t> prompt_tokens;
  // The length of the answers. Range: at least 0. Unit: tokens.
  std::optional<int64_t> completion_tokens;
  // How much of the prompt the model read; the rest was cached. Range: at least 0. Unit: tokens.
  std::optional<int64_t> prefill_tokens;
  // The tokens that were generated one by one. Range: at least 0. Unit: tokens.
  std::optional<int64_t> decode_tokens;
  // The tokens that a grammar forced, without the model. Range: at least 0. Unit: tokens.
  std::optional<int64_t> jump_forward_tokens;
  // How fast the prompt was read. Range: at least 0. Unit: tokens per second.
  std::optional<double> prefill_tokens_per_s;
  // How fast the answer was generated. Range: at least 0. Unit: tokens per second.
  std::optional<double> decode_tokens_per_s;
  // From the request to its first token. Range: at least 0. Unit: seconds.
  std::optional<double> ttft_s;
  // The mean time from token to token. Range: at least 0. Unit: seconds.
  std::optional<double> inter_token_latency_s;
  // From the request to its last token. Range: at least 0. Unit: seconds.
  std::optional<double> end_to_end_latency_s;
  // The tokens that were guessed ahead, by any kind of draft. Absent if there was none. Range: at
  // least 0. Unit: tokens.
  std::optional<int64_t> drafted_tokens;
  // Of them those that are in the answer. Range: at least 0. Unit: tokens.
  std::optional<int64_t> accepted_draft_tokens;
  // How many times as fast the answer was generated as it would have been without drafts, by the
  // measured times of steps. Range: at least 0.
  std::optional<double> draft_gain;

  static Result<RequestMetrics> Parse(const Json& json, const wire::Path& path = {});
  Json ToJson() const;
};

// How often a text that was known ahead saved a step.
struct KnownTextMetrics {
  // Tokens of such text that were computed ahead. Range: at least 0.
  int64_t draft_count = 0;
  // Of them those that the model chose: each saved a step. Range: at least 0.
  int64_t accept_count = 0;

  static Result<KnownTextMetrics> Parse(const Json& json, const wire::Path& path = {});
  Json ToJson() const;
};

// How speculative decoding fares; each list has one number for each drafted position.
struct SpecDecodeMetrics {
  // How many tokens were drafted. Unit: tokens.
  std::optional<std::vector<int64_t>> draft_count;
  // How many were accepted. Unit: tokens.
  std::optional<std::vector<int64_t>> accept_count;
  // The share of drafts accepted at each position, by `step=i`.
  std::optional<Json> accept_prob;
  // The share of accepted among those whose predecessor was, by `step=i`.
  std::optional<Json> accept_rate;
  // The mean number of tokens accepted up to each position, by `step=i`.
  std::optional<Json> accept_len;

  static Result<SpecDecodeMetrics> Parse(const Json& json, const wire::Path& path = {});
  Json ToJson() const;
};

// Counters since the model was loaded or the engine was reset.
struct EngineMetrics {
  // The model's time on prompts. Range: at least 0. Unit: seconds.
  std::optional<double> engine_prefill_time_sum;
  // The model's time on answers. Range: at least 0. Unit: seconds.
  std::optional<double> engine_decode_time_sum;
  // The time spent on text that grammars forced. Range: at least 0. Unit: seconds.
  std::optional<double> engine_jump_forward_time_sum;
  // The length of all prompts. Range: at least 0. Unit: tokens.
  std::optional<int64_t> prompt_tokens_sum;
  // How much of the prompts the model read. Range: at least 0. Unit: tokens.
  std::optional<int64_t> prefill_tokens_sum;
  // The tokens that were generated one by one. Range: at least 0. Unit: tokens.
  std::optional<int64_t> decode_tokens_sum;
  // The tokens that grammars forced. Range: at least 0. Unit: tokens.
  std::optional<int64_t> jump_forward_tokens_sum;
  // The length of all answers. Range: at least 0. Unit: tokens.
  std::optional<int64_t> completion_tokens_sum;
  // How fast prompts are read. Range: at least 0. Unit: tokens per second.
  std::optional<double> prefill_tokens_per_s;
  // How fast answers are generated. Range: at least 0. Unit: tokens per second.
  std::optional<double> decode_tokens_per_s;
  // The pages of the KV cache. Range: at least 0. Unit: pages.
  std::optional<int64_t> kv_pages_total;
  // The pages that no sequence holds now. Range: at least 0. Unit: pages.
  std::optional<int64_t> kv_pages_free;
  // The sequences that are generated at the moment. Range: at least 0.
  std::optional<int64_t> num_running_sequences;
  // The sequences that wait for their turn or for pages. Range: at least 0.
  std::optional<int64_t> num_waiting_sequences;
  // The requests that no step has taken in yet. Range: at least 0.
  std::optional<int64_t> num_queued_requests;
  // How often the model ran. Range: at least 0.
  std::optional<int64_t> num_steps;
  // How often a sequence had to give back its pages and begin again. Range: at least 0.
  std::optional<int64_t> num_preemptions;
  // What the prefix cache got from the host's memory (`prefix_cache_ram_bytes`) and from files of
  // `prefix_cache_dir`. Range: at least 0. Unit: tokens.
  std::optional<int64_t> restored_tokens_sum;
  // The files that were written to `prefix_cache_dir`. Range: at least 0. Unit: files.
  std::optional<int64_t> written_blocks_sum;
  // The host's memory that keeps what the prefix cache on the device may have to drop. Range: at
  // least 0. Unit: bytes.
  std::optional<int64_t> prefix_cache_ram_bytes;
  // What came back from the device: tokens, or rows of logits. Range: at least 0. Unit: bytes.
  std::optional<int64_t> device_read_bytes_sum;
  // Pictures of which the vision tower made rows. Range: at least 0. Unit: pictures.
  std::optional<int64_t> encoded_pictures_sum;
  // The time of the vision tower. Range: at least 0. Unit: seconds.
  std::optional<double> engine_encode_time_sum;
  // Pictures whose rows were kept from an earlier request. Range: at least 0. Unit: pictures.
  std::optional<int64_t> picture_cache_hits_sum;
  // The rows of pictures that are kept. Range: at least 0. Unit: bytes.
  std::optional<int64_t> picture_cache_bytes;
  // Requests that ended well. Range: at least 0.
  std::optional<int64_t> num_finished_requests;
  // Requests that ended with an error or were cancelled. Range: at least 0.
  std::optional<int64_t> num_failed_requests;
  // Measurements of the request that ended last.
  std::optional<RequestMetrics> last_finished_request;
  // How often text that a grammar forces saved a step.
  std::optional<KnownTextMetrics> jump_forward;
  // How often a request's `prediction` saved a step.
  std::optional<KnownTextMetrics> prediction;
  // How often text that came earlier saved a step. `spec_decode` contains it.
  std::optional<KnownTextMetrics> prompt_lookup;
  // The tokens that were guessed ahead, by any kind of draft. Range: at least 0. Unit: tokens.
  std::optional<int64_t> drafted_tokens_sum;
  // Of them those that are in the answers. Range: at least 0. Unit: tokens.
  std::optional<int64_t> accepted_draft_tokens_sum;
  // How many times as fast answers were generated as they would have been without drafts, by the
  // measured times of steps. Absent until steps with drafts and without were measured. Range: at
  // least 0.
  std::optional<double> draft_gain;
  // How speculative decoding fares.
  std::optional<SpecDecodeMetrics> spec_decode;
  // The time of a decode step by the number of sequences in it. Unit: seconds.
  std::optional<Json> decode_time_by_batch_size;
  // The time of a draft by the number of sequences in it. Unit: seconds.
  std::optional<Json> draft_time_by_batch_size;
  // The time of a verification by the number of sequences in it. Unit: seconds.
  std::optional<Json> verify_time_by_batch_size;

  static Result<EngineMetrics> Parse(const Json& json, const wire::Path& path = {});
  Json ToJson() const;
};

// What an engine would allocate for a model in a mode, and whether that fits.
struct Plan {
  // The model's name.
  std::string model;
  // The model's family, such as `llama`.
  std::string model_type;
  // The scheme of its weights, such as `q4f32_1`.
  std::string quantization;
  // The device, such as `cpu:0`.
  std::string device;
  // The engine's mode.
  std::string mode;
  // How many sequences are generated at the same time. Range: at least 0.
  int64_t max_num_sequence = 0;
  // The capacity of the KV cache, all sequences together. Range: at least 0. Unit: tokens.
  int64_t max_total_seq_length = 0;
  // The longest sequence. Range: at least 0. Unit: tokens.
  int64_t context_window_size = 0;
  // What would allow a longer sequence. Missing: nothing would, the model ends there.
  std::optional<std::string> context_limit;
  // The most tokens of prompts that one step takes in. Range: at least 0. Unit: tokens.
  int64_t prefill_chunk_size = 0;
  // Keys and values of one token. Range: at least 0. Unit: bytes.
  int64_t kv_bytes_per_token = 0;
  // The precision of cached keys and values, such as `q8`.
  std::string kv_cache_dtype;
  // The weights, without `table_bytes`. Range: at least 0. Unit: bytes.
  int64_t parameter_bytes = 0;
  // Tables of which a token reads single rows, as embeddings. On a CPU they stay in the model's
  // files; no sum counts them, since the system keeps of them what fits. Range: at least 0. Unit:
  // bytes.
  int64_t table_bytes = 0;
  // The KV cache. Range: at least 0. Unit: bytes.
  int64_t kv_cache_bytes = 0;
  // The room for adapters that requests choose, in ranks. Range: at least 0. Unit: ranks.
  int64_t lora_ranks = 0;
  // That room. Range: at least 0. Unit: bytes.
  int64_t adapter_bytes = 0;
  // The largest step's temporaries. Range: at least 0. Unit: bytes.
  int64_t temporary_bytes = 0;
  // All of it. Range: at least 0. Unit: bytes.
  int64_t total_bytes = 0;
  // The most of the host's memory that keeps what the prefix cache on the device has to drop; no
  // sum counts it. Range: at least 0. Unit: bytes.
  int64_t prefix_cache_ram_bytes = 0;
  // What the device has free now, and at most `memory_limit_bytes`. Range: at least 0. Unit: bytes.
  int64_t available_bytes = 0;
  // What the model reads.
  std::vector<wire::OpenEnum<InputModality>> input_modalities;
  // Whether the engine would load.
  bool fits = false;
  // Why it would not.
  std::optional<std::string> reason;
  // The same for people, a line an item.
  std::vector<std::string> summary;

  static Result<Plan> Parse(const Json& json, const wire::Path& path = {});
  Json ToJson() const;
};

// The class of an error. Their order is their number in the C header; append only.
enum class ErrorStatus {
  // The caller's request or option is wrong.
  kInvalidArgument,
  // A file, model or function that was named does not exist.
  kNotFound,
  // A file exists but does not hold what it must.
  kCorrupt,
  // The request is understood, but not offered.
  kUnsupported,
  // Memory, disk, pages or the queue are full.
  kResourceExhausted,
  // The caller aborted it.
  kCancelled,
  // Not possible now, but perhaps later.
  kUnavailable,
  // A time limit has passed.
  kDeadlineExceeded,
  // A mistake of the engine or of this package.
  kInternal,
};
wire::Words WireWords(ErrorStatus);

// What went wrong.
struct ErrorObject {
  // What went wrong and what to do about it.
  std::string message;
  // The class of the error, such as `invalid_request_error`.
  std::string type;
  // The path of the field at fault, such as `messages[2].content`.
  std::optional<std::string> param;
  // A short machine-readable reason, such as `context_length_exceeded`.
  std::optional<std::string> code;
  // The class of the reason: what a program does that does not know the reason.
  std::optional<wire::OpenEnum<ErrorStatus>> status;

  static Result<ErrorObject> Parse(const Json& json, const wire::Path& path = {});
  Json ToJson() const;
};

// The answer to a request that failed.
struct ErrorResponse {
  // What went wrong.
  ErrorObject error;

  static Result<ErrorResponse> Parse(const Json& json, const wire::Path& path = {});
  Json ToJson() const;
};

}  // namespace mlc::protocol
