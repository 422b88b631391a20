import Testing

@testable import MLCSwift

private struct City: Decodable {
    let city: String
    let days: Int?
}

private struct Report: Encodable {
    let city: String
    let days: Int
}

private struct NoSuchCity: Error, CustomStringConvertible {
    let description = "no such city"
}

private func weather() throws -> ModelTool {
    try ModelTool(name: "weather", description: "The weather of a city.") {
        (city: City) -> Report in
        if city.city == "Nowhere" { throw NoSuchCity() }
        return Report(city: city.city, days: city.days ?? 1)
    }
}

private let noon = ModelTool(name: "noon", parameters: ["type": "object"]) { _ in "at 12" }

/// An answer in chunks: a character of text each, a call in two.
private func says(_ content: String?, _ calls: (String, String)...) -> [ChatCompletionChunk] {
    let texts = (content ?? "").map { ChatCompletionChunkDelta(content: String($0)) }
    let pieces = calls.enumerated().flatMap { index, call in
        [
            ChoiceDeltaToolCall(
                index: index, id: "c\(index)", function: ChoiceDeltaFunctionCall(name: call.0)),
            ChoiceDeltaToolCall(
                index: index, function: ChoiceDeltaFunctionCall(arguments: call.1)),
        ].map { ChatCompletionChunkDelta(tool_calls: [$0]) }
    }
    return (texts + pieces).map { delta in
        ChatCompletionChunk(
            id: "x", created: 1, model: "m",
            choices: [ChatCompletionChunkChoice(index: 0, delta: delta, finish_reason: .stop)])
    }
}

/// A model that gives these answers, and what it was asked.
private final class Script: Sendable {
    private let state: Locked<(rest: [[ChatCompletionChunk]], asked: [ChatCompletionRequest])>
    var asked: [ChatCompletionRequest] { self.state.with { $0.asked } }

    init(_ answers: [[ChatCompletionChunk]]) {
        self.state = Locked((answers, []))
    }

    func answer(_ request: ChatCompletionRequest)
        -> AsyncThrowingStream<ChatCompletionChunk, any Error>
    {
        let chunks = self.state.with { state in
            state.asked.append(request)
            return state.rest.removeFirst()
        }
        return AsyncThrowingStream { continuation in
            for chunk in chunks { continuation.yield(chunk) }
            continuation.finish()
        }
    }
}

private func events(
    _ tools: [ModelTool], _ script: Script, toolChoice: ToolChoice? = nil, maxCalls: Int = 16,
    approve: Approve? = nil
) -> ToolRunEvents {
    let request = ChatCompletionRequest(messages: user("Hi"), tool_choice: toolChoice)
    return ToolRunEvents(tools, request, maxCalls: maxCalls, approve: approve) {
        script.answer($0)
    }
}

/// Runs a loop over these answers; the run, and what was asked.
private func run(
    _ tools: [ModelTool], _ answers: [[ChatCompletionChunk]], toolChoice: ToolChoice? = nil,
    maxCalls: Int = 16, approve: Approve? = nil
) async throws -> (ToolRun, [ChatCompletionRequest]) {
    let script = Script(answers)
    let events = events(
        tools, script, toolChoice: toolChoice, maxCalls: maxCalls, approve: approve)
    return (try await events.run(), script.asked)
}

private func results(_ run: ToolRun) -> [String] {
    run.messages.filter { $0.role == .tool }.map { $0.content?.asText() ?? "" }
}

@Test func callsAreRunUntilThereIsAnAnswer() async throws {
    let (end, asked) = try await run(
        [try weather(), noon],
        [says(nil, ("weather", #"{"city": "Oslo"}"#), ("noon", "")), says("Fine.")],
        toolChoice: .mode(.required))
    #expect(end.content == "Fine." && end.numCalls == 2 && !end.limitReached)
    #expect(results(end) == [#"{"city":"Oslo","days":1}"#, "at 12"])
    #expect(end.messages.map(\.role) == [.user, .assistant, .tool, .tool, .assistant])
    #expect(end.messages[3].tool_call_id == "c1")
    #expect(asked[0].tool_choice == .mode(.required) && asked[1].tool_choice == .mode(.auto))
    #expect(asked[0].tools?[0].function.parameters?["required"] == ["city"])
    #expect(asked[1].messages == Array(end.messages.dropLast()))
}

@Test func whatGoesWrongGoesBackToTheModel() async throws {
    let (end, _) = try await run(
        [try weather(), noon],
        [
            says(nil, ("weather", #"{"city": "Nowhere"}"#)),
            says(nil, ("weather", #"{"city": 3}"#), ("weather", #"{"ci"#)),
            says(nil, ("rain", "{}"), ("noon", "{")), says("I do not know."),
        ])
    let found = results(end)
    #expect(found[0] == "error: no such city")
    #expect(found[1].hasPrefix("error: the arguments do not fit: city: "))
    #expect(found[2].hasPrefix("error: the arguments do not fit: "))
    #expect(found[3] == "error: there is no tool rain; there are: weather, noon")
    #expect(found[4].hasPrefix("error: the arguments do not fit: "))
}

@Test func callsAreMadeWithApprovalAlone() async throws {
    let never = ModelTool(name: "never", parameters: ["type": "object"]) { _ in
        Issue.record("a denied call was made")
        return ""
    }
    let (end, _) = try await run(
        [never, noon], [says(nil, ("never", "{}"), ("noon", "{}")), says("Well.")],
        approve: { $0.function.name == "noon" })
    #expect(results(end) == ["error: the call was denied", "at 12"])
}

@Test func theLimitEndsALoopThatWouldNotEnd() async throws {
    let endless = (0..<9).map { _ in says(nil, ("noon", "{}"), ("noon", "{}")) }
    let (end, asked) = try await run([noon], endless, maxCalls: 3)
    #expect(end.numCalls == 3 && end.limitReached && asked.count == 3)
    #expect(asked[2].tool_choice == .mode(.none_))
    #expect(results(end)[3].contains("limit of calls"))
}

@Test func wrongUseOfToolsIsTold() async {
    #expect(throws: MLCError.self) {
        try ToolLoop([], ChatCompletionRequest(messages: []), maxCalls: 1)
    }
    #expect(throws: MLCError.self) {
        try ToolLoop([noon, noon], ChatCompletionRequest(messages: []), maxCalls: 1)
    }
    #expect(throws: MLCError.self) {
        try ToolLoop([noon], ChatCompletionRequest(messages: [], n: 2), maxCalls: 1)
    }
}

@Test func aCancelledTaskEndsTheLoop() async throws {
    let slow = ModelTool(name: "slow", parameters: ["type": "object"]) { _ in
        try await Task.sleep(for: .seconds(3600))
        return ""
    }
    let task = Task { try await run([slow], [says(nil, ("slow", "{}"))]).0.content }
    try await Task.sleep(for: .milliseconds(50))
    task.cancel()
    #expect(await thrown { _ = try await task.value } is CancellationError)
}

@Test func aStreamTellsWhatHappens() async throws {
    let script = Script([
        says("Hm", ("weather", #"{"city": "Oslo"}"#), ("noon", "")), says("Fine."),
    ])
    var kinds: [String] = []
    var text = ""
    for try await event in events([try weather(), noon], script) {
        switch event {
        case .chunk: continue
        case .text(let piece): text += piece
        case .call(let call): kinds.append("call \(call.function.name)")
        case .result(let result): kinds.append("\(result.outcome) \(result.content)")
        case .end(let run): kinds.append("end \(run.numCalls) \(run.content ?? "")")
        }
    }
    #expect(text == "HmFine.")
    #expect(
        kinds == [
            "call weather", "call noon", #"returned {"city":"Oslo","days":1}"#, "returned at 12",
            "end 2 Fine.",
        ])
}

@Test func aStreamWaitsForItsReader() async throws {
    let made = Locked(0)
    let counted = ModelTool(name: "noon", parameters: ["type": "object"]) { _ in
        made.with { $0 += 1 }
        return ""
    }
    let script = Script([says(nil, ("noon", "")), says("Fine.")])
    for try await event in events([counted], script) {
        if case .call = event { break }
    }
    try await Task.sleep(for: .milliseconds(50))
    #expect(made.with { $0 } == 0 && script.asked.count == 1)
}

@Test func leavingAStreamEndsItsCallsAndItsRequest() async throws {
    let ended = Locked(false)
    let slow = ModelTool(name: "slow", parameters: ["type": "object"]) { _ in
        defer { ended.with { $0 = true } }
        try await Task.sleep(for: .seconds(3600))
        return ""
    }
    let script = Script([says(nil, ("noon", ""), ("slow", ""))])
    for try await event in events([slow, noon], script) {
        if case .result = event { break }
    }
    for _ in 0..<6000 where !ended.with({ $0 }) {
        try await Task.sleep(for: .milliseconds(10))
    }
    #expect(ended.with { $0 })

    let engine = try await fakeEngine()
    let request = ChatCompletionRequest(
        messages: user("leave"), max_tokens: 100_000, tool_choice: .mode(.none_),
        debug_config: endless)
    for try await _ in engine.chat.completions.streamTools([noon], request) { break }
    #expect(try await engine.becomesIdle(cancelled: 1))
}

@Test func aRefusalOfTheEngineIsThrown() async throws {
    let engine = try await fakeEngine()
    let request = ChatCompletionRequest(messages: user("Hi"), temperature: 9)
    let error = await thrown { _ = try await engine.chat.completions.runTools([noon], request) }
    #expect((error as? MLCError)?.param == "temperature")
}

@Test func aToolCallIsWholeInTheLastResponse() async throws {
    var folds = CallFolds()
    let pieces = ["{\"room\": ", "\"bath\"}"]
    var ended: [ChatCompletionMessageToolCall]?
    for (number, piece) in pieces.enumerated() {
        let call = ChoiceDeltaToolCall(
            index: 0, id: number == 0 ? "c1" : nil,
            function: ChoiceDeltaFunctionCall(
                name: number == 0 ? "switch_light" : nil, arguments: piece))
        let chunk = ChatCompletionChunk(
            id: "1", created: 0, model: "m",
            choices: [
                ChatCompletionChunkChoice(
                    index: 0, delta: ChatCompletionChunkDelta(tool_calls: [call]),
                    finish_reason: number == 1 ? .toolCalls : nil)
            ])
        ended = folds.take(chunk)[0]
    }
    let call: ChatToolCall = try #require(ended?.first)
    #expect(call.id == "c1" && call.function.name == "switch_light")
    if let room = call.function.arguments?["room"] {
        #expect(room == "bath")
    } else {
        Issue.record("the argument is not there")
    }
}
