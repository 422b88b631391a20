package ai.mlc.mlcllm

import kotlinx.serialization.json.Json
import kotlinx.serialization.json.JsonObject
import kotlinx.serialization.json.JsonPrimitive
import org.junit.Assert.assertEquals
import org.junit.Assert.assertFalse
import org.junit.Assert.assertNotEquals
import org.junit.Assert.assertNull
import org.junit.Assert.assertThrows
import org.junit.Assert.assertTrue
import org.junit.Test

class ProtocolTest {
    private inline fun <reified T> read(json: String): T = wire.decodeFromString(json)

    private inline fun <reified T> write(value: T): String = wire.encodeToString(value)

    @Test
    fun `a known word is itself`() {
        val role = read<ChatCompletionRole>("\"user\"")
        assertEquals(ChatCompletionRole.user, role)
        assertTrue(role.isKnown)
        assertEquals("user", "$role")
    }

    @Test
    fun `an unknown word is kept`() {
        val role = read<ChatCompletionRole>("\"narrator\"")
        assertEquals(ChatCompletionRole.unknown("narrator"), role)
        assertFalse(role.isKnown)
        assertEquals("\"narrator\"", write(role))
        assertNotEquals(ChatCompletionRole.user, role)
    }

    @Test
    fun `words of two enums are never equal`() {
        assertNotEquals(ImageDetail.auto as Any, ToolChoiceMode.auto as Any)
    }

    @Test
    fun `an open enum compares with a literal and has a typed view`() {
        val choice = read<ChatCompletionChunkChoice>(
            """{"index": 0, "delta": {}, "finish_reason": "length"}""",
        )
        assertTrue(choice.finish_reason == "length")
        assertEquals(FinishReason.length, choice.finishReasonEnum)
        assertNull(ChatCompletionChunkChoice(0, ChatCompletionChunkDelta()).finishReasonEnum)
    }

    @Test
    fun `a content is a text or parts`() {
        val text = ChatCompletionMessage(ChatCompletionRole.user, "Hi")
        assertEquals("""{"role":"user","content":"Hi"}""", write(text))
        val parts = ChatCompletionMessage(
            ChatCompletionRole.user,
            listOf(ChatCompletionContentPartText("a"), ChatCompletionContentPartText("b")),
        )
        assertEquals("ab", parts.content?.asText())
        assertEquals(parts, read<ChatCompletionMessage>(write(parts)))
    }

    @Test
    fun `a member of tomorrow's union is kept`() {
        val json = """{"role":"user","content":[{"type":"smell","smell":{"of":"coffee"}}]}"""
        val message = read<ChatCompletionMessage>(json)
        val parts = message.content as ChatCompletionMessageContentParts
        assertTrue(parts.value.single() is ChatCompletionContentPartUnknown)
        assertEquals("", message.content?.asText())
        assertEquals(json, write(message))
        assertEquals(StopUnknown(JsonPrimitive(3)), read<Stop>("3"))
    }

    @Test
    fun `unknown fields are left out but not in a configuration`() {
        assertEquals(NamedFunction("f"), read<NamedFunction>("""{"name": "f", "colour": {}}"""))
        assertThrows(IllegalArgumentException::class.java) { read<EngineConfig>("""{"mood": 1}""") }
    }

    @Test
    fun `null means absent`() {
        val request = read<ChatCompletionRequest>("""{"messages": [], "n": null, "seed": null}""")
        assertEquals(1L, request.n)
        assertNull(request.seed)
    }

    @Test
    fun `what is always there is written as null`() {
        val error = write(ErrorObject("no", "server_error"))
        val json = Json.parseToJsonElement(error) as JsonObject
        assertEquals(setOf("message", "type", "param", "code"), json.keys)
        assertEquals("{}", write(ChatCompletionChunkDelta()))
    }

    @Test
    fun `keywords keep their names`() {
        val models = ModelList(listOf(ModelObject("m", 1, "me")))
        assertEquals("list", models.`object`)
        assertTrue("\"object\":\"model\"" in write(models))
    }

    @Test
    fun `half a surrogate pair and a number that is none are refused`() {
        val half = ChatCompletionRequest(listOf(user("\uD83D")))
        val none = ChatCompletionRequest(listOf(user("x")), temperature = Double.NaN)
        for (request in listOf(half, none)) {
            assertThrows(InvalidRequestException::class.java) {
                encode(ChatCompletionRequest.serializer(), request)
            }
        }
    }

    @Test
    fun `an answer that cannot be read is a mistake of ours`() {
        val error = assertThrows(InternalException::class.java) {
            decode(ChatCompletionChunk.serializer(), "{".encodeToByteArray())
        }
        assertEquals(MLCReason.UNREADABLE_ANSWER, error.reason)
    }

    @Test
    fun `a reason of tomorrow has the class of its status, or else of its type`() {
        fun classOf(type: String, status: String?) =
            MLCException.of(ErrorObject("why", type, "n", "of_tomorrow", status))::class
        assertEquals(ResourceException::class, classOf("server_error", "resource_exhausted"))
        assertEquals(RateLimitException::class, classOf("rate_limit_error", null))
        assertEquals(InternalException::class, classOf("server_error", "of_tomorrow"))
    }
}
