/// Decides whether a call may be made.
public typealias Approve = @Sendable (ChatCompletionMessageToolCall) async throws -> Bool

extension ChatCompletions {
    /// Runs the tools that the model calls, and sends it their results, until it answers with text.
    ///
    /// An error in a call becomes the call's result, so that the model may try again. The calls of
    /// one answer run at the same time. Cancelling the task ends everything.
    ///
    /// - Parameters:
    ///   - request: its `tool_choice` applies only to the first round, or the loop would not end.
    ///   - maxCalls: the limit for all rounds together; then the model must answer without calls.
    ///   - approve: called before each call, one after another. If it returns no, the model gets a
    ///     message about that.
    public func runTools(
        _ tools: [ModelTool], _ request: ChatCompletionRequest, maxCalls: Int = maxToolCalls,
        approve: Approve? = nil
    ) async throws -> ToolRun {
        try await self.streamTools(tools, request, maxCalls: maxCalls, approve: approve).run()
    }

    /// The same with events while it runs; the last event has the run.
    ///
    /// It starts with the first read and continues only while events are read. Leaving the loop
    /// over the events ends the running calls and the request to the model.
    public func streamTools(
        _ tools: [ModelTool], _ request: ChatCompletionRequest, maxCalls: Int = maxToolCalls,
        approve: Approve? = nil
    ) -> ToolRunEvents {
        ToolRunEvents(tools, request, maxCalls: maxCalls, approve: approve) { self.stream($0) }
    }
}

/// The events while a model's tool calls run. Each iteration runs the loop again.
public struct ToolRunEvents: AsyncSequence, Sendable {
    package typealias Ask =
        @Sendable (ChatCompletionRequest) -> AsyncThrowingStream<ChatCompletionChunk, any Error>

    public struct AsyncIterator: AsyncIteratorProtocol {
        fileprivate var events: AsyncThrowingStream<ToolRunEvent, any Error>.Iterator
        fileprivate let demand: AsyncStream<Void>.Continuation

        public mutating func next() async throws -> ToolRunEvent? {
            self.demand.yield()
            return try await self.events.next()
        }
    }

    private let run: @Sendable (inout Emitter) async throws -> Void

    package init(
        _ tools: [ModelTool], _ request: ChatCompletionRequest, maxCalls: Int, approve: Approve?,
        ask: @escaping Ask
    ) {
        self.run = { emit in
            var loop = try ToolLoop(tools, request, maxCalls: maxCalls)
            try await runLoop(&loop, approve, ask, &emit)
        }
    }

    /// The work runs in a separate task, which waits until somebody reads its next event.
    public func makeAsyncIterator() -> AsyncIterator {
        let (demands, demand) = AsyncStream.makeStream(of: Void.self)
        let (events, continuation) = AsyncThrowingStream.makeStream(of: ToolRunEvent.self)
        let task = Task { [run = self.run] in
            var emit = Emitter(events: continuation, demands: demands.makeAsyncIterator())
            do {
                try await emit.wait()
                try await run(&emit)
                continuation.finish()
            } catch {
                continuation.finish(throwing: error)
            }
        }
        continuation.onTermination = { _ in task.cancel() }
        return AsyncIterator(events: events.makeAsyncIterator(), demand: demand)
    }

    /// The end of the run; earlier events are dropped.
    func run() async throws -> ToolRun {
        for try await event in self {
            if case .end(let run) = event { return run }
        }
        throw CancellationError()  // a stream whose task is cancelled just ends
    }
}

/// Gives one event for each read.
private struct Emitter {
    let events: AsyncThrowingStream<ToolRunEvent, any Error>.Continuation
    var demands: AsyncStream<Void>.Iterator

    mutating func callAsFunction(_ event: ToolRunEvent) async throws {
        self.events.yield(event)
        if case .end = event { return }
        try await self.wait()
    }

    mutating func wait() async throws {
        guard await self.demands.next() != nil else { throw CancellationError() }
    }
}

private func runLoop(
    _ loop: inout ToolLoop, _ approve: Approve?, _ ask: ToolRunEvents.Ask, _ emit: inout Emitter
) async throws {
    while true {
        let calls = loop.take(try await answer(ask(loop.request), &emit))
        if calls.isEmpty { break }
        var approved: [Bool] = []
        for planned in calls {
            try await emit(.call(planned.call))
            approved.append(try await isApproved(planned, approve))
        }
        try await make(calls, approved, &loop, &emit)
    }
    try await emit(loop.ended())
}

/// The whole answer; its chunks are sent as events.
private func answer(
    _ chunks: AsyncThrowingStream<ChatCompletionChunk, any Error>, _ emit: inout Emitter
) async throws -> ChatCompletion {
    var fold = AnswerFold()
    for try await chunk in chunks {
        fold.add(chunk)
        try await emit(.chunk(chunk))
        if let text = chunk.choices.first?.delta.content, !text.isEmpty {
            try await emit(.text(text))
        }
    }
    try Task.checkCancellation()
    return fold.completion
}

private func isApproved(_ planned: ToolLoop.Planned, _ approve: Approve?) async throws -> Bool {
    guard planned.work != nil, let approve else { return planned.work != nil }
    return try await approve(planned.call)
}

/// Runs all calls at the same time; the results have the order of the calls.
private func make(
    _ calls: [ToolLoop.Planned], _ approved: [Bool], _ loop: inout ToolLoop, _ emit: inout Emitter
) async throws {
    try await withThrowingTaskGroup(of: (Int, ToolResult).self) { group in
        for (index, planned) in calls.enumerated() {
            let yes = approved[index]
            group.addTask { (index, try await planned.result(approved: yes)) }
        }
        var results: [Int: ToolResult] = [:]
        var next = 0
        while let (index, result) = try await group.next() {
            results[index] = result
            while let result = results[next] {
                next += 1
                try await emit(loop.answer(result))
            }
        }
    }
}
