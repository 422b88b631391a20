import Foundation
import MLCSwift

extension EngineHost {
    /// Measures prompts of 128 and 512 tokens with an answer of 64 each. The model must be loaded;
    /// a prompt that does not fit its context is left out.
    public func benchmark(
        prompts: [Int] = [128, 512], answer: Int = 64
    ) async throws -> BenchmarkReport {
        let engine = try self.current()
        guard let loaded = self.loaded else { throw ChatKitError.noModel }
        let lengths = prompts.filter { $0 + answer <= loaded.contextTokens }
        var runs: [BenchmarkReport.Run] = []
        for length in lengths {
            try Task.checkCancellation()
            runs.append(try await Self.run(engine, prompt: length, answer: answer))
        }
        return BenchmarkReport(
            model: loaded.modelID, device: loaded.device, runs: runs,
            peak_bytes: PeakMemory.bytes())
    }

    private static func run(
        _ engine: MLCEngine, prompt: Int, answer: Int
    ) async throws -> BenchmarkReport.Run {
        _ = try await engine.reset().get()  // no prompt is found in a cache
        let word = try await engine.tokenize(TokenizeRequest(text: " the quick brown fox jumps"))
        let tokens = (0..<prompt).map { word.tokens[$0 % word.tokens.count] }
        let request = CompletionRequest(
            prompt: .items(tokens.map { .token($0) }), max_tokens: answer, seed: 1, temperature: 0,
            debug_config: DebugConfig(ignore_eos: true))
        let completion = try await engine.completions.complete(request)
        let last = try await engine.metrics().last_finished_request
        return BenchmarkReport.Run(
            prompt_tokens: completion.usage?.prompt_tokens ?? prompt,
            prompt_tokens_per_s: last?.prefill_tokens_per_s ?? 0,
            decode_tokens: completion.usage?.completion_tokens ?? answer,
            decode_tokens_per_s: last?.decode_tokens_per_s ?? 0)
    }
}
