package ai.mlc.chatkit

import ai.mlc.chatkit.chat.Chat
import ai.mlc.chatkit.chat.ChatSettings
import ai.mlc.chatkit.chat.ChatStore
import ai.mlc.chatkit.chat.line
import ai.mlc.chatkit.engine.Benchmark
import ai.mlc.chatkit.engine.ChatSession
import ai.mlc.chatkit.engine.LoadTarget
import ai.mlc.chatkit.engine.LoadedModel
import ai.mlc.chatkit.engine.ModelRunner
import ai.mlc.chatkit.engine.RunnerState
import ai.mlc.chatkit.engine.recipeFor
import java.io.File
import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.SupervisorJob
import kotlinx.coroutines.cancel
import kotlinx.coroutines.runBlocking
import kotlinx.coroutines.withTimeout
import org.junit.Assert.assertEquals
import org.junit.Assert.assertTrue
import org.junit.Assume.assumeTrue
import org.junit.Before
import org.junit.Rule
import org.junit.Test
import org.junit.rules.TemporaryFolder

/** With the default model, whose folder and library MLC_TEST_MODEL and MLC_TEST_MODEL_LIB name. */
class DefaultModelTest {
    @get:Rule
    val folder = TemporaryFolder()

    private val model: String? = System.getenv("MLC_TEST_MODEL")

    @Before
    fun `the model is here`() = assumeTrue("MLC_TEST_MODEL is not set", model != null)

    private fun target() = LoadTarget("default", File(model!!), System.getenv("MLC_TEST_MODEL_LIB"), "cpu")

    @Test
    fun `a chat, a benchmark and a structured answer`() = runBlocking {
        withTimeout(300_000) {
            val runner = ModelRunner { it.copy(context_window_size = 1024) }
            assertTrue(runner.states.value.toString(), runner.load(target()))
            val scope = CoroutineScope(SupervisorJob() + Dispatchers.Default)
            val settings = ChatSettings(system = "Be brief.", max_tokens = 24, temperature = 0.0, seed = 1)
            val session = ChatSession(Chat(settings = settings), ChatStore(folder.root), scope) {
                LoadedModel(runner.engine!!, "default", 1024)
            }
            session.send("What is the capital of France?")
            session.join()
            val answer = session.chats.value.messages.last()
            assertTrue(answer.content, "Paris" in answer.content)
            assertTrue(answer.stats!!.line(answer.finish, "default").contains("tokens/s"))
            val result = Benchmark(runner.engine!!, "default", "cpu").run(listOf(16, 32), answerTokens = 4)
            assertEquals(listOf(16L, 32L), result.runs.map { it.promptTokens })
            assertTrue(result.text, result.runs.all { it.promptSpeed > 0 && it.decodeSpeed > 0 })
            assertEquals(listOf(4L, 4L), result.runs.map { it.decodeTokens })
            assertTrue(result.peakBytes!! > 50_000_000)
            assertTrue(recipeFor(runner.engine!!, "an omelette", seed = 1).name.isNotEmpty())
            scope.cancel()
            runner.unload()
        }
    }

    @Test
    fun `a model that does not fit is refused with numbers`() = runBlocking {
        val runner = ModelRunner { it.copy(memory_limit_bytes = 30_000_000) }
        assertTrue(!runner.load(target()))
        val refused = (runner.states.value as RunnerState.NoMemory).decision as MemoryDecision.Refuse
        assertTrue(refused.toString(), refused.needsBytes > 90_000_000 && refused.hasBytes in 1..30_000_000)
    }
}
