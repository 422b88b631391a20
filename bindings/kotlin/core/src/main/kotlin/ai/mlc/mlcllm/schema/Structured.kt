@file:JvmName("Structured")

package ai.mlc.mlcllm

import kotlinx.serialization.KSerializer
import kotlinx.serialization.SerializationException
import kotlinx.serialization.json.Json
import kotlinx.serialization.serializer

/** The `response_format` that makes an answer a `T`. */
inline fun <reified T> responseFormatOf(name: String = "answer"): ResponseFormat =
    ResponseFormatJSONSchema(JSONSchema(name, schema = jsonSchemaOf<T>(), strict = true))

/** Asks for a `T` and reads it. Throws [UnfinishedAnswerException] for an incomplete answer. */
suspend inline fun <reified T> ChatCompletions.completeAs(request: ChatCompletionRequest): T {
    val answer = complete(request.copy(response_format = responseFormatOf<T>()))
    return answerAs(serializer<T>(), answer)
}

/** The first answer's text as a value. */
fun <T> answerAs(serializer: KSerializer<T>, answer: ChatCompletion): T {
    val choice = answer.choices.first()
    try {
        return Json.decodeFromString(serializer, choice.message.content.orEmpty())
    } catch (error: SerializationException) {
        throw MLCReason.UNFINISHED_ANSWER.exception(
            "answer ${choice.index} (finish_reason ${choice.finish_reason}) is no whole " +
                "${serializer.descriptor.serialName}: ${error.message}; give it more tokens",
            param = "choices[${choice.index}]",
            cause = error,
        )
    }
}
