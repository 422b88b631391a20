package ai.mlc.mlcllm

import java.util.function.Function
import kotlinx.serialization.ExperimentalSerializationApi
import kotlinx.serialization.KSerializer
import kotlinx.serialization.SerializationException
import kotlinx.serialization.descriptors.StructureKind
import kotlinx.serialization.json.Json
import kotlinx.serialization.json.JsonObject
import kotlinx.serialization.serializer

/**
 * A function that a model may call, with its description for the model.
 *
 *     @Serializable data class City(@Description("The city's name.") val name: String)
 *     val population = Tool("population", "How many people live there.") { city: City ->
 *         register.people(city.name)
 *     }
 *     val run = engine.chat.completions.runTools(listOf(population), ChatCompletionRequest(messages))
 */
class Tool private constructor(
    val definition: FunctionDefinition,
    /** Reads the arguments, or throws [UnfitArguments]. Returns a function to call. */
    internal val bind: (String) -> suspend () -> String,
) {
    /** The model's arguments are not those of the function. */
    internal class UnfitArguments(override val message: String) : Exception()

    companion object {
        /** A function whose arguments are a class's properties; see [Tool]. */
        fun <A, R> of(
            name: String,
            description: String?,
            arguments: KSerializer<A>,
            result: KSerializer<R>,
            function: suspend (A) -> R,
        ): Tool {
            checkIsClass(name, arguments)
            val definition = FunctionDefinition(name, description, jsonSchemaOf(arguments), strict = true)
            return Tool(definition) { text ->
                val values = read(arguments, text)
                suspend { resultText(result, function(values)) }
            }
        }

        /** A function that reads its arguments by itself; `parameters` is their JSON Schema. */
        fun ofJson(
            name: String,
            description: String?,
            parameters: JsonObject,
            function: suspend (JsonObject) -> String,
        ): Tool = Tool(FunctionDefinition(name, description, parameters, strict = true)) { text ->
            val values = read(JsonObject.serializer(), text)
            suspend { function(values) }
        }

        /** [ofJson] for Java: texts of JSON. The function may block its thread. */
        @JvmStatic
        fun ofText(
            name: String,
            description: String?,
            parameters: String,
            function: Function<String, String>,
        ): Tool {
            val schema = wire.decodeFromString(JsonObject.serializer(), parameters)
            return ofJson(name, description, schema) { function.apply(it.toString()) }
        }
    }
}

/**
 * A function whose arguments are the properties of the `@Serializable` class `A`; `Unit` has none. A
 * text result goes to the model unchanged, any other result as JSON.
 */
inline fun <reified A, reified R> Tool(
    name: String,
    description: String? = null,
    noinline function: suspend (A) -> R,
): Tool = Tool.of(name, description, serializer<A>(), serializer<R>(), function)

@OptIn(ExperimentalSerializationApi::class)
private fun checkIsClass(name: String, arguments: KSerializer<*>) {
    val kind = arguments.descriptor.kind
    if ((kind == StructureKind.CLASS || kind == StructureKind.OBJECT) && !arguments.descriptor.isNullable) return
    throw MLCReason.UNDESCRIBABLE_TYPE.exception(
        "the arguments of $name must be the properties of a class",
        param = "tools",
    )
}

private fun <A> read(arguments: KSerializer<A>, text: String): A = try {
    Json.decodeFromString(arguments, text.ifEmpty { "{}" })
} catch (error: SerializationException) {
    throw Tool.UnfitArguments(error.message.orEmpty().lineSequence().first())
} catch (error: IllegalArgumentException) { // what a class itself refuses
    throw Tool.UnfitArguments(error.message.orEmpty())
}

private fun <R> resultText(result: KSerializer<R>, value: R): String =
    value as? String ?: Json.encodeToString(result, value)
