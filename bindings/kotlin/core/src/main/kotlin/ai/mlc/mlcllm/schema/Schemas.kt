@file:JvmName("Schemas")

package ai.mlc.mlcllm

import kotlinx.serialization.ExperimentalSerializationApi
import kotlinx.serialization.KSerializer
import kotlinx.serialization.SerialInfo
import kotlinx.serialization.descriptors.PolymorphicKind
import kotlinx.serialization.descriptors.PrimitiveKind
import kotlinx.serialization.descriptors.SerialDescriptor
import kotlinx.serialization.descriptors.SerialKind
import kotlinx.serialization.descriptors.StructureKind
import kotlinx.serialization.descriptors.elementDescriptors
import kotlinx.serialization.descriptors.elementNames
import kotlinx.serialization.descriptors.nonNullOriginal
import kotlinx.serialization.json.JsonArray
import kotlinx.serialization.json.JsonElement
import kotlinx.serialization.json.JsonObject
import kotlinx.serialization.json.JsonPrimitive
import kotlinx.serialization.serializer

/** The description of a class or a property for the model. */
@OptIn(ExperimentalSerializationApi::class)
@SerialInfo
@Target(AnnotationTarget.CLASS, AnnotationTarget.PROPERTY)
annotation class Description(val text: String)

/**
 * The JSON Schema of a `@Serializable` type, from its descriptor: classes, sealed classes, lists,
 * maps, enums, primitives, nullable types, and types that contain themselves. A property with a
 * default may be left out; [Description] describes it. An open or contextual type throws an
 * [UnsupportedException].
 */
fun jsonSchemaOf(serializer: KSerializer<*>): JsonObject = SchemaWriter(serializer.descriptor).write()

/** [jsonSchemaOf] for `T`. */
inline fun <reified T> jsonSchemaOf(): JsonObject = jsonSchemaOf(serializer<T>())

/**
 * Writes one schema. A type that contains itself stands in `$defs`, and `$ref` names it; the root is
 * `#`.
 */
@OptIn(ExperimentalSerializationApi::class)
private class SchemaWriter(private val root: SerialDescriptor) {
    private val names = LinkedHashMap<SerialDescriptor, String>() // of what is referred to
    private val definitions = LinkedHashMap<String, JsonObject>()
    private val around = ArrayList<SerialDescriptor>()

    fun write(): JsonObject {
        val schema = schema(root)
        return if (definitions.isEmpty()) schema else schema + ("\$defs" to JsonObject(definitions))
    }

    private fun schema(type: SerialDescriptor): JsonObject {
        if (!type.isNullable) return present(type)
        return anyOf(listOf(present(type.nonNullOriginal), type("null")))
    }

    private fun present(type: SerialDescriptor): JsonObject = when (type.kind) {
        PrimitiveKind.BOOLEAN -> type("boolean")
        PrimitiveKind.BYTE, PrimitiveKind.SHORT, PrimitiveKind.INT, PrimitiveKind.LONG -> type("integer")
        PrimitiveKind.FLOAT, PrimitiveKind.DOUBLE -> type("number")
        PrimitiveKind.STRING -> type("string")
        PrimitiveKind.CHAR ->
            type("string") + ("minLength" to JsonPrimitive(1)) + ("maxLength" to JsonPrimitive(1))
        SerialKind.ENUM -> words(type)
        StructureKind.LIST -> type("array") + ("items" to schema(type.getElementDescriptor(0)))
        StructureKind.MAP -> map(type)
        StructureKind.CLASS, StructureKind.OBJECT ->
            if (type.isInline) schema(type.getElementDescriptor(0)) else named(type) { members(type) }
        PolymorphicKind.SEALED -> named(type) { sealed(type) }
        PolymorphicKind.OPEN, SerialKind.CONTEXTUAL ->
            throw MLCReason.UNDESCRIBABLE_TYPE.exception("${type.serialName} has no JSON Schema: it may be any type")
    }

    private fun named(type: SerialDescriptor, write: () -> JsonObject): JsonObject {
        names[type]?.let { return reference(it) }
        if (type in around) return reference(nameOf(type))
        around.add(type)
        val schema = write()
        around.removeLast()
        val name = names[type] ?: return schema
        if (name.isEmpty()) return schema
        definitions[name] = schema
        return reference(name)
    }

    /** Its name in `$defs`; the root needs none. */
    private fun nameOf(type: SerialDescriptor): String = names.getOrPut(type) {
        val word = type.serialName.substringAfterLast('.').replace(Regex("\\W"), "_")
        if (type == root) "" else generateSequence(1) { it + 1 }.map { if (it == 1) word else "$word$it" }
            .first { it !in names.values }
    }

    private fun members(type: SerialDescriptor, tag: String? = null): JsonObject {
        val own = type.elementNames.zip(type.elementDescriptors).withIndex().map { (i, member) ->
            member.first to described(schema(member.second), type.getElementAnnotations(i))
        }
        val required = type.elementNames.filterIndexed { i, _ -> !type.isElementOptional(i) }
        val tags = listOfNotNull(tag?.let { TAG to JsonObject(mapOf("const" to JsonPrimitive(it))) })
        val schema = type("object") + mapOf(
            "properties" to JsonObject((tags + own).toMap()),
            "required" to JsonArray((tags.map { it.first } + required).map(::JsonPrimitive)),
            "additionalProperties" to JsonPrimitive(false),
        )
        return described(JsonObject(schema), type.annotations)
    }

    /** The classes of a sealed one, each with the word that tells it apart. */
    private fun sealed(type: SerialDescriptor): JsonObject {
        val classes = type.getElementDescriptor(1)
        return anyOf(classes.elementNames.zip(classes.elementDescriptors).map { (word, of) -> members(of, word) })
    }

    private fun map(type: SerialDescriptor): JsonObject {
        val key = type.getElementDescriptor(0)
        val names = when (key.kind) {
            PrimitiveKind.STRING -> null
            SerialKind.ENUM -> words(key)
            PrimitiveKind.BYTE, PrimitiveKind.SHORT, PrimitiveKind.INT, PrimitiveKind.LONG -> DIGITS
            else -> throw MLCReason.UNDESCRIBABLE_TYPE.exception(
                "${type.serialName}<${key.serialName}> has no JSON Schema",
            )
        }
        val values = type("object") + ("additionalProperties" to schema(type.getElementDescriptor(1)))
        return if (names == null) values else values + ("propertyNames" to names)
    }
}

private const val TAG = "type" // as kotlinx.serialization's JSON has it

private val DIGITS =
    type("string") + ("pattern" to JsonPrimitive("^(0|-?[1-9][0-9]{0,8})$"))

private fun type(name: String) = JsonObject(mapOf("type" to JsonPrimitive(name)))

private fun reference(name: String) =
    JsonObject(mapOf("\$ref" to JsonPrimitive(if (name.isEmpty()) "#" else "#/\$defs/$name")))

private fun anyOf(schemas: List<JsonObject>) = JsonObject(mapOf("anyOf" to JsonArray(schemas)))

@OptIn(ExperimentalSerializationApi::class)
private fun words(type: SerialDescriptor) =
    JsonObject(mapOf("enum" to JsonArray(type.elementNames.map(::JsonPrimitive))))

private fun described(schema: JsonObject, annotations: List<Annotation>): JsonObject {
    val text = annotations.filterIsInstance<Description>().firstOrNull()?.text ?: return schema
    return schema + ("description" to JsonPrimitive(text))
}

private operator fun JsonObject.plus(member: Pair<String, JsonElement>) =
    JsonObject(toMap() + member)
