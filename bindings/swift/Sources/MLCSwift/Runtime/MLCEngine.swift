/// An engine with one model. It may be used from any task and any actor.
///
///     let engine = MLCEngine()
///     try await engine.load(model: folder, modelLib: library)
///     let messages = [ChatCompletionMessage(role: .user, content: "Hello")]
///     for try await chunk in engine.chat.completions.stream(messages: messages) {
///         print(chunk.choices.first?.delta.content ?? "", terminator: "")
///     }
///
/// Several requests may run at the same time, and several engines too. The engine ends when the
/// last reference to it is gone; a stream that is being read is a reference too. The end may wait
/// for a step of the model; `unload` waits without blocking.
public final class MLCEngine: Sendable {
    /// `engine.chat`.
    public struct Chat: Sendable {
        public let completions: ChatCompletions
    }

    /// MLC-LLM's name of ``ChatCompletions``. The type of `completions` is the module's own.
    public typealias Completions = ChatCompletions

    public let chat: Chat
    /// Continues a raw text, without a chat template.
    public let completions: MLCSwift.Completions
    /// Gives a vector for each text.
    public let embeddings: Embeddings
    /// Says how well each of some documents answers a query.
    public let rerank: Rerank
    let channel: RequestChannel

    /// With the defaults. If the core refuses the defaults, each use throws the reason.
    public convenience init() {
        self.init(core: Result { () throws(MLCError) in try CoreEngine(config: EngineConfig()) })
    }

    public convenience init(config: EngineConfig) throws(MLCError) {
        self.init(core: .success(try CoreEngine(config: config)))
    }

    private init(core: Result<CoreEngine, MLCError>) {
        self.channel = RequestChannel(core: core)
        self.chat = Chat(completions: ChatCompletions(channel: self.channel))
        self.completions = MLCSwift.Completions(channel: self.channel)
        self.embeddings = Embeddings(channel: self.channel)
        self.rerank = Rerank(channel: self.channel)
    }

    /// Loads a model, replacing a loaded one.
    ///
    /// - Parameters:
    ///   - model: a folder with `mlc-chat-config.json`, the tokenizer's files and the weights.
    ///   - modelLib: the model's compiled library.
    ///   - device: such as `cpu:0`; `auto` is the first that is found.
    ///   - name: the model's name in answers; nil is the folder's.
    ///   - progress: called with 0 ... 1 and the current stage, on a thread of the engine.
    ///     Cancelling the task ends the load with a `CancellationError`.
    public func load(
        model: String, modelLib: String? = nil, device: String = "auto", name: String? = nil,
        progress: (@Sendable (Double, String) -> Void)? = nil
    ) async throws {
        let request = ModelLoadRequest(
            model: model, model_lib: modelLib, device: device, name: name)
        self.channel.failedLoad.with { $0 = nil }
        do throws(MLCError) {
            try await self.channel.core.get().load(request, progress: LoadProgress(progress))
        } catch {
            if error.kind == .cancelled { try Task.checkCancellation() }
            throw error
        }
    }

    /// The memory that a model would need, without loading it.
    public func plan(
        model: String, modelLib: String? = nil, device: String = "auto"
    ) async throws(MLCError) -> Plan {
        let request = ModelLoadRequest(model: model, model_lib: modelLib, device: device)
        return try Plan(answer: try await self.channel.core.get().plan(request))
    }

    /// MLC-LLM's `load`. It does not throw. The result has the error; if the program ignores it, each
    /// request fails with the same error until a model is loaded.
    @discardableResult
    public func reload(modelPath: String, modelLib: String) async -> Result<Void, any Error> {
        do {
            try await self.load(model: modelPath, modelLib: modelLib)
            return .success(())
        } catch {
            self.channel.failedLoad.with { $0 = error as? MLCError }
            return .failure(error)
        }
    }

    /// Ends every request with an error and frees the model's memory.
    @discardableResult
    public func unload() async -> Result<Void, MLCError> {
        await self.result { core throws(MLCError) in try await core.unload() }
    }

    /// Ends every request and clears the metrics and caches; the model stays loaded. A stream of
    /// `create` ends without a word, as in MLC-LLM: when this has returned, nothing more comes.
    @discardableResult
    public func reset() async -> Result<Void, MLCError> {
        await self.result { core throws(MLCError) in try await core.reset() }
    }

    /// Counters under MLC-LLM's names, and the timings of the last request.
    public func metrics() async throws(MLCError) -> EngineMetrics {
        try EngineMetrics(answer: try await self.channel.core.get().metrics())
    }

    /// Starts no step until `resume`; requests wait. For an app that goes to the background.
    public func pause() throws(MLCError) {
        try self.channel.core.get().setPaused(true)
    }

    public func resume() throws(MLCError) {
        try self.channel.core.get().setPaused(false)
    }

    /// Frees memory that can be filled again. For an app that gets a memory warning.
    public func trimMemory() throws(MLCError) {
        try self.channel.core.get().trimMemory()
    }

    /// Calls a route of the core that has no function here: JSON in, JSON out, not streamed.
    public func call(_ route: String, _ request: JSONValue) async throws -> JSONValue {
        try await (self.channel.result(route, AnyJSON(jsonValue: request)) as AnyJSON)
            .jsonValue
    }

    /// Queues a text that may not be a request, and aborts it: for tests of refused requests.
    package func submit(route: String, body: String) async throws(MLCError) {
        _ = try await self.channel.core.get().submit(route: route, json: body)
    }

    private func result(
        _ act: (CoreEngine) async throws(MLCError) -> Void
    ) async -> Result<Void, MLCError> {
        do throws(MLCError) {
            return .success(try await act(try self.channel.core.get()))
        } catch {
            return .failure(error)
        }
    }
}

/// JSON that has no type of its own.
private struct AnyJSON: WireObject {
    let jsonValue: JSONValue
    init(jsonValue: JSONValue) { self.jsonValue = jsonValue }
}
