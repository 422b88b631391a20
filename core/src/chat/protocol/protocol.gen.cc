// Generated from codegen/schema by `python -m codegen`. Do not edit.
// Schema hash: 5c6e83c1dd599df1
#include "chat/protocol/protocol.gen.h"

#include <iterator>

namespace mlc::protocol {

Result<SamplingFields> SamplingFields::Parse(const Json& json, const wire::Path& path) {
  SamplingFields out;
  wire::ObjectReader reader(json, path);
  reader.Optional("temperature", &out.temperature, wire::Limits().AtLeast(0).AtMost(2));
  reader.Optional("top_p", &out.top_p, wire::Limits().AtLeast(0).AtMost(1));
  reader.Optional("top_k", &out.top_k, wire::Limits().AtLeast(-1));
  reader.Optional("min_p", &out.min_p, wire::Limits().AtLeast(0).AtMost(1));
  reader.Optional("frequency_penalty", &out.frequency_penalty,
                  wire::Limits().AtLeast(-2).AtMost(2));
  reader.Optional("presence_penalty", &out.presence_penalty, wire::Limits().AtLeast(-2).AtMost(2));
  reader.Optional("repetition_penalty", &out.repetition_penalty,
                  wire::Limits().Above(0).AtMost(10));
  reader.Optional("top_n_sigma", &out.top_n_sigma, wire::Limits().AtLeast(-1).AtMost(1000));
  reader.Optional("xtc_probability", &out.xtc_probability, wire::Limits().AtLeast(0).AtMost(1));
  reader.Optional("xtc_threshold", &out.xtc_threshold, wire::Limits().AtLeast(0).AtMost(1));
  reader.Optional("dry_multiplier", &out.dry_multiplier, wire::Limits().AtLeast(0).AtMost(100));
  reader.Optional("dry_base", &out.dry_base, wire::Limits().AtLeast(1).AtMost(100));
  reader.Optional("dry_allowed_length", &out.dry_allowed_length, wire::Limits().AtLeast(1));
  reader.Optional("dry_penalty_last_n", &out.dry_penalty_last_n, wire::Limits().AtLeast(-1));
  reader.Optional("dry_sequence_breakers", &out.dry_sequence_breakers,
                  wire::Limits().MinLength(1).MaxItems(64));
  reader.Optional("logit_bias", &out.logit_bias, wire::Limits().AtLeast(-100).AtMost(100));
  reader.Optional("seed", &out.seed);
  MLC_RETURN_IF_ERROR(reader.status());
  return out;
}

Json SamplingFields::ToJson() const {
  return wire::ObjectWriter()
      .Optional("temperature", temperature)
      .Optional("top_p", top_p)
      .Optional("top_k", top_k)
      .Optional("min_p", min_p)
      .Optional("frequency_penalty", frequency_penalty)
      .Optional("presence_penalty", presence_penalty)
      .Optional("repetition_penalty", repetition_penalty)
      .Optional("top_n_sigma", top_n_sigma)
      .Optional("xtc_probability", xtc_probability)
      .Optional("xtc_threshold", xtc_threshold)
      .Optional("dry_multiplier", dry_multiplier)
      .Optional("dry_base", dry_base)
      .Optional("dry_allowed_length", dry_allowed_length)
      .Optional("dry_penalty_last_n", dry_penalty_last_n)
      .Optional("dry_sequence_breakers", dry_sequence_breakers)
      .Optional("logit_bias", logit_bias)
      .Optional("seed", seed)
      .Finish();
}

wire::Words WireWords(ChatCompletionRole) {
  static constexpr const char* kWords[] = {
      "system", "developer", "user", "assistant", "tool",
  };
  return {kWords, std::size(kWords)};
}

Result<ChatCompletionContentPartText> ChatCompletionContentPartText::Parse(const Json& json,
                                                                           const wire::Path& path) {
  ChatCompletionContentPartText out;
  wire::ObjectReader reader(json, path);
  reader.Constant("type", "text");
  reader.Required("text", &out.text);
  MLC_RETURN_IF_ERROR(reader.status());
  return out;
}

Json ChatCompletionContentPartText::ToJson() const {
  return wire::ObjectWriter().Constant("type", "text").Required("text", text).Finish();
}

wire::Words WireWords(ImageDetail) {
  static constexpr const char* kWords[] = {
      "auto",
      "low",
      "high",
      "original",
  };
  return {kWords, std::size(kWords)};
}

Result<ImageURL> ImageURL::Parse(const Json& json, const wire::Path& path) {
  ImageURL out;
  wire::ObjectReader reader(json, path);
  reader.Required("url", &out.url, wire::Limits().MinLength(1));
  reader.Optional("detail", &out.detail);
  MLC_RETURN_IF_ERROR(reader.status());
  return out;
}

Json ImageURL::ToJson() const {
  return wire::ObjectWriter().Required("url", url).Optional("detail", detail).Finish();
}

Result<ImageSource> ImageSource::Parse(const Json& json, const wire::Path& path) {
  ImageSource out;
  if (json.is_string()) {
    MLC_RETURN_IF_ERROR(wire::ReadInto<std::string>(json, path, wire::Limits(), &out));
    return out;
  }
  if (json.is_object()) {
    MLC_RETURN_IF_ERROR(wire::ReadInto<ImageURL>(json, path, wire::Limits(), &out));
    return out;
  }
  return wire::WrongType(json, path, "one of a string or an object");
}

Json ImageSource::ToJson() const { return wire::WriteHeld(value); }

Result<ChatCompletionContentPartImage> ChatCompletionContentPartImage::Parse(
    const Json& json, const wire::Path& path) {
  ChatCompletionContentPartImage out;
  wire::ObjectReader reader(json, path);
  reader.Constant("type", "image_url");
  reader.Required("image_url", &out.image_url);
  MLC_RETURN_IF_ERROR(reader.status());
  return out;
}

Json ChatCompletionContentPartImage::ToJson() const {
  return wire::ObjectWriter()
      .Constant("type", "image_url")
      .Required("image_url", image_url)
      .Finish();
}

Result<ChatCompletionContentPart> ChatCompletionContentPart::Parse(const Json& json,
                                                                   const wire::Path& path) {
  ChatCompletionContentPart out;
  MLC_ASSIGN_OR_RETURN(std::string tag, wire::ReadTag(json, path, "type"));
  if (tag == "text") {
    MLC_RETURN_IF_ERROR(
        wire::ReadInto<ChatCompletionContentPartText>(json, path, wire::Limits(), &out));
    return out;
  }
  if (tag == "image_url") {
    MLC_RETURN_IF_ERROR(
        wire::ReadInto<ChatCompletionContentPartImage>(json, path, wire::Limits(), &out));
    return out;
  }
  return wire::NotSupported(tag, path.Member("type"), {"text", "image_url"});
}

Json ChatCompletionContentPart::ToJson() const { return wire::WriteHeld(value); }

Result<ChatCompletionMessageContent> ChatCompletionMessageContent::Parse(const Json& json,
                                                                         const wire::Path& path) {
  ChatCompletionMessageContent out;
  if (json.is_string()) {
    MLC_RETURN_IF_ERROR(wire::ReadInto<std::string>(json, path, wire::Limits(), &out));
    return out;
  }
  if (json.is_array()) {
    MLC_RETURN_IF_ERROR(wire::ReadInto<std::vector<ChatCompletionContentPart>>(
        json, path, wire::Limits().MinItems(1), &out));
    return out;
  }
  return wire::WrongType(json, path, "one of a string or an array");
}

Json ChatCompletionMessageContent::ToJson() const { return wire::WriteHeld(value); }

Result<FunctionCall> FunctionCall::Parse(const Json& json, const wire::Path& path) {
  FunctionCall out;
  wire::ObjectReader reader(json, path);
  reader.Required("name", &out.name);
  reader.Required("arguments", &out.arguments);
  MLC_RETURN_IF_ERROR(reader.status());
  return out;
}

Json FunctionCall::ToJson() const {
  return wire::ObjectWriter().Required("name", name).Required("arguments", arguments).Finish();
}

Result<ChatCompletionMessageToolCall> ChatCompletionMessageToolCall::Parse(const Json& json,
                                                                           const wire::Path& path) {
  ChatCompletionMessageToolCall out;
  wire::ObjectReader reader(json, path);
  reader.Required("id", &out.id);
  reader.Constant("type", "function");
  reader.Required("function", &out.function);
  MLC_RETURN_IF_ERROR(reader.status());
  return out;
}

Json ChatCompletionMessageToolCall::ToJson() const {
  return wire::ObjectWriter()
      .Required("id", id)
      .Constant("type", "function")
      .Required("function", function)
      .Finish();
}

Result<ChatCompletionMessage> ChatCompletionMessage::Parse(const Json& json,
                                                           const wire::Path& path) {
  ChatCompletionMessage out;
  wire::ObjectReader reader(json, path);
  reader.Required("role", &out.role);
  reader.RequiredWhen("content", out.role == ChatCompletionRole::kSystem ||
                                     out.role == ChatCompletionRole::kDeveloper ||
                                     out.role == ChatCompletionRole::kUser ||
                                     out.role == ChatCompletionRole::kTool);
  reader.Optional("content", &out.content);
  reader.Optional("name", &out.name);
  reader.Optional("tool_calls", &out.tool_calls);
  reader.RequiredWhen("tool_call_id", out.role == ChatCompletionRole::kTool);
  reader.Optional("tool_call_id", &out.tool_call_id);
  reader.Optional("reasoning_content", &out.reasoning_content);
  MLC_RETURN_IF_ERROR(reader.status());
  return out;
}

Json ChatCompletionMessage::ToJson() const {
  return wire::ObjectWriter()
      .Required("role", role)
      .Optional("content", content)
      .Optional("name", name)
      .Optional("tool_calls", tool_calls)
      .Optional("tool_call_id", tool_call_id)
      .Optional("reasoning_content", reasoning_content)
      .Finish();
}

Result<StreamOptions> StreamOptions::Parse(const Json& json, const wire::Path& path) {
  StreamOptions out;
  wire::ObjectReader reader(json, path);
  reader.Optional("include_usage", &out.include_usage);
  MLC_RETURN_IF_ERROR(reader.status());
  return out;
}

Json StreamOptions::ToJson() const {
  return wire::ObjectWriter().Optional("include_usage", include_usage).Finish();
}

Result<Stop> Stop::Parse(const Json& json, const wire::Path& path) {
  Stop out;
  if (json.is_string()) {
    MLC_RETURN_IF_ERROR(wire::ReadInto<std::string>(json, path, wire::Limits().MinLength(1), &out));
    return out;
  }
  if (json.is_array()) {
    MLC_RETURN_IF_ERROR(wire::ReadInto<std::vector<std::string>>(
        json, path, wire::Limits().MinLength(1).MaxItems(16), &out));
    return out;
  }
  return wire::WrongType(json, path, "one of a string or an array");
}

Json Stop::ToJson() const { return wire::WriteHeld(value); }

Result<FunctionDefinition> FunctionDefinition::Parse(const Json& json, const wire::Path& path) {
  FunctionDefinition out;
  wire::ObjectReader reader(json, path);
  reader.Required("name", &out.name, wire::Limits().MinLength(1));
  reader.Optional("description", &out.description);
  reader.RawObject("parameters", &out.parameters);
  reader.Optional("strict", &out.strict);
  MLC_RETURN_IF_ERROR(reader.status());
  return out;
}

Json FunctionDefinition::ToJson() const {
  return wire::ObjectWriter()
      .Required("name", name)
      .Optional("description", description)
      .Optional("parameters", parameters)
      .Optional("strict", strict)
      .Finish();
}

Result<ChatCompletionTool> ChatCompletionTool::Parse(const Json& json, const wire::Path& path) {
  ChatCompletionTool out;
  wire::ObjectReader reader(json, path);
  reader.Constant("type", "function");
  reader.Required("function", &out.function);
  MLC_RETURN_IF_ERROR(reader.status());
  return out;
}

Json ChatCompletionTool::ToJson() const {
  return wire::ObjectWriter().Constant("type", "function").Required("function", function).Finish();
}

wire::Words WireWords(ToolChoiceMode) {
  static constexpr const char* kWords[] = {
      "none",
      "auto",
      "required",
  };
  return {kWords, std::size(kWords)};
}

Result<NamedFunction> NamedFunction::Parse(const Json& json, const wire::Path& path) {
  NamedFunction out;
  wire::ObjectReader reader(json, path);
  reader.Required("name", &out.name, wire::Limits().MinLength(1));
  MLC_RETURN_IF_ERROR(reader.status());
  return out;
}

Json NamedFunction::ToJson() const { return wire::ObjectWriter().Required("name", name).Finish(); }

Result<ChatCompletionNamedToolChoice> ChatCompletionNamedToolChoice::Parse(const Json& json,
                                                                           const wire::Path& path) {
  ChatCompletionNamedToolChoice out;
  wire::ObjectReader reader(json, path);
  reader.Constant("type", "function");
  reader.Required("function", &out.function);
  MLC_RETURN_IF_ERROR(reader.status());
  return out;
}

Json ChatCompletionNamedToolChoice::ToJson() const {
  return wire::ObjectWriter().Constant("type", "function").Required("function", function).Finish();
}

Result<ToolChoice> ToolChoice::Parse(const Json& json, const wire::Path& path) {
  ToolChoice out;
  if (json.is_string()) {
    MLC_RETURN_IF_ERROR(wire::ReadInto<ToolChoiceMode>(json, path, wire::Limits(), &out));
    return out;
  }
  if (json.is_object()) {
    MLC_RETURN_IF_ERROR(
        wire::ReadInto<ChatCompletionNamedToolChoice>(json, path, wire::Limits(), &out));
    return out;
  }
  return wire::WrongType(json, path, "one of a string or an object");
}

Json ToolChoice::ToJson() const { return wire::WriteHeld(value); }

Result<ResponseFormatText> ResponseFormatText::Parse(const Json& json, const wire::Path& path) {
  ResponseFormatText out;
  wire::ObjectReader reader(json, path);
  reader.Constant("type", "text");
  MLC_RETURN_IF_ERROR(reader.status());
  return out;
}

Json ResponseFormatText::ToJson() const {
  return wire::ObjectWriter().Constant("type", "text").Finish();
}

Result<JsonSchemaSource> JsonSchemaSource::Parse(const Json& json, const wire::Path& path) {
  JsonSchemaSource out;
  if (json.is_string()) {
    MLC_RETURN_IF_ERROR(wire::ReadInto<std::string>(json, path, wire::Limits(), &out));
    return out;
  }
  if (json.is_object()) {
    MLC_RETURN_IF_ERROR(wire::ReadInto<Json>(json, path, wire::Limits(), &out));
    return out;
  }
  return wire::WrongType(json, path, "one of a string or an object");
}

Json JsonSchemaSource::ToJson() const { return wire::WriteHeld(value); }

Result<ResponseFormatJSONObject> ResponseFormatJSONObject::Parse(const Json& json,
                                                                 const wire::Path& path) {
  ResponseFormatJSONObject out;
  wire::ObjectReader reader(json, path);
  reader.Constant("type", "json_object");
  reader.Optional("schema", &out.schema);
  MLC_RETURN_IF_ERROR(reader.status());
  return out;
}

Json ResponseFormatJSONObject::ToJson() const {
  return wire::ObjectWriter().Constant("type", "json_object").Optional("schema", schema).Finish();
}

Result<JSONSchema> JSONSchema::Parse(const Json& json, const wire::Path& path) {
  JSONSchema out;
  wire::ObjectReader reader(json, path);
  reader.Required("name", &out.name, wire::Limits().MinLength(1).MaxLength(64));
  reader.Optional("description", &out.description);
  reader.RawObject("schema", &out.schema);
  reader.Optional("strict", &out.strict);
  MLC_RETURN_IF_ERROR(reader.status());
  return out;
}

Json JSONSchema::ToJson() const {
  return wire::ObjectWriter()
      .Required("name", name)
      .Optional("description", description)
      .Optional("schema", schema)
      .Optional("strict", strict)
      .Finish();
}

Result<ResponseFormatJSONSchema> ResponseFormatJSONSchema::Parse(const Json& json,
                                                                 const wire::Path& path) {
  ResponseFormatJSONSchema out;
  wire::ObjectReader reader(json, path);
  reader.Constant("type", "json_schema");
  reader.Required("json_schema", &out.json_schema);
  MLC_RETURN_IF_ERROR(reader.status());
  return out;
}

Json ResponseFormatJSONSchema::ToJson() const {
  return wire::ObjectWriter()
      .Constant("type", "json_schema")
      .Required("json_schema", json_schema)
      .Finish();
}

Result<ResponseFormatRegex> ResponseFormatRegex::Parse(const Json& json, const wire::Path& path) {
  ResponseFormatRegex out;
  wire::ObjectReader reader(json, path);
  reader.Constant("type", "regex");
  reader.Required("regex", &out.regex, wire::Limits().MinLength(1));
  MLC_RETURN_IF_ERROR(reader.status());
  return out;
}

Json ResponseFormatRegex::ToJson() const {
  return wire::ObjectWriter().Constant("type", "regex").Required("regex", regex).Finish();
}

Result<ResponseFormatGrammar> ResponseFormatGrammar::Parse(const Json& json,
                                                           const wire::Path& path) {
  ResponseFormatGrammar out;
  wire::ObjectReader reader(json, path);
  reader.Constant("type", "grammar");
  reader.Required("grammar", &out.grammar, wire::Limits().MinLength(1));
  MLC_RETURN_IF_ERROR(reader.status());
  return out;
}

Json ResponseFormatGrammar::ToJson() const {
  return wire::ObjectWriter().Constant("type", "grammar").Required("grammar", grammar).Finish();
}

Result<StructuralTag> StructuralTag::Parse(const Json& json, const wire::Path& path) {
  StructuralTag out;
  wire::ObjectReader reader(json, path);
  reader.Required("begin", &out.begin, wire::Limits().MinLength(1));
  reader.RawObject("schema", &out.schema);
  reader.Required("end", &out.end, wire::Limits().MinLength(1));
  MLC_RETURN_IF_ERROR(reader.status());
  return out;
}

Json StructuralTag::ToJson() const {
  return wire::ObjectWriter()
      .Required("begin", begin)
      .Required("schema", schema)
      .Required("end", end)
      .Finish();
}

Result<ResponseFormatStructuralTag> ResponseFormatStructuralTag::Parse(const Json& json,
                                                                       const wire::Path& path) {
  ResponseFormatStructuralTag out;
  wire::ObjectReader reader(json, path);
  reader.Constant("type", "structural_tag");
  reader.Optional("tags", &out.tags, wire::Limits().MinItems(1));
  reader.Optional("triggers", &out.triggers, wire::Limits().MinItems(1));
  reader.RawObject("format", &out.format);
  MLC_RETURN_IF_ERROR(reader.status());
  return out;
}

Json ResponseFormatStructuralTag::ToJson() const {
  return wire::ObjectWriter()
      .Constant("type", "structural_tag")
      .Optional("tags", tags)
      .Optional("triggers", triggers)
      .Optional("format", format)
      .Finish();
}

Result<ResponseFormat> ResponseFormat::Parse(const Json& json, const wire::Path& path) {
  ResponseFormat out;
  MLC_ASSIGN_OR_RETURN(std::string tag, wire::ReadTag(json, path, "type"));
  if (tag == "text") {
    MLC_RETURN_IF_ERROR(wire::ReadInto<ResponseFormatText>(json, path, wire::Limits(), &out));
    return out;
  }
  if (tag == "json_object") {
    MLC_RETURN_IF_ERROR(wire::ReadInto<ResponseFormatJSONObject>(json, path, wire::Limits(), &out));
    return out;
  }
  if (tag == "json_schema") {
    MLC_RETURN_IF_ERROR(wire::ReadInto<ResponseFormatJSONSchema>(json, path, wire::Limits(), &out));
    return out;
  }
  if (tag == "regex") {
    MLC_RETURN_IF_ERROR(wire::ReadInto<ResponseFormatRegex>(json, path, wire::Limits(), &out));
    return out;
  }
  if (tag == "grammar") {
    MLC_RETURN_IF_ERROR(wire::ReadInto<ResponseFormatGrammar>(json, path, wire::Limits(), &out));
    return out;
  }
  if (tag == "structural_tag") {
    MLC_RETURN_IF_ERROR(
        wire::ReadInto<ResponseFormatStructuralTag>(json, path, wire::Limits(), &out));
    return out;
  }
  return wire::NotSupported(
      tag, path.Member("type"),
      {"text", "json_object", "json_schema", "regex", "grammar", "structural_tag"});
}

Json ResponseFormat::ToJson() const { return wire::WriteHeld(value); }

wire::Words WireWords(ReasoningEffort) {
  static constexpr const char* kWords[] = {
      "none", "minimal", "low", "medium", "high", "xhigh",
  };
  return {kWords, std::size(kWords)};
}

Result<LoraUse> LoraUse::Parse(const Json& json, const wire::Path& path) {
  LoraUse out;
  wire::ObjectReader reader(json, path);
  reader.Required("name", &out.name, wire::Limits().MinLength(1));
  reader.Defaulted("scale", &out.scale, wire::Limits().AtLeast(-1000).AtMost(1000));
  MLC_RETURN_IF_ERROR(reader.status());
  return out;
}

Json LoraUse::ToJson() const {
  return wire::ObjectWriter().Required("name", name).Required("scale", scale).Finish();
}

Result<Lora> Lora::Parse(const Json& json, const wire::Path& path) {
  Lora out;
  if (json.is_string()) {
    MLC_RETURN_IF_ERROR(wire::ReadInto<std::string>(json, path, wire::Limits().MinLength(1), &out));
    return out;
  }
  if (json.is_array()) {
    MLC_RETURN_IF_ERROR(
        wire::ReadInto<std::vector<LoraUse>>(json, path, wire::Limits().MaxItems(8), &out));
    return out;
  }
  return wire::WrongType(json, path, "one of a string or an array");
}

Json Lora::ToJson() const { return wire::WriteHeld(value); }

wire::Words WireWords(SpecialRequest) {
  static constexpr const char* kWords[] = {
      "query_engine_metrics",
  };
  return {kWords, std::size(kWords)};
}

wire::Words WireWords(GrammarExecutionMode) {
  static constexpr const char* kWords[] = {
      "constraint",
      "jump_forward",
  };
  return {kWords, std::size(kWords)};
}

Result<DebugConfig> DebugConfig::Parse(const Json& json, const wire::Path& path) {
  DebugConfig out;
  wire::ObjectReader reader(json, path);
  reader.Defaulted("ignore_eos", &out.ignore_eos);
  reader.Defaulted("pinned_system_prompt", &out.pinned_system_prompt);
  reader.Optional("special_request", &out.special_request);
  reader.Defaulted("grammar_execution_mode", &out.grammar_execution_mode);
  MLC_RETURN_IF_ERROR(reader.status());
  return out;
}

Json DebugConfig::ToJson() const {
  return wire::ObjectWriter()
      .Required("ignore_eos", ignore_eos)
      .Required("pinned_system_prompt", pinned_system_prompt)
      .Optional("special_request", special_request)
      .Required("grammar_execution_mode", grammar_execution_mode)
      .Finish();
}

Result<ChatCompletionPredictionText> ChatCompletionPredictionText::Parse(const Json& json,
                                                                         const wire::Path& path) {
  ChatCompletionPredictionText out;
  if (json.is_string()) {
    MLC_RETURN_IF_ERROR(wire::ReadInto<std::string>(json, path, wire::Limits(), &out));
    return out;
  }
  if (json.is_array()) {
    MLC_RETURN_IF_ERROR(wire::ReadInto<std::vector<ChatCompletionContentPartText>>(
        json, path, wire::Limits().MinItems(1), &out));
    return out;
  }
  return wire::WrongType(json, path, "one of a string or an array");
}

Json ChatCompletionPredictionText::ToJson() const { return wire::WriteHeld(value); }

Result<ChatCompletionPrediction> ChatCompletionPrediction::Parse(const Json& json,
                                                                 const wire::Path& path) {
  ChatCompletionPrediction out;
  wire::ObjectReader reader(json, path);
  reader.Constant("type", "content");
  reader.Required("content", &out.content);
  MLC_RETURN_IF_ERROR(reader.status());
  return out;
}

Json ChatCompletionPrediction::ToJson() const {
  return wire::ObjectWriter().Constant("type", "content").Required("content", content).Finish();
}

Result<ChatCompletionRequest> ChatCompletionRequest::Parse(const Json& json,
                                                           const wire::Path& path) {
  ChatCompletionRequest out;
  wire::ObjectReader reader(json, path);
  reader.Required("messages", &out.messages, wire::Limits().MinItems(1));
  reader.Optional("model", &out.model);
  reader.Defaulted("stream", &out.stream);
  reader.Optional("stream_options", &out.stream_options);
  reader.Optional("max_tokens", &out.max_tokens, wire::Limits().AtLeast(1));
  reader.Optional("max_completion_tokens", &out.max_completion_tokens, wire::Limits().AtLeast(1));
  reader.Defaulted("n", &out.n, wire::Limits().AtLeast(1).AtMost(128));
  reader.Optional("temperature", &out.temperature, wire::Limits().AtLeast(0).AtMost(2));
  reader.Optional("top_p", &out.top_p, wire::Limits().AtLeast(0).AtMost(1));
  reader.Optional("top_k", &out.top_k, wire::Limits().AtLeast(-1));
  reader.Optional("min_p", &out.min_p, wire::Limits().AtLeast(0).AtMost(1));
  reader.Optional("frequency_penalty", &out.frequency_penalty,
                  wire::Limits().AtLeast(-2).AtMost(2));
  reader.Optional("presence_penalty", &out.presence_penalty, wire::Limits().AtLeast(-2).AtMost(2));
  reader.Optional("repetition_penalty", &out.repetition_penalty,
                  wire::Limits().Above(0).AtMost(10));
  reader.Optional("top_n_sigma", &out.top_n_sigma, wire::Limits().AtLeast(-1).AtMost(1000));
  reader.Optional("xtc_probability", &out.xtc_probability, wire::Limits().AtLeast(0).AtMost(1));
  reader.Optional("xtc_threshold", &out.xtc_threshold, wire::Limits().AtLeast(0).AtMost(1));
  reader.Optional("dry_multiplier", &out.dry_multiplier, wire::Limits().AtLeast(0).AtMost(100));
  reader.Optional("dry_base", &out.dry_base, wire::Limits().AtLeast(1).AtMost(100));
  reader.Optional("dry_allowed_length", &out.dry_allowed_length, wire::Limits().AtLeast(1));
  reader.Optional("dry_penalty_last_n", &out.dry_penalty_last_n, wire::Limits().AtLeast(-1));
  reader.Optional("dry_sequence_breakers", &out.dry_sequence_breakers,
                  wire::Limits().MinLength(1).MaxItems(64));
  reader.Optional("logit_bias", &out.logit_bias, wire::Limits().AtLeast(-100).AtMost(100));
  reader.Optional("seed", &out.seed);
  reader.Defaulted("logprobs", &out.logprobs);
  reader.Optional("top_logprobs", &out.top_logprobs, wire::Limits().AtLeast(0).AtMost(20));
  reader.Optional("stop", &out.stop);
  reader.Optional("tools", &out.tools, wire::Limits().MaxItems(128));
  reader.Optional("tool_choice", &out.tool_choice);
  reader.Defaulted("parallel_tool_calls", &out.parallel_tool_calls);
  reader.Optional("response_format", &out.response_format);
  reader.Optional("reasoning_effort", &out.reasoning_effort);
  reader.Optional("reasoning_budget", &out.reasoning_budget,
                  wire::Limits().AtLeast(0).AtMost(2147483647));
  reader.RawObject("chat_template_kwargs", &out.chat_template_kwargs);
  reader.Optional("logit_processor", &out.logit_processor);
  reader.Optional("lora", &out.lora);
  reader.Optional("user", &out.user);
  reader.Optional("priority", &out.priority, wire::Limits().AtLeast(-100).AtMost(100));
  reader.Optional("timeout_ms", &out.timeout_ms, wire::Limits().AtLeast(1).AtMost(2147483647));
  reader.Optional("usage_extra", &out.usage_extra);
  reader.Optional("timings_per_token", &out.timings_per_token);
  reader.Optional("return_progress", &out.return_progress);
  reader.Optional("debug_config", &out.debug_config);
  reader.Optional("metadata", &out.metadata);
  reader.Optional("store", &out.store);
  reader.Optional("service_tier", &out.service_tier);
  reader.Optional("modalities", &out.modalities);
  reader.Optional("audio", &out.audio);
  reader.Optional("prediction", &out.prediction);
  reader.Optional("web_search_options", &out.web_search_options);
  reader.Optional("functions", &out.functions);
  reader.Optional("function_call", &out.function_call);
  MLC_RETURN_IF_ERROR(reader.status());
  return out;
}

Json ChatCompletionRequest::ToJson() const {
  return wire::ObjectWriter()
      .Required("messages", messages)
      .Optional("model", model)
      .Required("stream", stream)
      .Optional("stream_options", stream_options)
      .Optional("max_tokens", max_tokens)
      .Optional("max_completion_tokens", max_completion_tokens)
      .Required("n", n)
      .Optional("temperature", temperature)
      .Optional("top_p", top_p)
      .Optional("top_k", top_k)
      .Optional("min_p", min_p)
      .Optional("frequency_penalty", frequency_penalty)
      .Optional("presence_penalty", presence_penalty)
      .Optional("repetition_penalty", repetition_penalty)
      .Optional("top_n_sigma", top_n_sigma)
      .Optional("xtc_probability", xtc_probability)
      .Optional("xtc_threshold", xtc_threshold)
      .Optional("dry_multiplier", dry_multiplier)
      .Optional("dry_base", dry_base)
      .Optional("dry_allowed_length", dry_allowed_length)
      .Optional("dry_penalty_last_n", dry_penalty_last_n)
      .Optional("dry_sequence_breakers", dry_sequence_breakers)
      .Optional("logit_bias", logit_bias)
      .Optional("seed", seed)
      .Required("logprobs", logprobs)
      .Optional("top_logprobs", top_logprobs)
      .Optional("stop", stop)
      .Optional("tools", tools)
      .Optional("tool_choice", tool_choice)
      .Required("parallel_tool_calls", parallel_tool_calls)
      .Optional("response_format", response_format)
      .Optional("reasoning_effort", reasoning_effort)
      .Optional("reasoning_budget", reasoning_budget)
      .Optional("chat_template_kwargs", chat_template_kwargs)
      .Optional("logit_processor", logit_processor)
      .Optional("lora", lora)
      .Optional("user", user)
      .Optional("priority", priority)
      .Optional("timeout_ms", timeout_ms)
      .Optional("usage_extra", usage_extra)
      .Optional("timings_per_token", timings_per_token)
      .Optional("return_progress", return_progress)
      .Optional("debug_config", debug_config)
      .Optional("metadata", metadata)
      .Optional("store", store)
      .Optional("service_tier", service_tier)
      .Optional("modalities", modalities)
      .Optional("audio", audio)
      .Optional("prediction", prediction)
      .Optional("web_search_options", web_search_options)
      .Optional("functions", functions)
      .Optional("function_call", function_call)
      .Finish();
}

Result<PromptItem> PromptItem::Parse(const Json& json, const wire::Path& path) {
  PromptItem out;
  if (json.is_string()) {
    MLC_RETURN_IF_ERROR(wire::ReadInto<std::string>(json, path, wire::Limits(), &out));
    return out;
  }
  if (json.is_number()) {
    MLC_RETURN_IF_ERROR(wire::ReadInto<int64_t>(json, path, wire::Limits().AtLeast(0), &out));
    return out;
  }
  if (json.is_array()) {
    MLC_RETURN_IF_ERROR(wire::ReadInto<std::vector<int64_t>>(
        json, path, wire::Limits().AtLeast(0).MinItems(1), &out));
    return out;
  }
  return wire::WrongType(json, path, "one of a string or a number or an array");
}

Json PromptItem::ToJson() const { return wire::WriteHeld(value); }

Result<Prompt> Prompt::Parse(const Json& json, const wire::Path& path) {
  Prompt out;
  if (json.is_string()) {
    MLC_RETURN_IF_ERROR(wire::ReadInto<std::string>(json, path, wire::Limits(), &out));
    return out;
  }
  if (json.is_array()) {
    MLC_RETURN_IF_ERROR(wire::ReadInto<std::vector<PromptItem>>(
        json, path, wire::Limits().MinItems(1).MaxItems(1048576), &out));
    return out;
  }
  return wire::WrongType(json, path, "one of a string or an array");
}

Json Prompt::ToJson() const { return wire::WriteHeld(value); }

Result<CompletionRequest> CompletionRequest::Parse(const Json& json, const wire::Path& path) {
  CompletionRequest out;
  wire::ObjectReader reader(json, path);
  reader.Required("prompt", &out.prompt);
  reader.Optional("model", &out.model);
  reader.Optional("suffix", &out.suffix);
  reader.Defaulted("echo", &out.echo);
  reader.Optional("best_of", &out.best_of, wire::Limits().AtLeast(1).AtMost(128));
  reader.Defaulted("stream", &out.stream);
  reader.Optional("stream_options", &out.stream_options);
  reader.Defaulted("max_tokens", &out.max_tokens, wire::Limits().AtLeast(0));
  reader.Defaulted("n", &out.n, wire::Limits().AtLeast(1).AtMost(128));
  reader.Optional("temperature", &out.temperature, wire::Limits().AtLeast(0).AtMost(2));
  reader.Optional("top_p", &out.top_p, wire::Limits().AtLeast(0).AtMost(1));
  reader.Optional("top_k", &out.top_k, wire::Limits().AtLeast(-1));
  reader.Optional("min_p", &out.min_p, wire::Limits().AtLeast(0).AtMost(1));
  reader.Optional("frequency_penalty", &out.frequency_penalty,
                  wire::Limits().AtLeast(-2).AtMost(2));
  reader.Optional("presence_penalty", &out.presence_penalty, wire::Limits().AtLeast(-2).AtMost(2));
  reader.Optional("repetition_penalty", &out.repetition_penalty,
                  wire::Limits().Above(0).AtMost(10));
  reader.Optional("top_n_sigma", &out.top_n_sigma, wire::Limits().AtLeast(-1).AtMost(1000));
  reader.Optional("xtc_probability", &out.xtc_probability, wire::Limits().AtLeast(0).AtMost(1));
  reader.Optional("xtc_threshold", &out.xtc_threshold, wire::Limits().AtLeast(0).AtMost(1));
  reader.Optional("dry_multiplier", &out.dry_multiplier, wire::Limits().AtLeast(0).AtMost(100));
  reader.Optional("dry_base", &out.dry_base, wire::Limits().AtLeast(1).AtMost(100));
  reader.Optional("dry_allowed_length", &out.dry_allowed_length, wire::Limits().AtLeast(1));
  reader.Optional("dry_penalty_last_n", &out.dry_penalty_last_n, wire::Limits().AtLeast(-1));
  reader.Optional("dry_sequence_breakers", &out.dry_sequence_breakers,
                  wire::Limits().MinLength(1).MaxItems(64));
  reader.Optional("logit_bias", &out.logit_bias, wire::Limits().AtLeast(-100).AtMost(100));
  reader.Optional("seed", &out.seed);
  reader.Optional("logprobs", &out.logprobs, wire::Limits().AtLeast(0).AtMost(5));
  reader.Optional("stop", &out.stop);
  reader.Optional("response_format", &out.response_format);
  reader.Optional("logit_processor", &out.logit_processor);
  reader.Optional("lora", &out.lora);
  reader.Optional("user", &out.user);
  reader.Optional("priority", &out.priority, wire::Limits().AtLeast(-100).AtMost(100));
  reader.Optional("timeout_ms", &out.timeout_ms, wire::Limits().AtLeast(1).AtMost(2147483647));
  reader.Optional("timings_per_token", &out.timings_per_token);
  reader.Optional("return_progress", &out.return_progress);
  reader.Optional("debug_config", &out.debug_config);
  MLC_RETURN_IF_ERROR(reader.status());
  return out;
}

Json CompletionRequest::ToJson() const {
  return wire::ObjectWriter()
      .Required("prompt", prompt)
      .Optional("model", model)
      .Optional("suffix", suffix)
      .Required("echo", echo)
      .Optional("best_of", best_of)
      .Required("stream", stream)
      .Optional("stream_options", stream_options)
      .Required("max_tokens", max_tokens)
      .Required("n", n)
      .Optional("temperature", temperature)
      .Optional("top_p", top_p)
      .Optional("top_k", top_k)
      .Optional("min_p", min_p)
      .Optional("frequency_penalty", frequency_penalty)
      .Optional("presence_penalty", presence_penalty)
      .Optional("repetition_penalty", repetition_penalty)
      .Optional("top_n_sigma", top_n_sigma)
      .Optional("xtc_probability", xtc_probability)
      .Optional("xtc_threshold", xtc_threshold)
      .Optional("dry_multiplier", dry_multiplier)
      .Optional("dry_base", dry_base)
      .Optional("dry_allowed_length", dry_allowed_length)
      .Optional("dry_penalty_last_n", dry_penalty_last_n)
      .Optional("dry_sequence_breakers", dry_sequence_breakers)
      .Optional("logit_bias", logit_bias)
      .Optional("seed", seed)
      .Optional("logprobs", logprobs)
      .Optional("stop", stop)
      .Optional("response_format", response_format)
      .Optional("logit_processor", logit_processor)
      .Optional("lora", lora)
      .Optional("user", user)
      .Optional("priority", priority)
      .Optional("timeout_ms", timeout_ms)
      .Optional("timings_per_token", timings_per_token)
      .Optional("return_progress", return_progress)
      .Optional("debug_config", debug_config)
      .Finish();
}

wire::Words WireWords(EmbeddingEncoding) {
  static constexpr const char* kWords[] = {
      "float",
      "base64",
  };
  return {kWords, std::size(kWords)};
}

Result<EmbeddingRequest> EmbeddingRequest::Parse(const Json& json, const wire::Path& path) {
  EmbeddingRequest out;
  wire::ObjectReader reader(json, path);
  reader.Required("input", &out.input);
  reader.Optional("model", &out.model);
  reader.Defaulted("encoding_format", &out.encoding_format);
  reader.Optional("dimensions", &out.dimensions, wire::Limits().AtLeast(1));
  reader.Optional("user", &out.user);
  reader.Optional("priority", &out.priority, wire::Limits().AtLeast(-100).AtMost(100));
  reader.Optional("timeout_ms", &out.timeout_ms, wire::Limits().AtLeast(1).AtMost(2147483647));
  MLC_RETURN_IF_ERROR(reader.status());
  return out;
}

Json EmbeddingRequest::ToJson() const {
  return wire::ObjectWriter()
      .Required("input", input)
      .Optional("model", model)
      .Required("encoding_format", encoding_format)
      .Optional("dimensions", dimensions)
      .Optional("user", user)
      .Optional("priority", priority)
      .Optional("timeout_ms", timeout_ms)
      .Finish();
}

Result<RerankDocument> RerankDocument::Parse(const Json& json, const wire::Path& path) {
  RerankDocument out;
  wire::ObjectReader reader(json, path);
  reader.Required("text", &out.text);
  MLC_RETURN_IF_ERROR(reader.status());
  return out;
}

Json RerankDocument::ToJson() const { return wire::ObjectWriter().Required("text", text).Finish(); }

Result<RerankInput> RerankInput::Parse(const Json& json, const wire::Path& path) {
  RerankInput out;
  if (json.is_string()) {
    MLC_RETURN_IF_ERROR(wire::ReadInto<std::string>(json, path, wire::Limits(), &out));
    return out;
  }
  if (json.is_object()) {
    MLC_RETURN_IF_ERROR(wire::ReadInto<RerankDocument>(json, path, wire::Limits(), &out));
    return out;
  }
  return wire::WrongType(json, path, "one of a string or an object");
}

Json RerankInput::ToJson() const { return wire::WriteHeld(value); }

Result<RerankRequest> RerankRequest::Parse(const Json& json, const wire::Path& path) {
  RerankRequest out;
  wire::ObjectReader reader(json, path);
  reader.Required("query", &out.query, wire::Limits().MinLength(1));
  reader.Required("documents", &out.documents, wire::Limits().MinItems(1).MaxItems(10000));
  reader.Optional("model", &out.model);
  reader.Optional("top_n", &out.top_n, wire::Limits().AtLeast(1));
  reader.Defaulted("return_documents", &out.return_documents);
  reader.Optional("max_tokens_per_doc", &out.max_tokens_per_doc, wire::Limits().AtLeast(1));
  reader.Defaulted("truncate", &out.truncate);
  reader.Defaulted("raw_scores", &out.raw_scores);
  reader.Optional("priority", &out.priority, wire::Limits().AtLeast(-100).AtMost(100));
  reader.Optional("timeout_ms", &out.timeout_ms, wire::Limits().AtLeast(1).AtMost(2147483647));
  MLC_RETURN_IF_ERROR(reader.status());
  return out;
}

Json RerankRequest::ToJson() const {
  return wire::ObjectWriter()
      .Required("query", query)
      .Required("documents", documents)
      .Optional("model", model)
      .Optional("top_n", top_n)
      .Required("return_documents", return_documents)
      .Optional("max_tokens_per_doc", max_tokens_per_doc)
      .Required("truncate", truncate)
      .Required("raw_scores", raw_scores)
      .Optional("priority", priority)
      .Optional("timeout_ms", timeout_ms)
      .Finish();
}

Result<TokenizeRequest> TokenizeRequest::Parse(const Json& json, const wire::Path& path) {
  TokenizeRequest out;
  wire::ObjectReader reader(json, path);
  reader.Required("text", &out.text);
  reader.Defaulted("add_special_tokens", &out.add_special_tokens);
  MLC_RETURN_IF_ERROR(reader.status());
  return out;
}

Json TokenizeRequest::ToJson() const {
  return wire::ObjectWriter()
      .Required("text", text)
      .Required("add_special_tokens", add_special_tokens)
      .Finish();
}

Result<DetokenizeRequest> DetokenizeRequest::Parse(const Json& json, const wire::Path& path) {
  DetokenizeRequest out;
  wire::ObjectReader reader(json, path);
  reader.Required("tokens", &out.tokens, wire::Limits().AtLeast(0));
  reader.Defaulted("skip_special_tokens", &out.skip_special_tokens);
  MLC_RETURN_IF_ERROR(reader.status());
  return out;
}

Json DetokenizeRequest::ToJson() const {
  return wire::ObjectWriter()
      .Required("tokens", tokens)
      .Required("skip_special_tokens", skip_special_tokens)
      .Finish();
}

Result<KVSaveRequest> KVSaveRequest::Parse(const Json& json, const wire::Path& path) {
  KVSaveRequest out;
  wire::ObjectReader reader(json, path);
  reader.Required("path", &out.path, wire::Limits().MinLength(1));
  reader.Optional("messages", &out.messages, wire::Limits().MinItems(1));
  reader.RawObject("chat_template_kwargs", &out.chat_template_kwargs);
  reader.Optional("prompt_tokens", &out.prompt_tokens, wire::Limits().AtLeast(0).MinItems(1));
  MLC_RETURN_IF_ERROR(reader.status());
  return out;
}

Json KVSaveRequest::ToJson() const {
  return wire::ObjectWriter()
      .Required("path", path)
      .Optional("messages", messages)
      .Optional("chat_template_kwargs", chat_template_kwargs)
      .Optional("prompt_tokens", prompt_tokens)
      .Finish();
}

Result<KVLoadRequest> KVLoadRequest::Parse(const Json& json, const wire::Path& path) {
  KVLoadRequest out;
  wire::ObjectReader reader(json, path);
  reader.Required("path", &out.path, wire::Limits().MinLength(1));
  MLC_RETURN_IF_ERROR(reader.status());
  return out;
}

Json KVLoadRequest::ToJson() const { return wire::ObjectWriter().Required("path", path).Finish(); }

Result<KVHeldRequest> KVHeldRequest::Parse(const Json& json, const wire::Path& path) {
  KVHeldRequest out;
  wire::ObjectReader reader(json, path);
  reader.Optional("chat", &out.chat);
  reader.Optional("completion", &out.completion);
  MLC_RETURN_IF_ERROR(reader.status());
  return out;
}

Json KVHeldRequest::ToJson() const {
  return wire::ObjectWriter().Optional("chat", chat).Optional("completion", completion).Finish();
}

wire::Words WireWords(TrimLevel) {
  static constexpr const char* kWords[] = {
      "caches",
      "pages",
      "all",
  };
  return {kWords, std::size(kWords)};
}

Result<TrimRequest> TrimRequest::Parse(const Json& json, const wire::Path& path) {
  TrimRequest out;
  wire::ObjectReader reader(json, path);
  reader.Defaulted("level", &out.level);
  MLC_RETURN_IF_ERROR(reader.status());
  return out;
}

Json TrimRequest::ToJson() const { return wire::ObjectWriter().Required("level", level).Finish(); }

Result<PrewarmRequest> PrewarmRequest::Parse(const Json& json, const wire::Path& path) {
  PrewarmRequest out;
  wire::ObjectReader reader(json, path);
  reader.Defaulted("step", &out.step);
  MLC_RETURN_IF_ERROR(reader.status());
  return out;
}

Json PrewarmRequest::ToJson() const { return wire::ObjectWriter().Required("step", step).Finish(); }

wire::Words WireWords(ThermalState) {
  static constexpr const char* kWords[] = {
      "nominal",
      "fair",
      "serious",
      "critical",
  };
  return {kWords, std::size(kWords)};
}

Result<ThermalHint> ThermalHint::Parse(const Json& json, const wire::Path& path) {
  ThermalHint out;
  wire::ObjectReader reader(json, path);
  reader.Required("state", &out.state);
  MLC_RETURN_IF_ERROR(reader.status());
  return out;
}

Json ThermalHint::ToJson() const { return wire::ObjectWriter().Required("state", state).Finish(); }

Result<AdapterLoadRequest> AdapterLoadRequest::Parse(const Json& json, const wire::Path& path) {
  AdapterLoadRequest out;
  wire::ObjectReader reader(json, path);
  reader.Required("name", &out.name, wire::Limits().MinLength(1).MaxLength(256));
  reader.Required("path", &out.path, wire::Limits().MinLength(1));
  MLC_RETURN_IF_ERROR(reader.status());
  return out;
}

Json AdapterLoadRequest::ToJson() const {
  return wire::ObjectWriter().Required("name", name).Required("path", path).Finish();
}

Result<AdapterUnloadRequest> AdapterUnloadRequest::Parse(const Json& json, const wire::Path& path) {
  AdapterUnloadRequest out;
  wire::ObjectReader reader(json, path);
  reader.Required("name", &out.name, wire::Limits().MinLength(1));
  MLC_RETURN_IF_ERROR(reader.status());
  return out;
}

Json AdapterUnloadRequest::ToJson() const {
  return wire::ObjectWriter().Required("name", name).Finish();
}

Result<AdapterListRequest> AdapterListRequest::Parse(const Json& json, const wire::Path& path) {
  AdapterListRequest out;
  wire::ObjectReader reader(json, path);
  reader.Optional("name", &out.name, wire::Limits().MinLength(1));
  MLC_RETURN_IF_ERROR(reader.status());
  return out;
}

Json AdapterListRequest::ToJson() const {
  return wire::ObjectWriter().Optional("name", name).Finish();
}

Result<Directories> Directories::Parse(const Json& json, const wire::Path& path) {
  Directories out;
  wire::ObjectReader reader(json, path);
  reader.Optional("cache", &out.cache, wire::Limits().MinLength(1));
  reader.Optional("temporary", &out.temporary, wire::Limits().MinLength(1));
  reader.Optional("libraries", &out.libraries, wire::Limits().MinLength(1));
  MLC_RETURN_IF_ERROR(reader.status());
  return out;
}

Json Directories::ToJson() const {
  return wire::ObjectWriter()
      .Optional("cache", cache)
      .Optional("temporary", temporary)
      .Optional("libraries", libraries)
      .Finish();
}

Result<ModelLoadRequest> ModelLoadRequest::Parse(const Json& json, const wire::Path& path) {
  ModelLoadRequest out;
  wire::ObjectReader reader(json, path);
  reader.Required("model", &out.model);
  reader.Optional("model_lib", &out.model_lib);
  reader.Defaulted("device", &out.device);
  reader.Optional("name", &out.name);
  MLC_RETURN_IF_ERROR(reader.status());
  return out;
}

Json ModelLoadRequest::ToJson() const {
  return wire::ObjectWriter()
      .Required("model", model)
      .Optional("model_lib", model_lib)
      .Required("device", device)
      .Optional("name", name)
      .Finish();
}

wire::Words WireWords(EngineMode) {
  static constexpr const char* kWords[] = {
      "local",
      "interactive",
      "server",
  };
  return {kWords, std::size(kWords)};
}

wire::Words WireWords(KVCacheDType) {
  static constexpr const char* kWords[] = {
      "f32",
      "f16",
      "bf16",
      "q8",
  };
  return {kWords, std::size(kWords)};
}

wire::Words WireWords(PrefillMode) {
  static constexpr const char* kWords[] = {
      "hybrid",
      "chunked",
  };
  return {kWords, std::size(kWords)};
}

wire::Words WireWords(EmbeddingPooling) {
  static constexpr const char* kWords[] = {
      "mean",
      "last",
      "cls",
  };
  return {kWords, std::size(kWords)};
}

wire::Words WireWords(PrefixCacheMode) {
  static constexpr const char* kWords[] = {
      "radix",
      "disable",
  };
  return {kWords, std::size(kWords)};
}

wire::Words WireWords(SpeculativeMode) {
  static constexpr const char* kWords[] = {
      "disable", "small_draft", "prompt_lookup", "mtp", "eagle", "medusa",
  };
  return {kWords, std::size(kWords)};
}

Result<EngineConfig> EngineConfig::Parse(const Json& json, const wire::Path& path) {
  EngineConfig out;
  wire::ObjectReader reader(json, path);
  reader.OnlyKnown({"mode",
                    "max_num_sequence",
                    "max_total_seq_length",
                    "kv_cache_bytes",
                    "kv_cache_dtype",
                    "memory_limit_bytes",
                    "gpu_memory_utilization",
                    "context_window_size",
                    "sliding_window_size",
                    "attention_sink_size",
                    "prefill_chunk_size",
                    "prefill_mode",
                    "max_queued_requests",
                    "enable_tracing",
                    "embedding_pooling",
                    "openai_last_chunk",
                    "refuse_unknown_fields",
                    "max_history_size",
                    "prefix_cache_mode",
                    "prefix_cache_max_num_recycling_seqs",
                    "prefix_cache_dir",
                    "prefix_cache_ram_bytes",
                    "prefix_cache_dir_bytes",
                    "prefix_cache_dir_days",
                    "speculative_mode",
                    "additional_models",
                    "mmproj",
                    "spec_draft_length",
                    "jump_forward",
                    "spec_tree_width",
                    "tensor_parallel_shards",
                    "pipeline_parallel_stages",
                    "lora_ranks",
                    "lora_bytes",
                    "max_loras",
                    "num_threads"});
  reader.Optional("mode", &out.mode);
  reader.Optional("max_num_sequence", &out.max_num_sequence, wire::Limits().AtLeast(1));
  reader.Optional("max_total_seq_length", &out.max_total_seq_length, wire::Limits().AtLeast(1));
  reader.Optional("kv_cache_bytes", &out.kv_cache_bytes, wire::Limits().AtLeast(1));
  reader.Optional("kv_cache_dtype", &out.kv_cache_dtype);
  reader.Optional("memory_limit_bytes", &out.memory_limit_bytes, wire::Limits().AtLeast(1));
  reader.Optional("gpu_memory_utilization", &out.gpu_memory_utilization,
                  wire::Limits().Above(0).AtMost(1));
  reader.Optional("context_window_size", &out.context_window_size, wire::Limits().AtLeast(1));
  reader.Optional("sliding_window_size", &out.sliding_window_size, wire::Limits().AtLeast(-1));
  reader.Optional("attention_sink_size", &out.attention_sink_size, wire::Limits().AtLeast(0));
  reader.Optional("prefill_chunk_size", &out.prefill_chunk_size, wire::Limits().AtLeast(1));
  reader.Optional("prefill_mode", &out.prefill_mode);
  reader.Optional("max_queued_requests", &out.max_queued_requests,
                  wire::Limits().AtLeast(1).AtMost(1000000));
  reader.Optional("enable_tracing", &out.enable_tracing);
  reader.Optional("embedding_pooling", &out.embedding_pooling);
  reader.Optional("openai_last_chunk", &out.openai_last_chunk);
  reader.Optional("refuse_unknown_fields", &out.refuse_unknown_fields);
  reader.Optional("max_history_size", &out.max_history_size, wire::Limits().AtLeast(1));
  reader.Optional("prefix_cache_mode", &out.prefix_cache_mode);
  reader.Optional("prefix_cache_max_num_recycling_seqs", &out.prefix_cache_max_num_recycling_seqs,
                  wire::Limits().AtLeast(-1));
  reader.Optional("prefix_cache_dir", &out.prefix_cache_dir);
  reader.Optional("prefix_cache_ram_bytes", &out.prefix_cache_ram_bytes, wire::Limits().AtLeast(0));
  reader.Optional("prefix_cache_dir_bytes", &out.prefix_cache_dir_bytes, wire::Limits().AtLeast(1));
  reader.Optional("prefix_cache_dir_days", &out.prefix_cache_dir_days,
                  wire::Limits().AtLeast(1).AtMost(36500));
  reader.Optional("speculative_mode", &out.speculative_mode);
  reader.Optional("additional_models", &out.additional_models);
  reader.Optional("mmproj", &out.mmproj);
  reader.Optional("spec_draft_length", &out.spec_draft_length, wire::Limits().AtLeast(0));
  reader.Optional("jump_forward", &out.jump_forward);
  reader.Optional("spec_tree_width", &out.spec_tree_width, wire::Limits().AtLeast(1).AtMost(16));
  reader.Optional("tensor_parallel_shards", &out.tensor_parallel_shards, wire::Limits().AtLeast(1));
  reader.Optional("pipeline_parallel_stages", &out.pipeline_parallel_stages,
                  wire::Limits().AtLeast(1));
  reader.Optional("lora_ranks", &out.lora_ranks, wire::Limits().AtLeast(0).AtMost(65536));
  reader.Optional("lora_bytes", &out.lora_bytes, wire::Limits().AtLeast(1));
  reader.Optional("max_loras", &out.max_loras, wire::Limits().AtLeast(1).AtMost(65536));
  reader.Optional("num_threads", &out.num_threads, wire::Limits().AtLeast(1).AtMost(1024));
  MLC_RETURN_IF_ERROR(reader.status());
  return out;
}

Json EngineConfig::ToJson() const {
  return wire::ObjectWriter()
      .Optional("mode", mode)
      .Optional("max_num_sequence", max_num_sequence)
      .Optional("max_total_seq_length", max_total_seq_length)
      .Optional("kv_cache_bytes", kv_cache_bytes)
      .Optional("kv_cache_dtype", kv_cache_dtype)
      .Optional("memory_limit_bytes", memory_limit_bytes)
      .Optional("gpu_memory_utilization", gpu_memory_utilization)
      .Optional("context_window_size", context_window_size)
      .Optional("sliding_window_size", sliding_window_size)
      .Optional("attention_sink_size", attention_sink_size)
      .Optional("prefill_chunk_size", prefill_chunk_size)
      .Optional("prefill_mode", prefill_mode)
      .Optional("max_queued_requests", max_queued_requests)
      .Optional("enable_tracing", enable_tracing)
      .Optional("embedding_pooling", embedding_pooling)
      .Optional("openai_last_chunk", openai_last_chunk)
      .Optional("refuse_unknown_fields", refuse_unknown_fields)
      .Optional("max_history_size", max_history_size)
      .Optional("prefix_cache_mode", prefix_cache_mode)
      .Optional("prefix_cache_max_num_recycling_seqs", prefix_cache_max_num_recycling_seqs)
      .Optional("prefix_cache_dir", prefix_cache_dir)
      .Optional("prefix_cache_ram_bytes", prefix_cache_ram_bytes)
      .Optional("prefix_cache_dir_bytes", prefix_cache_dir_bytes)
      .Optional("prefix_cache_dir_days", prefix_cache_dir_days)
      .Optional("speculative_mode", speculative_mode)
      .Optional("additional_models", additional_models)
      .Optional("mmproj", mmproj)
      .Optional("spec_draft_length", spec_draft_length)
      .Optional("jump_forward", jump_forward)
      .Optional("spec_tree_width", spec_tree_width)
      .Optional("tensor_parallel_shards", tensor_parallel_shards)
      .Optional("pipeline_parallel_stages", pipeline_parallel_stages)
      .Optional("lora_ranks", lora_ranks)
      .Optional("lora_bytes", lora_bytes)
      .Optional("max_loras", max_loras)
      .Optional("num_threads", num_threads)
      .Finish();
}

Result<ChatCompletionResponseMessage> ChatCompletionResponseMessage::Parse(const Json& json,
                                                                           const wire::Path& path) {
  ChatCompletionResponseMessage out;
  wire::ObjectReader reader(json, path);
  reader.Constant("role", "assistant");
  reader.Optional("content", &out.content);
  reader.Optional("refusal", &out.refusal);
  reader.Optional("reasoning_content", &out.reasoning_content);
  reader.Optional("tool_calls", &out.tool_calls);
  MLC_RETURN_IF_ERROR(reader.status());
  return out;
}

Json ChatCompletionResponseMessage::ToJson() const {
  return wire::ObjectWriter()
      .Constant("role", "assistant")
      .Always("content", content)
      .Always("refusal", refusal)
      .Optional("reasoning_content", reasoning_content)
      .Optional("tool_calls", tool_calls)
      .Finish();
}

Result<TopLogprob> TopLogprob::Parse(const Json& json, const wire::Path& path) {
  TopLogprob out;
  wire::ObjectReader reader(json, path);
  reader.Required("token", &out.token);
  reader.Required("logprob", &out.logprob);
  reader.Optional("bytes", &out.bytes);
  MLC_RETURN_IF_ERROR(reader.status());
  return out;
}

Json TopLogprob::ToJson() const {
  return wire::ObjectWriter()
      .Required("token", token)
      .Required("logprob", logprob)
      .Always("bytes", bytes)
      .Finish();
}

Result<ChatCompletionTokenLogprob> ChatCompletionTokenLogprob::Parse(const Json& json,
                                                                     const wire::Path& path) {
  ChatCompletionTokenLogprob out;
  wire::ObjectReader reader(json, path);
  reader.Required("token", &out.token);
  reader.Required("logprob", &out.logprob);
  reader.Optional("bytes", &out.bytes);
  reader.Required("top_logprobs", &out.top_logprobs);
  MLC_RETURN_IF_ERROR(reader.status());
  return out;
}

Json ChatCompletionTokenLogprob::ToJson() const {
  return wire::ObjectWriter()
      .Required("token", token)
      .Required("logprob", logprob)
      .Always("bytes", bytes)
      .Required("top_logprobs", top_logprobs)
      .Finish();
}

Result<ChoiceLogprobs> ChoiceLogprobs::Parse(const Json& json, const wire::Path& path) {
  ChoiceLogprobs out;
  wire::ObjectReader reader(json, path);
  reader.Optional("content", &out.content);
  reader.Optional("refusal", &out.refusal);
  MLC_RETURN_IF_ERROR(reader.status());
  return out;
}

Json ChoiceLogprobs::ToJson() const {
  return wire::ObjectWriter().Always("content", content).Always("refusal", refusal).Finish();
}

wire::Words WireWords(FinishReason) {
  static constexpr const char* kWords[] = {
      "stop", "length", "tool_calls", "content_filter", "error",
  };
  return {kWords, std::size(kWords)};
}

Result<ChatCompletionChoice> ChatCompletionChoice::Parse(const Json& json, const wire::Path& path) {
  ChatCompletionChoice out;
  wire::ObjectReader reader(json, path);
  reader.Required("index", &out.index, wire::Limits().AtLeast(0));
  reader.Required("message", &out.message);
  reader.Optional("logprobs", &out.logprobs);
  reader.Required("finish_reason", &out.finish_reason);
  reader.Optional("stop_reason", &out.stop_reason);
  MLC_RETURN_IF_ERROR(reader.status());
  return out;
}

Json ChatCompletionChoice::ToJson() const {
  return wire::ObjectWriter()
      .Required("index", index)
      .Required("message", message)
      .Always("logprobs", logprobs)
      .Required("finish_reason", finish_reason)
      .Optional("stop_reason", stop_reason)
      .Finish();
}

Result<PromptTokensDetails> PromptTokensDetails::Parse(const Json& json, const wire::Path& path) {
  PromptTokensDetails out;
  wire::ObjectReader reader(json, path);
  reader.Optional("cached_tokens", &out.cached_tokens, wire::Limits().AtLeast(0));
  MLC_RETURN_IF_ERROR(reader.status());
  return out;
}

Json PromptTokensDetails::ToJson() const {
  return wire::ObjectWriter().Optional("cached_tokens", cached_tokens).Finish();
}

Result<CompletionTokensDetails> CompletionTokensDetails::Parse(const Json& json,
                                                               const wire::Path& path) {
  CompletionTokensDetails out;
  wire::ObjectReader reader(json, path);
  reader.Optional("reasoning_tokens", &out.reasoning_tokens, wire::Limits().AtLeast(0));
  reader.Optional("accepted_prediction_tokens", &out.accepted_prediction_tokens,
                  wire::Limits().AtLeast(0));
  reader.Optional("rejected_prediction_tokens", &out.rejected_prediction_tokens,
                  wire::Limits().AtLeast(0));
  MLC_RETURN_IF_ERROR(reader.status());
  return out;
}

Json CompletionTokensDetails::ToJson() const {
  return wire::ObjectWriter()
      .Optional("reasoning_tokens", reasoning_tokens)
      .Optional("accepted_prediction_tokens", accepted_prediction_tokens)
      .Optional("rejected_prediction_tokens", rejected_prediction_tokens)
      .Finish();
}

Result<CompletionUsageExtra> CompletionUsageExtra::Parse(const Json& json, const wire::Path& path) {
  CompletionUsageExtra out;
  wire::ObjectReader reader(json, path);
  reader.Optional("prompt_tokens", &out.prompt_tokens, wire::Limits().AtLeast(0));
  reader.Optional("completion_tokens", &out.completion_tokens, wire::Limits().AtLeast(0));
  reader.Optional("prefill_tokens", &out.prefill_tokens, wire::Limits().AtLeast(0));
  reader.Optional("decode_tokens", &out.decode_tokens, wire::Limits().AtLeast(0));
  reader.Optional("jump_forward_tokens", &out.jump_forward_tokens, wire::Limits().AtLeast(0));
  reader.Optional("prefill_tokens_per_s", &out.prefill_tokens_per_s, wire::Limits().AtLeast(0));
  reader.Optional("decode_tokens_per_s", &out.decode_tokens_per_s, wire::Limits().AtLeast(0));
  reader.Optional("ttft_s", &out.ttft_s, wire::Limits().AtLeast(0));
  reader.Optional("inter_token_latency_s", &out.inter_token_latency_s, wire::Limits().AtLeast(0));
  reader.Optional("end_to_end_latency_s", &out.end_to_end_latency_s, wire::Limits().AtLeast(0));
  reader.Optional("drafted_tokens", &out.drafted_tokens, wire::Limits().AtLeast(0));
  reader.Optional("accepted_draft_tokens", &out.accepted_draft_tokens, wire::Limits().AtLeast(0));
  reader.Optional("draft_gain", &out.draft_gain, wire::Limits().AtLeast(0));
  MLC_RETURN_IF_ERROR(reader.status());
  return out;
}

Json CompletionUsageExtra::ToJson() const {
  return wire::ObjectWriter()
      .Optional("prompt_tokens", prompt_tokens)
      .Optional("completion_tokens", completion_tokens)
      .Optional("prefill_tokens", prefill_tokens)
      .Optional("decode_tokens", decode_tokens)
      .Optional("jump_forward_tokens", jump_forward_tokens)
      .Optional("prefill_tokens_per_s", prefill_tokens_per_s)
      .Optional("decode_tokens_per_s", decode_tokens_per_s)
      .Optional("ttft_s", ttft_s)
      .Optional("inter_token_latency_s", inter_token_latency_s)
      .Optional("end_to_end_latency_s", end_to_end_latency_s)
      .Optional("drafted_tokens", drafted_tokens)
      .Optional("accepted_draft_tokens", accepted_draft_tokens)
      .Optional("draft_gain", draft_gain)
      .Finish();
}

Result<CompletionUsage> CompletionUsage::Parse(const Json& json, const wire::Path& path) {
  CompletionUsage out;
  wire::ObjectReader reader(json, path);
  reader.Required("prompt_tokens", &out.prompt_tokens, wire::Limits().AtLeast(0));
  reader.Required("completion_tokens", &out.completion_tokens, wire::Limits().AtLeast(0));
  reader.Required("total_tokens", &out.total_tokens, wire::Limits().AtLeast(0));
  reader.Optional("prompt_tokens_details", &out.prompt_tokens_details);
  reader.Optional("completion_tokens_details", &out.completion_tokens_details);
  reader.Optional("extra", &out.extra);
  MLC_RETURN_IF_ERROR(reader.status());
  return out;
}

Json CompletionUsage::ToJson() const {
  return wire::ObjectWriter()
      .Required("prompt_tokens", prompt_tokens)
      .Required("completion_tokens", completion_tokens)
      .Required("total_tokens", total_tokens)
      .Optional("prompt_tokens_details", prompt_tokens_details)
      .Optional("completion_tokens_details", completion_tokens_details)
      .Optional("extra", extra)
      .Finish();
}

Result<Timings> Timings::Parse(const Json& json, const wire::Path& path) {
  Timings out;
  wire::ObjectReader reader(json, path);
  reader.Required("cache_n", &out.cache_n, wire::Limits().AtLeast(0));
  reader.Required("prompt_n", &out.prompt_n, wire::Limits().AtLeast(0));
  reader.Required("prompt_ms", &out.prompt_ms, wire::Limits().AtLeast(0));
  reader.Required("prompt_per_token_ms", &out.prompt_per_token_ms, wire::Limits().AtLeast(0));
  reader.Required("prompt_per_second", &out.prompt_per_second, wire::Limits().AtLeast(0));
  reader.Required("predicted_n", &out.predicted_n, wire::Limits().AtLeast(0));
  reader.Required("predicted_ms", &out.predicted_ms, wire::Limits().AtLeast(0));
  reader.Required("predicted_per_token_ms", &out.predicted_per_token_ms, wire::Limits().AtLeast(0));
  reader.Required("predicted_per_second", &out.predicted_per_second, wire::Limits().AtLeast(0));
  reader.Optional("draft_n", &out.draft_n, wire::Limits().AtLeast(0));
  reader.Optional("draft_n_accepted", &out.draft_n_accepted, wire::Limits().AtLeast(0));
  MLC_RETURN_IF_ERROR(reader.status());
  return out;
}

Json Timings::ToJson() const {
  return wire::ObjectWriter()
      .Required("cache_n", cache_n)
      .Required("prompt_n", prompt_n)
      .Required("prompt_ms", prompt_ms)
      .Required("prompt_per_token_ms", prompt_per_token_ms)
      .Required("prompt_per_second", prompt_per_second)
      .Required("predicted_n", predicted_n)
      .Required("predicted_ms", predicted_ms)
      .Required("predicted_per_token_ms", predicted_per_token_ms)
      .Required("predicted_per_second", predicted_per_second)
      .Optional("draft_n", draft_n)
      .Optional("draft_n_accepted", draft_n_accepted)
      .Finish();
}

Result<SchemaWarning> SchemaWarning::Parse(const Json& json, const wire::Path& path) {
  SchemaWarning out;
  wire::ObjectReader reader(json, path);
  reader.Required("param", &out.param);
  reader.Required("path", &out.path);
  reader.Required("message", &out.message);
  MLC_RETURN_IF_ERROR(reader.status());
  return out;
}

Json SchemaWarning::ToJson() const {
  return wire::ObjectWriter()
      .Required("param", param)
      .Required("path", path)
      .Required("message", message)
      .Finish();
}

Result<ChatCompletion> ChatCompletion::Parse(const Json& json, const wire::Path& path) {
  ChatCompletion out;
  wire::ObjectReader reader(json, path);
  reader.Required("id", &out.id);
  reader.Constant("object", "chat.completion");
  reader.Required("created", &out.created, wire::Limits().AtLeast(0));
  reader.Required("model", &out.model);
  reader.Required("choices", &out.choices);
  reader.Optional("usage", &out.usage);
  reader.Optional("timings", &out.timings);
  reader.Optional("warnings", &out.warnings);
  reader.Optional("system_fingerprint", &out.system_fingerprint);
  MLC_RETURN_IF_ERROR(reader.status());
  return out;
}

Json ChatCompletion::ToJson() const {
  return wire::ObjectWriter()
      .Required("id", id)
      .Constant("object", "chat.completion")
      .Required("created", created)
      .Required("model", model)
      .Required("choices", choices)
      .Optional("usage", usage)
      .Optional("timings", timings)
      .Optional("warnings", warnings)
      .Optional("system_fingerprint", system_fingerprint)
      .Finish();
}

wire::Words WireWords(ToolType) {
  static constexpr const char* kWords[] = {
      "function",
  };
  return {kWords, std::size(kWords)};
}

Result<ChoiceDeltaFunctionCall> ChoiceDeltaFunctionCall::Parse(const Json& json,
                                                               const wire::Path& path) {
  ChoiceDeltaFunctionCall out;
  wire::ObjectReader reader(json, path);
  reader.Optional("name", &out.name);
  reader.Optional("arguments", &out.arguments);
  MLC_RETURN_IF_ERROR(reader.status());
  return out;
}

Json ChoiceDeltaFunctionCall::ToJson() const {
  return wire::ObjectWriter().Optional("name", name).Optional("arguments", arguments).Finish();
}

Result<ChoiceDeltaToolCall> ChoiceDeltaToolCall::Parse(const Json& json, const wire::Path& path) {
  ChoiceDeltaToolCall out;
  wire::ObjectReader reader(json, path);
  reader.Required("index", &out.index, wire::Limits().AtLeast(0));
  reader.Optional("id", &out.id);
  reader.Optional("type", &out.type);
  reader.Optional("function", &out.function);
  MLC_RETURN_IF_ERROR(reader.status());
  return out;
}

Json ChoiceDeltaToolCall::ToJson() const {
  return wire::ObjectWriter()
      .Required("index", index)
      .Optional("id", id)
      .Optional("type", type)
      .Optional("function", function)
      .Finish();
}

Result<ChatCompletionChunkDelta> ChatCompletionChunkDelta::Parse(const Json& json,
                                                                 const wire::Path& path) {
  ChatCompletionChunkDelta out;
  wire::ObjectReader reader(json, path);
  reader.Optional("role", &out.role);
  reader.Optional("content", &out.content);
  reader.Optional("reasoning_content", &out.reasoning_content);
  reader.Optional("refusal", &out.refusal);
  reader.Optional("tool_calls", &out.tool_calls);
  MLC_RETURN_IF_ERROR(reader.status());
  return out;
}

Json ChatCompletionChunkDelta::ToJson() const {
  return wire::ObjectWriter()
      .Optional("role", role)
      .Optional("content", content)
      .Optional("reasoning_content", reasoning_content)
      .Optional("refusal", refusal)
      .Optional("tool_calls", tool_calls)
      .Finish();
}

Result<ChatCompletionChunkChoice> ChatCompletionChunkChoice::Parse(const Json& json,
                                                                   const wire::Path& path) {
  ChatCompletionChunkChoice out;
  wire::ObjectReader reader(json, path);
  reader.Required("index", &out.index, wire::Limits().AtLeast(0));
  reader.Required("delta", &out.delta);
  reader.Optional("logprobs", &out.logprobs);
  reader.Optional("finish_reason", &out.finish_reason);
  reader.Optional("stop_reason", &out.stop_reason);
  MLC_RETURN_IF_ERROR(reader.status());
  return out;
}

Json ChatCompletionChunkChoice::ToJson() const {
  return wire::ObjectWriter()
      .Required("index", index)
      .Required("delta", delta)
      .Always("logprobs", logprobs)
      .Always("finish_reason", finish_reason)
      .Optional("stop_reason", stop_reason)
      .Finish();
}

Result<PromptProgress> PromptProgress::Parse(const Json& json, const wire::Path& path) {
  PromptProgress out;
  wire::ObjectReader reader(json, path);
  reader.Required("total", &out.total, wire::Limits().AtLeast(0));
  reader.Required("cache", &out.cache, wire::Limits().AtLeast(0));
  reader.Required("processed", &out.processed, wire::Limits().AtLeast(0));
  reader.Required("time_ms", &out.time_ms, wire::Limits().AtLeast(0));
  MLC_RETURN_IF_ERROR(reader.status());
  return out;
}

Json PromptProgress::ToJson() const {
  return wire::ObjectWriter()
      .Required("total", total)
      .Required("cache", cache)
      .Required("processed", processed)
      .Required("time_ms", time_ms)
      .Finish();
}

Result<ChatCompletionChunk> ChatCompletionChunk::Parse(const Json& json, const wire::Path& path) {
  ChatCompletionChunk out;
  wire::ObjectReader reader(json, path);
  reader.Required("id", &out.id);
  reader.Constant("object", "chat.completion.chunk");
  reader.Required("created", &out.created, wire::Limits().AtLeast(0));
  reader.Required("model", &out.model);
  reader.Required("choices", &out.choices);
  reader.Optional("usage", &out.usage);
  reader.Optional("timings", &out.timings);
  reader.Optional("prompt_progress", &out.prompt_progress);
  reader.Optional("warnings", &out.warnings);
  reader.Optional("system_fingerprint", &out.system_fingerprint);
  MLC_RETURN_IF_ERROR(reader.status());
  return out;
}

Json ChatCompletionChunk::ToJson() const {
  return wire::ObjectWriter()
      .Required("id", id)
      .Constant("object", "chat.completion.chunk")
      .Required("created", created)
      .Required("model", model)
      .Required("choices", choices)
      .Optional("usage", usage)
      .Optional("timings", timings)
      .Optional("prompt_progress", prompt_progress)
      .Optional("warnings", warnings)
      .Optional("system_fingerprint", system_fingerprint)
      .Finish();
}

Result<CompletionLogprobs> CompletionLogprobs::Parse(const Json& json, const wire::Path& path) {
  CompletionLogprobs out;
  wire::ObjectReader reader(json, path);
  reader.Optional("tokens", &out.tokens);
  reader.Optional("token_logprobs", &out.token_logprobs);
  reader.Optional("top_logprobs", &out.top_logprobs);
  reader.Optional("text_offset", &out.text_offset);
  MLC_RETURN_IF_ERROR(reader.status());
  return out;
}

Json CompletionLogprobs::ToJson() const {
  return wire::ObjectWriter()
      .Optional("tokens", tokens)
      .Optional("token_logprobs", token_logprobs)
      .Optional("top_logprobs", top_logprobs)
      .Optional("text_offset", text_offset)
      .Finish();
}

Result<CompletionChoice> CompletionChoice::Parse(const Json& json, const wire::Path& path) {
  CompletionChoice out;
  wire::ObjectReader reader(json, path);
  reader.Required("index", &out.index, wire::Limits().AtLeast(0));
  reader.Required("text", &out.text);
  reader.Optional("logprobs", &out.logprobs);
  reader.Optional("finish_reason", &out.finish_reason);
  reader.Optional("stop_reason", &out.stop_reason);
  MLC_RETURN_IF_ERROR(reader.status());
  return out;
}

Json CompletionChoice::ToJson() const {
  return wire::ObjectWriter()
      .Required("index", index)
      .Required("text", text)
      .Always("logprobs", logprobs)
      .Always("finish_reason", finish_reason)
      .Optional("stop_reason", stop_reason)
      .Finish();
}

Result<Completion> Completion::Parse(const Json& json, const wire::Path& path) {
  Completion out;
  wire::ObjectReader reader(json, path);
  reader.Required("id", &out.id);
  reader.Constant("object", "text_completion");
  reader.Required("created", &out.created, wire::Limits().AtLeast(0));
  reader.Required("model", &out.model);
  reader.Required("choices", &out.choices);
  reader.Optional("usage", &out.usage);
  reader.Optional("timings", &out.timings);
  reader.Optional("prompt_progress", &out.prompt_progress);
  reader.Optional("warnings", &out.warnings);
  reader.Optional("system_fingerprint", &out.system_fingerprint);
  MLC_RETURN_IF_ERROR(reader.status());
  return out;
}

Json Completion::ToJson() const {
  return wire::ObjectWriter()
      .Required("id", id)
      .Constant("object", "text_completion")
      .Required("created", created)
      .Required("model", model)
      .Required("choices", choices)
      .Optional("usage", usage)
      .Optional("timings", timings)
      .Optional("prompt_progress", prompt_progress)
      .Optional("warnings", warnings)
      .Optional("system_fingerprint", system_fingerprint)
      .Finish();
}

Result<EmbeddingVector> EmbeddingVector::Parse(const Json& json, const wire::Path& path) {
  EmbeddingVector out;
  if (json.is_array()) {
    MLC_RETURN_IF_ERROR(wire::ReadInto<std::vector<double>>(json, path, wire::Limits(), &out));
    return out;
  }
  if (json.is_string()) {
    MLC_RETURN_IF_ERROR(wire::ReadInto<std::string>(json, path, wire::Limits(), &out));
    return out;
  }
  return wire::WrongType(json, path, "one of an array or a string");
}

Json EmbeddingVector::ToJson() const { return wire::WriteHeld(value); }

Result<Embedding> Embedding::Parse(const Json& json, const wire::Path& path) {
  Embedding out;
  wire::ObjectReader reader(json, path);
  reader.Required("index", &out.index, wire::Limits().AtLeast(0));
  reader.Constant("object", "embedding");
  reader.Required("embedding", &out.embedding);
  MLC_RETURN_IF_ERROR(reader.status());
  return out;
}

Json Embedding::ToJson() const {
  return wire::ObjectWriter()
      .Required("index", index)
      .Constant("object", "embedding")
      .Required("embedding", embedding)
      .Finish();
}

Result<EmbeddingUsage> EmbeddingUsage::Parse(const Json& json, const wire::Path& path) {
  EmbeddingUsage out;
  wire::ObjectReader reader(json, path);
  reader.Required("prompt_tokens", &out.prompt_tokens, wire::Limits().AtLeast(0));
  reader.Required("total_tokens", &out.total_tokens, wire::Limits().AtLeast(0));
  MLC_RETURN_IF_ERROR(reader.status());
  return out;
}

Json EmbeddingUsage::ToJson() const {
  return wire::ObjectWriter()
      .Required("prompt_tokens", prompt_tokens)
      .Required("total_tokens", total_tokens)
      .Finish();
}

Result<EmbeddingResponse> EmbeddingResponse::Parse(const Json& json, const wire::Path& path) {
  EmbeddingResponse out;
  wire::ObjectReader reader(json, path);
  reader.Constant("object", "list");
  reader.Required("data", &out.data);
  reader.Required("model", &out.model);
  reader.Required("usage", &out.usage);
  MLC_RETURN_IF_ERROR(reader.status());
  return out;
}

Json EmbeddingResponse::ToJson() const {
  return wire::ObjectWriter()
      .Constant("object", "list")
      .Required("data", data)
      .Required("model", model)
      .Required("usage", usage)
      .Finish();
}

Result<RerankResult> RerankResult::Parse(const Json& json, const wire::Path& path) {
  RerankResult out;
  wire::ObjectReader reader(json, path);
  reader.Required("index", &out.index, wire::Limits().AtLeast(0));
  reader.Required("relevance_score", &out.relevance_score);
  reader.Optional("document", &out.document);
  MLC_RETURN_IF_ERROR(reader.status());
  return out;
}

Json RerankResult::ToJson() const {
  return wire::ObjectWriter()
      .Required("index", index)
      .Required("relevance_score", relevance_score)
      .Optional("document", document)
      .Finish();
}

Result<RerankResponse> RerankResponse::Parse(const Json& json, const wire::Path& path) {
  RerankResponse out;
  wire::ObjectReader reader(json, path);
  reader.Required("id", &out.id);
  reader.Constant("object", "list");
  reader.Required("model", &out.model);
  reader.Required("results", &out.results);
  reader.Required("usage", &out.usage);
  MLC_RETURN_IF_ERROR(reader.status());
  return out;
}

Json RerankResponse::ToJson() const {
  return wire::ObjectWriter()
      .Required("id", id)
      .Constant("object", "list")
      .Required("model", model)
      .Required("results", results)
      .Required("usage", usage)
      .Finish();
}

Result<TokenizeResponse> TokenizeResponse::Parse(const Json& json, const wire::Path& path) {
  TokenizeResponse out;
  wire::ObjectReader reader(json, path);
  reader.Required("tokens", &out.tokens, wire::Limits().AtLeast(0));
  reader.Required("count", &out.count, wire::Limits().AtLeast(0));
  MLC_RETURN_IF_ERROR(reader.status());
  return out;
}

Json TokenizeResponse::ToJson() const {
  return wire::ObjectWriter().Required("tokens", tokens).Required("count", count).Finish();
}

Result<DetokenizeResponse> DetokenizeResponse::Parse(const Json& json, const wire::Path& path) {
  DetokenizeResponse out;
  wire::ObjectReader reader(json, path);
  reader.Required("text", &out.text);
  MLC_RETURN_IF_ERROR(reader.status());
  return out;
}

Json DetokenizeResponse::ToJson() const {
  return wire::ObjectWriter().Required("text", text).Finish();
}

Result<InputTokensResponse> InputTokensResponse::Parse(const Json& json, const wire::Path& path) {
  InputTokensResponse out;
  wire::ObjectReader reader(json, path);
  reader.Required("input_tokens", &out.input_tokens, wire::Limits().AtLeast(0));
  MLC_RETURN_IF_ERROR(reader.status());
  return out;
}

Json InputTokensResponse::ToJson() const {
  return wire::ObjectWriter().Required("input_tokens", input_tokens).Finish();
}

Result<RenderResponse> RenderResponse::Parse(const Json& json, const wire::Path& path) {
  RenderResponse out;
  wire::ObjectReader reader(json, path);
  reader.Required("prompt", &out.prompt);
  MLC_RETURN_IF_ERROR(reader.status());
  return out;
}

Json RenderResponse::ToJson() const {
  return wire::ObjectWriter().Required("prompt", prompt).Finish();
}

Result<KVSaveResponse> KVSaveResponse::Parse(const Json& json, const wire::Path& path) {
  KVSaveResponse out;
  wire::ObjectReader reader(json, path);
  reader.Required("tokens", &out.tokens, wire::Limits().AtLeast(0));
  reader.Required("bytes", &out.bytes, wire::Limits().AtLeast(0));
  MLC_RETURN_IF_ERROR(reader.status());
  return out;
}

Json KVSaveResponse::ToJson() const {
  return wire::ObjectWriter().Required("tokens", tokens).Required("bytes", bytes).Finish();
}

Result<KVLoadResponse> KVLoadResponse::Parse(const Json& json, const wire::Path& path) {
  KVLoadResponse out;
  wire::ObjectReader reader(json, path);
  reader.Required("tokens", &out.tokens, wire::Limits().AtLeast(0));
  MLC_RETURN_IF_ERROR(reader.status());
  return out;
}

Json KVLoadResponse::ToJson() const {
  return wire::ObjectWriter().Required("tokens", tokens).Finish();
}

Result<KVHeldPrompt> KVHeldPrompt::Parse(const Json& json, const wire::Path& path) {
  KVHeldPrompt out;
  wire::ObjectReader reader(json, path);
  reader.Required("tokens", &out.tokens, wire::Limits().AtLeast(0));
  reader.Required("held", &out.held, wire::Limits().AtLeast(0));
  MLC_RETURN_IF_ERROR(reader.status());
  return out;
}

Json KVHeldPrompt::ToJson() const {
  return wire::ObjectWriter().Required("tokens", tokens).Required("held", held).Finish();
}

Result<KVHeldResponse> KVHeldResponse::Parse(const Json& json, const wire::Path& path) {
  KVHeldResponse out;
  wire::ObjectReader reader(json, path);
  reader.Required("prompts", &out.prompts);
  MLC_RETURN_IF_ERROR(reader.status());
  return out;
}

Json KVHeldResponse::ToJson() const {
  return wire::ObjectWriter().Required("prompts", prompts).Finish();
}

Result<TrimResponse> TrimResponse::Parse(const Json& json, const wire::Path& path) {
  TrimResponse out;
  wire::ObjectReader reader(json, path);
  reader.Required("pages", &out.pages, wire::Limits().AtLeast(0));
  reader.Required("page_bytes", &out.page_bytes, wire::Limits().AtLeast(0));
  reader.Required("weight_bytes", &out.weight_bytes, wire::Limits().AtLeast(0));
  MLC_RETURN_IF_ERROR(reader.status());
  return out;
}

Json TrimResponse::ToJson() const {
  return wire::ObjectWriter()
      .Required("pages", pages)
      .Required("page_bytes", page_bytes)
      .Required("weight_bytes", weight_bytes)
      .Finish();
}

Result<PrewarmResponse> PrewarmResponse::Parse(const Json& json, const wire::Path& path) {
  PrewarmResponse out;
  wire::ObjectReader reader(json, path);
  reader.Required("weight_bytes", &out.weight_bytes, wire::Limits().AtLeast(0));
  MLC_RETURN_IF_ERROR(reader.status());
  return out;
}

Json PrewarmResponse::ToJson() const {
  return wire::ObjectWriter().Required("weight_bytes", weight_bytes).Finish();
}

Result<ThermalLimits> ThermalLimits::Parse(const Json& json, const wire::Path& path) {
  ThermalLimits out;
  wire::ObjectReader reader(json, path);
  reader.Required("num_threads", &out.num_threads, wire::Limits().AtLeast(1));
  reader.Required("max_num_sequence", &out.max_num_sequence, wire::Limits().AtLeast(1));
  reader.Required("prefill_chunk_size", &out.prefill_chunk_size, wire::Limits().AtLeast(1));
  MLC_RETURN_IF_ERROR(reader.status());
  return out;
}

Json ThermalLimits::ToJson() const {
  return wire::ObjectWriter()
      .Required("num_threads", num_threads)
      .Required("max_num_sequence", max_num_sequence)
      .Required("prefill_chunk_size", prefill_chunk_size)
      .Finish();
}

Result<AdapterInfo> AdapterInfo::Parse(const Json& json, const wire::Path& path) {
  AdapterInfo out;
  wire::ObjectReader reader(json, path);
  reader.Required("name", &out.name);
  reader.Required("rank", &out.rank, wire::Limits().AtLeast(1));
  reader.Required("hash", &out.hash);
  MLC_RETURN_IF_ERROR(reader.status());
  return out;
}

Json AdapterInfo::ToJson() const {
  return wire::ObjectWriter()
      .Required("name", name)
      .Required("rank", rank)
      .Required("hash", hash)
      .Finish();
}

Result<AdapterList> AdapterList::Parse(const Json& json, const wire::Path& path) {
  AdapterList out;
  wire::ObjectReader reader(json, path);
  reader.Required("adapters", &out.adapters);
  reader.Required("ranks", &out.ranks, wire::Limits().AtLeast(0));
  reader.Required("free_ranks", &out.free_ranks, wire::Limits().AtLeast(0));
  MLC_RETURN_IF_ERROR(reader.status());
  return out;
}

Json AdapterList::ToJson() const {
  return wire::ObjectWriter()
      .Required("adapters", adapters)
      .Required("ranks", ranks)
      .Required("free_ranks", free_ranks)
      .Finish();
}

wire::Words WireWords(ModelStatus) {
  static constexpr const char* kWords[] = {
      "unloaded", "loading", "loaded", "sleeping", "leaving", "failed",
  };
  return {kWords, std::size(kWords)};
}

wire::Words WireWords(InputModality) {
  static constexpr const char* kWords[] = {
      "text",
      "image",
  };
  return {kWords, std::size(kWords)};
}

Result<ModelObject> ModelObject::Parse(const Json& json, const wire::Path& path) {
  ModelObject out;
  wire::ObjectReader reader(json, path);
  reader.Required("id", &out.id);
  reader.Constant("object", "model");
  reader.Required("created", &out.created, wire::Limits().AtLeast(0));
  reader.Required("owned_by", &out.owned_by);
  reader.Optional("status", &out.status);
  reader.Optional("progress", &out.progress, wire::Limits().AtLeast(0).AtMost(1));
  reader.Optional("input_modalities", &out.input_modalities);
  reader.Optional("parent", &out.parent);
  reader.Optional("root", &out.root);
  MLC_RETURN_IF_ERROR(reader.status());
  return out;
}

Json ModelObject::ToJson() const {
  return wire::ObjectWriter()
      .Required("id", id)
      .Constant("object", "model")
      .Required("created", created)
      .Required("owned_by", owned_by)
      .Optional("status", status)
      .Optional("progress", progress)
      .Optional("input_modalities", input_modalities)
      .Optional("parent", parent)
      .Optional("root", root)
      .Finish();
}

Result<ModelList> ModelList::Parse(const Json& json, const wire::Path& path) {
  ModelList out;
  wire::ObjectReader reader(json, path);
  reader.Constant("object", "list");
  reader.Required("data", &out.data);
  MLC_RETURN_IF_ERROR(reader.status());
  return out;
}

Json ModelList::ToJson() const {
  return wire::ObjectWriter().Constant("object", "list").Required("data", data).Finish();
}

Result<DeviceProbe> DeviceProbe::Parse(const Json& json, const wire::Path& path) {
  DeviceProbe out;
  wire::ObjectReader reader(json, path);
  reader.Required("name", &out.name);
  reader.Required("found", &out.found);
  reader.Required("reason", &out.reason);
  reader.Optional("description", &out.description);
  reader.Optional("memory_bytes", &out.memory_bytes, wire::Limits().AtLeast(0));
  reader.Optional("max_buffer_bytes", &out.max_buffer_bytes, wire::Limits().AtLeast(0));
  reader.Optional("local_memory_bytes", &out.local_memory_bytes, wire::Limits().AtLeast(0));
  reader.Optional("max_group_size", &out.max_group_size, wire::Limits().AtLeast(0));
  reader.Optional("f16", &out.f16);
  reader.Optional("is_processor", &out.is_processor);
  MLC_RETURN_IF_ERROR(reader.status());
  return out;
}

Json DeviceProbe::ToJson() const {
  return wire::ObjectWriter()
      .Required("name", name)
      .Required("found", found)
      .Required("reason", reason)
      .Optional("description", description)
      .Optional("memory_bytes", memory_bytes)
      .Optional("max_buffer_bytes", max_buffer_bytes)
      .Optional("local_memory_bytes", local_memory_bytes)
      .Optional("max_group_size", max_group_size)
      .Optional("f16", f16)
      .Optional("is_processor", is_processor)
      .Finish();
}

Result<RequestMetrics> RequestMetrics::Parse(const Json& json, const wire::Path& path) {
  RequestMetrics out;
  wire::ObjectReader reader(json, path);
  reader.Optional("prompt_tokens", &out.prompt_tokens, wire::Limits().AtLeast(0));
  reader.Optional("completion_tokens", &out.completion_tokens, wire::Limits().AtLeast(0));
  reader.Optional("prefill_tokens", &out.prefill_tokens, wire::Limits().AtLeast(0));
  reader.Optional("decode_tokens", &out.decode_tokens, wire::Limits().AtLeast(0));
  reader.Optional("jump_forward_tokens", &out.jump_forward_tokens, wire::Limits().AtLeast(0));
  reader.Optional("prefill_tokens_per_s", &out.prefill_tokens_per_s, wire::Limits().AtLeast(0));
  reader.Optional("decode_tokens_per_s", &out.decode_tokens_per_s, wire::Limits().AtLeast(0));
  reader.Optional("ttft_s", &out.ttft_s, wire::Limits().AtLeast(0));
  reader.Optional("inter_token_latency_s", &out.inter_token_latency_s, wire::Limits().AtLeast(0));
  reader.Optional("end_to_end_latency_s", &out.end_to_end_latency_s, wire::Limits().AtLeast(0));
  reader.Optional("drafted_tokens", &out.drafted_tokens, wire::Limits().AtLeast(0));
  reader.Optional("accepted_draft_tokens", &out.accepted_draft_tokens, wire::Limits().AtLeast(0));
  reader.Optional("draft_gain", &out.draft_gain, wire::Limits().AtLeast(0));
  MLC_RETURN_IF_ERROR(reader.status());
  return out;
}

Json RequestMetrics::ToJson() const {
  return wire::ObjectWriter()
      .Optional("prompt_tokens", prompt_tokens)
      .Optional("completion_tokens", completion_tokens)
      .Optional("prefill_tokens", prefill_tokens)
      .Optional("decode_tokens", decode_tokens)
      .Optional("jump_forward_tokens", jump_forward_tokens)
      .Optional("prefill_tokens_per_s", prefill_tokens_per_s)
      .Optional("decode_tokens_per_s", decode_tokens_per_s)
      .Optional("ttft_s", ttft_s)
      .Optional("inter_token_latency_s", inter_token_latency_s)
      .Optional("end_to_end_latency_s", end_to_end_latency_s)
      .Optional("drafted_tokens", drafted_tokens)
      .Optional("accepted_draft_tokens", accepted_draft_tokens)
      .Optional("draft_gain", draft_gain)
      .Finish();
}

Result<KnownTextMetrics> KnownTextMetrics::Parse(const Json& json, const wire::Path& path) {
  KnownTextMetrics out;
  wire::ObjectReader reader(json, path);
  reader.Required("draft_count", &out.draft_count, wire::Limits().AtLeast(0));
  reader.Required("accept_count", &out.accept_count, wire::Limits().AtLeast(0));
  MLC_RETURN_IF_ERROR(reader.status());
  return out;
}

Json KnownTextMetrics::ToJson() const {
  return wire::ObjectWriter()
      .Required("draft_count", draft_count)
      .Required("accept_count", accept_count)
      .Finish();
}

Result<SpecDecodeMetrics> SpecDecodeMetrics::Parse(const Json& json, const wire::Path& path) {
  SpecDecodeMetrics out;
  wire::ObjectReader reader(json, path);
  reader.Optional("draft_count", &out.draft_count);
  reader.Optional("accept_count", &out.accept_count);
  reader.RawObject("accept_prob", &out.accept_prob);
  reader.RawObject("accept_rate", &out.accept_rate);
  reader.RawObject("accept_len", &out.accept_len);
  MLC_RETURN_IF_ERROR(reader.status());
  return out;
}

Json SpecDecodeMetrics::ToJson() const {
  return wire::ObjectWriter()
      .Optional("draft_count", draft_count)
      .Optional("accept_count", accept_count)
      .Optional("accept_prob", accept_prob)
      .Optional("accept_rate", accept_rate)
      .Optional("accept_len", accept_len)
      .Finish();
}

Result<EngineMetrics> EngineMetrics::Parse(const Json& json, const wire::Path& path) {
  EngineMetrics out;
  wire::ObjectReader reader(json, path);
  reader.Optional("engine_prefill_time_sum", &out.engine_prefill_time_sum,
                  wire::Limits().AtLeast(0));
  reader.Optional("engine_decode_time_sum", &out.engine_decode_time_sum, wire::Limits().AtLeast(0));
  reader.Optional("engine_jump_forward_time_sum", &out.engine_jump_forward_time_sum,
                  wire::Limits().AtLeast(0));
  reader.Optional("prompt_tokens_sum", &out.prompt_tokens_sum, wire::Limits().AtLeast(0));
  reader.Optional("prefill_tokens_sum", &out.prefill_tokens_sum, wire::Limits().AtLeast(0));
  reader.Optional("decode_tokens_sum", &out.decode_tokens_sum, wire::Limits().AtLeast(0));
  reader.Optional("jump_forward_tokens_sum", &out.jump_forward_tokens_sum,
                  wire::Limits().AtLeast(0));
  reader.Optional("completion_tokens_sum", &out.completion_tokens_sum, wire::Limits().AtLeast(0));
  reader.Optional("prefill_tokens_per_s", &out.prefill_tokens_per_s, wire::Limits().AtLeast(0));
  reader.Optional("decode_tokens_per_s", &out.decode_tokens_per_s, wire::Limits().AtLeast(0));
  reader.Optional("kv_pages_total", &out.kv_pages_total, wire::Limits().AtLeast(0));
  reader.Optional("kv_pages_free", &out.kv_pages_free, wire::Limits().AtLeast(0));
  reader.Optional("num_running_sequences", &out.num_running_sequences, wire::Limits().AtLeast(0));
  reader.Optional("num_waiting_sequences", &out.num_waiting_sequences, wire::Limits().AtLeast(0));
  reader.Optional("num_queued_requests", &out.num_queued_requests, wire::Limits().AtLeast(0));
  reader.Optional("num_steps", &out.num_steps, wire::Limits().AtLeast(0));
  reader.Optional("num_preemptions", &out.num_preemptions, wire::Limits().AtLeast(0));
  reader.Optional("restored_tokens_sum", &out.restored_tokens_sum, wire::Limits().AtLeast(0));
  reader.Optional("written_blocks_sum", &out.written_blocks_sum, wire::Limits().AtLeast(0));
  reader.Optional("prefix_cache_ram_bytes", &out.prefix_cache_ram_bytes, wire::Limits().AtLeast(0));
  reader.Optional("device_read_bytes_sum", &out.device_read_bytes_sum, wire::Limits().AtLeast(0));
  reader.Optional("encoded_pictures_sum", &out.encoded_pictures_sum, wire::Limits().AtLeast(0));
  reader.Optional("engine_encode_time_sum", &out.engine_encode_time_sum, wire::Limits().AtLeast(0));
  reader.Optional("picture_cache_hits_sum", &out.picture_cache_hits_sum, wire::Limits().AtLeast(0));
  reader.Optional("picture_cache_bytes", &out.picture_cache_bytes, wire::Limits().AtLeast(0));
  reader.Optional("num_finished_requests", &out.num_finished_requests, wire::Limits().AtLeast(0));
  reader.Optional("num_failed_requests", &out.num_failed_requests, wire::Limits().AtLeast(0));
  reader.Optional("last_finished_request", &out.last_finished_request);
  reader.Optional("jump_forward", &out.jump_forward);
  reader.Optional("prediction", &out.prediction);
  reader.Optional("prompt_lookup", &out.prompt_lookup);
  reader.Optional("drafted_tokens_sum", &out.drafted_tokens_sum, wire::Limits().AtLeast(0));
  reader.Optional("accepted_draft_tokens_sum", &out.accepted_draft_tokens_sum,
                  wire::Limits().AtLeast(0));
  reader.Optional("draft_gain", &out.draft_gain, wire::Limits().AtLeast(0));
  reader.Optional("spec_decode", &out.spec_decode);
  reader.RawObject("decode_time_by_batch_size", &out.decode_time_by_batch_size);
  reader.RawObject("draft_time_by_batch_size", &out.draft_time_by_batch_size);
  reader.RawObject("verify_time_by_batch_size", &out.verify_time_by_batch_size);
  MLC_RETURN_IF_ERROR(reader.status());
  return out;
}

Json EngineMetrics::ToJson() const {
  return wire::ObjectWriter()
      .Optional("engine_prefill_time_sum", engine_prefill_time_sum)
      .Optional("engine_decode_time_sum", engine_decode_time_sum)
      .Optional("engine_jump_forward_time_sum", engine_jump_forward_time_sum)
      .Optional("prompt_tokens_sum", prompt_tokens_sum)
      .Optional("prefill_tokens_sum", prefill_tokens_sum)
      .Optional("decode_tokens_sum", decode_tokens_sum)
      .Optional("jump_forward_tokens_sum", jump_forward_tokens_sum)
      .Optional("completion_tokens_sum", completion_tokens_sum)
      .Optional("prefill_tokens_per_s", prefill_tokens_per_s)
      .Optional("decode_tokens_per_s", decode_tokens_per_s)
      .Optional("kv_pages_total", kv_pages_total)
      .Optional("kv_pages_free", kv_pages_free)
      .Optional("num_running_sequences", num_running_sequences)
      .Optional("num_waiting_sequences", num_waiting_sequences)
      .Optional("num_queued_requests", num_queued_requests)
      .Optional("num_steps", num_steps)
      .Optional("num_preemptions", num_preemptions)
      .Optional("restored_tokens_sum", restored_tokens_sum)
      .Optional("written_blocks_sum", written_blocks_sum)
      .Optional("prefix_cache_ram_bytes", prefix_cache_ram_bytes)
      .Optional("device_read_bytes_sum", device_read_bytes_sum)
      .Optional("encoded_pictures_sum", encoded_pictures_sum)
      .Optional("engine_encode_time_sum", engine_encode_time_sum)
      .Optional("picture_cache_hits_sum", picture_cache_hits_sum)
      .Optional("picture_cache_bytes", picture_cache_bytes)
      .Optional("num_finished_requests", num_finished_requests)
      .Optional("num_failed_requests", num_failed_requests)
      .Optional("last_finished_request", last_finished_request)
      .Optional("jump_forward", jump_forward)
      .Optional("prediction", prediction)
      .Optional("prompt_lookup", prompt_lookup)
      .Optional("drafted_tokens_sum", drafted_tokens_sum)
      .Optional("accepted_draft_tokens_sum", accepted_draft_tokens_sum)
      .Optional("draft_gain", draft_gain)
      .Optional("spec_decode", spec_decode)
      .Optional("decode_time_by_batch_size", decode_time_by_batch_size)
      .Optional("draft_time_by_batch_size", draft_time_by_batch_size)
      .Optional("verify_time_by_batch_size", verify_time_by_batch_size)
      .Finish();
}

Result<Plan> Plan::Parse(const Json& json, const wire::Path& path) {
  Plan out;
  wire::ObjectReader reader(json, path);
  reader.Required("model", &out.model);
  reader.Required("model_type", &out.model_type);
  reader.Required("quantization", &out.quantization);
  reader.Required("device", &out.device);
  reader.Required("mode", &out.mode);
  reader.Required("max_num_sequence", &out.max_num_sequence, wire::Limits().AtLeast(0));
  reader.Required("max_total_seq_length", &out.max_total_seq_length, wire::Limits().AtLeast(0));
  reader.Required("context_window_size", &out.context_window_size, wire::Limits().AtLeast(0));
  reader.Optional("context_limit", &out.context_limit);
  reader.Required("prefill_chunk_size", &out.prefill_chunk_size, wire::Limits().AtLeast(0));
  reader.Required("kv_bytes_per_token", &out.kv_bytes_per_token, wire::Limits().AtLeast(0));
  reader.Required("kv_cache_dtype", &out.kv_cache_dtype);
  reader.Required("parameter_bytes", &out.parameter_bytes, wire::Limits().AtLeast(0));
  reader.Required("table_bytes", &out.table_bytes, wire::Limits().AtLeast(0));
  reader.Required("kv_cache_bytes", &out.kv_cache_bytes, wire::Limits().AtLeast(0));
  reader.Required("lora_ranks", &out.lora_ranks, wire::Limits().AtLeast(0));
  reader.Required("adapter_bytes", &out.adapter_bytes, wire::Limits().AtLeast(0));
  reader.Required("temporary_bytes", &out.temporary_bytes, wire::Limits().AtLeast(0));
  reader.Required("total_bytes", &out.total_bytes, wire::Limits().AtLeast(0));
  reader.Required("prefix_cache_ram_bytes", &out.prefix_cache_ram_bytes, wire::Limits().AtLeast(0));
  reader.Required("available_bytes", &out.available_bytes, wire::Limits().AtLeast(0));
  reader.Required("input_modalities", &out.input_modalities);
  reader.Required("fits", &out.fits);
  reader.Optional("reason", &out.reason);
  reader.Required("summary", &out.summary);
  MLC_RETURN_IF_ERROR(reader.status());
  return out;
}

Json Plan::ToJson() const {
  return wire::ObjectWriter()
      .Required("model", model)
      .Required("model_type", model_type)
      .Required("quantization", quantization)
      .Required("device", device)
      .Required("mode", mode)
      .Required("max_num_sequence", max_num_sequence)
      .Required("max_total_seq_length", max_total_seq_length)
      .Required("context_window_size", context_window_size)
      .Optional("context_limit", context_limit)
      .Required("prefill_chunk_size", prefill_chunk_size)
      .Required("kv_bytes_per_token", kv_bytes_per_token)
      .Required("kv_cache_dtype", kv_cache_dtype)
      .Required("parameter_bytes", parameter_bytes)
      .Required("table_bytes", table_bytes)
      .Required("kv_cache_bytes", kv_cache_bytes)
      .Required("lora_ranks", lora_ranks)
      .Required("adapter_bytes", adapter_bytes)
      .Required("temporary_bytes", temporary_bytes)
      .Required("total_bytes", total_bytes)
      .Required("prefix_cache_ram_bytes", prefix_cache_ram_bytes)
      .Required("available_bytes", available_bytes)
      .Required("input_modalities", input_modalities)
      .Required("fits", fits)
      .Optional("reason", reason)
      .Required("summary", summary)
      .Finish();
}

wire::Words WireWords(ErrorStatus) {
  static constexpr const char* kWords[] = {
      "invalid_argument", "not_found",   "corrupt",           "unsupported", "resource_exhausted",
      "cancelled",        "unavailable", "deadline_exceeded", "internal",
  };
  return {kWords, std::size(kWords)};
}

Result<ErrorObject> ErrorObject::Parse(const Json& json, const wire::Path& path) {
  ErrorObject out;
  wire::ObjectReader reader(json, path);
  reader.Required("message", &out.message);
  reader.Required("type", &out.type);
  reader.Optional("param", &out.param);
  reader.Optional("code", &out.code);
  reader.Optional("status", &out.status);
  MLC_RETURN_IF_ERROR(reader.status());
  return out;
}

Json ErrorObject::ToJson() const {
  return wire::ObjectWriter()
      .Required("message", message)
      .Required("type", type)
      .Always("param", param)
      .Always("code", code)
      .Optional("status", status)
      .Finish();
}

Result<ErrorResponse> ErrorResponse::Parse(const Json& json, const wire::Path& path) {
  ErrorResponse out;
  wire::ObjectReader reader(json, path);
  reader.Required("error", &out.error);
  MLC_RETURN_IF_ERROR(reader.status());
  return out;
}

Json ErrorResponse::ToJson() const {
  return wire::ObjectWriter().Required("error", error).Finish();
}

}  // namespace mlc::protocol
