import MLCSwift
import Testing

/// What stands around the call in MLC-LLM's sample app.
@MainActor
final class ChatState {
    let engine: MLCEngine
    var historyMessages: [ChatCompletionMessage] = []
    var streamingText = ""
    var endedByLength = false

    init(engine: MLCEngine) {
        self.engine = engine
    }

    func generate(prompt: String) async {
        // The snippet as it is known, unchanged.
        self.historyMessages.append(ChatCompletionMessage(role: .user, content: prompt))
        var finishReasonLength = false
        for await res in await engine.chat.completions.create(
            messages: self.historyMessages,
            stream_options: StreamOptions(include_usage: true)
        ) {
            for choice in res.choices {
                if let content = choice.delta.content {
                    self.streamingText += content.asText()
                }
                if let finish_reason = choice.finish_reason {
                    if finish_reason == "length" {
                        finishReasonLength = true
                    }
                }
            }
        }
        self.endedByLength = finishReasonLength
    }
}

@Test @MainActor func theKnownSnippetCompilesAndRuns() async throws {
    // Room for two tokens behind the prompt: the answer ends by its length.
    let engine = try MLCEngine(config: EngineConfig(mode: .interactive, context_window_size: 23))
    try await engine.load(model: fakeModel, device: "fake")
    let state = ChatState(engine: engine)
    await state.generate(prompt: "Hi")
    #expect(!state.streamingText.isEmpty && state.endedByLength)
}

@Test func theOlderCallsCompileAndRun() async throws {
    let engine = MLCEngine()
    let result = await engine.reload(modelPath: "/nowhere", modelLib: "/nowhere.so")
    #expect(throws: MLCError.self) { try result.get() }
    await engine.reset()
    await engine.unload()
    let format = ResponseFormat(type: "json_object", schema: #"{"type": "object"}"#)
    #expect(try format.jsonText() == #"{"type":"json_object","schema":"{\"type\": \"object\"}"}"#)
}

// What docs/typed-answers.md shows, on the fake model.
private enum HelperSnippets {
    enum Room: String, CaseIterable, Decodable { case bath, kitchen }
    struct Light: Decodable {
        let room: Room
        let on: Bool
    }

    static func light(_ completions: ChatCompletions, _ messages: [ChatCompletionMessage])
        async throws -> Light
    {
        let request = ChatCompletionRequest(messages: messages)
        let light = try await completions.complete(Light.self, request)
        return light
    }

    static func loop(_ completions: ChatCompletions, _ request: ChatCompletionRequest)
        async throws -> ToolRun
    {
        let switchLight = try ModelTool(name: "switch_light", description: "Switches a light.") {
            (light: Light) in "The light in the \(light.room) is \(light.on ? "on" : "off")."
        }
        let run = try await completions.runTools([switchLight], request, maxCalls: 4)
        print(run.content ?? "", run.numCalls)

        for try await event in completions.streamTools([switchLight], request) {
            switch event {
            case .text(let text): print(text, terminator: "")
            case .call(let call): print("calls", call.function.name)
            default: break
            }
        }
        return run
    }
}

@Test func theExamplesOfHelpersRun() async throws {
    let engine = try await fakeEngine()
    let completions = engine.chat.completions
    _ = try await HelperSnippets.light(completions, user("Light?"))
    let request = ChatCompletionRequest(
        messages: user("Light!"), max_tokens: 60, seed: 1, tool_choice: .mode(.required))
    #expect(try await HelperSnippets.loop(completions, request).numCalls > 0)
}
