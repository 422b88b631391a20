import Foundation
import MLCSwift

/// The functions of the kind `build`: requests made by the typed initializers.
let builders: [String: @Sendable () -> any WireObject] = [
    "build_one_user_message": { ChatCompletionRequest(messages: user("Hi")) },
    "build_sampling": {
        ChatCompletionRequest(
            messages: user("Hi"), frequency_penalty: -1, logprobs: true, top_logprobs: 3,
            logit_bias: [17: 2.5], max_tokens: 5, n: 2, seed: 7, stop: ["a", "b"],
            temperature: 0.5, top_p: 0.9)
    },
    "build_stream_options": {
        ChatCompletionRequest(
            messages: user("Hi"), stream: true, stream_options: StreamOptions(include_usage: true))
    },
    "build_text_and_image": {
        let image = ImageURL(url: "data:image/png;base64,AA==", detail: .high)
        return ChatCompletionRequest(messages: [
            ChatCompletionMessage(
                role: .user,
                content: [
                    .text(ChatCompletionContentPartText(text: "What is this?")),
                    .imageUrl(ChatCompletionContentPartImage(image_url: .image(image))),
                ])
        ])
    },
    "build_picture_of_bytes": {
        let text = ChatCompletionContentPartText(text: "What is this?")
        return ChatCompletionRequest(messages: [
            ChatCompletionMessage(
                role: .user, content: [.picture(Data([0]), detail: .original), .text(text)])
        ])
    },
    "build_tool_conversation": {
        let call = ChatCompletionMessageToolCall(
            id: "call_0", function: FunctionCall(name: "warmth", arguments: #"{"city": "東京"}"#))
        return ChatCompletionRequest(messages: [
            ChatCompletionMessage(role: .user, content: "How warm is it in 東京?", name: "Zoë"),
            ChatCompletionMessage(role: .assistant, tool_calls: [call]),
            ChatCompletionMessage(role: .tool, content: "21.5", tool_call_id: "call_0"),
        ])
    },
    "build_tools": {
        let function = FunctionDefinition(
            name: "f", description: "d", parameters: ["type": "object"], strict: true)
        return ChatCompletionRequest(
            messages: user("Hi"), tools: [ChatCompletionTool(function: function)],
            tool_choice: .named(ChatCompletionNamedToolChoice(function: NamedFunction(name: "f"))),
            parallel_tool_calls: false)
    },
    "build_tool_choice_word": {
        ChatCompletionRequest(messages: user("Hi"), tool_choice: "required")
    },
    "build_json_schema": {
        let schema = JSONSchema(name: "s", schema: ["type": "object"], strict: true)
        return ChatCompletionRequest(
            messages: user("Hi"),
            response_format: .jsonSchema(ResponseFormatJSONSchema(json_schema: schema)))
    },
    "build_json_object": {
        ChatCompletionRequest(
            messages: user("Hi"), response_format: .jsonObject(ResponseFormatJSONObject()))
    },
    "build_stop_text": { ChatCompletionRequest(messages: user("Hi"), stop: "end") },
    "build_debug": {
        ChatCompletionRequest(messages: user("Hi"), debug_config: DebugConfig(ignore_eos: true))
    },
    "build_detokenize": { DetokenizeRequest(tokens: [1, 2], skip_special_tokens: false) },
]
