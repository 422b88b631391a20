package ai.mlc.chatkit

import ai.mlc.chatkit.chat.Markdown
import ai.mlc.chatkit.chat.MarkdownBlock
import ai.mlc.chatkit.chat.AnswerTimes
import ai.mlc.chatkit.chat.Chat
import ai.mlc.chatkit.chat.ChosenPictures
import ai.mlc.chatkit.chat.Context
import ai.mlc.chatkit.chat.Export
import ai.mlc.chatkit.chat.bytesText
import ai.mlc.chatkit.chat.line
import ai.mlc.chatkit.chat.statsOf
import ai.mlc.chatkit.download.AnswerAction
import ai.mlc.chatkit.download.BodyStep
import ai.mlc.chatkit.download.DownloadEvent
import ai.mlc.chatkit.download.DownloadState
import ai.mlc.chatkit.download.FetchFailure
import ai.mlc.chatkit.download.FileCheck
import ai.mlc.chatkit.download.FileRequest
import ai.mlc.chatkit.download.Mark
import ai.mlc.chatkit.download.Retry
import ai.mlc.chatkit.download.Sample
import ai.mlc.chatkit.download.StopReason
import ai.mlc.chatkit.download.Tries
import ai.mlc.chatkit.download.answerAction
import ai.mlc.chatkit.download.checkFile
import ai.mlc.chatkit.download.rateOf
import ai.mlc.chatkit.download.retryOf
import ai.mlc.chatkit.engine.BenchmarkResult
import ai.mlc.chatkit.engine.BenchmarkRun
import ai.mlc.chatkit.engine.MemoryPressure
import ai.mlc.chatkit.engine.MemorySign
import ai.mlc.chatkit.engine.messagesOf
import ai.mlc.chatkit.tools.ToolException
import ai.mlc.chatkit.tools.Tools
import ai.mlc.chatkit.tools.calculate
import ai.mlc.mlcllm.ChatCompletionMessage
import ai.mlc.mlcllm.CompletionUsage
import java.io.File
import java.time.Instant
import java.time.ZoneId
import kotlin.math.abs
import kotlinx.serialization.builtins.ListSerializer
import kotlinx.serialization.json.Json
import kotlinx.serialization.json.JsonArray
import kotlinx.serialization.json.JsonElement
import kotlinx.serialization.json.JsonNull
import kotlinx.serialization.json.JsonObject
import kotlinx.serialization.json.JsonPrimitive
import kotlinx.serialization.json.booleanOrNull
import kotlinx.serialization.json.doubleOrNull
import org.junit.Assert.assertEquals
import org.junit.Assert.assertTrue
import org.junit.Test

/** The decisions that all apps share: apps/vectors. */
class VectorsTest {
    private val folder = File(System.getProperty("mlc_llm.root"), "apps/vectors")

    @Test
    fun `every case of every file`() {
        val wrong = mutableListOf<String>()
        var count = 0
        for (file in folder.listFiles().orEmpty().filter { it.name.endsWith(".json") }.sorted()) {
            val cases = (Json.parseToJsonElement(file.readText()) as JsonObject).getValue("cases") as JsonArray
            for (case in cases.map { it as JsonObject }) {
                val expected = case.getValue("output")
                val got = outputOf(case.getValue("kind").text!!, case.getValue("input") as JsonObject)
                if (!same(expected, got)) wrong += "${file.name}: ${case["name"]}: expected $expected, got $got"
                count++
            }
        }
        println("apps/vectors: $count cases")
        assertTrue("$count cases", count > 620)
        assertEquals("", wrong.joinToString("\n"))
    }

    private fun outputOf(kind: String, input: JsonObject): JsonElement = try {
        when (kind) {
            "state", "request", "answer", "body", "retry", "tries", "reasons", "relaunch", "verify", "rate" ->
                DownloadVectors.output(kind, input)
            "app_config", "address", "files", "index", "plan", "estimate" -> modelOutput(kind, input)
            "warnings", "trim_levels" -> warningsOutput(input.getValue("events") as JsonArray)
            "blocks" -> json("blocks" to Markdown.blocks(input.text("text")).map(::blockJson))
            "pictures" -> picturesOutput(input.getValue("events") as JsonArray)
            "statistics", "benchmark", "bytes" -> statisticsOutput(kind, input)
            "calculator", "tool", "clock", "refusal" -> toolOutput(kind, input)
            else -> ChatVectors.output(kind, input)
        }
    } catch (error: FieldException) {
        json("error" to json("field" to error.field, "why" to error.why))
    }

    private fun blockJson(block: MarkdownBlock) = json(
        "kind" to block.kind.name.lowercase(), "text" to block.text, "level" to block.level.takeIf { it > 0 },
        "label" to block.label.ifEmpty { null }, "rows" to block.rows.ifEmpty { null },
    )

    private fun modelOutput(kind: String, input: JsonObject): JsonElement = when (kind) {
        "app_config" -> AppConfig.read(input.text("text")).run {
            json("models" to models.map(::modelJson), "bad" to bad.map(::badJson))
        }
        "address" -> {
            val (url, id) = HubAddress.typed(input.text("text"), input.text("hub"))
            json("url" to url, "model_id" to id)
        }
        "files" -> filesOutput(input)
        "index" -> {
            val status = (input.getValue("status") as JsonObject).mapValues { it.value.wholeNumber!!.toInt() }
            try {
                ModelFiles.index(status).run { json("next" to next, "index" to index) }
            } catch (error: FieldException) {
                json("next" to null, "index" to null, "error" to json("field" to error.field, "why" to error.why))
            }
        }
        "plan" -> planOutput(input.getValue("plan") as JsonObject)
        else -> memoryWarning(input.long("estimated_vram_bytes"), input.long("available_bytes"))
            ?.run { json("action" to "warn", "needs_bytes" to needsBytes, "has_bytes" to hasBytes) }
            ?: json("action" to "ok")
    }

    private fun warningsOutput(events: JsonArray): JsonElement {
        val pressure = MemoryPressure()
        val steps = events.map { it as JsonArray }.mapNotNull { event ->
            when (val word = event[0].text) {
                "load" -> pressure.loaded().let { null }
                "unload" -> pressure.unloaded().let { null }
                else -> {
                    val step = pressure.next(pressure.signOf(word!!, event), event[1].wholeNumber!!)
                    listOfNotNull(step.name.lowercase(), step.level?.word).joinToString(" ")
                }
            }
        }
        return json("steps" to steps)
    }

    private fun MemoryPressure.signOf(word: String, event: JsonArray): MemorySign = when (word) {
        "level" -> signOf(event[2].wholeNumber!!.toInt(), event[3] == JsonPrimitive(true))
        "look" -> signOf(event[2] == JsonPrimitive(true))
        else -> MemorySign.valueOf(word.uppercase())
    }

    private fun picturesOutput(events: JsonArray): JsonElement {
        var chosen = ChosenPictures()
        var takes: Boolean? = null
        val sent = mutableListOf<List<String>>()
        for (event in events.map { it as JsonArray }) {
            when (event[0].text) {
                "model" -> {
                    takes = (event[1] as JsonPrimitive).booleanOrNull
                    chosen = chosen.forModel(takes)
                }
                "choose" -> chosen = chosen.choose(event[1].text!!, takes)
                "take_back" -> chosen = chosen.takeBack(event[1].wholeNumber!!.toInt())
                else -> chosen = chosen.send(takes).also { sent += it.first }.second
            }
        }
        return json("urls" to chosen.urls, "left_out" to chosen.leftOut, "sent" to sent)
    }

    private fun modelJson(model: ModelEntry) = json(
        "model_id" to model.modelId, "model_lib" to model.modelLib, "path" to model.path, "url" to model.url,
        "estimated_vram_bytes" to model.estimatedVramBytes,
    )

    private fun badJson(bad: BadEntry) =
        json("index" to bad.index, "model_id" to bad.modelId, "field" to bad.field, "why" to bad.why)

    private fun filesOutput(input: JsonObject): JsonElement {
        val config = input.getValue("config") as JsonObject
        val files = ModelFiles.list(config, input.text("index_name"), input.getValue("index") as JsonObject)
        val listed = files.map { json("path" to it.path, "bytes" to it.bytes, "md5" to it.md5) }
        return json("files" to listed, "known_bytes" to files.sumOf { it.bytes ?: 0 })
    }

    private fun planOutput(plan: JsonObject): JsonElement {
        val need = MemoryNeed(
            plan.long("parameter_bytes")!!, plan.long("temporary_bytes")!!, plan.long("total_bytes")!!,
            plan.long("available_bytes")!!, plan.long("kv_bytes_per_token")!!, plan.long("context_window_size")!!,
            plan.getValue("fits") == JsonPrimitive(true),
        )
        return when (val decision = memoryDecision(need)) {
            MemoryDecision.Load -> json("action" to "load")
            is MemoryDecision.Offer -> json(
                "action" to "offer", "context_tokens" to decision.contextTokens,
                "needs_bytes" to decision.needsBytes, "has_bytes" to decision.hasBytes,
            )
            is MemoryDecision.Refuse ->
                json("action" to "refuse", "needs_bytes" to decision.needsBytes, "has_bytes" to decision.hasBytes)
        }
    }

    private fun statisticsOutput(kind: String, input: JsonObject): JsonElement = when (kind) {
        "bytes" -> json("text" to bytesText(input.long("bytes")!!))
        "benchmark" -> {
            val runs = (input.getValue("runs") as JsonArray).map { it as JsonObject }.map {
                BenchmarkRun(
                    it.long("prompt_tokens")!!, it.number("prompt_tokens_per_s"),
                    it.long("decode_tokens")!!, it.number("decode_tokens_per_s"),
                )
            }
            val result = BenchmarkResult(input.text("model"), input.text("device"), runs, input.long("peak_bytes"))
            json("text" to result.text)
        }
        else -> {
            val usage = input.getValue("usage").takeUnless { it.isNull }
                ?.let { lenient.decodeFromJsonElement(CompletionUsage.serializer(), it) }
            val times = input.getValue("times") as JsonObject
            val stats = statsOf(
                usage,
                AnswerTimes(
                    times.long("begin_ms")!!, times.long("first_ms"), times.long("end_ms")!!, times.long("chunks")!!,
                ),
            )
            val fields = with(stats) {
                json(
                    "tokens" to tokens, "prompt" to prompt, "cached" to cached, "thoughts" to thoughts,
                    "speed" to speed, "prompt_speed" to prompt_speed, "first" to first, "seconds" to seconds,
                )
            }
            json("stats" to fields, "line" to stats.line(input["finish"]?.text, input.text("model")))
        }
    }

    private fun toolOutput(kind: String, input: JsonObject): JsonElement = when (kind) {
        "calculator" -> try {
            json("result" to calculate(input.text("expression")))
        } catch (error: ToolException) {
            json("error" to error.message)
        }
        "refusal" -> Json.parseToJsonElement(Tools.REFUSAL)
        "tool" -> Json.parseToJsonElement(Tools().run(input.text("name"), input.text("arguments")))
        else -> {
            val zone = ZoneId.of(input.text("own_zone"))
            val tools = Tools({ Instant.ofEpochMilli(input.long("now_ms")!!) }, { zone })
            Json.parseToJsonElement(tools.run(Tools.CLOCK, input.text("arguments")))
        }
    }
}

private object DownloadVectors {
    fun output(kind: String, input: JsonObject): JsonElement = when (kind) {
        "state" -> {
            val event = DownloadEvent.valueOf(input.text("event").uppercase())
            json("state" to DownloadState.of(input.text("state"))!!.after(event).word)
        }
        "request" -> FileRequest.of(input.long("local_bytes")!!, input.long("expected_bytes")).run {
            json("action" to action.name.lowercase(), "range" to range)
        }
        "answer" -> answerOutput(input)
        "body" -> {
            val isOver = input["is_over"] == JsonPrimitive(true)
            val (expected, announced) = input.long("expected_bytes") to input.long("announced_bytes")
            json("step" to BodyStep.of(input.long("bytes")!!, expected, announced, isOver).name.lowercase())
        }
        "retry" -> retryOutput(input)
        "tries" -> {
            val tries = Tries()
            val failures = (input.getValue("failures") as JsonArray).map { it as JsonArray }
            json("attempts" to failures.map { tries.failed(it[0].wholeNumber!!, it[1].wholeNumber!!.toInt()) })
        }
        "reasons" -> json("words" to StopReason.values().map { it.word })
        "relaunch" -> relaunchOutput(input)
        "rate" -> {
            val samples = (input.getValue("samples") as JsonArray).map { it as JsonArray }
                .map { Sample(it[0].wholeNumber!!, it[1].wholeNumber!!) }
            val rate = rateOf(samples, input.long("now_ms")!!, input.long("total_bytes"))
            json("bytes_per_s" to rate.bytesPerSecond, "seconds_left" to rate.secondsLeft)
        }
        else -> verifyOutput(input)
    }

    private fun answerOutput(input: JsonObject): JsonElement {
        val action = answerAction(
            input.long("local_bytes")!!, input.long("expected_bytes"), input.long("status")!!.toInt(),
            input["content_range"]?.text, input.long("content_length"),
        )
        return when (action) {
            is AnswerAction.Refuse -> json("action" to "refuse", "why" to action.why.word)
            else -> json("action" to action.javaClass.simpleName.lowercase())
        }
    }

    private fun relaunchOutput(input: JsonObject): JsonElement {
        val files = input.getValue("mark").takeUnless { it.isNull }
            ?.let { lenient.decodeFromJsonElement(ListSerializer(Mark.Entry.serializer()), it) }
        val sizes = input.getValue("sizes") as JsonObject
        val isBegun = input["is_begun"] == JsonPrimitive(true)
        val found = Mark.statusOf(files?.let(::Mark), isBegun) { sizes[it]?.wholeNumber }
        val detail = found.detail.ifEmpty { null }
        return json("state" to found.state.word, "reason" to found.reason?.word, "detail" to detail)
    }

    private fun retryOutput(input: JsonObject): JsonElement {
        val failure = input.getValue("failure") as JsonObject
        val what = when (failure["error"]?.text) {
            "network" -> FetchFailure.Network
            "cut" -> FetchFailure.Cut
            "stalled" -> FetchFailure.Stalled
            "disk_full" -> FetchFailure.DiskFull
            "disk" -> FetchFailure.Disk
            else -> FetchFailure.Status(failure.long("status")!!.toInt(), failure["retry_after"]?.text)
        }
        return when (val retry = retryOf(what, input.long("attempt")!!.toInt(), Instant.parse(input.text("now")))) {
            is Retry.Wait -> json("wait_ms" to retry.ms, "state" to "waiting")
            is Retry.Stop -> json("stop" to retry.reason.word)
        }
    }

    private fun verifyOutput(input: JsonObject): JsonElement {
        val file = ModelFile("a", input.long("expected_bytes"), input["expected_md5"]?.text)
        val earlier = input.long("earlier_corrupt")!!.toInt()
        val check = checkFile(input.long("bytes")!!, file, earlier) { input.text("md5") }
        return when (check) {
            FileCheck.Keep -> json("action" to "keep")
            FileCheck.Continue -> json("action" to "continue")
            is FileCheck.FetchAgain -> json("action" to "fetch_again", "why" to check.why.word)
            is FileCheck.Fail -> json("action" to "fail", "why" to check.why.word)
        }
    }
}

private object ChatVectors {
    fun output(kind: String, input: JsonObject): JsonElement = when (kind) {
        "export" -> {
            val chats = lenient.decodeFromJsonElement(ListSerializer(Chat.serializer()), input.getValue("chats"))
            Json.parseToJsonElement(Export.json(chats))
        }
        "import" -> Export.read(input.text("text")).run { json("chats" to chats.map { it.id }, "skipped" to skipped) }
        else -> ofChat(kind, input, lenient.decodeFromJsonElement(Chat.serializer(), input.getValue("chat")))
    }

    private fun ofChat(kind: String, input: JsonObject, chat: Chat): JsonElement = when (kind) {
        "title" -> json("title" to chat.shownTitle)
        "search" -> json("found" to chat.matches(input.text("search")))
        "markdown" -> json("text" to Export.markdown(chat))
        "file_name" -> json("name" to Export.fileName(chat, input.text("ending")))
        "messages" -> json(
            "messages" to messagesOf(chat).map { Json.encodeToJsonElement(ChatCompletionMessage.serializer(), it) },
        )
        "edit" -> {
            val id = input.text("id")
            val cut = if (input.text("op") == "cut") chat.cutAt(id) else chat.cutAnswer(id)
            json("messages" to cut.messages.map { it.id }, "dropped" to cut.dropped)
        }
        "open_calls" -> json("calls" to chat.openCalls.map { it.id })
        "context" -> with(Context(chat, input.long("model_context")) { it.length }) {
            json("limit" to limit, "prompt_tokens" to promptTokens, "overflows" to overflows, "drop" to oldestToDrop)
        }
        else -> throw AssertionError("no code for the vectors of kind $kind")
    }
}

private fun JsonObject.text(name: String): String = getValue(name).text!!

private fun JsonObject.long(name: String): Long? = get(name)?.wholeNumber

private fun JsonObject.number(name: String): Double = (getValue(name) as JsonPrimitive).doubleOrNull!!

private fun json(vararg members: Pair<String, Any?>): JsonObject =
    JsonObject(members.associate { (name, value) -> name to element(value) })

private fun element(value: Any?): JsonElement = when (value) {
    null -> JsonNull
    is JsonElement -> value
    is Number -> JsonPrimitive(value)
    is Boolean -> JsonPrimitive(value)
    is List<*> -> JsonArray(value.map(::element))
    else -> JsonPrimitive(value.toString())
}

/** Numbers to 12 digits; a member that is null equals one that is absent. */
private fun same(one: JsonElement, other: JsonElement): Boolean = when {
    one is JsonObject && other is JsonObject ->
        (one.keys + other.keys).all { same(one[it] ?: JsonNull, other[it] ?: JsonNull) }
    one is JsonArray && other is JsonArray -> one.size == other.size && one.indices.all { same(one[it], other[it]) }
    one is JsonPrimitive && other is JsonPrimitive && !one.isString && !other.isString -> {
        val (a, b) = one.doubleOrNull to other.doubleOrNull
        if (a == null || b == null) one == other else abs(a - b) <= 1e-12 * maxOf(abs(a), abs(b), 1.0)
    }
    else -> one == other
}
