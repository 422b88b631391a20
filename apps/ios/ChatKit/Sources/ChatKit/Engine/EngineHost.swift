import Foundation
import MLCSwift

/// The app's engine: at most one model at a time.
public actor EngineHost {
    /// A model that can answer.
    public struct Loaded: Hashable, Sendable {
        public let modelID: String
        public let contextTokens: Int
        /// Such as `cpu:0`.
        public let device: String
        public let takesPictures: Bool
    }

    /// A model to load.
    public struct Source: Hashable, Sendable {
        public let modelID: String
        public let folder: String
        /// A library's name or path; nil for the fake device.
        public let modelLib: String?

        public init(modelID: String, folder: String, modelLib: String?) {
            self.modelID = modelID
            self.folder = folder
            self.modelLib = modelLib
        }
    }

    private let device: String
    private let memoryLimitBytes: Int?
    private var engine: MLCEngine?
    private var warnings = MemoryWarnings()
    private var isInBackground = false
    public private(set) var loaded: Loaded?

    /// - Parameters:
    ///   - device: such as `cpu:0`, or `fake`.
    ///   - memoryLimitBytes: the most that a model may take; nil is what the system has.
    public init(device: String = "auto", memoryLimitBytes: Int? = nil) {
        self.device = device
        self.memoryLimitBytes = memoryLimitBytes
    }

    /// Loads a model in place of the one before, if its plan allows that. Otherwise nothing is
    /// loaded, and the decision says why.
    ///
    /// - Parameter context: the context in tokens; nil is the model's own.
    public func load(
        _ source: Source, context: Int? = nil,
        progress: (@Sendable (Double, String) -> Void)? = nil
    ) async throws -> MemoryDecision {
        await self.unload()
        let config = EngineConfig(
            mode: .interactive, memory_limit_bytes: self.memoryLimitBytes,
            context_window_size: context)
        let engine = try MLCEngine(config: config)
        let plan = try await engine.plan(
            model: source.folder, modelLib: source.modelLib, device: self.device)
        var need = MemoryNeed(plan)
        need.available_bytes = min(need.available_bytes, self.memoryLimitBytes ?? .max)
        let decision = MemoryDecision(need)
        guard case .load = decision else { return decision }
        try await engine.load(
            model: source.folder, modelLib: source.modelLib, device: self.device,
            name: source.modelID, progress: progress)
        // From here on nothing waits: a warning or an unload finds all of the model, or nothing.
        if self.isInBackground { try engine.pause() }
        self.engine = engine
        self.warnings.loaded()
        self.loaded = Loaded(
            modelID: source.modelID,
            contextTokens: min(plan.context_window_size, plan.max_total_seq_length),
            device: plan.device, takesPictures: plan.input_modalities.contains(.image))
        return decision
    }

    /// Ends the running answer with an error, and frees the model.
    public func unload() async {
        guard let engine = self.engine else { return }
        self.engine = nil
        self.loaded = nil
        self.warnings.unloaded()
        _ = await engine.unload()
    }

    /// The engine with the loaded model.
    func current() throws(ChatKitError) -> MLCEngine {
        guard let engine = self.engine else { throw .noModel }
        return engine
    }

    /// Streams an answer. Leaving the stream ends the request.
    public func stream(
        _ request: ChatCompletionRequest
    ) throws(ChatKitError) -> AsyncThrowingStream<ChatCompletionChunk, any Error> {
        try self.current().chat.completions.stream(request)
    }

    /// A value of a type, as a structured answer.
    public func value<T: Decodable & Sendable>(
        _ type: T.Type, _ request: ChatCompletionRequest
    ) async throws -> T {
        try await self.current().chat.completions.complete(type, request)
    }

    /// The tokens of a text.
    public func count(_ text: String) async throws -> Int {
        text.isEmpty ? 0 : try await self.current().tokenize(TokenizeRequest(text: text)).count
    }

    /// No step begins until the app is back.
    public func enterBackground() throws {
        self.isInBackground = true
        try self.engine?.pause()
    }

    public func enterForeground() throws {
        self.isInBackground = false
        try self.engine?.resume()
    }

    /// Frees what no running answer uses; the second warning within a minute unloads the model.
    @discardableResult
    public func memoryWarning(now: Date = Date()) async throws -> MemoryWarnings.Action {
        let action = self.warnings.take(now: now)
        if let level = action.level { _ = try await self.engine?.trimMemory(level: level) }
        if action == .unload { await self.unload() }
        return action
    }

    public func setThermalState(_ state: ThermalState) async throws {
        _ = try await self.engine?.setThermalState(state)
    }
}

/// What ChatKit cannot do now.
public enum ChatKitError: Error, Hashable, Sendable {
    case noModel
    case noSuchModel(String)
    case modelNotReady(String)
    case noSuchLibrary(String)
}

extension ChatKitError: CustomStringConvertible, LocalizedError {
    public var description: String {
        switch self {
        case .noModel: "no model is loaded; load one in the list of models"
        case .noSuchModel(let name): "there is no model '\(name)' in the list"
        case .modelNotReady(let name): "'\(name)' is not downloaded; download it first"
        case .noSuchLibrary(let name): "the app has no library '\(name)'; choose one of the list"
        }
    }
    public var errorDescription: String? { self.description }
}
