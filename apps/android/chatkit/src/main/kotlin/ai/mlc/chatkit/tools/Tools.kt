package ai.mlc.chatkit.tools

import ai.mlc.chatkit.isNull
import ai.mlc.chatkit.text
import ai.mlc.mlcllm.ChatCompletionTool
import ai.mlc.mlcllm.FunctionDefinition
import java.time.DateTimeException
import java.time.Instant
import java.time.ZoneId
import java.time.format.DateTimeFormatter
import java.time.format.TextStyle
import java.util.Locale
import kotlinx.serialization.SerializationException
import kotlinx.serialization.json.Json
import kotlinx.serialization.json.JsonObject
import kotlinx.serialization.json.JsonPrimitive
import kotlinx.serialization.json.buildJsonObject

/** The built-in tools: what the model reads about them, and what they do. */
class Tools(
    private val now: () -> Instant = Instant::now,
    private val ownZone: () -> ZoneId = ZoneId::systemDefault,
) {
    /** Runs a call that the user allowed. Returns the text for the model; a mistake is a text too. */
    fun run(name: String, arguments: String): String = try {
        val function = when (name) {
            CALCULATOR -> ::calculator
            CLOCK -> ::clock
            else -> throw ToolException("there is no tool '$name'")
        }
        function(readArguments(arguments)).toString()
    } catch (error: ToolException) {
        errorText(error.message.orEmpty())
    }

    private fun calculator(arguments: JsonObject): JsonObject {
        val expression = arguments["expression"]?.text ?: throw ToolException("'expression' must be a text")
        val value = calculate(expression)
        return buildJsonObject { put("result", numberOf(value)) }
    }

    private fun clock(arguments: JsonObject): JsonObject {
        val named = arguments["time_zone"]?.takeUnless { it.isNull }
        val zone = named?.run { zoneOf(text ?: throw ToolException("'time_zone' must be a text")) } ?: ownZone()
        val time = now().atZone(zone)
        return buildJsonObject {
            put("time", JsonPrimitive(TIME.format(time)))
            put("weekday", JsonPrimitive(time.dayOfWeek.getDisplayName(TextStyle.FULL, Locale.ENGLISH)))
            put("utc", JsonPrimitive(UTC.format(time.withZoneSameInstant(ZoneId.of("UTC")))))
            put("time_zone", JsonPrimitive(zone.id))
        }
    }

    companion object {
        const val CALCULATOR = "calculator"
        const val CLOCK = "clock"
        val NAMES = listOf(CALCULATOR, CLOCK)

        /** The text for the model when the user does not allow a call. */
        val REFUSAL: String = errorText("the user did not allow this call")

        /** The `tools` of a request for the names that are switched on. */
        fun ofRequest(names: List<String>): List<ChatCompletionTool> =
            names.mapNotNull { DEFINITIONS[it] }.map { ChatCompletionTool(it) }

        private fun errorText(message: String) = buildJsonObject { put("error", JsonPrimitive(message)) }.toString()

        private fun readArguments(text: String): JsonObject = try {
            Json.parseToJsonElement(text.ifBlank { "{}" })
        } catch (error: SerializationException) {
            throw ToolException("the arguments are not JSON")
        } as? JsonObject ?: throw ToolException("the arguments are not a JSON object")

        private fun zoneOf(name: String): ZoneId = try {
            if (name !in ZoneId.getAvailableZoneIds()) throw DateTimeException(name)
            ZoneId.of(name)
        } catch (error: DateTimeException) {
            throw ToolException("there is no time zone '$name'")
        }

        /** A whole number without `.0`, as long as it is exact. */
        private fun numberOf(value: Double): JsonPrimitive {
            val isWhole = value == Math.rint(value) && Math.abs(value) < MOST_WHOLE
            return if (isWhole) JsonPrimitive(value.toLong()) else JsonPrimitive(value)
        }

        private fun definition(name: String, description: String, parameters: String) = name to
            FunctionDefinition(name, description, Json.decodeFromString(JsonObject.serializer(), parameters))

        private val DEFINITIONS = mapOf(
            definition(
                CALCULATOR, "Computes an arithmetic expression. Use it for every calculation.",
                """{"type": "object", "properties": {"expression": {"type": "string", "description":
                    "For example 2 * (3 + sqrt(16)). There are + - * / % ^ and brackets."}},
                    "required": ["expression"], "additionalProperties": false}""",
            ),
            definition(
                CLOCK, "Tells the current date and time.",
                """{"type": "object", "properties": {"time_zone": {"type": "string", "description":
                    "An IANA name such as Europe/Berlin. Absent: the user's own time zone."}},
                    "additionalProperties": false}""",
            ),
        )
        private val TIME = DateTimeFormatter.ofPattern("yyyy-MM-dd'T'HH:mm:ssxxx", Locale.ROOT)
        private val UTC = DateTimeFormatter.ofPattern("yyyy-MM-dd'T'HH:mm:ss'Z'", Locale.ROOT)
        private const val MOST_WHOLE = 1e15
    }
}
