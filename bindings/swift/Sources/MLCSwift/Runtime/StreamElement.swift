/// An element of the stream of `create`: a chunk, with the chunk's properties, or the failure that
/// ended the answer.
///
/// A failure comes once, as the last element, with `error` set. Its choices, one for each answer
/// that was requested, have the finish reason `error`. So a loop that reads only the finish reason
/// also sees the failure.
///
/// A chat's `choices` have MLC-LLM's types; those of `chunk` have this package's. The content of
/// their `delta` is never nil: it is empty if a chunk adds no text, and in a failure it is the
/// error's message.
///
///     for await res in await engine.chat.completions.create(messages: messages) {
///         if let error = res.error { show(error.message) }
///         for choice in res.choices { text += choice.delta.content!.asText() }
///     }
@dynamicMemberLookup
public struct StreamElement<Chunk: WireObject>: Hashable, Sendable {
    public let chunk: Chunk
    /// Why the answer ended early; nil in every other element.
    public let error: MLCError?
    /// The whole tool calls of the answers that this element ends, by the answers' indices.
    let calls: [Int: [ChatCompletionMessageToolCall]]

    public init(_ chunk: Chunk, error: MLCError? = nil) {
        self.init(chunk, error: error, calls: [:])
    }

    init(_ chunk: Chunk, error: MLCError?, calls: [Int: [ChatCompletionMessageToolCall]]) {
        self.chunk = chunk
        self.error = error
        self.calls = calls
    }

    public subscript<Value>(dynamicMember property: KeyPath<Chunk, Value>) -> Value {
        self.chunk[keyPath: property]
    }
}

/// A chunk that can say that an answer failed.
public protocol FailableChunk: WireObject {
    associatedtype Request: WireObject
    /// The last chunk of an answer that failed; `last` is the one before, if any.
    static func failed(_ request: Request, after last: Self?, with error: MLCError) -> Self
    /// With an empty text where MLC-LLM has one.
    func withContent() -> Self
}

extension ChatCompletionChunk: FailableChunk {
    public static func failed(
        _ request: ChatCompletionRequest, after last: Self?, with error: MLCError
    ) -> Self {
        let delta = ChatCompletionChunkDelta(content: error.message)
        let choices = (0..<max(1, min(request.n, 128))).map { index in
            ChatCompletionChunkChoice(index: index, delta: delta, finish_reason: .error)
        }
        return Self(
            id: last?.id ?? "", created: last?.created ?? 0,
            model: last?.model ?? request.model ?? "", choices: choices)
    }

    public func withContent() -> Self {
        if self.choices.allSatisfy({ $0.delta.content != nil }) { return self }
        var whole = self
        for index in whole.choices.indices where whole.choices[index].delta.content == nil {
            whole.choices[index].delta.content = ""
        }
        return whole
    }
}

extension Completion: FailableChunk {
    public static func failed(
        _ request: CompletionRequest, after last: Self?, with error: MLCError
    ) -> Self {
        let choices = (0..<max(1, min(request.n, 128))).map { index in
            CompletionChoice(index: index, text: "", finish_reason: .error)
        }
        return Self(
            id: last?.id ?? "", created: last?.created ?? 0,
            model: last?.model ?? request.model ?? "", choices: choices)
    }

    public func withContent() -> Self { self }
}

/// The elements of a running request; a failure becomes the last element.
actor ElementReader<Chunk: FailableChunk> {
    private let request: Chunk.Request
    private var running: RunningRequest?
    private var last: Chunk?
    private var folds = CallFolds()

    init(_ running: RunningRequest, _ request: Chunk.Request) {
        self.running = running
        self.request = request
    }

    func next() async -> StreamElement<Chunk>? {
        switch await self.running?.next() {
        case .chunk(let bytes)?, .result(let bytes)?:
            return self.read(bytes)
        case .failure(let error)?:
            return error.kind == .cancelled ? nil : self.fail(error)
        case .done?, nil:
            return nil
        }
    }

    private func read(_ bytes: [UInt8]) -> StreamElement<Chunk> {
        do throws(MLCError) {
            let chunk = try Chunk(answer: bytes)
            self.last = chunk
            let calls = (chunk as? ChatCompletionChunk).map { self.folds.take($0) }
            return StreamElement(chunk.withContent(), error: nil, calls: calls ?? [:])
        } catch {
            return self.fail(error)
        }
    }

    private func fail(_ error: MLCError) -> StreamElement<Chunk> {
        self.running = nil
        let chunk = Chunk.failed(self.request, after: self.last, with: error)
        return StreamElement(chunk, error: error)
    }
}

extension AsyncStream {
    /// The stream of a request that was refused.
    static func failed<Chunk: FailableChunk>(
        _ error: MLCError, _ request: Chunk.Request
    ) -> AsyncStream<StreamElement<Chunk>> where Element == StreamElement<Chunk> {
        AsyncStream { continuation in
            let chunk = Chunk.failed(request, after: nil, with: error)
            continuation.yield(StreamElement(chunk, error: error))
            continuation.finish()
        }
    }
}
