// Programs as those that were written for MLC-LLM's Swift package, with none of this engine's other
// names. See docs/coming-from-mlc-llm.md.

import Foundation
import MLCSwift
import Testing

/// What a screen with a conversation keeps.
private final class Conversation {
    private let engine: MLCEngine
    var history = [ChatCompletionMessage]()
    var label = ""
    var wasCut = false

    init(engine: MLCEngine) { self.engine = engine }

    func ask(_ question: ChatCompletionMessage) async -> String {
        self.history.append(question)
        var answer = ""
        for await res in await engine.chat.completions.create(
            messages: self.history,
            max_tokens: 6,
            seed: 7,
            stream_options: StreamOptions(include_usage: true)
        ) {
            let usage: CompletionUsage? = res.usage
            if let finalUsage = usage {
                self.label = finalUsage.extra?.asTextLabel() ?? ""
            } else {
                answer += res.choices[0].delta.content!.asText()
                if let finish_reason = res.choices[0].finish_reason {
                    if finish_reason == "length" { self.wasCut = true }
                }
            }
        }
        if answer.isEmpty {
            self.history.removeLast()
        } else {
            self.history.append(ChatCompletionMessage(role: .assistant, content: answer))
        }
        return answer
    }
}

@Test func aConversationWithALabelOfItsSpeed() async throws {
    try await holdAConversation(with: try await fakeEngine())
}

@Test(.enabled(if: realModel != nil, "needs MLC_TEST_MODEL and MLC_TEST_MODEL_LIB"))
func aConversationWithTheDefaultModel() async throws {
    let engine = MLCEngine()
    try await engine.load(model: try #require(realModel), modelLib: realLibrary, device: "cpu:0")
    try await holdAConversation(with: engine)
}

private func holdAConversation(with engine: MLCEngine) async throws {
    let conversation = Conversation(engine: engine)
    let first = await conversation.ask(ChatCompletionMessage(role: .user, content: "Hello"))
    #expect(!first.isEmpty && conversation.wasCut)
    let pattern = #/prefill: \d+\.\d tok\/s, decode: \d+\.\d tok\/s/#
    #expect(conversation.label.wholeMatch(of: pattern) != nil, "\(conversation.label)")
    let parts: [[String: String]] = [
        ["type": "text", "text": "And "], ["type": "text", "text": "you?"],
    ]
    let question = ChatCompletionMessage(role: .user, content: parts)
    #expect(question.content?.asText() == "And you?")
    #expect(!(await conversation.ask(question)).isEmpty)
    #expect(conversation.history.map(\.role) == [.user, .assistant, .user, .assistant])
}

@Test func everyArgumentOfCreate() async throws {
    let engine = try await fakeEngine()
    let temperature: Float = 0.5
    let topP: Float = 0.9
    let penalty: Float = 0.25
    let bias: [Int: Float] = [300: -1.5]
    let stops: [String] = ["never"]
    var tokens = [LogProbsContent]()
    var first: ChatCompletionStreamResponseChoice?
    let stream: AsyncStream<ChatCompletionStreamResponse> = await engine.chat.completions.create(
        messages: [ChatCompletionMessage(role: .user, content: "Hello")],
        model: nil,
        frequency_penalty: penalty,
        presence_penalty: penalty,
        logprobs: true,
        top_logprobs: 2,
        logit_bias: bias,
        max_tokens: 3,
        n: 2,
        seed: 7,
        stop: stops,
        stream: true,
        stream_options: StreamOptions(include_usage: false),
        temperature: temperature,
        top_p: topP,
        tools: nil,
        user: "somebody",
        response_format: ResponseFormat(type: "text")
    )
    for await response in stream {
        for choice in response.choices {
            first = first ?? choice
            let logprobs: LogProbs? = choice.lobprobs
            tokens += logprobs?.content ?? []
        }
    }
    #expect(tokens.count == 6 && tokens.allSatisfy { $0.top_logprobs.count == 2 })
    let best: TopLogProbs = tokens[0].top_logprobs[0]
    #expect(best.logprob <= 0)
    let role: ChatCompletionRole? = first?.delta.role
    #expect(role == .assistant)
}

@Test func toolsAndTheirCalls() async throws {
    let engine = try await fakeEngine()
    let members: [String: String] = [
        "type": "object", "properties": #"{"room": {"enum": ["bath", "kitchen"]}}"#,
    ]
    let light = ChatFunction(
        name: "switch_light", description: "Switches a light.", parameters: members)
    let tool = ChatTool(type: "function", function: light)
    let arguments: [String: String] = ["room": "bath"]
    let call = ChatToolCall(
        function: ChatFunctionCall(name: "switch_light", arguments: arguments))
    #expect(!call.id.isEmpty && call.function.arguments.contains("bath"))
    #expect(ChatToolCall(id: "1", type: "function", function: call.function).id == "1")
    let request = ChatCompletionRequest(
        messages: [
            ChatCompletionMessage(role: .user, content: "Light!"),
            ChatCompletionMessage(role: .assistant, tool_calls: [call]),
            ChatCompletionMessage(role: .tool, content: "done", tool_call_id: call.id),
        ],
        max_tokens: 5,
        tools: [tool])
    let data = try JSONEncoder().encode(request)
    #expect(try JSONDecoder().decode(ChatCompletionRequest.self, from: data) == request)
    let schema = try light.jsonText()
    #expect(schema.contains(#""properties":{"room":"#) && schema.contains(#""type":"object""#))
    for await response in await engine.chat.completions.create(
        messages: request.messages, max_tokens: 5, tools: [tool])
    {
        #expect(response.error == nil)
    }
}

@Test func partsAreDictionaries() throws {
    let content = ChatCompletionMessageContent.parts([
        ["type": "text", "text": "a"], ["type": "image_url", "image_url": "data:,"],
    ])
    guard case .parts(let parts) = content else {
        Issue.record("these are parts")
        return
    }
    #expect(parts.map { $0["type"]! } == ["text", "image_url"])
    #expect(parts[0]["text"] == "a" && parts[1]["image_url"] == "data:," && parts[0]["no"] == nil)
    let odd: ChatCompletionContentPart = ["type": "smell", "of": "coffee"]
    #expect(try odd.jsonText() == #"{"of":"coffee","type":"smell"}"#)
    #expect(CompletionUsageExtra(decode_tokens_per_s: 12.34).asTextLabel() == "decode: 12.3 tok/s")
    #expect(CompletionUsageExtra(prefill_tokens: 3).num_prefill_tokens == 3)
    #expect(CompletionUsageExtra().asTextLabel().isEmpty)
}

@Test func aFailureIsShownAsTheAnswer() async throws {
    let engine = try await fakeEngine()
    await engine.unload()
    var shown = ""
    for await res in await engine.chat.completions.create(
        messages: [ChatCompletionMessage(role: .user, content: "Hello")])
    {
        shown += res.choices[0].delta.content!.asText()
        #expect(res.choices[0].finish_reason == "error")
    }
    #expect(shown.contains("no model is loaded"))
}

@Test func aBareNameIsALibraryInTheProgram() async throws {
    let engine = MLCEngine()
    let result = await engine.reload(modelPath: fakeModel, modelLib: "llama_q3f16_1")
    let error = await thrown { try result.get() } as? MLCError
    #expect(error?.kind == .notFound && error?.param == "model_lib")
    #expect(error?.message.hasPrefix("system://llama_q3f16_1") == true)
    await engine.reset()
}

// The types of MLC-LLM's OpenAIProtocol.swift, each asked for by its name.
@Test func membersHaveMLCLLMsTypes() async throws {
    let temperature: Float = 0.5
    let bias: [Int: Float] = [300: -1.5]
    let stops: [String] = ["never"]
    var request = ChatCompletionRequest(
        messages: [ChatCompletionMessage(role: .user, content: "Hello")], top_logprobs: 0,
        logit_bias: bias, max_tokens: 3, stop: stops, temperature: temperature)
    let kept: [String]? = request.stop
    let read: Float? = request.temperature
    #expect(kept == ["never"] && read == 0.5 && request.logit_bias == [300: -1.5])
    request.temperature = temperature / 2
    request.top_p = temperature
    #expect(request.temperature == 0.25 && request.top_p == 0.5)

    let text =
        #"{"id":"1","choices":[{"index":0,"delta":{"content":"a"}}],"system_fingerprint":"f"}"#
    let decoded = try JSONDecoder().decode(
        ChatCompletionStreamResponse.self, from: Data(text.utf8))
    let fingerprint: String = decoded.system_fingerprint
    let delta: ChatCompletionMessage = decoded.choices[0].delta
    let reason: String? = decoded.choices[0].finish_reason
    #expect(fingerprint == "f" && delta.content?.asText() == "a" && reason == nil)
    let again = try JSONDecoder().decode(
        ChatCompletionStreamResponse.self, from: try JSONEncoder().encode(decoded))
    #expect(again == decoded)

    let speeds = CompletionUsageExtra(prefill_tokens_per_s: 2, decode_tokens_per_s: 4)
    let label: Float = speeds.decode_tokens_per_s! + speeds.prefill_tokens_per_s!
    #expect(label == 6)
    let members: [String: String] = ["type": "object"]
    let function = ChatFunction(name: "noon", parameters: members)
    let parameters: [String: String] = function.parameters
    let logprobs: [LogProbsContent]? = decoded.choices[0].lobprobs?.content
    #expect(parameters == members && logprobs == nil)
    let _: MLCEngine.Completions = MLCEngine().chat.completions
}

// An app that ignores the result of `reload` shows the reason as the answer.
@Test func theFailureOfAReloadIsTheAnswer() async throws {
    let engine = MLCEngine()
    await engine.reload(modelPath: fakeModel + "/absent", modelLib: "llama_q3f16_1")
    let hello = [ChatCompletionMessage(role: .user, content: "Hello")]
    var shown = ""
    for await res in await engine.chat.completions.create(messages: hello) {
        shown += res.choices[0].delta.content!.asText()
    }
    #expect(shown.contains("absent") && !shown.contains("no model is loaded"), "\(shown)")
    try await engine.load(model: fakeModel, device: "fake")
    for await res in await engine.chat.completions.create(messages: hello, max_tokens: 2) {
        #expect(res.error == nil)
    }
}

/// A screen's messages. They belong to one actor, as on a phone.
private actor Screen {
    private var messages = [""]
    private(set) var begun = false

    func append(_ text: String) {
        self.begun = true
        if self.messages.isEmpty { Issue.record("an element after the screen was cleared") }
        guard !self.messages.isEmpty else { return }
        self.messages[self.messages.count - 1] += text
    }

    func clear() { self.messages = [] }
}

@Test func resetWhileGeneratingFiftyTimes() async throws {
    let engine = try await fakeEngine()
    for _ in 0..<50 {
        let screen = Screen()
        let reading = Task {
            for await res in await engine.chat.completions.create(
                messages: [ChatCompletionMessage(role: .user, content: "Hello")],
                logit_bias: [498: -100])
            {
                #expect(res.error == nil)
                await screen.append(res.choices[0].delta.content!.asText())
            }
        }
        while !(await screen.begun) { await Task.yield() }
        await engine.reset()
        await reading.value
        await screen.clear()
    }
}

@Test func aTypedAnswerThatIsCutShortIsAnErrorOfItsOwn() async throws {
    struct Coin: Decodable { let isHeads: Bool }
    let engine = try await fakeEngine()
    let request = ChatCompletionRequest(
        messages: [ChatCompletionMessage(role: .user, content: "Heads?")], max_tokens: 2)
    let error = await thrown { _ = try await engine.chat.completions.complete(Coin.self, request) }
    #expect((error as? MLCError)?.kind == .unfinishedAnswer)
    #expect((error as? MLCError)?.message.contains("length") == true)
}
