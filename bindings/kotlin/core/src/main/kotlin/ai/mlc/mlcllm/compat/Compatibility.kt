package ai.mlc.mlcllm

import java.util.Locale
import kotlinx.coroutines.channels.Channel
import kotlinx.coroutines.channels.ReceiveChannel
import kotlinx.serialization.KSerializer
import kotlinx.serialization.builtins.ListSerializer
import kotlinx.serialization.builtins.MapSerializer
import kotlinx.serialization.builtins.nullable
import kotlinx.serialization.builtins.serializer
import kotlinx.serialization.descriptors.SerialDescriptor
import kotlinx.serialization.encoding.Decoder
import kotlinx.serialization.encoding.Encoder
import kotlinx.serialization.json.JsonArray
import kotlinx.serialization.json.JsonElement
import kotlinx.serialization.json.JsonNull
import kotlinx.serialization.json.JsonObject
import kotlinx.serialization.json.JsonPrimitive
import kotlinx.serialization.json.JsonTransformingSerializer
import kotlinx.serialization.json.jsonPrimitive

// The implementation of MLC-LLM's names: see OpenAIProtocol.

/** `prefill: 120.5 tok/s, decode: 33.1 tok/s`, of what was measured. */
internal fun speedLabel(prefill: Number?, decode: Number?): String =
    listOf("prefill" to prefill, "decode" to decode)
        .filter { it.second != null }
        .joinToString { (name, speed) -> String.format(Locale.ROOT, "%s: %.1f tok/s", name, speed) }

/** The speeds as MLC-LLM's apps show them: `prefill: 120.5 tok/s, decode: 33.1 tok/s`. */
fun CompletionUsageExtra.asTextLabel(): String =
    speedLabel(prefill_tokens_per_s, decode_tokens_per_s)

/**
 * Answers a request in MLC-LLM's way: each `delta` has a role and a content that is not null, and the
 * last response has whole tool calls. A failure is not thrown: it is the last response, with `error`,
 * the finish reason `error`, and the message as content. After `reset`, `unload` and `reload` the
 * answers of before are silent: as in MLC-LLM, an app may clear its screen and await nothing.
 */
internal suspend fun ChatCompletions.createCompatible(
    request: OpenAIProtocol.ChatCompletionRequest,
): ReceiveChannel<OpenAIProtocol.ChatCompletionStreamResponse> {
    val answer = CompatibleAnswer(request.n)
    if (!request.stream) return oneResponse(answer.failed(needsStream()))
    return try {
        val body = encode(OpenAIProtocol.ChatCompletionRequest.serializer(), request)
        open(body, answer::of) { error -> answer.failed(error).takeUnless { isAskedFor(error) } }
    } catch (error: MLCException) {
        oneResponse(answer.failed(error))
    }
}

/** Whether the program itself ended the request: by `reset`, `unload` or `reload`. */
private fun isAskedFor(error: MLCException): Boolean =
    error is RequestCancelledException || error.reason == MLCReason.MODEL_UNLOADED

private fun <T> oneResponse(response: T): ReceiveChannel<T> =
    Channel<T>(capacity = 1).apply {
        trySend(response)
        close()
    }

/** The responses of one answer, made from this package's chunks. */
private class CompatibleAnswer(private val n: Int) {
    private val calls = mutableMapOf<Long, AnswerFold>()
    private var id = ""

    fun of(chunk: ChatCompletionChunk): OpenAIProtocol.ChatCompletionStreamResponse {
        id = chunk.id
        return OpenAIProtocol.ChatCompletionStreamResponse(
            id = chunk.id,
            choices = chunk.choices.map { choice(chunk, it) },
            created = chunk.created.toInt(),
            model = chunk.model,
            system_fingerprint = chunk.system_fingerprint.orEmpty(),
            `object` = chunk.`object`,
            usage = chunk.usage?.let(::usageOf),
        )
    }

    fun failed(error: MLCException) = OpenAIProtocol.ChatCompletionStreamResponse(
        id = id,
        choices = List(n.coerceIn(1, MOST_ANSWERS)) { index ->
            val delta = OpenAIProtocol.ChatCompletionMessage(
                OpenAIProtocol.ChatCompletionRole.assistant, error.message.orEmpty(),
            )
            OpenAIProtocol.ChatCompletionStreamResponseChoice("error", index, delta)
        },
        system_fingerprint = "",
    ).also { it.error = error }

    private fun choice(
        chunk: ChatCompletionChunk,
        choice: ChatCompletionChunkChoice,
    ): OpenAIProtocol.ChatCompletionStreamResponseChoice {
        if (choice.delta.tool_calls != null) {
            calls.getOrPut(choice.index, ::AnswerFold).add(chunk.copy(choices = listOf(choice)))
        }
        val whole = if (choice.finish_reason == null) null else calls.remove(choice.index)
        return OpenAIProtocol.ChatCompletionStreamResponseChoice(
            finish_reason = choice.finish_reason,
            index = choice.index.toInt(),
            delta = OpenAIProtocol.ChatCompletionMessage(
                role = OpenAIProtocol.ChatCompletionRole.assistant,
                content = OpenAIProtocol.ChatCompletionMessageContent(choice.delta.content.orEmpty()),
                tool_calls = whole?.completion()?.choices?.first()?.message?.tool_calls?.map(::callOf),
                reasoning_content = choice.delta.reasoning_content,
            ),
            lobprobs = choice.logprobs?.let(::logProbsOf),
        )
    }

    private companion object {
        const val MOST_ANSWERS = 128
    }
}

private fun callOf(call: ChatCompletionMessageToolCall) = OpenAIProtocol.ChatToolCall(
    id = call.id,
    type = call.type,
    function = OpenAIProtocol.ChatFunctionCall(call.function.name, argumentsOf(call.function.arguments)),
)

/** The members of a JSON object as texts; what is none is the member `arguments`. */
private fun argumentsOf(text: String): Map<String, String> {
    val members = elementOf(text) as? JsonObject ?: return mapOf("arguments" to text)
    return members.mapValues { (_, value) ->
        if (value is JsonPrimitive && value.isString) value.content else value.toString()
    }
}

private fun usageOf(usage: CompletionUsage) = OpenAIProtocol.CompletionUsage(
    prompt_tokens = usage.prompt_tokens.toInt(),
    completion_tokens = usage.completion_tokens.toInt(),
    total_tokens = usage.total_tokens.toInt(),
    extra = usage.extra?.let { extra ->
        OpenAIProtocol.CompletionUsageExtra(
            prefill_tokens_per_s = extra.prefill_tokens_per_s?.toFloat(),
            decode_tokens_per_s = extra.decode_tokens_per_s?.toFloat(),
            num_prefill_tokens = extra.prefill_tokens?.toInt(),
        )
    },
)

private fun logProbsOf(logprobs: ChoiceLogprobs) = OpenAIProtocol.LogProbs(
    logprobs.content.orEmpty().map { token ->
        OpenAIProtocol.LogProbsContent(
            token = token.token,
            logprob = token.logprob.toFloat(),
            bytes = token.bytes?.map(Long::toInt),
            top_logprobs = token.top_logprobs.map { top ->
                OpenAIProtocol.TopLogProbs(
                    top.token, top.logprob.toFloat(), top.bytes?.map(Long::toInt),
                )
            },
        )
    },
)

private fun elementOf(text: String): JsonElement? = try {
    wire.parseToJsonElement(text)
} catch (_: IllegalArgumentException) {
    null
}

private val texts = MapSerializer(String.serializer(), String.serializer())

/** Members whose texts may hold JSON: `{"type": "object", "properties": "{...}"}`. */
internal object JsonMembersSerializer : JsonTransformingSerializer<Map<String, String>>(texts) {
    override fun transformSerialize(element: JsonElement): JsonElement =
        JsonObject((element as JsonObject).mapValues { (_, value) -> unquoted(value) })

    override fun transformDeserialize(element: JsonElement): JsonElement =
        JsonObject((element as JsonObject).mapValues { (_, value) -> quoted(value) })

    private fun unquoted(value: JsonElement): JsonElement {
        val held = elementOf(value.jsonPrimitive.content)
        return if (held is JsonObject || held is JsonArray || isLiteral(held)) held!! else value
    }

    /** A boolean or a number. The parser also accepts a word such as `object`, but it is neither. */
    private fun isLiteral(held: JsonElement?): Boolean =
        held is JsonPrimitive && held !is JsonNull && (held.isBoolean || held.isNumber)

    private fun quoted(value: JsonElement): JsonElement =
        if (value is JsonPrimitive && value.isString) value else JsonPrimitive(value.toString())
}

/** An object on this side, its JSON text on the wire, as OpenAI has a call's arguments. */
internal object JsonTextSerializer : KSerializer<Map<String, String>?> {
    override val descriptor: SerialDescriptor = String.serializer().nullable.descriptor

    override fun serialize(encoder: Encoder, value: Map<String, String>?) =
        encoder.encodeString(wire.encodeToString(texts, value.orEmpty()))

    override fun deserialize(decoder: Decoder): Map<String, String> =
        argumentsOf(decoder.decodeString())
}

/** A text, or a list of parts. */
internal object MessageContentSerializer : KSerializer<OpenAIProtocol.ChatCompletionMessageContent> {
    private val parts = ListSerializer(texts)
    override val descriptor: SerialDescriptor = JsonElement.serializer().descriptor

    override fun serialize(
        encoder: Encoder,
        value: OpenAIProtocol.ChatCompletionMessageContent,
    ) {
        val text = value.text
        if (text != null) {
            encoder.encodeString(text)
        } else {
            encoder.encodeSerializableValue(parts, value.parts.orEmpty())
        }
    }

    override fun deserialize(
        decoder: Decoder,
    ): OpenAIProtocol.ChatCompletionMessageContent {
        val element = decoder.decodeSerializableValue(JsonElement.serializer())
        if (element is JsonPrimitive) {
            return OpenAIProtocol.ChatCompletionMessageContent(element.content)
        }
        val read = wire.decodeFromJsonElement(parts, element)
        return OpenAIProtocol.ChatCompletionMessageContent(read)
    }
}
