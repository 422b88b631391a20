@file:JvmName("Structured")

package ai.mlc.mlcllm

import kotlinx.serialization.ExperimentalSerializationApi
import kotlinx.serialization.KSerializer
import kotlinx.serialization.SerializationException
import kotlinx.serialization.descriptors.PolymorphicKind
import kotlinx.serialization.descriptors.PrimitiveKind
import kotlinx.serialization.descriptors.SerialDescriptor
import kotlinx.serialization.descriptors.SerialKind
import kotlinx.serialization.descriptors.StructureKind
import kotlinx.serialization.descriptors.elementDescriptors
import kotlinx.serialization.descriptors.elementNames
import kotlinx.serialization.json.Json
import kotlinx.serialization.json.JsonArray
import kotlinx.serialization.json.JsonObject
import kotlinx.serialization.json.JsonPrimitive
import kotlinx.serialization.json.buildJsonObject
import kotlinx.serialization.serializer

/**
 * The JSON Schema of a `@Serializable` type, as its descriptor tells it: classes, lists, maps with
 * text keys, enums, primitives, nullable ones. A property with a default may be left out. A type that
 * contains itself, or is polymorphic, is an [UnsupportedException].
 */
fun jsonSchemaOf(serializer: KSerializer<*>): JsonObject = schemaOf(serializer.descriptor, emptyList())

/** [jsonSchemaOf] for `T`. */
inline fun <reified T> jsonSchemaOf(): JsonObject = jsonSchemaOf(serializer<T>())

/** Holds an answer to `T`: to be given as `response_format`. */
inline fun <reified T> responseFormatOf(name: String = "answer"): ResponseFormat =
    ResponseFormatJSONSchema(JSONSchema(name, schema = jsonSchemaOf<T>(), strict = true))

/** Asks for a `T` and reads it; an answer that was cut short is an [InternalException]. */
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
        throw InternalException(
            "the answer (finish_reason ${choice.finish_reason}) is no ${serializer.descriptor.serialName}" +
                ": ${error.message}; give it more tokens",
            cause = error,
        )
    }
}

private fun type(name: String) = buildJsonObject { put("type", JsonPrimitive(name)) }

private fun schemaOf(type: SerialDescriptor, around: List<String>): JsonObject {
    if (!type.isNullable) return schemaOfPresent(type, around)
    val alternatives = listOf(schemaOfPresent(type, around), type("null"))
    return JsonObject(mapOf("anyOf" to JsonArray(alternatives)))
}

@OptIn(ExperimentalSerializationApi::class)
private fun schemaOfPresent(type: SerialDescriptor, around: List<String>): JsonObject = when (type.kind) {
    PrimitiveKind.BOOLEAN -> type("boolean")
    PrimitiveKind.BYTE, PrimitiveKind.SHORT, PrimitiveKind.INT, PrimitiveKind.LONG -> type("integer")
    PrimitiveKind.FLOAT, PrimitiveKind.DOUBLE -> type("number")
    PrimitiveKind.STRING, PrimitiveKind.CHAR -> type("string")
    SerialKind.ENUM -> JsonObject(mapOf("enum" to JsonArray(type.elementNames.map(::JsonPrimitive))))
    StructureKind.LIST -> JsonObject(
        type("array") + ("items" to schemaOf(type.getElementDescriptor(0), around)),
    )
    StructureKind.MAP -> JsonObject(
        type("object") + ("additionalProperties" to schemaOf(type.getElementDescriptor(1), around)),
    )
    StructureKind.CLASS, StructureKind.OBJECT ->
        if (type.isInline) schemaOf(type.getElementDescriptor(0), around) else objectSchema(type, around)
    is PolymorphicKind, SerialKind.CONTEXTUAL ->
        throw UnsupportedException("${type.serialName} has no JSON Schema: it may be of several types")
}

@OptIn(ExperimentalSerializationApi::class)
private fun objectSchema(type: SerialDescriptor, around: List<String>): JsonObject {
    if (type.serialName in around) {
        throw UnsupportedException("${type.serialName} has no JSON Schema: it contains itself")
    }
    val inner = around + type.serialName
    val members = type.elementNames.zip(type.elementDescriptors).associate { (name, member) ->
        name to schemaOf(member, inner)
    }
    val required = type.elementNames.filterIndexed { i, _ -> !type.isElementOptional(i) }
    return JsonObject(
        type("object") + mapOf(
            "properties" to JsonObject(members),
            "required" to JsonArray(required.map(::JsonPrimitive)),
            "additionalProperties" to JsonPrimitive(false),
        ),
    )
}
