import Foundation
import Testing

@testable import MLCSwift

let fakeModel = URL(fileURLWithPath: #filePath)
    .deletingLastPathComponent().appendingPathComponent("../../../../tests/fixtures/fake-model")
    .standardizedFileURL.path

/// A compiled model and its library, if there is one.
let realModel = ProcessInfo.processInfo.environment["MLC_TEST_MODEL"]
let realLibrary = ProcessInfo.processInfo.environment["MLC_TEST_MODEL_LIB"]

/// An engine with the fake model: its answers are random words, the same for the same request.
func fakeEngine(_ mode: EngineMode = .server) async throws -> MLCEngine {
    let config = EngineConfig(mode: mode, max_num_sequence: 16, prefix_cache_mode: .disable)
    let engine = try MLCEngine(config: config)
    try await engine.load(model: fakeModel, device: "fake")
    return engine
}

func user(_ text: String) -> [ChatCompletionMessage] {
    [ChatCompletionMessage(role: .user, content: text)]
}

/// A request with it goes on until `max_tokens` or the end of the context.
let endless = DebugConfig(ignore_eos: true)

extension MLCEngine {
    /// Waits, 60 s at most, until no request holds a page and `cancelled` of them have ended early.
    func becomesIdle(cancelled: Int = 0) async throws -> Bool {
        for _ in 0..<6000 {
            let metrics = try await self.metrics()
            let isFree = metrics.kv_pages_free == metrics.kv_pages_total
            if isFree, metrics.num_failed_requests == cancelled { return true }
            try await Task.sleep(for: .milliseconds(10))
        }
        return false
    }
}

/// The error that `act` throws.
func thrown(_ act: () async throws -> Void) async -> (any Error)? {
    do {
        try await act()
        return nil
    } catch {
        return error
    }
}
