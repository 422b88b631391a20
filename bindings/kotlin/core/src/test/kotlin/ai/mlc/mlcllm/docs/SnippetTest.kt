// MLC-LLM's own snippet, unchanged, with the imports of its app.
package ai.mlc.mlcllm.snippet

import ai.mlc.mlcllm.FakeModel
import ai.mlc.mlcllm.MLCEngine
import ai.mlc.mlcllm.OpenAIProtocol
import ai.mlc.mlcllm.OpenAIProtocol.ChatCompletionMessage
import ai.mlc.mlcllm.user
import kotlinx.coroutines.flow.fold
import kotlinx.coroutines.runBlocking
import org.junit.Assert.assertEquals
import org.junit.Assert.assertTrue
import org.junit.Test

class SnippetTest {
    private suspend fun snippet(engine: MLCEngine, prompt: String): String {
        val channel = engine.chat.completions.create(
            messages = listOf(
                ChatCompletionMessage(
                    role = OpenAIProtocol.ChatCompletionRole.user,
                    content = prompt
                )
            )
        )
        var texts = ""
        for (response in channel) {
            if (response.choices.isNotEmpty()) {
                texts += response.choices[0].delta.content?.asText().orEmpty()
            }
        }
        return texts
    }

    @Test
    fun `MLC-LLM's snippet runs`() = runBlocking {
        FakeModel.engine().use { engine ->
            // The seed is the clock's, so only the shape of the answer is known.
            assertTrue(snippet(engine, "Hello").isNotEmpty())
        }
    }

    @Test
    fun `literal names and words`() = runBlocking {
        FakeModel.engine().use { engine ->
            var finishReasonLength = false
            var tokens = 0
            val channel = engine.chat.completions.create(
                messages = listOf(
                    ChatCompletionMessage(role = OpenAIProtocol.ChatCompletionRole.user, content = "Hi"),
                ),
                stream_options = OpenAIProtocol.StreamOptions(include_usage = true),
                max_tokens = 3,
                stop = listOf("never"),
                logit_bias = mapOf(498 to -100f),
                stream = true,
            )
            for (res in channel) {
                for (choice in res.choices) {
                    if (choice.finish_reason == "length") finishReasonLength = true
                }
                res.usage?.let { tokens = it.completion_tokens }
            }
            assertTrue(finishReasonLength)
            assertEquals(3, tokens)
        }
    }

    @Test
    fun `the three functions say the same`() = runBlocking {
        FakeModel.engine().use { engine ->
            val messages = listOf(user("Hi"))
            val completions = engine.chat.completions
            var channel = ""
            for (chunk in completions.create(messages, seed = 4, max_tokens = 9)) {
                channel += chunk.choices[0].delta.content.orEmpty()
            }
            val flow = completions.stream(messages, seed = 4, max_tokens = 9)
                .fold("") { text, chunk -> text + chunk.choices[0].delta.content.orEmpty() }
            val whole = completions.complete(messages, seed = 4, max_tokens = 9)
            assertEquals(channel, flow)
            assertEquals(channel, whole.choices[0].message.content)
        }
    }
}
