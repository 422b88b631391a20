import CMLCLLM

/// What an app does with an engine beside asking it.
extension MLCEngine {
    /// Sets the folders that the engines of this process may use, before the first load.
    ///
    /// - Parameters:
    ///   - cache: for files that are kept, such as compiled GPU programs. An app gives its
    ///     Caches folder.
    ///   - temporary: for files that are removed again; nil is `cache`.
    ///   - libraries: where model libraries and device backends also are.
    public static func setDirectories(
        cache: String? = nil, temporary: String? = nil, libraries: [String]? = nil
    ) throws(MLCError) {
        let folders = Directories(cache: cache, temporary: temporary, libraries: libraries)
        if let error = MLCError(consuming: mlc_set_directories(try folders.jsonText())) {
            throw error
        }
    }

    /// Gives memory back; see ``TrimLevel``. Running answers continue with the same tokens.
    @discardableResult
    public func trimMemory(level: TrimLevel) async throws -> TrimResponse {
        try await self.memoryTrim(TrimRequest(level: level))
    }

    /// Reads the weights into memory and computes one step, so that the first request does not
    /// wait for them.
    @discardableResult
    public func prewarm() async throws -> PrewarmResponse {
        try await self.prewarm(PrewarmRequest())
    }

    /// Lowers the threads and the requests at a time on a hot device, or sets them back. Answers
    /// stay the same. Returns the limits that hold now.
    @discardableResult
    public func setThermalState(_ state: ThermalState) async throws -> ThermalLimits {
        try await self.thermalSet(ThermalHint(state: state))
    }
}
