import Foundation

/// What a benchmark has measured.
public struct BenchmarkReport: Hashable, Sendable, Codable {
    public struct Run: Hashable, Sendable, Codable {
        public var prompt_tokens: Int
        public var prompt_tokens_per_s: Double
        public var decode_tokens: Int
        public var decode_tokens_per_s: Double
    }

    public var model: String
    public var device: String
    public var runs: [Run]
    /// The most memory that the process has held; nil when the system does not say.
    public var peak_bytes: Int?

    /// The text that can be copied.
    public var text: String {
        var lines = ["\(self.model) on \(self.device)"]
        lines += self.runs.map { run in
            String(
                format: "prompt %d: %.1f tokens/s, answer %d: %.1f tokens/s", run.prompt_tokens,
                run.prompt_tokens_per_s, run.decode_tokens, run.decode_tokens_per_s)
        }
        if let peak = self.peak_bytes { lines.append("peak memory: \(Bytes.text(peak))") }
        return lines.joined(separator: "\n") + "\n"
    }
}
