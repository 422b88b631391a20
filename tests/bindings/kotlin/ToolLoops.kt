/** Runs the vectors of the kind `tools`, and the loop that `run-tools` asks for. */
package ai.mlc.mlcllm.program

import ai.mlc.mlcllm.ChatCompletionChunk
import ai.mlc.mlcllm.ChatCompletionRequest
import ai.mlc.mlcllm.MAX_TOOL_CALLS
import ai.mlc.mlcllm.Tool
import ai.mlc.mlcllm.ToolChoiceMode
import ai.mlc.mlcllm.ToolRunEvent
import ai.mlc.mlcllm.completeAs
import ai.mlc.mlcllm.streamTools
import ai.mlc.mlcllm.toolEvents
import ai.mlc.mlcllm.wire
import kotlinx.coroutines.flow.asFlow
import kotlinx.coroutines.flow.toList
import kotlinx.serialization.Serializable
import kotlinx.serialization.json.JsonArray
import kotlinx.serialization.json.JsonElement
import kotlinx.serialization.json.JsonObject
import kotlinx.serialization.json.JsonPrimitive
import kotlinx.serialization.json.jsonArray
import kotlinx.serialization.json.jsonPrimitive
import kotlinx.serialization.json.long

@Serializable
data class Weather(val city: String, val days: Int = 1)

@Serializable
data class Report(val city: String, val days: Int)

private val TOOLS = mapOf(
    "weather" to Tool("weather", "The weather of a city.") { asked: Weather ->
        check(asked.city != "Nowhere") { "no such city" }
        Report(asked.city, asked.days)
    },
    "noon" to Tool("noon") { _: Unit -> "at 12" },
)

@Serializable
enum class Room { bath, kitchen }

@Serializable
data class Light(val room: Room, val on: Boolean)

private fun json(light: Light) = result("room" to light.room.name, "on" to light.on)

suspend fun runTools(model: Model, options: Options): JsonObject {
    val asked = request(options.needed("prompt"), maxTokens = 60, temperature = 0.0)
    options.end()
    val calls = ArrayList<JsonObject>()
    val switch = Tool("switch_light", "Switches a light on or off.") { light: Light ->
        calls.add(json(light))
        "The light in the ${light.room} is ${if (light.on) "on" else "off"}."
    }
    return model.use { engine ->
        val completions = engine.chat.completions
        val loop = asked.copy(tool_choice = ToolChoiceMode.required)
        val events = completions.streamTools(listOf(switch), loop, maxCalls = 2).toList()
        val run = (events.last() as ToolRunEvent.End).run
        result(
            "calls" to calls,
            "results" to events.filterIsInstance<ToolRunEvent.Result>().map { it.result.content },
            "text" to events.filterIsInstance<ToolRunEvent.Text>().joinToString("") { it.text },
            "content" to run.content,
            "roles" to run.messages.map { it.role.word },
            "num_calls" to run.numCalls,
            "light" to json(completions.completeAs<Light>(asked)),
        )
    }
}

private fun JsonObject.words(name: String): List<String>? =
    (get(name) as? JsonArray)?.map { it.jsonPrimitive.content }

private inline fun <reified T> typed(json: JsonElement): T = wire.decodeFromString(json.toString())

/** What a case's loop asks and tells. A loop that fails throws. */
suspend fun checkTools(case: JsonObject, same: (String, JsonElement, JsonElement) -> Unit) {
    val names = case.words("tools") ?: TOOLS.keys.toList()
    val denied = case.words("deny")
    val answers = ArrayDeque(case.getValue("answers").jsonArray)
    val asked = ArrayList<ChatCompletionRequest>()
    val events = toolEvents(
        names.map(TOOLS::getValue),
        typed(case.getValue("request")),
        case["max_calls"]?.jsonPrimitive?.long ?: MAX_TOOL_CALLS,
        denied?.let { { call -> call.function.name !in it } },
    ) { request ->
        asked.add(request)
        answers.removeFirst().jsonArray.map { typed<ChatCompletionChunk>(it) }.asFlow()
    }.toList()
    val expected = case["asked"]?.jsonArray ?: throw AssertionError("it began")
    same("number of requests", json(expected.size), json(asked.size))
    for ((request, wanted) in asked.zip(expected)) {
        val choice = request.tool_choice?.let(::jsonOf)
        val found = result("messages" to jsonOf(request.messages), "tool_choice" to choice)
        same("asked", wanted, cut(found, wanted))
        same("tools", json(names), json(request.tools?.map { it.function.name }))
        same("usage", json(true), json(request.stream_options?.include_usage))
    }
    val chunks = case.getValue("answers").jsonArray.sumOf { it.jsonArray.size }
    same("chunks", json(chunks), json(events.count { it is ToolRunEvent.Chunk }))
    val told = JsonArray(events.mapNotNull(::told))
    same("events", case.getValue("events"), cut(told, case.getValue("events")))
}

private fun told(event: ToolRunEvent): JsonObject? = when (event) {
    is ToolRunEvent.Chunk -> null
    is ToolRunEvent.Text -> result("type" to "text", "text" to event.text)
    is ToolRunEvent.Call -> result("type" to "call", "name" to event.call.function.name)
    is ToolRunEvent.Result -> result(
        "type" to "result",
        "outcome" to event.result.outcome.word,
        "content" to event.result.content,
    )
    is ToolRunEvent.End -> result(
        "type" to "end",
        "content" to event.run.content,
        "num_calls" to event.run.numCalls,
        "limit_reached" to event.run.limitReached,
        "messages" to jsonOf(event.run.messages),
        "usage" to jsonOf(event.run.completion.usage),
    )
}

/** `found` where the expectation leaves its end open, with a `*` for that. */
private fun cut(found: JsonElement, expected: JsonElement?): JsonElement = when {
    expected is JsonPrimitive && found is JsonPrimitive && isOpen(expected, found) -> expected
    expected is JsonObject && found is JsonObject ->
        JsonObject(found.mapValues { (name, value) -> cut(value, expected[name]) })
    expected is JsonArray && found is JsonArray && expected.size == found.size ->
        JsonArray(found.zip(expected) { a, b -> cut(a, b) })
    else -> found
}

private fun isOpen(expected: JsonPrimitive, found: JsonPrimitive): Boolean =
    expected.isString && expected.content.endsWith("*") &&
        found.content.startsWith(expected.content.dropLast(1))
