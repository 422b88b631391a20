// What docs/typed-answers.md shows, on the fake model and with an app's imports.
package ai.mlc.mlcllm.snippet

import ai.mlc.mlcllm.ChatCompletionRequest
import ai.mlc.mlcllm.Description
import ai.mlc.mlcllm.FakeModel
import ai.mlc.mlcllm.Tool
import ai.mlc.mlcllm.ToolChoiceMode
import ai.mlc.mlcllm.ToolRunEvent
import ai.mlc.mlcllm.completeAs
import ai.mlc.mlcllm.runTools
import ai.mlc.mlcllm.streamTools
import ai.mlc.mlcllm.user
import kotlinx.coroutines.runBlocking
import kotlinx.serialization.Serializable
import org.junit.Assert.assertTrue
import org.junit.Test

@Serializable
enum class Room { bath, kitchen }

@Serializable
data class Light(@Description("Where it is.") val room: Room, val on: Boolean)

class HelperSnippetTest {
    @Test
    fun `the examples run`() = runBlocking {
        FakeModel.engine().use { engine ->
            val completions = engine.chat.completions
            val messages = listOf(user("Light?"))
            val light: Light = completions.completeAs(ChatCompletionRequest(messages))
            assertTrue(light.room in Room.entries)

            val request = ChatCompletionRequest(
                messages,
                max_tokens = 60,
                seed = 1,
                tool_choice = ToolChoiceMode.required,
            )
            val switchLight = Tool("switch_light", "Switches a light.") { light: Light ->
                "The light in the ${light.room} is ${if (light.on) "on" else "off"}."
            }
            val run = completions.runTools(listOf(switchLight), request, maxCalls = 4)
            println("${run.content} ${run.numCalls}")
            assertTrue(run.numCalls > 0)

            completions.streamTools(listOf(switchLight), request).collect { event ->
                when (event) {
                    is ToolRunEvent.Text -> print(event.text)
                    is ToolRunEvent.Call -> println("calls ${event.call.function.name}")
                    else -> {}
                }
            }
        }
    }
}
