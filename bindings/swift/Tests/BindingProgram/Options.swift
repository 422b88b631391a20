import MLCSwift

struct UsageError: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}

/// What stands behind the command: `--name value`, and a folder for `vectors`.
struct Options: Sendable {
    private static let known: Set<String> = [
        "model", "lib", "device", "prompt", "seed", "max-tokens", "temperature", "ignore-eos",
        "tokens", "streams", "repeats", "request", "adapter",
    ]
    private var values: [String: String] = [:]
    private(set) var folder = ""

    init(_ arguments: [String], positional: Bool) throws {
        var rest = arguments[...]
        while let word = rest.popFirst() {
            if positional, !word.hasPrefix("--"), self.folder.isEmpty {
                self.folder = word
                continue
            }
            let name = String(word.dropFirst(2))
            guard word.hasPrefix("--"), Self.known.contains(name), let value = rest.popFirst()
            else {
                throw UsageError("unknown option, or one without a value: \(word)")
            }
            self.values[name] = value
        }
    }

    func text(_ name: String, _ fallback: String? = nil) throws -> String {
        guard let value = self.values[name] ?? fallback else {
            throw UsageError("--\(name) is missing")
        }
        return value
    }

    func int(_ name: String, _ fallback: Int) throws -> Int {
        guard let value = Int(try self.text(name, String(fallback))) else {
            throw UsageError("--\(name) is no integer")
        }
        return value
    }

    func optional<T>(_ name: String, _ read: (String) -> T?) throws -> T? {
        guard let value = self.values[name] else { return nil }
        guard let read = read(value) else { throw UsageError("--\(name): \(value)") }
        return read
    }

    /// An engine with the model of `--model`, `--lib` and `--device`.
    func loadedEngine(tokens: Int? = nil, ranks: Int? = nil) async throws -> MLCEngine {
        let engine = try MLCEngine(
            config: EngineConfig(
                mode: .local, max_num_sequence: 16, max_total_seq_length: tokens,
                prefix_cache_mode: .disable, lora_ranks: ranks))
        try await engine.load(
            model: try self.text("model"), modelLib: try self.optional("lib") { $0 },
            device: try self.text("device", "cpu:0"))
        return engine
    }

    /// The request of `stream` and `complete`.
    func request() throws -> ChatCompletionRequest {
        let ignoresEnd = try self.int("ignore-eos", 0) != 0
        return ChatCompletionRequest(
            messages: [ChatCompletionMessage(role: .user, content: try self.text("prompt"))],
            max_tokens: try self.optional("max-tokens") { Int($0) },
            seed: try self.optional("seed") { Int($0) },
            temperature: try self.optional("temperature") { Double($0) },
            debug_config: ignoresEnd ? DebugConfig(ignore_eos: true) : nil)
    }
}
