package ai.mlc.mlcllm

/**
 * An error of the engine, with OpenAI's fields.
 *
 * [message] says what is wrong and what to do, [param] names the wrong field or file, [code] is a
 * short stable word, [type] is the kind of error in REST answers.
 */
sealed class MLCException(
    override val message: String,
    val type: String,
    val param: String?,
    val code: String?,
    cause: Throwable?,
) : RuntimeException(message, cause) {
    companion object {
        /** The exception for an error object of the core's. */
        internal fun of(error: ErrorObject): MLCException {
            val (message, type, param, code) = error
            return when (code) {
                "corrupt_file" -> CorruptFileException(message, type, param, code)
                "unsupported", "unsupported_parameter" ->
                    UnsupportedException(message, type, param, code)
                "queue_full" -> RateLimitException(message, type, param, code)
                "out_of_resources" -> ResourceException(message, type, param, code)
                "request_cancelled" -> RequestCancelledException(message, type, param, code)
                "unavailable", "device_lost", "model_unloaded", "model_not_loaded" ->
                    UnavailableException(message, type, param, code)
                "timeout", "deadline_exceeded" -> DeadlineExceededException(message, type, param, code)
                else -> ofType(message, type, param, code)
            }
        }

        private fun ofType(message: String, type: String, param: String?, code: String?) =
            when (type) {
                "invalid_request_error" -> InvalidRequestException(message, type, param, code)
                "not_found_error" -> NotFoundException(message, type, param, code)
                "rate_limit_error" -> RateLimitException(message, type, param, code)
                else -> InternalException(message, type, param, code)
            }

        /** The exception for an error's JSON, as the core sends it. */
        internal fun ofJson(json: ByteArray): MLCException =
            of(decode(ErrorResponse.serializer(), json).error)
    }
}

/** The request is wrong. */
class InvalidRequestException internal constructor(
    message: String,
    type: String = "invalid_request_error",
    param: String? = null,
    code: String? = "invalid_request",
    cause: Throwable? = null,
) : MLCException(message, type, param, code, cause)

/** A model, a file or a library does not exist at the given place. */
class NotFoundException internal constructor(
    message: String,
    type: String = "not_found_error",
    param: String? = null,
    code: String? = "not_found",
    cause: Throwable? = null,
) : MLCException(message, type, param, code, cause)

/** A file is damaged or is not of its format. */
class CorruptFileException internal constructor(
    message: String,
    type: String,
    param: String?,
    code: String?,
) : MLCException(message, type, param, code, null)

/** Valid input that this version does not handle. */
class UnsupportedException internal constructor(
    message: String,
    type: String = "invalid_request_error",
    param: String? = null,
    code: String? = "unsupported",
) : MLCException(message, type, param, code, null)

/** Memory or another resource has run out. */
class ResourceException internal constructor(
    message: String,
    type: String,
    param: String?,
    code: String?,
) : MLCException(message, type, param, code, null)

/** The queue is full; try again later. */
class RateLimitException internal constructor(
    message: String,
    type: String,
    param: String?,
    code: String?,
) : MLCException(message, type, param, code, null)

/** The request was aborted before it was done, but not by its coroutine. */
class RequestCancelledException internal constructor(
    message: String,
    type: String,
    param: String?,
    code: String?,
) : MLCException(message, type, param, code, null)

/** Not available now: no model is loaded, or the engine is closed. */
class UnavailableException internal constructor(
    message: String,
    type: String = "server_error",
    param: String? = null,
    code: String? = "unavailable",
) : MLCException(message, type, param, code, null)

/** The request's time ran out. */
class DeadlineExceededException internal constructor(
    message: String,
    type: String,
    param: String?,
    code: String?,
) : MLCException(message, type, param, code, null)

/** The answer ended before it was a complete value: give it more tokens. */
class UnfinishedAnswerException internal constructor(
    message: String,
    param: String?,
    cause: Throwable?,
) : MLCException(message, "server_error", param, "unfinished_answer", cause)

/** The name that it has in the other languages. */
typealias UnfinishedAnswerError = UnfinishedAnswerException

/** A bug in this engine. */
class InternalException internal constructor(
    message: String,
    type: String = "server_error",
    param: String? = null,
    code: String? = "internal_error",
    cause: Throwable? = null,
) : MLCException(message, type, param, code, cause)
