package ai.mlc.mlcllm

import java.io.File
import java.util.concurrent.CopyOnWriteArrayList
import java.util.concurrent.atomic.AtomicInteger
import kotlinx.coroutines.CancellationException
import kotlinx.coroutines.CompletableDeferred
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.async
import kotlinx.coroutines.awaitAll
import kotlinx.coroutines.cancelAndJoin
import kotlinx.coroutines.channels.ReceiveChannel
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.flow.collect
import kotlinx.coroutines.flow.first
import kotlinx.coroutines.flow.fold
import kotlinx.coroutines.flow.take
import kotlinx.coroutines.flow.toList
import kotlinx.coroutines.joinAll
import kotlinx.coroutines.launch
import kotlinx.coroutines.runBlocking
import kotlinx.coroutines.withContext
import kotlinx.coroutines.withTimeout
import kotlinx.serialization.json.JsonArray
import kotlinx.serialization.json.JsonObject
import kotlinx.serialization.json.JsonPrimitive
import org.junit.After
import org.junit.Assert.assertEquals
import org.junit.Assert.assertFalse
import org.junit.Assert.assertNotEquals
import org.junit.Assert.assertThrows
import org.junit.Assert.assertTrue
import org.junit.Assert.fail
import org.junit.Before
import org.junit.Test

/** The engine through JNI, on the fake model. */
class EngineTest {
    @Test
    fun `vectors of a list of texts`() = runBlocking {
        FakeModel.engine().use { engine ->
            val made = engine.embeddings.create(listOf("a", "b"))
            assertEquals(listOf(0L, 1L), made.data.map { it.index })
            val one = engine.embeddings.create("a")
            assertEquals(made.data[0].embedding, one.data[0].embedding)
            val texts = engine.completions.complete(listOf("a", "b"), max_tokens = 3, seed = 1)
            assertEquals(listOf(0L, 1L), texts.choices.map { it.index })
        }
    }

    private lateinit var engine: MLCEngine
    private val completions get() = engine.chat.completions

    @Before
    fun load() = runBlocking { engine = FakeModel.engine() }

    @After
    fun close() = engine.close()

    private inline fun <reified T : Throwable> failsWith(crossinline act: suspend () -> Unit): T =
        assertThrows(T::class.java) { runBlocking { withTimeout(PATIENCE) { act() } } }

    private suspend fun text(request: ChatCompletionRequest): String =
        completions.stream(request).fold("") { text, chunk -> text + chunk.text }

    @Test
    fun `a flow keeps the order and ends once`() = runBlocking {
        val request = request("order", 1000)
        val chunks = completions.stream(request).toList()
        val whole = completions.complete(request)
        assertEquals(whole.choices[0].message.content, chunks.joinToString("") { it.text })
        assertEquals(1, chunks.count { it.choices[0].finish_reason != null })
        assertEquals("length", chunks.last().choices[0].finish_reason)
    }

    @Test
    fun `a flow is cold`() = runBlocking {
        val flow = completions.stream(request("cold", 5))
        val first = flow.toList().map { it.text }
        assertEquals(first, flow.toList().map { it.text })
    }

    @Test
    fun `texts are whole characters`() = runBlocking {
        val text = text(request("😀 é 語", 400))
        assertFalse('\uFFFD' in text)
        assertTrue("there are characters of four bytes", text.any { it.isSurrogate() })
        assertEquals(text, text.encodeToByteArray(throwOnInvalidSequence = true).decodeToString())
    }

    @Test
    fun `leaving a flow gives the pages back`() = runBlocking {
        assertEquals(3, completions.stream(request("leave", ENDLESS)).take(3).toList().size)
        engine.awaitFreePages()
        assertTrue(text(request("after", 4)).isNotEmpty())
    }

    @Test
    fun `cancelling a coroutine gives the pages back`() = runBlocking {
        val hasBegun = CompletableDeferred<Unit>()
        val job = launch(Dispatchers.Default) {
            completions.stream(request("cancel", ENDLESS)).collect { hasBegun.complete(Unit) }
        }
        hasBegun.await()
        job.cancelAndJoin()
        engine.awaitFreePages()
    }

    @Test
    fun `cancelling a whole answer gives the pages back`() = runBlocking {
        val job = launch(Dispatchers.Default) { completions.complete(request("cancel", ENDLESS)) }
        withTimeout(PATIENCE) { while (engine.metrics().run { kv_pages_free == kv_pages_total }) Thread.yield() }
        job.cancelAndJoin()
        engine.awaitFreePages()
    }

    @Test
    fun `a channel ends with the coroutine that asked for it`() = runBlocking {
        val channel = CompletableDeferred<ReceiveChannel<ChatCompletionChunk>>()
        val job = launch(Dispatchers.Default) {
            channel.complete(completions.create(request("tied", ENDLESS)))
            CompletableDeferred<Unit>().await()
        }
        channel.await().receive()
        job.cancelAndJoin()
        engine.awaitFreePages()
        assertTrue(channel.await().receiveCatching().isClosed)
    }

    @Test
    fun `a channel outlives a coroutine that ended well`() = runBlocking {
        val channel = withContext(Dispatchers.Default) { completions.create(request("free", 20)) }
        var text = ""
        for (chunk in channel) text += chunk.text
        assertEquals(text(request("free", 20)), text)
    }

    @Test
    fun `cancelling a channel gives the pages back`() = runBlocking {
        val channel = completions.create(request("drop", ENDLESS))
        channel.receive()
        channel.cancel()
        engine.awaitFreePages()
    }

    @Test
    fun `a slow consumer holds up nobody`() = runBlocking {
        val mayGoOn = CompletableDeferred<Unit>()
        val slow = async(Dispatchers.Default) {
            completions.stream(request("slow", 300)).fold("") { text, chunk ->
                mayGoOn.await()
                text + chunk.text
            }
        }
        repeat(3) { assertTrue(text(request("fast", 50)).isNotEmpty()) }
        mayGoOn.complete(Unit)
        assertEquals(text(request("slow", 300)), slow.await())
    }

    @Test
    fun `eight requests and two engines`() = runBlocking {
        FakeModel.engine().use { other ->
            val texts = coroutineScope {
                List(8) { i ->
                    async(Dispatchers.Default) {
                        val chosen = if (i < 4) engine else other
                        chosen.chat.completions.stream(request("p $i", 40, seed = i.toLong()))
                            .fold("") { text, chunk -> text + chunk.text }
                    }
                }.awaitAll()
            }
            assertEquals(8, texts.toSet().size)
            for (i in texts.indices) assertEquals(text(request("p $i", 40, i.toLong())), texts[i])
        }
    }

    @Test
    fun `a refusal has OpenAI's fields`() {
        val error = failsWith<InvalidRequestException> {
            completions.create(listOf(user("x")), temperature = 9.0)
        }
        assertEquals("temperature", error.param)
        assertEquals("invalid_request_error", error.type)
        assertTrue(error.message, "2" in error.message)
        failsWith<InvalidRequestException> { completions.stream(emptyList<ChatCompletionMessage>()).collect() }
        failsWith<InvalidRequestException> { completions.create(listOf(user("x")), stream = false) }
        failsWith<NotFoundException> { engine.call("no.such.route", JsonObject(emptyMap())) }
    }

    @Test
    fun `unloading fails what runs and the engine loads again`() = runBlocking {
        val channel = completions.create(request("unload", ENDLESS))
        channel.receive()
        withContext(Dispatchers.IO) { engine.unload() }
        val error = failsWith<UnavailableException> { for (chunk in channel) chunk.text }
        assertEquals("model_unloaded", error.code)
        failsWith<UnavailableException> { completions.complete(request("none", 2)) }
        engine.load(FakeModel.folder, device = FakeModel.DEVICE)
        assertTrue(text(request("again", 4)).isNotEmpty())
    }

    @Test
    fun `resetting ends what runs and keeps the model`() = runBlocking {
        val channel = completions.create(request("reset", ENDLESS))
        channel.receive()
        engine.reset()
        failsWith<RequestCancelledException> { for (chunk in channel) chunk.text }
        assertTrue(text(request("after", 4)).isNotEmpty())
    }

    @Test
    fun `closing fails what runs and what comes later`() = runBlocking {
        val channel = completions.create(request("close", ENDLESS))
        channel.receive()
        withContext(Dispatchers.IO) { engine.close() }
        failsWith<UnavailableException> { for (chunk in channel) chunk.text }
        failsWith<UnavailableException> { completions.create(request("late", 2)) }
        assertThrows(UnavailableException::class.java) { engine.metrics() }
        engine.close()
        channel.cancel()
    }

    @Test
    fun `closing within a callback does not hang`() = runBlocking {
        completions.complete(request("before", 2))
        engine.load(FakeModel.folder, device = FakeModel.DEVICE) // each load has a thread of its own
        // Without a dispatcher the collector runs on the engine's own thread.
        val error = runCatching {
            withContext(Dispatchers.Unconfined) {
                completions.stream(request("inside", ENDLESS)).collect { engine.close() }
            }
        }.exceptionOrNull()
        assertTrue("$error", error is UnavailableException)
    }

    @Test
    fun `closing within a load's progress does not hang`() = runBlocking {
        // What is closed at the load's last word has been loaded.
        runCatching {
            withTimeout(PATIENCE) {
                engine.load(FakeModel.folder, device = FakeModel.DEVICE) { _, _ -> engine.close() }
            }
        }.exceptionOrNull()?.let { assertTrue("$it", it is MLCException) }
        assertThrows(UnavailableException::class.java) { engine.metrics() }
        Unit
    }

    @Test
    fun `engines come and go while requests run`() = runBlocking {
        val outcomes = CopyOnWriteArrayList<Any>()
        List(6) { i ->
            launch(Dispatchers.Default) {
                val own = FakeModel.engine()
                val reader = launch {
                    outcomes += runCatching { own.chat.completions.stream(request("life $i", ENDLESS)).collect() }
                        .exceptionOrNull() ?: "whole"
                }
                own.metrics()
                own.close()
                reader.join()
            }
        }.joinAll()
        assertEquals(6, outcomes.size)
        assertTrue("$outcomes", outcomes.all { it is UnavailableException || it is RequestCancelledException })
    }

    @Test
    fun `a load tells how far it is`() = runBlocking {
        val fractions = CopyOnWriteArrayList<Double>()
        engine.load(FakeModel.folder, device = FakeModel.DEVICE) { fraction, _ -> fractions += fraction }
        assertEquals(fractions.sorted(), fractions)
        assertEquals(1.0, fractions.last(), 0.0)
    }

    @Test
    fun `an exception in a progress callback ends the load`() {
        val thrown = failsWith<IllegalStateException> {
            engine.load(FakeModel.folder, device = FakeModel.DEVICE) { _, _ -> error("enough") }
        }
        assertEquals("enough", thrown.message)
    }

    @Test
    fun `cancelling a load is a cancellation`() = runBlocking {
        val outcome = CompletableDeferred<Throwable?>()
        val job = launch(Dispatchers.Default) {
            val loader = coroutineContext
            outcome.complete(
                runCatching {
                    engine.load(FakeModel.folder, device = FakeModel.DEVICE) { _, _ ->
                        loader[kotlinx.coroutines.Job]?.cancel()
                    }
                }.exceptionOrNull(),
            )
        }
        job.join()
        assertTrue("${outcome.await()}", outcome.await() is CancellationException)
    }

    @Test
    fun `a folder that is none and a damaged one are typed errors`() {
        failsWith<NotFoundException> { engine.load("/no/such/folder", device = FakeModel.DEVICE) }
        val folder = File.createTempFile("mlc", "model").apply { delete(); mkdirs() }
        try {
            File(FakeModel.folder).listFiles()?.forEach { it.copyTo(File(folder, it.name)) }
            File(folder, "tokenizer.json").writeText("{\"model\": ")
            val error = failsWith<MLCException> { engine.load(folder.path, device = FakeModel.DEVICE) }
            assertNotEquals("internal_error", error.code)
        } finally {
            folder.deleteRecursively()
        }
    }

    @Test
    fun `calls are typed`() = runBlocking {
        val tokens = engine.tokenize(TokenizeRequest("Hello 😀")).tokens
        assertEquals("Hello 😀", engine.detokenize(DetokenizeRequest(tokens)).text)
        assertTrue("Hello" in engine.render(ChatCompletionRequest(listOf(user("Hello")))).prompt)
        assertTrue(engine.inputTokens(ChatCompletionRequest(listOf(user("Hello")))).input_tokens > 0)
        val raw = engine.call("tokenize", JsonObject(mapOf("text" to JsonPrimitive("Hello 😀"))))
        assertEquals(tokens.size, ((raw as JsonObject)["tokens"] as JsonArray).size)
    }

    @Test
    fun `metrics and plan are typed`() = runBlocking {
        text(request("count", 10))
        val metrics = engine.metrics()
        assertEquals(10L, metrics.completion_tokens_sum)
        val plan = engine.plan(FakeModel.folder, device = FakeModel.DEVICE)
        assertTrue(plan.fits)
        assertEquals("fake", plan.model_type)
        assertTrue(MLCEngine.devices().any { it.name.startsWith("cpu") && it.found })
    }

    @Test
    fun `nothing is begun while the engine pauses`() = runBlocking {
        engine.pause()
        val answer = async(Dispatchers.Default) { text(request("pause", 3)) }
        engine.trimMemory()
        assertFalse(answer.isCompleted)
        engine.resume()
        assertTrue(answer.await().isNotEmpty())
    }

    @Test
    fun `memory is given back and answers stay the same`() = runBlocking {
        val expected = text(request("memory", 8))
        assertEquals(0L, engine.trimMemory(TrimLevel.caches).pages)
        engine.pause()
        assertTrue(engine.trimMemory(TrimLevel.all).pages > 0) // it answers while it is paused
        engine.resume()
        engine.prewarm()
        assertEquals(1L, engine.setThermalState(ThermalState.critical).max_num_sequence)
        assertEquals(expected, text(request("memory", 8)))
        assertTrue(engine.setThermalState(ThermalState.nominal).max_num_sequence > 1)
    }

    @Test
    fun `folders that cannot be written are named`() {
        val file = File.createTempFile("mlc", "file")
        try {
            val folder = File(file.path + "-cache")
            MLCEngine.setDirectories(cache = folder.path)
            assertTrue(folder.isDirectory)
            folder.delete()
            val error = failsWith<MLCException> { MLCEngine.setDirectories(cache = file.path + "/x") }
            assertEquals("cache", error.param)
        } finally {
            MLCEngine.setDirectories()
            file.delete()
        }
    }

    @Test
    fun `an exception of a collector ends its request alone`() = runBlocking {
        val seen = AtomicInteger()
        failsWith<IllegalStateException> {
            completions.stream(request("throw", ENDLESS)).collect { if (seen.incrementAndGet() == 2) error("mine") }
        }
        engine.awaitFreePages()
        assertEquals("length", completions.stream(request("x", 2)).toList().last().choices[0].finish_reason)
        assertTrue(completions.stream(request("x", 9)).first().choices.isNotEmpty())
    }
}
