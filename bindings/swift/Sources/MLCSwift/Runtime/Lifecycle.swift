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

    /// Lets requests choose a LoRA adapter by `lora: .name(name)`, from a file of
    /// `mlc_llm convert_adapter`. One of the same name is replaced; its requests go on with it. The
    /// model must be loaded with room for it (`lora_ranks`).
    @discardableResult
    public func loadAdapter(_ name: String, path: String) async throws -> AdapterList {
        try await self.adaptersLoad(AdapterLoadRequest(name: name, path: path))
    }

    /// Takes an adapter from new requests; its running requests go on with it.
    @discardableResult
    public func unloadAdapter(_ name: String) async throws -> AdapterList {
        try await self.adaptersUnload(AdapterUnloadRequest(name: name))
    }

    /// The adapters that requests may choose, and how much room is left.
    public func adapters() async throws -> AdapterList {
        try await self.adaptersList(AdapterListRequest())
    }

    /// Lowers the threads and the requests at a time on a hot device, or sets them back. Answers
    /// stay the same. Returns the limits that hold now.
    @discardableResult
    public func setThermalState(_ state: ThermalState) async throws -> ThermalLimits {
        try await self.thermalSet(ThermalHint(state: state))
    }
}
