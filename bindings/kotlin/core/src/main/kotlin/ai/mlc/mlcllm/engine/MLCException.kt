package ai.mlc.mlcllm

/**
 * An error of the engine, with OpenAI's fields. Each kind of error is a class.
 *
 * [message] says what is wrong and what to do, [param] names the wrong field or file, [code] is the
 * reason, [type] is the kind of error in REST answers, [status] is the class of the reason.
 */
sealed class MLCException(error: ErrorObject, cause: Throwable?) : RuntimeException(error.message, cause) {
    override val message: String = error.message
    val type: String = error.type
    val param: String? = error.param
    val code: String? = error.code
    val status: ErrorStatus? = error.statusEnum

    /** The reason as a value; null: this version does not know the [code]. */
    val reason: MLCReason? get() = MLCReason.of(code)

    companion object {
        /** The exception for an error object of the core's. */
        internal fun of(error: ErrorObject, cause: Throwable? = null): MLCException {
            val make = MLCReason.of(error.code)?.make ?: MLCReason.classOf(error.status, error.type)
            return make(error, cause)
        }

        /** The exception for an error's JSON, as the core sends it. */
        internal fun ofJson(json: ByteArray): MLCException =
            of(decode(ErrorResponse.serializer(), json).error)
    }
}

/** The error of a reason, with OpenAI's fields. */
internal fun MLCReason.error(message: String, param: String? = null) =
    ErrorObject(message, type, param, word, status.word)

/** The exception of a reason. */
internal fun MLCReason.exception(message: String, param: String? = null, cause: Throwable? = null): MLCException =
    make(error(message, param), cause)

/** The name that it has in the other languages. */
typealias UnfinishedAnswerError = UnfinishedAnswerException
