/** The program of tests/bindings/README.md in Kotlin. */
package ai.mlc.mlcllm.program

import ai.mlc.mlcllm.ChatCompletionChunk
import ai.mlc.mlcllm.ChatCompletionMessage
import ai.mlc.mlcllm.ChatCompletionRequest
import ai.mlc.mlcllm.ChatCompletionRole
import ai.mlc.mlcllm.CompletionUsage
import ai.mlc.mlcllm.DebugConfig
import ai.mlc.mlcllm.EmbeddingEncoding
import ai.mlc.mlcllm.EmbeddingVectorBase64
import ai.mlc.mlcllm.EmbeddingVectorNumbers
import ai.mlc.mlcllm.EngineConfig
import ai.mlc.mlcllm.EngineMode
import ai.mlc.mlcllm.MLCEngine
import ai.mlc.mlcllm.MLCException
import ai.mlc.mlcllm.PrefixCacheMode
import ai.mlc.mlcllm.PromptItemText
import ai.mlc.mlcllm.RerankDocument
import ai.mlc.mlcllm.RerankInputText
import ai.mlc.mlcllm.PromptItems
import ai.mlc.mlcllm.StreamOptions
import java.io.File
import kotlin.system.exitProcess
import kotlinx.coroutines.async
import kotlinx.coroutines.awaitAll
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.delay
import kotlinx.coroutines.flow.take
import kotlinx.coroutines.flow.toList
import kotlinx.coroutines.runBlocking
import kotlinx.serialization.json.Json
import kotlinx.serialization.json.JsonArray
import kotlinx.serialization.json.JsonElement
import kotlinx.serialization.json.JsonNull
import kotlinx.serialization.json.JsonObject
import kotlinx.serialization.json.JsonPrimitive

/** The options of a command; each is asked for once, and none may be left over. */
class Options(arguments: List<String>) {
    private val given = arguments.chunked(2).associate { pair ->
        require(pair.size == 2 && pair[0].startsWith("--")) { "options are --name value: $pair" }
        pair[0].drop(2) to pair[1]
    }.toMutableMap()

    fun text(name: String): String? = given.remove(name)

    fun long(name: String): Long? = text(name)?.toLong()

    fun needed(name: String): String = requireNotNull(text(name)) { "--$name is missing" }

    fun end() = require(given.isEmpty()) { "unknown options: ${given.keys}" }
}

private const val LONG_CAPACITY = 32768L

/** Which model the program's engines load. */
class Model(options: Options) {
    private val folder = options.needed("model")
    private val lib = options.text("lib")
    private val device = options.text("device") ?: "auto"

    suspend fun engine(capacity: Long? = null, ranks: Long? = null): MLCEngine {
        val engine = MLCEngine(
            EngineConfig(
                mode = EngineMode.local,
                max_num_sequence = 16,
                max_total_seq_length = capacity,
                prefix_cache_mode = PrefixCacheMode.disable,
                lora_ranks = ranks,
            ),
        )
        try {
            engine.load(folder, lib, device)
        } catch (error: MLCException) {
            engine.close()
            throw error
        }
        return engine
    }

    suspend fun <T> use(
        capacity: Long? = null,
        ranks: Long? = null,
        act: suspend (MLCEngine) -> T,
    ): T = engine(capacity, ranks).use { act(it) }
}

fun result(vararg members: Pair<String, Any?>): JsonObject = JsonObject(
    members.associate { (name, value) -> name to json(value) },
)

fun json(value: Any?): JsonElement = when (value) {
    null -> JsonNull
    is JsonElement -> value
    is String -> JsonPrimitive(value)
    is Boolean -> JsonPrimitive(value)
    is Number -> JsonPrimitive(value)
    is List<*> -> JsonArray(value.map(::json))
    else -> error("$value is no JSON")
}

fun request(
    prompt: String,
    seed: Long? = null,
    maxTokens: Long? = null,
    temperature: Double? = null,
    ignoreEos: Boolean = false,
) = ChatCompletionRequest(
    messages = listOf(ChatCompletionMessage(ChatCompletionRole.user, prompt)),
    seed = seed,
    max_tokens = maxTokens,
    temperature = temperature,
    debug_config = if (ignoreEos) DebugConfig(ignore_eos = true) else null,
)

/** What the chunks of an answer amount to. */
class Answer {
    private val text = StringBuilder()
    private var finishReason: String? = null
    private var usage: CompletionUsage? = null
    var chunks = 0
        private set

    fun add(chunk: ChatCompletionChunk) {
        chunks++
        chunk.usage?.let { usage = it }
        val choice = chunk.choices.firstOrNull() ?: return
        text.append(choice.delta.content.orEmpty())
        choice.finish_reason?.let { finishReason = it }
    }

    fun text(): String = text.toString()

    fun completionTokens(): Long? = usage?.completion_tokens

    fun result() = result(
        "text" to text(),
        "finish_reason" to finishReason,
        "chunks" to chunks,
        "prompt_tokens" to usage?.prompt_tokens,
        "completion_tokens" to usage?.completion_tokens,
    )
}

suspend fun MLCEngine.read(request: ChatCompletionRequest): Answer {
    val answer = Answer()
    val usage = request.copy(stream_options = StreamOptions(include_usage = true))
    chat.completions.stream(usage).collect(answer::add)
    return answer
}

fun requestOf(options: Options) = request(
    options.needed("prompt"),
    options.long("seed"),
    options.long("max-tokens"),
    options.text("temperature")?.toDouble(),
    options.text("ignore-eos") == "1",
)

suspend fun stream(model: Model, options: Options): JsonObject {
    val request = requestOf(options).copy(stream_options = StreamOptions(include_usage = true))
    options.end()
    return model.use { engine ->
        val answer = Answer()
        for (chunk in engine.chat.completions.create(request)) answer.add(chunk)
        answer.result()
    }
}

suspend fun complete(model: Model, options: Options): JsonObject {
    val request = requestOf(options)
    options.end()
    val answer = model.use { it.chat.completions.complete(request) }
    return result(
        "text" to answer.choices[0].message.content,
        "finish_reason" to answer.choices[0].finish_reason,
        "chunks" to 1,
        "prompt_tokens" to answer.usage?.prompt_tokens,
        "completion_tokens" to answer.usage?.completion_tokens,
    )
}

suspend fun embed(model: Model, options: Options): JsonObject {
    val prompt = options.needed("prompt")
    options.end()
    return model.use { engine ->
        val both = engine.embeddings.create(PromptItems(listOf(prompt, "$prompt 2").map(::PromptItemText)))
        val short = engine.embeddings.create(
            prompt,
            dimensions = 8,
            encoding_format = EmbeddingEncoding.base64,
        )
        result(
            "vectors" to both.data.map { (it.embedding as EmbeddingVectorNumbers).value },
            "base64" to (short.data[0].embedding as EmbeddingVectorBase64).value,
            "prompt_tokens" to both.usage.prompt_tokens,
        )
    }
}

suspend fun rerank(model: Model, options: Options): JsonObject {
    val query = options.needed("prompt")
    options.end()
    val documents = listOf(
        RerankInputText(query),
        RerankInputText("$query 2"),
        RerankDocument("no"),
    )
    return model.use { engine ->
        val best = engine.rerank.create(query, documents, top_n = 2, return_documents = true)
        val raw = engine.rerank.create(query, documents, raw_scores = true)
        result(
            "best" to best.results.map { listOf(it.index, it.relevance_score, it.document?.text) },
            "raw" to raw.results.map { it.relevance_score },
            "prompt_tokens" to best.usage.prompt_tokens,
        )
    }
}

suspend fun continueText(model: Model, options: Options): JsonObject {
    val prompt = options.needed("prompt")
    val seed = options.long("seed")
    val maxTokens = options.long("max-tokens") ?: 16
    options.end()
    return model.use { engine ->
        val chunks = engine.completions.stream(prompt, seed = seed, max_tokens = maxTokens).toList()
        val whole = engine.completions.complete(prompt, seed = seed, max_tokens = maxTokens)
        result(
            "text" to chunks.joinToString("") { it.choices[0].text },
            "finish_reason" to chunks.last().choices[0].finish_reason,
            "whole" to whole.choices[0].text,
        )
    }
}

suspend fun cancel(model: Model, options: Options): JsonObject {
    val request = request(options.needed("prompt"), 1, 4000, ignoreEos = true)
    options.end()
    return model.use { engine ->
        var chunks = 0
        engine.chat.completions.stream(request).take(3).collect { chunks++ }
        val end = System.nanoTime() + 60_000_000_000
        var metrics = engine.metrics()
        while (metrics.kv_pages_free != metrics.kv_pages_total && System.nanoTime() < end) {
            delay(2)
            metrics = engine.metrics()
        }
        val after = engine.chat.completions.complete(request("Hi", 1, 8))
        result(
            "chunks_before_cancel" to chunks,
            "pages_total" to metrics.kv_pages_total,
            "pages_free" to metrics.kv_pages_free,
            "answer_after" to after.choices[0].message.content,
        )
    }
}

suspend fun parallel(model: Model, options: Options): JsonObject = coroutineScope {
    val prompt = options.needed("prompt")
    options.end()
    val engines = List(2) { async { model.engine() } }.awaitAll()
    try {
        val answers = List(8) { i ->
            async { engines[i / 4].read(request("$prompt $i", i.toLong(), 24)).text() }
        }
        result("texts" to answers.awaitAll())
    } finally {
        engines.forEach { it.close() }
    }
}

suspend fun tools(model: Model, options: Options): JsonObject {
    val request = Json.decodeFromString<ChatCompletionRequest>(options.needed("request"))
    options.end()
    val names = mutableListOf<String>()
    val arguments = mutableListOf<String>()
    var finishReason: String? = null
    var pieces = 0
    return model.use { engine ->
        engine.chat.completions.stream(request).collect { chunk ->
            val choice = chunk.choices.first()
            choice.finish_reason?.let { finishReason = it }
            for (call in choice.delta.tool_calls.orEmpty()) {
                val piece = call.function?.arguments.orEmpty()
                if (call.id != null) {
                    names += checkNotNull(call.function?.name)
                    arguments += piece
                } else {
                    pieces++
                    arguments[call.index.toInt()] += piece
                }
            }
        }
        val whole = engine.chat.completions.complete(request).choices[0].message.tool_calls
        val expected = whole.orEmpty().map { Pair(it.function.name, it.function.arguments) }
        val calls = names.zip(arguments)
        result(
            "calls" to calls.map { result("name" to it.first, "arguments" to it.second) },
            "finish_reason" to finishReason,
            "pieces" to pieces,
            "same" to (calls == expected),
        )
    }
}

suspend fun order(model: Model, options: Options): JsonObject {
    val request = request("order", 1, options.long("tokens") ?: 10_000, ignoreEos = true)
    options.end()
    return model.use(LONG_CAPACITY) { engine ->
        val streamed = engine.read(request)
        val whole = engine.chat.completions.complete(request)
        result(
            "chunks" to streamed.chunks,
            "completion_tokens" to streamed.completionTokens(),
            "text" to streamed.text(),
            "same" to (whole.choices[0].message.content == streamed.text()),
        )
    }
}

suspend fun bench(model: Model, options: Options): JsonObject {
    val streams = (options.long("streams") ?: 1).toInt()
    val tokens = options.long("tokens") ?: 256
    val repeats = (options.long("repeats") ?: 9).toInt()
    options.end()
    return model.use(LONG_CAPACITY) { engine ->
        val counted = List(repeats + 1) { repeat(engine, streams, tokens) }.drop(1)
        result(
            "streams" to streams,
            "tokens" to tokens,
            "chunks" to counted.first().first,
            "us_per_chunk" to counted.map { it.second },
        )
    }
}

/** The chunks of all streams, and microseconds a chunk. */
private suspend fun repeat(engine: MLCEngine, streams: Int, tokens: Long): Pair<Int, Double> =
    coroutineScope {
        val begin = System.nanoTime()
        val chunks = List(streams) { i ->
            async {
                var count = 0
                var letters = 0
                val request = request("bench $i", i.toLong(), tokens, ignoreEos = true)
                engine.chat.completions.stream(request).collect { chunk ->
                    count++
                    letters += chunk.choices[0].delta.content.orEmpty().length
                }
                check(letters > 0)
                count
            }
        }.awaitAll().sum()
        Pair(chunks, (System.nanoTime() - begin) / 1e3 / chunks)
    }

suspend fun command(name: String, arguments: List<String>): JsonObject {
    val folder = if (name == "vectors") File(arguments.first()) else null
    val options = Options(if (folder == null) arguments else arguments.drop(1))
    val model = Model(options)
    return when (name) {
        "stream" -> stream(model, options)
        "complete" -> complete(model, options)
        "embed" -> embed(model, options)
        "rerank" -> rerank(model, options)
        "continue" -> continueText(model, options)
        "cancel" -> cancel(model, options)
        "parallel" -> parallel(model, options)
        "tools" -> tools(model, options)
        "run-tools" -> runTools(model, options)
        "adapter" -> adapter(model, options)
        "load-error" -> loadError(model, options)
        "order" -> order(model, options)
        "bench" -> bench(model, options)
        "vectors" -> vectors(checkNotNull(folder), model, options)
        else -> throw IllegalArgumentException("no command is called $name")
    }
}

fun main(arguments: Array<String>) {
    try {
        println(runBlocking { command(arguments.first(), arguments.drop(1)) })
    } catch (error: IllegalArgumentException) {
        System.err.println(error.message)
        exitProcess(2)
    }
}
