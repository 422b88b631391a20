/// An element of the stream that `create` gives: a chunk, whose properties it has, or the failure
/// that ended the answer.
///
/// A failure comes once, as the last element, with `error` set. Its choices, one for each answer
/// that was asked for, add nothing and have the finish reason `error`, so that a loop which looks
/// at nothing else still sees that the answer did not end well.
///
///     for await res in await engine.chat.completions.create(messages: messages) {
///         if let error = res.error { show(error.message) }
///         for choice in res.choices { text += choice.delta.content ?? "" }
///     }
@dynamicMemberLookup
public struct StreamElement<Chunk: WireObject>: Hashable, Sendable {
    public let chunk: Chunk
    /// Why the answer ended early; nil in every other element.
    public let error: MLCError?

    public init(_ chunk: Chunk, error: MLCError? = nil) {
        self.chunk = chunk
        self.error = error
    }

    public subscript<Value>(dynamicMember property: KeyPath<Chunk, Value>) -> Value {
        self.chunk[keyPath: property]
    }
}

/// A chunk that can say that an answer failed.
public protocol FailableChunk: WireObject {
    associatedtype Request: WireObject
    /// The last chunk of an answer that failed; `last` is the one before, if any.
    static func failed(_ request: Request, after last: Self?) -> Self
}

extension ChatCompletionChunk: FailableChunk {
    public static func failed(_ request: ChatCompletionRequest, after last: Self?) -> Self {
        let choices = (0..<max(1, min(request.n, 128))).map { index in
            ChatCompletionChunkChoice(
                index: index, delta: ChatCompletionChunkDelta(), finish_reason: .error)
        }
        return Self(
            id: last?.id ?? "", created: last?.created ?? 0,
            model: last?.model ?? request.model ?? "", choices: choices)
    }
}

extension Completion: FailableChunk {
    public static func failed(_ request: CompletionRequest, after last: Self?) -> Self {
        let choices = (0..<max(1, min(request.n, 128))).map { index in
            CompletionChoice(index: index, text: "", finish_reason: .error)
        }
        return Self(
            id: last?.id ?? "", created: last?.created ?? 0,
            model: last?.model ?? request.model ?? "", choices: choices)
    }
}

/// The elements of a request that runs; a failure becomes the last one.
actor ElementReader<Chunk: FailableChunk> {
    private let request: Chunk.Request
    private var running: RunningRequest?
    private var last: Chunk?

    init(_ running: RunningRequest, _ request: Chunk.Request) {
        self.running = running
        self.request = request
    }

    func next() async -> StreamElement<Chunk>? {
        switch await self.running?.next() {
        case .chunk(let bytes)?, .result(let bytes)?:
            return self.read(bytes)
        case .failure(let error)?:
            return self.fail(error)
        case .done?, nil:
            return nil
        }
    }

    private func read(_ bytes: [UInt8]) -> StreamElement<Chunk> {
        do throws(MLCError) {
            let chunk = try Chunk(answer: bytes)
            self.last = chunk
            return StreamElement(chunk)
        } catch {
            return self.fail(error)
        }
    }

    private func fail(_ error: MLCError) -> StreamElement<Chunk> {
        self.running = nil
        return StreamElement(Chunk.failed(self.request, after: self.last), error: error)
    }
}

extension AsyncStream {
    /// The stream of a request that was refused.
    static func failed<Chunk: FailableChunk>(
        _ error: MLCError, _ request: Chunk.Request
    ) -> AsyncStream<StreamElement<Chunk>> where Element == StreamElement<Chunk> {
        AsyncStream { continuation in
            continuation.yield(StreamElement(Chunk.failed(request, after: nil), error: error))
            continuation.finish()
        }
    }
}
