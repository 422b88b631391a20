import CMLCLLM
import Foundation

/// The engine in the core. Every function of the C interface may be called from any thread.
///
/// It lives as long as there is a reference to it, such as a stream that is being read. Its end
/// waits for the core's callbacks. They have no reference to it, only to the queue of their request.
final class CoreEngine: @unchecked Sendable {
    private let handle: OpaquePointer
    // For slow calls: they must not block the threads that Swift's tasks share.
    private let calls = DispatchQueue(label: "mlc-llm.calls", attributes: .concurrent)
    /// The queues of requests whose readers hear nothing of a reset.
    let silent = Locked<[UInt64: EventQueue]>([:])
    private let lifeCalls = DispatchQueue(label: "mlc-llm.life")

    init(config: EngineConfig) throws(MLCError) {
        try Self.checkLibrary()
        var handle: OpaquePointer?
        let status = mlc_engine_create(try config.jsonText(), &handle)
        if let error = MLCError(consuming: status) { throw error }
        guard let handle else { throw MLCError(.internalError, "the core made no engine") }
        self.handle = handle
    }

    deinit {
        mlc_engine_destroy(self.handle)
    }

    /// A library with another protocol is refused.
    private static func checkLibrary() throws(MLCError) {
        let hash = String(cString: mlc_schema_hash())
        guard mlc_abi_version() == MLC_LLM_ABI_VERSION, hash == schemaHash else {
            throw MLCError(
                .versionMismatch,
                "libmlc_llm \(String(cString: mlc_version())) (interface \(mlc_abi_version()), schema "
                    + "\(hash)) is not of the same version as this binding (\(MLC_LLM_ABI_VERSION), "
                    + "\(schemaHash)); take both from one release")
        }
    }

    private func check(_ call: (OpaquePointer) -> OpaquePointer?) throws(MLCError) {
        if let error = MLCError(consuming: call(self.handle)) { throw error }
    }

    /// Loads a model. The task's cancellation ends it.
    func load(_ model: ModelLoadRequest, progress: LoadProgress) async throws(MLCError) {
        let text = try model.jsonText()
        try await withTaskCancellationHandler { () async -> Result<Void, MLCError> in
            await self.run(on: self.lifeCalls) { core throws(MLCError) in
                let user = Unmanaged.passUnretained(progress).toOpaque()
                try core.check { mlc_engine_load($0, text, reportProgress, user) }
            }
        } onCancel: {
            progress.cancel()
        }.get()
    }

    func unload() async throws(MLCError) {
        try await self.run(on: self.lifeCalls) { core throws(MLCError) in
            try core.check { mlc_engine_unload($0) }
        }.get()
    }

    func reset() async throws(MLCError) {
        try await self.run(on: self.lifeCalls) { core throws(MLCError) in
            let before = core.silent.with { $0.values.map { $0 } }
            try core.check { mlc_engine_reset($0) }
            for events in before { _ = events.close() }
        }.get()
    }

    func metrics() async throws(MLCError) -> [UInt8] {
        try await self.run(on: self.calls) { core throws(MLCError) in
            try core.text { mlc_engine_metrics($0, $1) }
        }.get()
    }

    func plan(_ model: ModelLoadRequest) async throws(MLCError) -> [UInt8] {
        let request = try model.jsonText()
        return try await self.run(on: self.calls) { core throws(MLCError) in
            try core.text { mlc_engine_plan($0, request, $1) }
        }.get()
    }

    /// The text that a call returns. Frees the core's text.
    private func text(
        _ call: (OpaquePointer, UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>) ->
            OpaquePointer?
    ) throws(MLCError) -> [UInt8] {
        var text: UnsafeMutablePointer<CChar>?
        try self.check { call($0, &text) }
        defer { mlc_string_free(text) }
        return text.map { Array(String(cString: $0).utf8) } ?? []
    }

    func setPaused(_ paused: Bool) throws(MLCError) {
        try self.check { paused ? mlc_engine_pause($0) : mlc_engine_resume($0) }
    }

    func trimMemory() throws(MLCError) {
        try self.check { mlc_engine_trim_memory($0) }
    }

    /// Queues a request. During this call the core renders and tokenizes the prompt.
    func submit(route: String, json: String) async throws(MLCError) -> RunningRequest {
        try await self.run(on: self.calls) { core throws(MLCError) in
            let events = EventQueue()
            // The last event releases it; there is exactly one. A refused request is released here.
            let user = Unmanaged.passRetained(events)
            var id: UInt64 = 0
            do throws(MLCError) {
                try core.check {
                    mlc_engine_submit(
                        $0, route, json, json.utf8.count, nil, 0, takeEvent, user.toOpaque(), &id)
                }
            } catch {
                user.release()
                throw error
            }
            return RunningRequest(core: core, id: id, events: events)
        }.get()
    }

    func abort(_ id: UInt64) {
        mlc_status_free(mlc_engine_abort(self.handle, id))
    }

    private func run<T: Sendable>(
        on queue: DispatchQueue, _ work: @escaping @Sendable (CoreEngine) throws(MLCError) -> T
    ) async -> Result<T, MLCError> {
        await withCheckedContinuation { continuation in
            queue.async {
                do throws(MLCError) {
                    continuation.resume(returning: .success(try work(self)))
                } catch {
                    continuation.resume(returning: .failure(error))
                }
            }
        }
    }
}

/// The progress function of a load, and whether the caller has cancelled the load.
final class LoadProgress: Sendable {
    private let report: (@Sendable (Double, String) -> Void)?
    private let isCancelled = Locked(false)

    init(_ report: (@Sendable (Double, String) -> Void)?) {
        self.report = report
    }

    func cancel() {
        self.isCancelled.with { $0 = true }
    }

    /// Whether to continue.
    func step(_ fraction: Double, _ what: String) -> Bool {
        self.report?(fraction, what)
        return !self.isCancelled.with { $0 }
    }
}

private let reportProgress: mlc_progress_callback = { user, fraction, what in
    guard let user, let what else { return 0 }
    let progress = Unmanaged<LoadProgress>.fromOpaque(user).takeUnretainedValue()
    return progress.step(fraction, String(cString: what)) ? 0 : 1
}

/// Runs on the core's callback thread: copies the text and returns.
private let takeEvent: mlc_event_callback = { user, kind, json, size in
    guard let user else { return }
    let bytes = Array(UnsafeRawBufferPointer(start: json, count: size))
    let event: Event =
        switch UInt32(kind) {
        case MLC_EVENT_CHUNK.rawValue: .chunk(bytes)
        case MLC_EVENT_RESULT.rawValue: .result(bytes)
        case MLC_EVENT_DONE.rawValue: .done
        default: .failure(MLCError(event: bytes))
        }
    let queue = Unmanaged<EventQueue>.fromOpaque(user)
    queue.takeUnretainedValue().push(event)
    if event.isLast { queue.release() }
}
