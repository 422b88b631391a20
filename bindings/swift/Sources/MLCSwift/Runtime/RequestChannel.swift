/// The functions behind the generated `create`, `stream` and `complete`.
struct RequestChannel: Sendable {
    /// The engine, or the error why there is none.
    let core: Result<CoreEngine, MLCError>
    /// Why the last `reload` failed: the reason why no model is loaded.
    let failedLoad = Locked<MLCError?>(nil)

    init(core: Result<CoreEngine, MLCError>) {
        self.core = core
    }

    func submit(_ route: String, _ request: some WireObject) async throws(MLCError)
        -> RunningRequest
    {
        do throws(MLCError) {
            return try await self.core.get().submit(route: route, json: try request.jsonText())
        } catch {
            throw error.reason == .modelNotLoaded ? self.failedLoad.with { $0 } ?? error : error
        }
    }

    func elements<Request: WireObject, Chunk: FailableChunk>(
        _ route: String, _ request: Request
    ) async -> AsyncStream<StreamElement<Chunk>> where Chunk.Request == Request {
        if Task.isCancelled { return AsyncStream { nil } }
        do throws(MLCError) {
            let running = try await self.submit(route, request)
            running.endsSilentlyOnReset()
            let reader = ElementReader<Chunk>(running, request)
            return AsyncStream { await reader.next() }
        } catch {
            return .failed(error, request)
        }
    }

    /// The request is sent when the first chunk is read.
    func chunks<Chunk: WireObject>(
        _ route: String, _ request: some WireObject
    ) -> AsyncThrowingStream<Chunk, any Error> {
        let reader = ChunkReader<Chunk> { () async throws(MLCError) in
            try await self.submit(route, request)
        }
        return AsyncThrowingStream { try await reader.next() }
    }

    func result<Answer: WireObject>(
        _ route: String, _ request: some WireObject
    ) async throws -> Answer {
        try Task.checkCancellation()
        let running = try await self.submit(route, request)
        switch await running.next() {
        case .result(let bytes)?: return try Answer(answer: bytes)
        case .failure(let error)?: throw error
        case nil: throw CancellationError()
        case .chunk?, .done?:
            throw MLCError(.internalError, "the engine streamed an answer that was to come whole")
        }
    }
}

extension WireObject {
    /// Reads the core's text. If it cannot be read, that is a bug of ours.
    init(answer utf8: [UInt8]) throws(MLCError) {
        do throws(MLCError) {
            try self.init(utf8: utf8)
        } catch {
            throw .unreadable(error)
        }
    }
}

/// The chunks of a request that is sent when the first chunk is read.
actor ChunkReader<Chunk: WireObject> {
    private let submit: @Sendable () async throws(MLCError) -> RunningRequest
    private var running: RunningRequest?

    init(_ submit: @escaping @Sendable () async throws(MLCError) -> RunningRequest) {
        self.submit = submit
    }

    func next() async throws -> Chunk? {
        let running = try await self.start()
        switch await running.next() {
        case .chunk(let bytes)?, .result(let bytes)?: return try Chunk(answer: bytes)
        case .failure(let error)?: throw error
        // A stream whose task is cancelled ends without an error, like all streams of the language.
        // If the task is cancelled between two elements, this is not even called.
        case .done?, nil: return nil
        }
    }

    private func start() async throws -> RunningRequest {
        if let running { return running }
        let running = try await self.submit()
        self.running = running
        return running
    }
}
