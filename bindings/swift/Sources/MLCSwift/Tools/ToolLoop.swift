/// The decisions of the loop, without any waiting: what to ask, what to call, and when it ends.
struct ToolLoop {
    /// A call that the model makes: the function to run, or the reason why none can run.
    struct Planned: Sendable {
        let call: ChatCompletionMessageToolCall
        var work: (@Sendable () async throws -> String)?
        var refusal = ""

        func result(approved: Bool) async throws -> ToolResult {
            guard let work else { return self.result(self.refusal, .refused) }
            guard approved else { return self.result(ToolsTexts.denied, .denied) }
            do {
                return self.result(try await work(), .returned)
            } catch {
                try Task.checkCancellation()
                let why = (error as? MLCError)?.message ?? "\(error)"
                return self.result(ToolsTexts.failed(why: why), .failed)
            }
        }

        private func result(_ content: String, _ outcome: ToolOutcome) -> ToolResult {
            ToolResult(call: self.call, content: content, outcome: outcome)
        }
    }

    /// The next request. `tool_choice` applies only to the first request.
    private(set) var request: ChatCompletionRequest
    private let tools: [String: ModelTool]
    private let maxCalls: Int
    private var numCalls = 0
    private var limitReached = false
    private var completion: ChatCompletion?

    init(_ tools: [ModelTool], _ request: ChatCompletionRequest, maxCalls: Int) throws(MLCError) {
        self.tools = [String: ModelTool](
            tools.map { ($0.definition.name, $0) }, uniquingKeysWith: { first, _ in first })
        guard !tools.isEmpty, self.tools.count == tools.count else {
            throw MLCError(.invalidRequest, ToolsTexts.names, param: "tools")
        }
        guard maxCalls >= 1 else {
            throw MLCError(.invalidRequest, ToolsTexts.tooFew, param: "max_calls")
        }
        guard request.n == 1 else {
            throw MLCError(.invalidRequest, ToolsTexts.oneAnswer, param: "n")
        }
        self.maxCalls = maxCalls
        self.request = request
        self.request.tools = tools.map { ChatCompletionTool(function: $0.definition) }
        self.request.stream_options = StreamOptions(include_usage: true)
    }

    /// The calls of an answer; none when it is the last one.
    mutating func take(_ completion: ChatCompletion) -> [Planned] {
        self.completion = completion
        guard let message = completion.choices.first?.message else { return [] }
        self.request.messages.append(
            ChatCompletionMessage(
                role: .assistant, content: message.content.map { .text($0) },
                tool_calls: message.tool_calls, reasoning_content: message.reasoning_content))
        if self.limitReached { return [] }
        let calls = (message.tool_calls ?? []).map { self.plan($0) }
        if self.limitReached {
            self.request.tool_choice = .mode(.none_)
        } else if self.request.tool_choice != nil {
            self.request.tool_choice = .mode(.auto)
        }
        return calls
    }

    /// Takes the results, in the order of the calls.
    mutating func answer(_ result: ToolResult) -> ToolRunEvent {
        self.request.messages.append(
            ChatCompletionMessage(
                role: .tool, content: .text(result.content), tool_call_id: result.call.id))
        return .result(result)
    }

    func ended() -> ToolRunEvent {
        let completion = self.completion ?? AnswerFold().completion
        return .end(
            ToolRun(
                completion: completion, content: completion.choices.first?.message.content,
                messages: self.request.messages, numCalls: self.numCalls,
                limitReached: self.limitReached))
    }

    private mutating func plan(_ call: ChatCompletionMessageToolCall) -> Planned {
        guard self.numCalls < self.maxCalls else {
            self.limitReached = true
            return Planned(call: call, refusal: ToolsTexts.limit)
        }
        self.numCalls += 1
        let name = call.function.name
        guard let tool = self.tools[name] else {
            let names = (self.request.tools ?? []).map(\.function.name).joined(separator: ", ")
            return Planned(call: call, refusal: ToolsTexts.noSuch(name: name, names: names))
        }
        do {
            return Planned(call: call, work: try tool.bind(call.function.arguments))
        } catch {
            return Planned(call: call, refusal: ToolsTexts.unfit(why: "\(error)"))
        }
    }
}
