// Generated from codegen/schema by `python -m codegen`. Do not edit.
// Schema hash: 5c6e83c1dd599df1
//
// The reasons of errors. base/status.h says how they are used.
#pragma once

#include <string_view>

namespace mlc {

// The values cross the C ABI (mlc_llm.h, mlc_status_code).
enum class StatusCode {
  kOk = 0,
  // The caller's request or option is wrong.
  kInvalidArgument = 1,
  // A file, model or function that was named does not exist.
  kNotFound = 2,
  // A file exists but does not hold what it must.
  kCorrupt = 3,
  // The request is understood, but not offered.
  kUnsupported = 4,
  // Memory, disk, pages or the queue are full.
  kResourceExhausted = 5,
  // The caller aborted it.
  kCancelled = 6,
  // Not possible now, but perhaps later.
  kUnavailable = 7,
  // A time limit has passed.
  kDeadlineExceeded = 8,
  // A mistake of the engine or of this package.
  kInternal = 9,
};

// Why something failed. There are only the reasons below: none can be made of a literal.
class Reason {
 public:
  // The request is wrong. Correct what the message names.
  static const Reason kInvalidRequest;
  // What was named does not exist. Check the name.
  static const Reason kNotFound;
  // A file is damaged. Download or convert it again.
  static const Reason kCorruptFile;
  // This is not offered. See the message for what is.
  static const Reason kUnsupported;
  // Memory or another resource has run out. Close other programs, or choose a smaller model or
  // context.
  static const Reason kOutOfResources;
  // The request was cancelled. Ask again.
  static const Reason kRequestCancelled;
  // This is not possible now. Try again later.
  static const Reason kUnavailable;
  // The request's own `timeout_ms` passed. Raise it, or ask for fewer tokens.
  static const Reason kDeadlineExceeded;
  // The engine made a mistake. Report it, with the message.
  static const Reason kInternalError;
  // A value has another JSON type. Correct what the message names.
  static const Reason kInvalidType;
  // A value is not one of those offered. Correct what the message names.
  static const Reason kInvalidValue;
  // A field is missing. Add it.
  static const Reason kMissingRequiredParameter;
  // There is no field of that name. Correct its name, or switch `refuse_unknown_fields` off.
  static const Reason kUnknownParameter;
  // A request's logit processor failed. Correct the function that the program has registered.
  static const Reason kLogitProcessorFailed;
  // A whole number is too small. Correct what the message names.
  static const Reason kIntegerBelowMinValue;
  // A whole number is too large. Correct what the message names.
  static const Reason kIntegerAboveMaxValue;
  // A number is too small. Correct what the message names.
  static const Reason kDecimalBelowMinValue;
  // A number is too large. Correct what the message names.
  static const Reason kDecimalAboveMaxValue;
  // A text is empty. Leave the field out, or fill it.
  static const Reason kEmptyString;
  // A text is too short. Correct what the message names.
  static const Reason kStringBelowMinLength;
  // A text is too long. Correct what the message names.
  static const Reason kStringAboveMaxLength;
  // A list is empty. Leave the field out, or fill it.
  static const Reason kEmptyArray;
  // A list is too short. Send more items.
  static const Reason kArrayBelowMinLength;
  // A list is too long. Send fewer items.
  static const Reason kArrayAboveMaxLength;
  // A tool's parameters are no JSON Schema of an object. Correct what the message names.
  static const Reason kInvalidFunctionParameters;
  // A field of OpenAI's API that is not offered here. Leave it out.
  static const Reason kUnsupportedParameter;
  // The prompt is longer than the model's context. Shorten it, or load the model with a larger
  // context.
  static const Reason kContextLengthExceeded;
  // A text has more tokens than its reader allows. Send less text.
  static const Reason kTooManyTokens;
  // A picture is damaged, or no picture at all. Send a whole PNG, JPEG, WebP, GIF or BMP file.
  static const Reason kImageParseError;
  // A picture has a format that is not read. Convert it to PNG or JPEG.
  static const Reason kUnsupportedImageMediaType;
  // A picture has more pixels than are allowed. Make it smaller.
  static const Reason kImageTooLarge;
  // A picture's file has more bytes than are allowed. Make it smaller.
  static const Reason kImageFileTooLarge;
  // A picture could not be fetched from its address. Check the address, or send the picture as a
  // `data:` URL.
  static const Reason kFailedToDownloadImage;
  // The model has no chat template. Use `completions`, or a model that was made for chats.
  static const Reason kNoChatTemplate;
  // The model's chat template refuses the conversation. Correct what the message names.
  static const Reason kTemplateError;
  // A file does not exist. Check the path.
  static const Reason kFileNotFound;
  // A model library was not finished by `mlc_llm compile`. Compile it again.
  static const Reason kModelLibraryNotSealed;
  // No model is loaded. Load one first.
  static const Reason kModelNotLoaded;
  // The model was unloaded before the request ended. Load it again, and ask again.
  static const Reason kModelUnloaded;
  // The model's device has failed. Unload the model and load it again.
  static const Reason kDeviceLost;
  // No adapter of this name is loaded. Load it first, or correct its name.
  static const Reason kAdapterNotFound;
  // There is no room for this adapter. Unload another one, or load the engine with more
  // `lora_ranks`.
  static const Reason kAdaptersFull;
  // Too many requests are waiting. Try again later.
  static const Reason kQueueFull;
  // The KV cache has no room for this request. Shorten it, or raise `max_total_seq_length`.
  static const Reason kKvCacheExhausted;
  // Pinned prompts take all the room that they may have. Raise `max_total_seq_length`, or reset the
  // engine.
  static const Reason kPinnedPromptsFull;

  // The reason of an error that has no more precise one.
  static const Reason& Of(StatusCode code);

  // The `code` of the error's JSON: "context_length_exceeded".
  std::string_view name() const { return name_; }
  StatusCode code() const { return code_; }
  // The `type` of OpenAI's API: "invalid_request_error".
  const char* type() const { return type_; }

 private:
  constexpr Reason(std::string_view name, StatusCode code, const char* type)
      : name_(name), code_(code), type_(type) {}

  std::string_view name_;
  StatusCode code_;
  const char* type_;
};

inline constexpr Reason Reason::kInvalidRequest("invalid_request", StatusCode::kInvalidArgument,
                                                "invalid_request_error");
inline constexpr Reason Reason::kNotFound("not_found", StatusCode::kNotFound, "not_found_error");
inline constexpr Reason Reason::kCorruptFile("corrupt_file", StatusCode::kCorrupt,
                                             "invalid_request_error");
inline constexpr Reason Reason::kUnsupported("unsupported", StatusCode::kUnsupported,
                                             "invalid_request_error");
inline constexpr Reason Reason::kOutOfResources("out_of_resources", StatusCode::kResourceExhausted,
                                                "server_error");
inline constexpr Reason Reason::kRequestCancelled("request_cancelled", StatusCode::kCancelled,
                                                  "server_error");
inline constexpr Reason Reason::kUnavailable("unavailable", StatusCode::kUnavailable,
                                             "server_error");
inline constexpr Reason Reason::kDeadlineExceeded("deadline_exceeded",
                                                  StatusCode::kDeadlineExceeded, "server_error");
inline constexpr Reason Reason::kInternalError("internal_error", StatusCode::kInternal,
                                               "server_error");
inline constexpr Reason Reason::kInvalidType("invalid_type", StatusCode::kInvalidArgument,
                                             "invalid_request_error");
inline constexpr Reason Reason::kInvalidValue("invalid_value", StatusCode::kInvalidArgument,
                                              "invalid_request_error");
inline constexpr Reason Reason::kMissingRequiredParameter("missing_required_parameter",
                                                          StatusCode::kInvalidArgument,
                                                          "invalid_request_error");
inline constexpr Reason Reason::kUnknownParameter("unknown_parameter", StatusCode::kInvalidArgument,
                                                  "invalid_request_error");
inline constexpr Reason Reason::kLogitProcessorFailed("logit_processor_failed",
                                                      StatusCode::kInvalidArgument,
                                                      "invalid_request_error");
inline constexpr Reason Reason::kIntegerBelowMinValue("integer_below_min_value",
                                                      StatusCode::kInvalidArgument,
                                                      "invalid_request_error");
inline constexpr Reason Reason::kIntegerAboveMaxValue("integer_above_max_value",
                                                      StatusCode::kInvalidArgument,
                                                      "invalid_request_error");
inline constexpr Reason Reason::kDecimalBelowMinValue("decimal_below_min_value",
                                                      StatusCode::kInvalidArgument,
                                                      "invalid_request_error");
inline constexpr Reason Reason::kDecimalAboveMaxValue("decimal_above_max_value",
                                                      StatusCode::kInvalidArgument,
                                                      "invalid_request_error");
inline constexpr Reason Reason::kEmptyString("empty_string", StatusCode::kInvalidArgument,
                                             "invalid_request_error");
inline constexpr Reason Reason::kStringBelowMinLength("string_below_min_length",
                                                      StatusCode::kInvalidArgument,
                                                      "invalid_request_error");
inline constexpr Reason Reason::kStringAboveMaxLength("string_above_max_length",
                                                      StatusCode::kInvalidArgument,
                                                      "invalid_request_error");
inline constexpr Reason Reason::kEmptyArray("empty_array", StatusCode::kInvalidArgument,
                                            "invalid_request_error");
inline constexpr Reason Reason::kArrayBelowMinLength("array_below_min_length",
                                                     StatusCode::kInvalidArgument,
                                                     "invalid_request_error");
inline constexpr Reason Reason::kArrayAboveMaxLength("array_above_max_length",
                                                     StatusCode::kInvalidArgument,
                                                     "invalid_request_error");
inline constexpr Reason Reason::kInvalidFunctionParameters("invalid_function_parameters",
                                                           StatusCode::kInvalidArgument,
                                                           "invalid_request_error");
inline constexpr Reason Reason::kUnsupportedParameter("unsupported_parameter",
                                                      StatusCode::kUnsupported,
                                                      "invalid_request_error");
inline constexpr Reason Reason::kContextLengthExceeded("context_length_exceeded",
                                                       StatusCode::kInvalidArgument,
                                                       "invalid_request_error");
inline constexpr Reason Reason::kTooManyTokens("too_many_tokens", StatusCode::kResourceExhausted,
                                               "server_error");
inline constexpr Reason Reason::kImageParseError("image_parse_error", StatusCode::kInvalidArgument,
                                                 "invalid_request_error");
inline constexpr Reason Reason::kUnsupportedImageMediaType("unsupported_image_media_type",
                                                           StatusCode::kUnsupported,
                                                           "invalid_request_error");
inline constexpr Reason Reason::kImageTooLarge("image_too_large", StatusCode::kInvalidArgument,
                                               "invalid_request_error");
inline constexpr Reason Reason::kImageFileTooLarge("image_file_too_large",
                                                   StatusCode::kInvalidArgument,
                                                   "invalid_request_error");
inline constexpr Reason Reason::kFailedToDownloadImage("failed_to_download_image",
                                                       StatusCode::kInvalidArgument,
                                                       "invalid_request_error");
inline constexpr Reason Reason::kNoChatTemplate("no_chat_template", StatusCode::kUnsupported,
                                                "invalid_request_error");
inline constexpr Reason Reason::kTemplateError("template_error", StatusCode::kInvalidArgument,
                                               "invalid_request_error");
inline constexpr Reason Reason::kFileNotFound("file_not_found", StatusCode::kNotFound,
                                              "not_found_error");
inline constexpr Reason Reason::kModelLibraryNotSealed("model_library_not_sealed",
                                                       StatusCode::kUnsupported,
                                                       "invalid_request_error");
inline constexpr Reason Reason::kModelNotLoaded("model_not_loaded", StatusCode::kUnavailable,
                                                "server_error");
inline constexpr Reason Reason::kModelUnloaded("model_unloaded", StatusCode::kUnavailable,
                                               "server_error");
inline constexpr Reason Reason::kDeviceLost("device_lost", StatusCode::kUnavailable,
                                            "server_error");
inline constexpr Reason Reason::kAdapterNotFound("adapter_not_found", StatusCode::kNotFound,
                                                 "invalid_request_error");
inline constexpr Reason Reason::kAdaptersFull("adapters_full", StatusCode::kResourceExhausted,
                                              "server_error");
inline constexpr Reason Reason::kQueueFull("queue_full", StatusCode::kResourceExhausted,
                                           "rate_limit_error");
inline constexpr Reason Reason::kKvCacheExhausted("kv_cache_exhausted",
                                                  StatusCode::kResourceExhausted, "server_error");
inline constexpr Reason Reason::kPinnedPromptsFull("pinned_prompts_full",
                                                   StatusCode::kResourceExhausted, "server_error");

inline const Reason& Reason::Of(StatusCode code) {
  switch (code) {
    case StatusCode::kInvalidArgument:
      return kInvalidRequest;
    case StatusCode::kNotFound:
      return kNotFound;
    case StatusCode::kCorrupt:
      return kCorruptFile;
    case StatusCode::kUnsupported:
      return kUnsupported;
    case StatusCode::kResourceExhausted:
      return kOutOfResources;
    case StatusCode::kCancelled:
      return kRequestCancelled;
    case StatusCode::kUnavailable:
      return kUnavailable;
    case StatusCode::kDeadlineExceeded:
      return kDeadlineExceeded;
    default:
      return kInternalError;
  }
}

}  // namespace mlc
