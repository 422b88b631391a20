/** The requests of the vectors of kind `build`, by the typed constructors. */
package ai.mlc.mlcllm.program

import ai.mlc.mlcllm.ChatCompletionContentPartImage
import ai.mlc.mlcllm.ChatCompletionContentPartText
import ai.mlc.mlcllm.ChatCompletionMessage
import ai.mlc.mlcllm.ChatCompletionMessageToolCall
import ai.mlc.mlcllm.ChatCompletionNamedToolChoice
import ai.mlc.mlcllm.ChatCompletionRequest
import ai.mlc.mlcllm.ChatCompletionRole
import ai.mlc.mlcllm.ChatCompletionTool
import ai.mlc.mlcllm.DebugConfig
import ai.mlc.mlcllm.DetokenizeRequest
import ai.mlc.mlcllm.FunctionCall
import ai.mlc.mlcllm.FunctionDefinition
import ai.mlc.mlcllm.ImageDetail
import ai.mlc.mlcllm.ImageURL
import ai.mlc.mlcllm.JSONSchema
import ai.mlc.mlcllm.NamedFunction
import ai.mlc.mlcllm.ResponseFormatJSONObject
import ai.mlc.mlcllm.ResponseFormatJSONSchema
import ai.mlc.mlcllm.StreamOptions
import ai.mlc.mlcllm.ToolChoiceMode
import ai.mlc.mlcllm.picture

private val anObject = result("type" to "object")

private fun user(content: String) =
    ChatCompletionMessage(role = ChatCompletionRole.user, content = content)

private val hi = listOf(user("Hi"))

val BUILDS: Map<String, () -> Any> = mapOf(
    "build_one_user_message" to { ChatCompletionRequest(messages = hi) },
    "build_sampling" to ::sampling,
    "build_stream_options" to {
        ChatCompletionRequest(
            messages = hi,
            stream = true,
            stream_options = StreamOptions(include_usage = true),
        )
    },
    "build_text_and_image" to ::textAndImage,
    "build_picture_of_bytes" to {
        val parts = listOf(
            picture(byteArrayOf(0), ImageDetail.original),
            ChatCompletionContentPartText("What is this?"),
        )
        ChatCompletionRequest(listOf(ChatCompletionMessage(ChatCompletionRole.user, parts)))
    },
    "build_tool_conversation" to ::toolConversation,
    "build_tools" to ::tools,
    "build_tool_choice_word" to {
        ChatCompletionRequest(messages = hi, tool_choice = ToolChoiceMode.required)
    },
    "build_json_schema" to {
        ChatCompletionRequest(
            messages = hi,
            response_format = ResponseFormatJSONSchema(
                JSONSchema(name = "s", schema = anObject, strict = true),
            ),
        )
    },
    "build_json_object" to {
        ChatCompletionRequest(messages = hi, response_format = ResponseFormatJSONObject())
    },
    "build_stop_text" to { ChatCompletionRequest(messages = hi, stop = "end") },
    "build_debug" to {
        ChatCompletionRequest(messages = hi, debug_config = DebugConfig(ignore_eos = true))
    },
    "build_detokenize" to {
        DetokenizeRequest(tokens = listOf(1, 2), skip_special_tokens = false)
    },
)

private fun sampling() = ChatCompletionRequest(
    messages = hi,
    max_tokens = 5,
    n = 2,
    temperature = 0.5,
    top_p = 0.9,
    frequency_penalty = -1.0,
    logit_bias = mapOf(17 to 2.5),
    logprobs = true,
    top_logprobs = 3,
    seed = 7,
    stop = listOf("a", "b"),
)

private fun textAndImage() = ChatCompletionRequest(
    messages = listOf(
        ChatCompletionMessage(
            role = ChatCompletionRole.user,
            content = listOf(
                ChatCompletionContentPartText(text = "What is this?"),
                ChatCompletionContentPartImage(
                    image_url = ImageURL("data:image/png;base64,AA==", ImageDetail.high),
                ),
            ),
        ),
    ),
)

private fun toolConversation() = ChatCompletionRequest(
    messages = listOf(
        ChatCompletionMessage(
            role = ChatCompletionRole.user,
            content = "How warm is it in 東京?",
            name = "Zoë",
        ),
        ChatCompletionMessage(
            role = ChatCompletionRole.assistant,
            tool_calls = listOf(
                ChatCompletionMessageToolCall(
                    id = "call_0",
                    function = FunctionCall(name = "warmth", arguments = """{"city": "東京"}"""),
                ),
            ),
        ),
        ChatCompletionMessage(
            role = ChatCompletionRole.tool,
            content = "21.5",
            tool_call_id = "call_0",
        ),
    ),
)

private fun tools() = ChatCompletionRequest(
    messages = hi,
    tools = listOf(
        ChatCompletionTool(
            type = "function",
            function = FunctionDefinition("f", "d", parameters = anObject, strict = true),
        ),
    ),
    tool_choice = ChatCompletionNamedToolChoice(function = NamedFunction("f")),
    parallel_tool_calls = false,
)
