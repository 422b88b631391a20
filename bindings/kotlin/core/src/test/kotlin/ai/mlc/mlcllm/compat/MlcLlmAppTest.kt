// A program as those that were written for MLC-LLM's Android package: with their imports, without
// any of this engine's other names. See docs/coming-from-mlc-llm.md.
package ai.mlc.sample

import ai.mlc.mlcllm.FakeModel
import ai.mlc.mlcllm.MLCEngine
import ai.mlc.mlcllm.NotFoundException
import ai.mlc.mlcllm.OpenAIProtocol
import ai.mlc.mlcllm.OpenAIProtocol.*
import java.util.concurrent.Executors
import kotlinx.coroutines.CompletableDeferred
import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.asCoroutineDispatcher
import kotlinx.coroutines.async
import kotlinx.coroutines.channels.ReceiveChannel
import kotlinx.coroutines.runBlocking
import kotlinx.coroutines.withContext
import kotlinx.coroutines.withTimeout
import kotlinx.serialization.json.Json
import org.junit.Assert.assertEquals
import org.junit.Assert.assertFalse
import org.junit.Assert.assertNull
import org.junit.Assert.assertThrows
import org.junit.Assert.assertTrue
import org.junit.Assume.assumeTrue
import org.junit.Test

/** What a screen with a conversation keeps. */
private class Conversation(private val engine: MLCEngine) {
    val history = mutableListOf<ChatCompletionMessage>()
    var report = ""
    var wasCut = false

    suspend fun ask(question: ChatCompletionMessageContent, longest: Int?): String {
        history.add(ChatCompletionMessage(role = OpenAIProtocol.ChatCompletionRole.user, content = question))
        var answer = ""
        val responses = engine.chat.completions.create(
            messages = history,
            max_tokens = longest,
            seed = 7,
            stream_options = OpenAIProtocol.StreamOptions(include_usage = true),
        )
        for (response in responses) {
            for (choice in response.choices) {
                choice.delta.content?.let { content -> answer += content.asText() }
                choice.finish_reason?.let { reason -> if (reason == "length") wasCut = true }
            }
            response.usage?.let { report = it.extra?.asTextLabel() ?: "" }
        }
        if (answer.isNotEmpty()) {
            history.add(
                ChatCompletionMessage(role = OpenAIProtocol.ChatCompletionRole.assistant, content = answer),
            )
        } else {
            history.removeAt(history.size - 1)
        }
        return answer
    }
}

class MlcLlmAppTest {
    private fun run(body: suspend (MLCEngine) -> Unit) = runBlocking {
        withTimeout(120_000) { FakeModel.engine().use { body(it) } }
    }

    private fun user(text: String) = listOf(ChatCompletionMessage(ChatCompletionRole.user, text))

    @Test
    fun `a conversation with a report of its speed`() = run { holdAConversation(it) }

    @Test
    fun `a conversation with the default model`() = runBlocking {
        val folder = System.getenv("MLC_TEST_MODEL")
        assumeTrue("MLC_TEST_MODEL is not set", folder != null)
        MLCEngine().use { engine ->
            engine.load(folder, modelLib = System.getenv("MLC_TEST_MODEL_LIB"), device = "cpu")
            withTimeout(120_000) { holdAConversation(engine) }
        }
    }

    private suspend fun holdAConversation(engine: MLCEngine) {
        val conversation = Conversation(engine)
        var content = ChatCompletionMessageContent(text = "Hello")
        assertTrue(conversation.ask(content, longest = 5).isNotEmpty())
        assertTrue(conversation.wasCut)
        val label = Regex("""prefill: \d+\.\d tok/s, decode: \d+\.\d tok/s""")
        assertTrue(conversation.report, label.matches(conversation.report))
        content = ChatCompletionMessageContent(
            parts = listOf(mapOf("type" to "text", "text" to "And "), mapOf("type" to "text", "text" to "you?")),
        )
        assertTrue(content.isParts() && !content.isText())
        assertEquals("And you?", content.asText())
        assertTrue(conversation.ask(content, longest = 4).isNotEmpty())
        assertEquals(
            listOf("user", "assistant", "user", "assistant"),
            conversation.history.map { it.role.name },
        )
        engine.reset()
    }

    @Test
    fun `every argument of create`() = run { engine ->
        val channel: ReceiveChannel<ChatCompletionStreamResponse> = engine.chat.completions.create(
            messages = user("Hello"),
            model = null,
            frequency_penalty = 0.5f,
            presence_penalty = 0.25f,
            logprobs = true,
            top_logprobs = 2,
            logit_bias = mapOf(300 to -1.5f),
            max_tokens = 3,
            n = 2,
            seed = 7,
            stop = listOf("never"),
            stream = true,
            stream_options = StreamOptions(include_usage = false),
            temperature = 0.5f,
            top_p = 0.9f,
            tools = null,
            user = "somebody",
            response_format = ResponseFormat(type = "text"),
        )
        val tokens = mutableListOf<LogProbsContent>()
        for (response: ChatCompletionStreamResponse in channel) {
            assertNull(response.usage)
            assertEquals("chat.completion.chunk", response.`object`)
            val choices: List<ChatCompletionStreamResponseChoice> = response.choices
            for (choice: Choice in choices) {
                assertEquals(ChatCompletionRole.assistant, choice.delta.role)
                val logprobs: LogProbs? = choice.lobprobs
                tokens += logprobs?.content.orEmpty()
            }
        }
        assertEquals(6, tokens.size)
        assertTrue(tokens.all { token -> token.top_logprobs.size == 2 && token.bytes != null })
        val best: TopLogProbs = tokens[0].top_logprobs[0]
        assertTrue(best.logprob <= 0f && best.token.isNotEmpty())
    }

    @Test
    fun `a request object and a schema as text`() = run { engine ->
        val schema = """{"type": "object", "properties": {"on": {"type": "boolean"}},
            "required": ["on"], "additionalProperties": false}"""
        val request = ChatCompletionRequest(
            messages = user("On?"),
            max_tokens = 40,
            response_format = ResponseFormat("json_object", schema),
        )
        var answer = ""
        for (response in engine.chat.completions.create(request)) {
            answer += response.choices[0].delta.content!!.text!!
        }
        assertTrue(answer, Regex("""\{\s*"on"\s*:\s*(true|false)\s*}""").matches(answer))
    }

    @Test
    fun `tools and their calls`() = run { engine ->
        val properties = """{"room": {"enum": ["bath", "kitchen"]}}"""
        val light = ChatFunction(
            name = "switch_light",
            description = "Switches a light.",
            parameters = mapOf("type" to "object", "properties" to properties),
        )
        val tool = ChatTool(type = "function", function = light)
        val call = ChatToolCall(
            function = ChatFunctionCall(name = "switch_light", arguments = mapOf("room" to "bath")),
        )
        assertTrue(call.id.isNotEmpty())
        val messages = user("Light!") + ChatCompletionMessage(
            role = ChatCompletionRole.assistant, tool_calls = listOf(call),
        ) + ChatCompletionMessage(
            role = ChatCompletionRole.tool, content = "done", tool_call_id = call.id,
        )
        val responses = engine.chat.completions.create(messages, max_tokens = 5, tools = listOf(tool))
        var reason: String? = null
        for (response in responses) {
            assertNull(response.error)
            reason = response.choices[0].finish_reason ?: reason
        }
        assertTrue(reason == "length" || reason == "stop")
        val json = Json.encodeToString(ChatTool.serializer(), tool)
        assertTrue(json, json.contains(""""parameters":{"type":"object","properties":{"room":"""))
        assertEquals(tool, Json.decodeFromString(ChatTool.serializer(), json).copy(function = light))
    }

    @Test
    fun `a failure is the last response`() = run { engine ->
        val responses = engine.chat.completions.create(user("Hello"), temperature = 9f)
        val only = responses.receive()
        assertEquals("error", only.choices[0].finish_reason)
        assertEquals("temperature", only.error?.param)
        assertEquals(only.error?.message, only.choices[0].delta.content?.asText())
        assertTrue(responses.receiveCatching().isClosed)
        engine.unload()
        val later = engine.chat.completions.create(user("Hello")).receive()
        assertEquals("model_not_loaded", later.error?.code)
        assertFalse(later.choices.isEmpty())
    }

    // The screen belongs to one thread, as on a phone. A backend's thread calls the engine, and then
    // the screen is cleared: an element that comes later finds no message to write to.
    private suspend fun clearWhileGenerating(engine: MLCEngine, clear: suspend () -> Unit) {
        Executors.newSingleThreadExecutor().asCoroutineDispatcher().use { main ->
            val screen = mutableListOf("")
            val begun = CompletableDeferred<Unit>()
            val reading = CoroutineScope(main).async {
                val never = mapOf(FakeModel.END_TOKEN to -100f)
                for (response in engine.chat.completions.create(user("Hello"), logit_bias = never)) {
                    assertNull(response.error)
                    screen[screen.size - 1] += response.choices[0].delta.content!!.asText()
                    begun.complete(Unit)
                }
            }
            begun.await()
            withContext(Dispatchers.IO) { clear() }
            withContext(main) { screen.clear() }
            reading.await()
            assertTrue(screen.isEmpty())
        }
    }

    @Test
    fun `reset while generating, fifty times`() = run { engine ->
        repeat(50) { clearWhileGenerating(engine) { engine.reset() } }
        assertNull(engine.chat.completions.create(user("Hello"), max_tokens = 2).receive().error)
    }

    @Test
    fun `unload and reload while generating`() = run { engine ->
        repeat(10) { round ->
            clearWhileGenerating(engine) {
                if (round % 2 == 0) engine.unload()
                engine.load(FakeModel.folder, device = FakeModel.DEVICE)
            }
        }
    }

    @Test
    fun `a bare name is a library in the program`() = run { engine ->
        val error = assertThrows(NotFoundException::class.java) {
            engine.reload(FakeModel.folder, "llama_q3f16_1")
        }
        assertTrue(error.message!!, error.message!!.startsWith("system://llama_q3f16_1"))
        assertEquals("model_lib", error.param)
    }

    @Test
    fun `usage without measurements`() {
        val usage = CompletionUsage(1, 2, 3)
        assertEquals("", usage.extra?.asTextLabel().orEmpty())
        val extra = CompletionUsageExtra(decode_tokens_per_s = 12.34f, num_prefill_tokens = 3)
        assertEquals("decode: 12.3 tok/s", extra.asTextLabel())
    }
}
