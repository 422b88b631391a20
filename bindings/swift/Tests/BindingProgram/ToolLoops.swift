// The vectors of the kind `tools`, and the loop that `run-tools` asks for.
import MLCSwift

private struct Weather: Decodable {
    let city: String
    let days: Int?
}

private struct Report: Encodable {
    let city: String
    let days: Int
}

private enum Room: String, CaseIterable, Decodable {
    case bath, kitchen
}

private struct Light: Decodable {
    let room: Room
    let on: Bool

    var json: JSONValue { ["room": .string(self.room.rawValue), "on": .bool(self.on)] }
}

private actor Switches {
    private(set) var calls: [JSONValue] = []

    func turn(_ light: Light) -> String {
        self.calls.append(light.json)
        return "The light in the \(light.room.rawValue) is \(light.on ? "on" : "off")."
    }
}

@Sendable func runTools(_ options: Options) async throws -> JSONObject {
    let engine = try await options.loadedEngine()
    let switches = Switches()
    let tool = try ModelTool(name: "switch_light", description: "Switches a light on or off.") {
        (light: Light) in await switches.turn(light)
    }
    var request = ChatCompletionRequest(
        messages: user(try options.text("prompt")), max_tokens: 60, temperature: 0)
    let light = try await engine.chat.completions.complete(Light.self, request)
    request.tool_choice = .mode(.required)
    var text = ""
    var results: [JSONValue] = []
    var end: ToolRun?
    for try await event in engine.chat.completions.streamTools([tool], request, maxCalls: 2) {
        switch event {
        case .text(let piece): text += piece
        case .result(let result): results.append(.string(result.content))
        case .end(let run): end = run
        case .chunk, .call: continue
        }
    }
    guard let end else { throw UsageError("the loop has no end") }
    return [
        "calls": .array(await switches.calls), "results": .array(results), "text": .string(text),
        "content": end.content.map { .string($0) } ?? nil,
        "roles": .array(end.messages.map(\.role.jsonValue)), "num_calls": .int(end.numCalls),
        "light": light.json,
    ]
}

private func tool(_ name: String) throws -> ModelTool {
    if name == "noon" {
        return ModelTool(name: name, parameters: ["type": "object"]) { _ in "at 12" }
    }
    return try ModelTool(name: name, description: "The weather of a city.") {
        (asked: Weather) -> Report in
        if asked.city == "Nowhere" { throw UsageError("no such city") }
        return Report(city: asked.city, days: asked.days ?? 1)
    }
}

/// A model that gives the answers of a case, and what it was asked.
private actor Script {
    private(set) var asked: [ChatCompletionRequest] = []
    private var answers: [[ChatCompletionChunk]]

    init(_ answers: [[ChatCompletionChunk]]) {
        self.answers = answers
    }

    func take(_ request: ChatCompletionRequest) -> [ChatCompletionChunk] {
        self.asked.append(request)
        return self.answers.removeFirst()
    }

    nonisolated func stream(_ request: ChatCompletionRequest)
        -> AsyncThrowingStream<ChatCompletionChunk, any Error>
    {
        AsyncThrowingStream { continuation in
            Task {
                for chunk in await self.take(request) { continuation.yield(chunk) }
                continuation.finish()
            }
        }
    }
}

private func strings(_ value: JSONValue) -> [String]? {
    if case .array(let items) = value { items.compactMap(\.stringValue) } else { nil }
}

func checkTools(_ vector: Case) async throws {
    do {
        try await checkLoop(vector)
    } catch let error as MLCError where vector["error"].kind != .null {
        try checkError(vector, error)
    }
}

private func checkLoop(_ vector: Case) async throws {
    let names = strings(vector["tools"]) ?? ["weather", "noon"]
    let answers = try vector.items("answers").map { answer in
        try Case(json: ["chunks": answer]).items("chunks").map {
            try ChatCompletionChunk(jsonValue: $0)
        }
    }
    let script = Script(answers)
    var approve: Approve?
    if let denied = strings(vector["deny"]) { approve = { !denied.contains($0.function.name) } }
    var limit = maxToolCalls
    if case .int(let calls) = vector["max_calls"] { limit = calls }
    let events = ToolRunEvents(
        try names.map(tool), try ChatCompletionRequest(jsonValue: vector["request"]),
        maxCalls: limit, approve: approve
    ) { script.stream($0) }
    var told: [JSONValue] = []
    var chunks = 0
    for try await event in events {
        if let event = tell(event) { told.append(event) } else { chunks += 1 }
    }
    guard vector["error"].kind == .null else { throw Difference("it began") }
    try expect(.int(chunks), .int(answers.map(\.count).reduce(0, +)), "chunks")
    try expect(cut(.array(told), vector["events"]), vector["events"], "events")
    try await expectAsked(script.asked, names, vector)
}

private func expectAsked(
    _ asked: [ChatCompletionRequest], _ names: [String], _ vector: Case
) throws {
    let found = asked.map { request -> JSONValue in
        [
            "messages": request.messages.jsonValue,
            "tool_choice": request.tool_choice?.jsonValue ?? nil,
        ]
    }
    try expect(cut(.array(found), vector["asked"]), vector["asked"], "asked")
    for request in asked {
        guard request.tools?.map(\.function.name) == names,
            request.stream_options?.include_usage == true
        else { throw Difference("asked: \(request)") }
    }
}

private func tell(_ event: ToolRunEvent) -> JSONValue? {
    switch event {
    case .chunk: nil
    case .text(let text): ["type": "text", "text": .string(text)]
    case .call(let call): ["type": "call", "name": .string(call.function.name)]
    case .result(let result):
        [
            "type": "result", "outcome": .string(result.outcome.rawValue),
            "content": .string(result.content),
        ]
    case .end(let run):
        [
            "type": "end", "content": run.content.map { .string($0) } ?? nil,
            "num_calls": .int(run.numCalls), "limit_reached": .bool(run.limitReached),
            "messages": run.messages.jsonValue,
            "usage": run.completion.usage?.jsonValue ?? nil,
        ]
    }
}

/// `found` where the expectation leaves its end open, with a `*` for that.
private func cut(_ found: JSONValue, _ expected: JSONValue) -> JSONValue {
    switch (found, expected) {
    case (.string(let text), .string(let open)) where open.hasSuffix("*"):
        text.hasPrefix(open.dropLast()) ? expected : found
    case (.array(let items), .array(let others)) where items.count == others.count:
        .array(zip(items, others).map(cut))
    case (.object(let object), .object(let other)):
        .object(
            object.members.reduce(into: JSONObject()) {
                $0[$1.key] = cut($1.value, other[$1.key] ?? nil)
            })
    default: found
    }
}
