/// How a loop of tool calls ended.
public struct ToolRun: Sendable {
    /// The last answer.
    public let completion: ChatCompletion
    /// The whole conversation, the last answer included: to be continued with the next request.
    public let messages: [ChatCompletionMessage]
    /// The calls that the model made, the denied and failed ones too.
    public let callCount: Int
    /// Whether there would have been more.
    public let limitReached: Bool

    /// The last answer's text.
    public var content: String? { self.completion.choices.first?.message.content }
}

extension ChatCompletions {
    /// Runs the tools that the model calls, and sends it their results, until it answers with text.
    ///
    /// What goes wrong in a call goes back to the model as the call's result, so that it may try
    /// again. The calls of one answer run at the same time. Cancelling the task ends it all.
    ///
    /// - Parameters:
    ///   - request: its `tool_choice` holds for the first round alone, or the loop would not end.
    ///   - maxCalls: of all rounds together; then the model must answer without.
    ///   - approve: asked before each call, one after the other; where it says no the model is told
    ///     so.
    public func runTools(
        _ tools: [Tool], _ request: ChatCompletionRequest, maxCalls: Int = 16,
        approve: (@Sendable (ChatCompletionMessageToolCall) async throws -> Bool)? = nil
    ) async throws -> ToolRun {
        var loop = try ToolLoop(tools, request, maxCalls: maxCalls)
        return try await loop.run(approve: approve) { try await self.complete($0) }
    }
}

/// The loop: what to ask next, what to call, when it has ended.
struct ToolLoop {
    private static let denied = "error: the call was denied"
    private static let limit =
        "error: the call was not made: the limit of calls is reached; answer without it"

    /// A call of the model's, or why there is nothing to be called.
    private struct Planned: Sendable {
        let call: ChatCompletionMessageToolCall
        var tool: Tool?
        var refusal = ""
    }

    private let tools: [String: Tool]
    private var request: ChatCompletionRequest
    private let maxCalls: Int
    private var callCount = 0
    private var limitReached = false

    init(_ tools: [Tool], _ request: ChatCompletionRequest, maxCalls: Int) throws(MLCError) {
        self.tools = [String: Tool](
            tools.map { ($0.definition.name, $0) }, uniquingKeysWith: { first, _ in first })
        guard !tools.isEmpty, self.tools.count == tools.count else {
            throw MLCError(
                .invalidRequest, "at least one tool is needed, each of another name",
                param: "tools")
        }
        guard maxCalls >= 1, request.n == 1 else {
            throw MLCError(
                .invalidRequest, "a loop of tool calls follows one answer and makes calls",
                param: maxCalls >= 1 ? "n" : "maxCalls")
        }
        self.maxCalls = maxCalls
        self.request = request
        self.request.tools = tools.map { ChatCompletionTool(function: $0.definition) }
    }

    mutating func run(
        approve: (@Sendable (ChatCompletionMessageToolCall) async throws -> Bool)?,
        complete: (ChatCompletionRequest) async throws -> ChatCompletion
    ) async throws -> ToolRun {
        while true {
            let completion = try await complete(self.request)
            let calls = self.take(completion)
            guard !calls.isEmpty else {
                return ToolRun(
                    completion: completion, messages: self.request.messages,
                    callCount: self.callCount, limitReached: self.limitReached)
            }
            self.add(calls, try await Self.results(of: calls, approve))
        }
    }

    /// The calls of an answer; none when it is the last one.
    private mutating func take(_ completion: ChatCompletion) -> [Planned] {
        guard let message = completion.choices.first?.message else { return [] }
        let wasLimited = self.limitReached
        let calls = message.tool_calls ?? []
        self.request.messages.append(
            ChatCompletionMessage(
                role: .assistant, content: message.content.map { .text($0) },
                tool_calls: message.tool_calls, reasoning_content: message.reasoning_content))
        return wasLimited ? [] : calls.map { self.plan($0) }
    }

    private mutating func plan(_ call: ChatCompletionMessageToolCall) -> Planned {
        guard self.callCount < self.maxCalls else {
            self.limitReached = true
            return Planned(call: call, refusal: Self.limit)
        }
        self.callCount += 1
        if let tool = self.tools[call.function.name] { return Planned(call: call, tool: tool) }
        let names = (self.request.tools ?? []).map(\.function.name).joined(separator: ", ")
        return Planned(
            call: call,
            refusal: "error: there is no tool \(call.function.name); there are: \(names)")
    }

    private mutating func add(_ calls: [Planned], _ results: [String]) {
        for (planned, result) in zip(calls, results) {
            self.request.messages.append(
                ChatCompletionMessage(
                    role: .tool, content: .text(result), tool_call_id: planned.call.id))
        }
        if self.limitReached {
            self.request.tool_choice = .mode(.none_)
        } else if self.request.tool_choice != nil {
            self.request.tool_choice = .mode(.auto)
        }
    }

    /// In the order of the calls.
    private static func results(
        of calls: [Planned],
        _ approve: (@Sendable (ChatCompletionMessageToolCall) async throws -> Bool)?
    ) async throws -> [String] {
        var results = calls.map(\.refusal)
        try await withThrowingTaskGroup(of: (Int, String).self) { group in
            for (index, planned) in calls.enumerated() {
                guard let tool = planned.tool else { continue }
                if let approve, !(try await approve(planned.call)) {
                    results[index] = Self.denied
                    continue
                }
                let arguments = planned.call.function.arguments
                group.addTask { (index, try await Self.result(of: tool, arguments)) }
            }
            for try await (index, result) in group { results[index] = result }
        }
        return results
    }

    private static func result(of tool: Tool, _ arguments: String) async throws -> String {
        do {
            return try await tool.call(arguments)
        } catch {
            try Task.checkCancellation()
            return "error: \((error as? MLCError)?.message ?? "\(error)")"
        }
    }
}
