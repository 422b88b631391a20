package ai.mlc.mlcllm

import java.util.concurrent.CopyOnWriteArrayList
import java.util.concurrent.TimeUnit
import kotlinx.coroutines.CompletableDeferred
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.awaitCancellation
import kotlinx.coroutines.cancelAndJoin
import kotlinx.coroutines.flow.Flow
import kotlinx.coroutines.flow.asFlow
import kotlinx.coroutines.flow.first
import kotlinx.coroutines.flow.toList
import kotlinx.coroutines.launch
import kotlinx.coroutines.runBlocking
import kotlinx.coroutines.withTimeout
import kotlinx.serialization.Serializable
import kotlinx.serialization.json.JsonPrimitive
import kotlinx.serialization.json.jsonArray
import kotlinx.serialization.json.jsonObject
import org.junit.Assert.assertEquals
import org.junit.Assert.assertThrows
import org.junit.Assert.assertTrue
import org.junit.Test

/** What tests/bindings/vectors do not say of tools: types, coroutines, Java. */
class ToolTest {
    @Serializable
    data class Place(@Description("Its name.") val city: String, val days: Int = 1)

    private val noon = Tool("noon") { _: Unit -> "at 12" }
    private val hang = Tool("hang") { _: Unit -> awaitCancellation() as String }

    private fun says(content: String?, vararg calls: Pair<String, String>): List<ChatCompletionChunk> {
        val pieces = calls.mapIndexed { i, (name, arguments) ->
            ChoiceDeltaToolCall(i.toLong(), "c$i", function = ChoiceDeltaFunctionCall(name, arguments))
        }
        val delta = ChatCompletionChunkDelta(content = content, tool_calls = pieces.ifEmpty { null })
        return listOf(ChatCompletionChunk("x", 1, "m", listOf(ChatCompletionChunkChoice(0, delta, null, "stop"))))
    }

    private fun events(tools: List<Tool>, vararg answers: List<ChatCompletionChunk>): Flow<ToolRunEvent> {
        val rest = ArrayDeque(answers.toList())
        val request = ChatCompletionRequest(listOf(user("Hi")))
        return toolEvents(tools, request, MAX_TOOL_CALLS, null) { rest.removeFirst().asFlow() }
    }

    private fun results(events: List<ToolRunEvent>) =
        events.filterIsInstance<ToolRunEvent.Result>().map { it.result.content }

    @Test
    fun `a class is a function's parameters`() {
        val weather = Tool("weather", "The weather.") { place: Place -> place }
        val parameters = checkNotNull(weather.definition.parameters)
        assertEquals(listOf("city"), parameters.getValue("required").jsonArray.map { (it as JsonPrimitive).content })
        val city = parameters.getValue("properties").jsonObject.getValue("city").jsonObject
        assertEquals(JsonPrimitive("Its name."), city["description"])
        assertEquals(true, weather.definition.strict)
        assertEquals("{}", checkNotNull(noon.definition.parameters).getValue("properties").toString())
        assertThrows(UnsupportedException::class.java) { Tool("bad") { words: List<String> -> words } }
    }

    @Test
    fun `a function's own timeout is its failure`() = runBlocking {
        val slow = Tool("slow") { _: Unit -> withTimeout(10) { awaitCancellation() as String } }
        val seen = events(listOf(slow, noon), says(null, "slow" to "", "noon" to ""), says("Well.")).toList()
        assertTrue(results(seen)[0], results(seen)[0].startsWith("error: Timed out"))
        assertEquals("at 12", results(seen)[1])
    }

    @Test
    fun `an error of the machine's is no result`() {
        val broken = Tool("broken") { _: Unit -> if (true) throw OutOfMemoryError("gone") else "" }
        assertThrows(OutOfMemoryError::class.java) {
            runBlocking { events(listOf(broken), says(null, "broken" to "")).toList() }
        }
    }

    @Test
    fun `calls of an answer run at the same time`() = runBlocking {
        val met = CompletableDeferred<Unit>()
        val first = Tool("first") { _: Unit -> met.await().toString() }
        val second = Tool("second") { _: Unit -> met.complete(Unit) }
        val answers = arrayOf(says(null, "first" to "", "second" to ""), says("Done."))
        val seen = withTimeout(PATIENCE) { events(listOf(first, second), *answers).toList() }
        assertEquals(listOf("kotlin.Unit", "true"), results(seen))
    }

    @Test
    fun `cancelling the coroutine ends the calls`() = runBlocking {
        val began = CompletableDeferred<Unit>()
        val job = launch(Dispatchers.Default) {
            events(listOf(hang, noon), says(null, "noon" to "", "hang" to "")).collect {
                if (it is ToolRunEvent.Result) began.complete(Unit)
            }
        }
        began.await()
        withTimeout(PATIENCE) { job.cancelAndJoin() }
    }

    @Test
    fun `leaving the flow ends the calls and the request`() = runBlocking {
        val seen = withTimeout(PATIENCE) {
            events(listOf(hang, noon), says(null, "noon" to "", "hang" to "")).first { it is ToolRunEvent.Result }
        }
        assertEquals("at 12", (seen as ToolRunEvent.Result).result.content)
        FakeModel.engine().use { engine ->
            val endless = request("leave", 100_000).copy(tool_choice = ToolChoiceMode.none)
            engine.chat.completions.streamTools(listOf(noon), endless).first()
            engine.awaitFreePages()
            assertEquals(1L, engine.metrics().num_failed_requests)
        }
    }

    @Test
    fun `chunks put together are the whole answer`() = runBlocking {
        FakeModel.engine().use { engine ->
            val asked = request("whole", 12).copy(n = 2, logprobs = true, top_logprobs = 2)
            val fold = AnswerFold()
            val streamed = asked.copy(stream_options = StreamOptions(include_usage = true))
            engine.chat.completions.stream(streamed).collect(fold::add)
            val whole = engine.chat.completions.complete(asked)
            assertEquals(whole.choices, fold.completion().choices)
            assertEquals(whole.usage?.total_tokens, fold.completion().usage?.total_tokens)
        }
    }

    @Test
    fun `an engine's refusal is thrown`() {
        assertThrows(InvalidRequestException::class.java) {
            runBlocking {
                FakeModel.engine().use { engine ->
                    engine.chat.completions.runTools(listOf(noon), request("Hi", 4).copy(temperature = 9.0))
                }
            }
        }
    }

    @Test
    fun `Java has the loop too`() = runBlocking {
        FakeModel.engine().use { engine ->
            val told = CopyOnWriteArrayList<ToolRunEvent>()
            val tool = Tool.ofText("echo", null, """{"type": "object"}""") { it }
            val request = request("Hi", 6).copy(tool_choice = ToolChoiceMode.none)
            val completions = engine.chat.completions
            val run = runToolsAsync(completions, listOf(tool), request, onEvent = told::add).get(120, TimeUnit.SECONDS)
            assertEquals(run.content, told.filterIsInstance<ToolRunEvent.Text>().joinToString("") { it.text })
            assertEquals(ToolRunEvent.End(run), told.last())
        }
    }
}
