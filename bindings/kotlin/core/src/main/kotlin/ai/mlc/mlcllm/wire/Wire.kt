package ai.mlc.mlcllm

import kotlinx.serialization.KSerializer
import kotlinx.serialization.SerializationException
import kotlinx.serialization.descriptors.PrimitiveKind
import kotlinx.serialization.descriptors.PrimitiveSerialDescriptor
import kotlinx.serialization.descriptors.SerialDescriptor
import kotlinx.serialization.descriptors.buildClassSerialDescriptor
import kotlinx.serialization.encoding.Decoder
import kotlinx.serialization.encoding.Encoder
import kotlinx.serialization.json.Json
import kotlinx.serialization.json.JsonArray
import kotlinx.serialization.json.JsonDecoder
import kotlinx.serialization.json.JsonElement
import kotlinx.serialization.json.JsonEncoder
import kotlinx.serialization.json.JsonNull
import kotlinx.serialization.json.JsonObject
import kotlinx.serialization.json.JsonPrimitive
import kotlinx.serialization.json.booleanOrNull
import kotlinx.serialization.json.doubleOrNull

/**
 * JSON in the core's form: null means absent, and absent members are not written. Types that ignore
 * unknown members declare that; the others (a configuration) refuse them.
 */
internal val wire: Json = Json { coerceInputValues = true }

/** UTF-8, or an [InvalidRequestException]: half of a surrogate pair is not a text. */
internal fun <T> encode(serializer: KSerializer<T>, value: T): ByteArray = try {
    wire.encodeToString(serializer, value).encodeToByteArray(throwOnInvalidSequence = true)
} catch (error: CharacterCodingException) {
    throw MLCReason.INVALID_JSON.exception("a text is not valid Unicode: it holds half of a pair", cause = error)
} catch (error: SerializationException) { // a number that is not finite
    throw MLCReason.INVALID_JSON.exception("this cannot be written as JSON: ${error.message}", cause = error)
}

/** Reads the core's text as a value. A failure is a bug of ours, or the core has another version. */
internal fun <T> decode(serializer: KSerializer<T>, json: ByteArray): T = try {
    wire.decodeFromString(serializer, json.decodeToString())
} catch (error: SerializationException) {
    throw MLCReason.UNREADABLE_ANSWER.exception("the engine's answer cannot be read: ${error.message}", cause = error)
}

/** A word of an enum to which newer engines may add; [toString] is the word on the wire. */
abstract class Word internal constructor(val word: String, val isKnown: Boolean) {
    final override fun equals(other: Any?): Boolean =
        other is Word && other.javaClass == javaClass && other.word == word

    final override fun hashCode(): Int = word.hashCode()

    final override fun toString(): String = word
}

internal abstract class WordSerializer<T : Word>(name: String, private val of: (String) -> T) :
    KSerializer<T> {
    final override val descriptor: SerialDescriptor =
        PrimitiveSerialDescriptor("ai.mlc.mlcllm.$name", PrimitiveKind.STRING)

    final override fun serialize(encoder: Encoder, value: T) = encoder.encodeString(value.word)

    final override fun deserialize(decoder: Decoder): T = of(decoder.decodeString())
}

/** The JSON decides which type of a union it is, so it is first read into a tree. */
internal abstract class UnionSerializer<T : Any>(name: String) : KSerializer<T> {
    final override val descriptor: SerialDescriptor = buildClassSerialDescriptor("ai.mlc.mlcllm.$name")

    protected abstract fun decode(json: Json, element: JsonElement): T

    protected abstract fun encode(json: Json, value: T): JsonElement

    final override fun deserialize(decoder: Decoder): T {
        val input = decoder as? JsonDecoder ?: throw SerializationException(ONLY_JSON)
        return decode(input.json, input.decodeJsonElement())
    }

    final override fun serialize(encoder: Encoder, value: T) {
        val output = encoder as? JsonEncoder ?: throw SerializationException(ONLY_JSON)
        output.encodeJsonElement(encode(output.json, value))
    }
}

private const val ONLY_JSON = "a union of this protocol can only be written as JSON"

internal val JsonElement.isText: Boolean get() = this is JsonPrimitive && isString
internal val JsonElement.isBoolean: Boolean
    get() = this is JsonPrimitive && !isString && booleanOrNull != null
internal val JsonElement.isNumber: Boolean
    get() = this is JsonPrimitive && !isString && this !is JsonNull && doubleOrNull != null
internal val JsonElement.isArray: Boolean get() = this is JsonArray
internal val JsonElement.isObject: Boolean get() = this is JsonObject

/** The text of the member that gives the type of a union's object; null when there is none. */
internal fun JsonElement.tag(name: String): String? =
    ((this as? JsonObject)?.get(name) as? JsonPrimitive)?.takeIf { it.isString }?.content
