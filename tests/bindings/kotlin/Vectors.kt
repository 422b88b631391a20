/** Runs the conformance vectors of tests/bindings/vectors. */
package ai.mlc.mlcllm.program

import ai.mlc.mlcllm.AnswerFold
import ai.mlc.mlcllm.ChatCompletionChunk
import ai.mlc.mlcllm.ChatCompletionChunkChoice
import ai.mlc.mlcllm.ChatCompletionRequest
import ai.mlc.mlcllm.CompletionUsage
import ai.mlc.mlcllm.CorruptFileException
import ai.mlc.mlcllm.DeadlineExceededException
import ai.mlc.mlcllm.InternalException
import ai.mlc.mlcllm.InvalidRequestException
import ai.mlc.mlcllm.MLCEngine
import ai.mlc.mlcllm.MLCException
import ai.mlc.mlcllm.NotFoundException
import ai.mlc.mlcllm.RateLimitException
import ai.mlc.mlcllm.RequestCancelledException
import ai.mlc.mlcllm.ResourceException
import ai.mlc.mlcllm.StreamOptions
import ai.mlc.mlcllm.UnavailableException
import ai.mlc.mlcllm.UnfinishedAnswerException
import ai.mlc.mlcllm.UnsupportedException
import ai.mlc.mlcllm.decode
import ai.mlc.mlcllm.encode
import java.io.File
import kotlinx.coroutines.flow.toList
import kotlinx.serialization.KSerializer
import kotlinx.serialization.json.Json
import kotlinx.serialization.json.JsonArray
import kotlinx.serialization.json.JsonElement
import kotlinx.serialization.json.JsonNull
import kotlinx.serialization.json.JsonObject
import kotlinx.serialization.json.JsonPrimitive
import kotlinx.serialization.json.jsonArray
import kotlinx.serialization.json.jsonObject
import kotlinx.serialization.json.jsonPrimitive
import kotlinx.serialization.serializer

private typealias Case = JsonObject

private fun Case.text(name: String): String = getValue(name).jsonPrimitive.content

private fun Case.members(name: String): JsonObject = get(name) as? JsonObject ?: JsonObject(emptyMap())

private fun Case.texts(name: String): List<String> =
    (get(name) as? JsonArray).orEmpty().map { it.jsonPrimitive.content }

private val NULL: JsonElement = JsonNull

suspend fun vectors(folder: File, model: Model, options: Options): JsonObject {
    options.end()
    val files = File(folder, "cases").takeIf { it.isDirectory } ?: folder
    val cases = files.listFiles { file -> file.extension == "json" }.orEmpty().sorted()
        .flatMap { file -> Json.parseToJsonElement(file.readText()).jsonObject.getValue("cases").jsonArray }
    val failures = model.use { engine -> cases.mapNotNull { failureOf(it.jsonObject, engine) } }
    return result(
        "passed" to cases.size - failures.size,
        "failed" to failures.size,
        "failures" to failures,
    )
}

/** Null when the case passes. Whatever is thrown is a failure of its case, not of the program. */
private suspend fun failureOf(case: Case, engine: MLCEngine): JsonObject? = try {
    run(case, engine)
    null
} catch (error: Throwable) {
    result("name" to case.text("name"), "why" to "$error at ${error.stackTrace.firstOrNull()}")
}

private suspend fun run(case: Case, engine: MLCEngine) = when (val kind = case.text("kind")) {
    "value" -> value(case)
    "invalid" -> invalid(case)
    "stream" -> stream(case)
    "error" -> error(case, MLCException.ofJson(case.getValue("json").toString().encodeToByteArray()))
    "fault" -> fault(case, engine)
    "answer" -> answer(case, engine)
    "build" -> build(case)
    "tools" -> tools(case)
    else -> throw AssertionError("unknown kind $kind")
}

// ---- The kinds ---------------------------------------------------------------------------------

private fun value(case: Case) {
    val typed = decoded(case.text("type"), case.getValue("json"))
    val ignored = case.texts("ignore")
    same("encoded", without(ignored, case.getValue("canonical")), without(ignored, encoded(typed)))
    fields(case, typed)
    for ((path, name) in case.members("variants")) {
        same("variant at $path", name, json(variantOf(checkNotNull(valueAt(typed, path)))))
    }
    for (path in case.texts("unknown_words")) {
        if (!isUnknown(typed, path)) throw AssertionError("the word at $path is known")
    }
}

private fun invalid(case: Case) {
    val typed = try {
        decoded(case.text("type"), case.getValue("json"))
    } catch (_: MLCException) {
        return
    }
    throw AssertionError("this was decoded, to $typed")
}

private fun stream(case: Case) {
    val chunks = case.getValue("chunks").jsonArray.map {
        decoded("ChatCompletionChunk", it) as ChatCompletionChunk
    }
    texts(case, chunks)
    val choices = byChoice(chunks)
    expectByChoice(case, "roles", choices.mapValues { (_, pieces) ->
        pieces.firstNotNullOfOrNull { it.delta.role }?.word
    })
    expectByChoice(case, "tool_calls", choices.mapValues { (_, pieces) -> toolCalls(pieces) })
    same("usage", case["usage"] ?: NULL, jsonOf(chunks.mapNotNull { it.usage }.lastOrNull()))
    fields(case, chunks)
}

private fun byChoice(chunks: List<ChatCompletionChunk>): Map<String, List<ChatCompletionChunkChoice>> =
    chunks.flatMap { it.choices }.groupBy { it.index.toString() }

private fun texts(case: Case, chunks: List<ChatCompletionChunk>) {
    expectByChoice(case, "texts", byChoice(chunks).mapValues { (_, pieces) ->
        pieces.mapNotNull { it.delta.content }.takeIf { it.isNotEmpty() }?.joinToString("")
    })
    expectByChoice(case, "finish_reasons", byChoice(chunks).mapValues { (_, pieces) ->
        pieces.mapNotNull { it.finish_reason }.lastOrNull()
    })
}

private fun toolCalls(pieces: List<ChatCompletionChunkChoice>): List<JsonObject>? {
    val calls = pieces.flatMap { it.delta.tool_calls.orEmpty() }.groupBy { it.index }.toSortedMap()
    return calls.values.map { parts ->
        result(
            "id" to parts.firstNotNullOfOrNull { it.id },
            "name" to parts.firstNotNullOfOrNull { it.function?.name },
            "arguments" to parts.mapNotNull { it.function?.arguments }.joinToString(""),
        )
    }.takeIf { it.isNotEmpty() }
}

private suspend fun fault(case: Case, engine: MLCEngine) {
    val failure = try {
        engine.requests.result(case.text("route"), case.text("body").encodeToByteArray())
        null
    } catch (error: MLCException) {
        error
    }
    error(case, failure ?: throw AssertionError("it was not refused"))
}

private suspend fun answer(case: Case, engine: MLCEngine) {
    val request = decoded("ChatCompletionRequest", case.getValue("json")) as ChatCompletionRequest
    val withUsage = request.copy(stream_options = StreamOptions(include_usage = true))
    val chunks = engine.chat.completions.stream(withUsage).toList()
    texts(case, chunks)
    sameUsage(case, chunks.last().usage)
    val whole = engine.chat.completions.complete(request)
    val choices = whole.choices.associateBy { it.index.toString() }
    expectByChoice(case, "texts", choices.mapValues { it.value.message.content })
    expectByChoice(case, "finish_reasons", choices.mapValues { it.value.finish_reason })
    sameUsage(case, whole.usage)
    val fold = AnswerFold()
    chunks.forEach(fold::add)
    if (fold.completion().choices != whole.choices) throw AssertionError("put together: ${fold.completion()}")
}

private fun sameUsage(case: Case, usage: CompletionUsage?) {
    val found = jsonOf(usage).jsonObject
    for ((name, count) in case.members("usage")) same(name, count, found.getValue(name))
}

private suspend fun tools(case: Case) {
    val failure = try {
        checkTools(case, ::same)
        null
    } catch (error: MLCException) {
        if ("error" !in case) throw error
        error
    }
    failure?.let { error(case, it) }
}

private fun build(case: Case) {
    val make = BUILDS[case.text("name")] ?: throw AssertionError("nothing builds this")
    val ignored = case.texts("ignore")
    same("built", without(ignored, case.getValue("json")), without(ignored, encoded(make())))
}

private fun error(case: Case, error: MLCException) {
    val expected = case.members("error")
    val fields = result(
        "message" to error.message,
        "type" to error.type,
        "param" to error.param,
        "code" to error.code,
        "status" to error.status?.word,
    )
    for ((name, value) in expected) same(name, value, fields.getValue(name))
    same("class", case.members("class").getValue("kotlin"), json(error::class.simpleName))
}

// ---- Typed values and JSON ---------------------------------------------------------------------

@Suppress("UNCHECKED_CAST")
private fun serializerOf(type: String): KSerializer<Any> =
    serializer(Class.forName("ai.mlc.mlcllm.$type")) as KSerializer<Any>

private fun decoded(type: String, json: JsonElement): Any =
    decode(serializerOf(type), json.toString().encodeToByteArray())

private fun encoded(typed: Any): JsonElement = Json.parseToJsonElement(
    encode(serializerOf(typed.javaClass.simpleName), typed).decodeToString(),
)

private fun fields(case: Case, typed: Any) {
    for ((path, expected) in case.members("fields")) {
        same("the value at $path", expected, jsonOf(valueAt(typed, path)))
    }
}

private fun expectByChoice(case: Case, name: String, found: Map<String, Any?>) {
    val some = found.filterValues { it != null }.map { (index, value) -> index to value }
    same(name, case.members(name), result(*some.toTypedArray()))
}

private fun without(paths: List<String>, json: JsonElement): JsonElement =
    paths.fold(json) { rest, path -> without(rest, stepsOf(path)) }

private fun without(json: JsonElement, steps: List<String>): JsonElement {
    val step = steps.first()
    return when (json) {
        is JsonObject -> {
            val inner = json[step] ?: return json
            if (steps.size == 1) JsonObject(json - step)
            else JsonObject(json + (step to without(inner, steps.drop(1))))
        }
        is JsonArray -> JsonArray(
            json.mapIndexed { i, item -> if (i.toString() == step) without(item, steps.drop(1)) else item },
        )
        else -> json
    }
}

private fun same(what: String, expected: JsonElement, found: JsonElement) {
    if (!isSame(expected, found)) throw AssertionError("$what: expected $expected, found $found")
}

/** Numbers are equal by value; the order of an object's members has no meaning. */
private fun isSame(a: JsonElement, b: JsonElement): Boolean = when {
    a is JsonObject && b is JsonObject ->
        a.keys == b.keys && a.all { (name, value) -> isSame(value, b.getValue(name)) }
    a is JsonArray && b is JsonArray -> a.size == b.size && a.indices.all { isSame(a[it], b[it]) }
    a is JsonPrimitive && b is JsonPrimitive -> a == b || isSameNumber(a, b)
    else -> false
}

private fun isSameNumber(a: JsonPrimitive, b: JsonPrimitive): Boolean {
    if (a.isString || b.isString) return false
    val first = a.content.toBigDecimalOrNull() ?: return false
    val second = b.content.toBigDecimalOrNull() ?: return false
    return first.compareTo(second) == 0
}
