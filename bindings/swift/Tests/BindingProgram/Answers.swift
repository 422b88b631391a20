import MLCSwift

/// The answers of a stream, put together.
struct Answers {
    private struct ToolCall {
        var id = ""
        var name = ""
        var arguments = ""
    }

    private(set) var texts: [Int: String] = [:]
    private(set) var reasons: [Int: FinishReason] = [:]
    private var roles: [Int: ChatCompletionRole] = [:]
    private var calls: [Int: [Int: ToolCall]] = [:]
    private(set) var usage: CompletionUsage?

    mutating func add(_ chunk: ChatCompletionChunk) {
        for choice in chunk.choices {
            if let text = choice.delta.content { self.texts[choice.index, default: ""] += text }
            if let reason = choice.finish_reason { self.reasons[choice.index] = reason }
            if let role = choice.delta.role, self.roles[choice.index] == nil {
                self.roles[choice.index] = role
            }
            for piece in choice.delta.tool_calls ?? [] { self.add(piece, to: choice.index) }
        }
        self.usage = chunk.usage ?? self.usage
    }

    private mutating func add(_ piece: ChoiceDeltaToolCall, to choice: Int) {
        var call = self.calls[choice]?[piece.index] ?? ToolCall()
        call.id += piece.id ?? ""
        call.name += piece.function?.name ?? ""
        call.arguments += piece.function?.arguments ?? ""
        self.calls[choice, default: [:]][piece.index] = call
    }

    /// Compares what the case says; what it does not name must not be there.
    func check(_ vector: Case) throws {
        try expect(self.texts.jsonValue, vector.json["texts"] ?? [:], "texts")
        try expect(self.reasons.jsonValue, vector.json["finish_reasons"] ?? [:], "finish_reasons")
        if let roles = vector.json["roles"] { try expect(self.roles.jsonValue, roles, "roles") }
        try expect(self.toolCalls, vector.json["tool_calls"] ?? [:], "tool_calls")
    }

    private var toolCalls: JSONValue {
        self.calls.mapValues { calls in
            calls.sorted { $0.key < $1.key }.map { _, call -> JSONValue in
                [
                    "id": .string(call.id), "name": .string(call.name),
                    "arguments": .string(call.arguments),
                ]
            }
        }.jsonValue
    }
}

func checkAnswer(_ vector: Case, _ engine: MLCEngine) async throws {
    var request = try ChatCompletionRequest(jsonText: try vector["json"].jsonText())
    request.stream_options = StreamOptions(include_usage: true)
    var answers = Answers()
    var fold = AnswerFold()
    for try await chunk in engine.chat.completions.stream(request) {
        answers.add(chunk)
        fold.add(chunk)
    }
    try answers.check(vector)
    try expect(counts(answers.usage), vector["usage"], "usage")

    request.stream_options = nil
    let whole = try await engine.chat.completions.complete(request)
    guard fold.completion.choices == whole.choices else {
        throw Difference("put together: \(fold.completion.choices)")
    }
    for choice in whole.choices {
        let what = "whole answer \(choice.index)"
        guard (choice.message.content ?? "") == (answers.texts[choice.index] ?? ""),
            choice.finish_reason == answers.reasons[choice.index]
        else { throw Difference("\(what): \(choice)") }
    }
    try expect(counts(whole.usage), vector["usage"], "usage of the whole answer")
}

private func counts(_ usage: CompletionUsage?) -> JSONValue {
    guard let usage else { return .null }
    return [
        "prompt_tokens": .int(usage.prompt_tokens),
        "completion_tokens": .int(usage.completion_tokens),
        "total_tokens": .int(usage.total_tokens),
    ]
}
