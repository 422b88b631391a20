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

private func weather() throws -> Tool {
    try Tool(name: "weather", description: "The weather of a city.") { (city: City) -> Report in
        if city.city == "Nowhere" { throw NoSuchCity() }
        return Report(city: city.city, days: city.days ?? 1)
    }
}

private let noon = Tool(name: "noon", parameters: ["type": "object"]) { _ in "at 12" }

private func says(_ content: String?, _ calls: (String, String)...) -> ChatCompletion {
    let calls = calls.enumerated().map { index, call in
        ChatCompletionMessageToolCall(
            id: "c\(index)", function: FunctionCall(name: call.0, arguments: call.1))
    }
    let message = ChatCompletionResponseMessage(
        content: content, tool_calls: calls.isEmpty ? nil : calls)
    return ChatCompletion(
        id: "x", created: 1, model: "m",
        choices: [ChatCompletionChoice(index: 0, message: message, finish_reason: .stop)])
}

/// Runs a loop over these answers; the run, and what was asked.
private func run(
    _ tools: [Tool], _ answers: [ChatCompletion], toolChoice: ToolChoice? = nil, maxCalls: Int = 16,
    approve: (@Sendable (ChatCompletionMessageToolCall) async throws -> Bool)? = nil
) async throws -> (ToolRun, [ChatCompletionRequest]) {
    var asked: [ChatCompletionRequest] = []
    let request = ChatCompletionRequest(messages: user("Hi"), tool_choice: toolChoice)
    var loop = try ToolLoop(tools, request, maxCalls: maxCalls)
    let run = try await loop.run(approve: approve) { request in
        asked.append(request)
        return answers[asked.count - 1]
    }
    return (run, asked)
}

private func results(_ run: ToolRun) -> [String] {
    run.messages.filter { $0.role == .tool }.map { $0.content?.asText() ?? "" }
}

@Test func callsAreRunUntilThereIsAnAnswer() async throws {
    let (end, asked) = try await run(
        [try weather(), noon],
        [says(nil, ("weather", #"{"city": "Oslo"}"#), ("noon", "")), says("Fine.")],
        toolChoice: .mode(.required))
    #expect(end.content == "Fine." && end.callCount == 2 && !end.limitReached)
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
    let never = Tool(name: "never", parameters: ["type": "object"]) { _ in
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
    #expect(end.callCount == 3 && end.limitReached && asked.count == 3)
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
    let slow = Tool(name: "slow", parameters: ["type": "object"]) { _ in
        try await Task.sleep(for: .seconds(60))
        return ""
    }
    let task = Task { try await run([slow], [says(nil, ("slow", "{}"))]).0.content }
    try await Task.sleep(for: .milliseconds(50))
    task.cancel()
    #expect(await thrown { _ = try await task.value } is CancellationError)
}
