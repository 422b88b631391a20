import Foundation
import Testing

@testable import MLCSwift

@Test func withoutAModelEveryUseSaysSo() async throws {
    let engine = MLCEngine()
    let error = await thrown {
        _ = try await engine.chat.completions.complete(messages: user("Hi"))
    }
    #expect((error as? MLCError)?.kind == .unavailable)
    await #expect(throws: MLCError.self) { try await engine.metrics() }
}

@Test func aWrongSettingIsRefused() async {
    let error = await thrown { _ = try MLCEngine(config: EngineConfig(max_num_sequence: 0)) }
    #expect((error as? MLCError)?.kind == .invalidRequest)
    #expect((error as? MLCError)?.param?.hasSuffix("max_num_sequence") == true)
}

@Test func loadingReportsAndCanBeRepeated() async throws {
    let engine = MLCEngine()
    let reports = Locked<[Double]>([])
    for _ in 0..<2 {
        try await engine.load(model: fakeModel, device: "fake", name: "fake") { fraction, what in
            #expect(!what.isEmpty)
            reports.with { $0.append(fraction) }
        }
    }
    #expect(reports.with { !$0.isEmpty && $0.allSatisfy { (0...1).contains($0) } })
    let answer = try await engine.chat.completions.complete(messages: user("Hi"), max_tokens: 4)
    #expect(answer.model == "fake")
    #expect(try await engine.metrics().num_finished_requests == 1)
    try await engine.reset().get()
    // The engine's thread does it between two steps.
    for _ in 0..<6000 where try await engine.metrics().num_finished_requests != 0 {
        try await Task.sleep(for: .milliseconds(10))
    }
    #expect(try await engine.metrics().num_finished_requests == 0)
    try engine.trimMemory()
}

@Test func aLoadThatFailsIsATypedErrorAndAnotherMayFollow() async throws {
    let engine = MLCEngine()
    let error = await thrown { try await engine.load(model: "/nowhere", device: "fake") }
    #expect((error as? MLCError)?.kind == .notFound)
    try await engine.load(model: fakeModel, device: "fake")
    _ = try await engine.chat.completions.complete(messages: user("Hi"), max_tokens: 2)
}

@Test func aPlanSaysWhatLoadingWouldTake() async throws {
    let plan = try await MLCEngine().plan(model: fakeModel, device: "fake")
    #expect(plan.kv_cache_bytes >= 0)
    await #expect(throws: MLCError.self) { try await MLCEngine().plan(model: "/nowhere") }
}

@Test func callsAnswerAtOnce() async throws {
    let engine = try await fakeEngine()
    let tokens = try await engine.tokenize(TokenizeRequest(text: "Hello, wörld"))
    #expect(tokens.count == tokens.tokens.count && tokens.count > 0)
    let text = try await engine.detokenize(DetokenizeRequest(tokens: tokens.tokens))
    #expect(text.text == "Hello, wörld")
    let prompt = try await engine.render(ChatCompletionRequest(messages: user("Hi")))
    #expect(prompt.prompt.contains("Hi"))
    let count = try await engine.inputTokens(ChatCompletionRequest(messages: user("Hi")))
    #expect(count.input_tokens > 0)
    let raw = try await engine.call("tokenize", ["text": "Hello, wörld"])
    #expect(raw["count"]?.intValue == tokens.count)
    await #expect(throws: MLCError.self) { try await engine.call("no.such.route", [:]) }
}

@Test func memoryIsGivenBackAndAnswersStayTheSame() async throws {
    let engine = try await fakeEngine()
    func answer() async throws -> String? {
        try await engine.chat.completions.complete(messages: user("Hi"), max_tokens: 8, seed: 1)
            .choices.first?.message.content
    }
    let expected = try await answer()
    #expect(try await engine.trimMemory(level: .caches).pages == 0)
    try engine.pause()
    #expect(try await engine.trimMemory(level: .all).pages > 0)
    try engine.resume()
    try await engine.prewarm()
    #expect(try await engine.setThermalState(.critical).max_num_sequence == 1)
    #expect(try await answer() == expected)
    #expect(try await engine.setThermalState(.nominal).max_num_sequence > 1)
}

@Test func foldersThatCannotBeWrittenAreNamed() throws {
    let file = FileManager.default.temporaryDirectory
        .appendingPathComponent("mlc-\(UUID().uuidString)")
    try Data().write(to: file)
    defer { try? FileManager.default.removeItem(at: file) }
    #expect { try MLCEngine.setDirectories(cache: file.path + "/x") } throws: {
        ($0 as? MLCError)?.param == "cache"
    }
    try MLCEngine.setDirectories()
}

@Test func enginesComeAndGoWhileTheyAnswer() async throws {
    for index in 0..<10 {
        let engine = try await fakeEngine()
        let chunks = await engine.chat.completions.create(
            messages: user("\(index)"), max_tokens: 100_000, debug_config: endless)
        var reader = chunks.makeAsyncIterator()
        _ = await reader.next()
    }
}

private enum Continent: String, Decodable, CaseIterable { case africa, asia, europe }

private struct Capital: Decodable {
    let continent: Continent
    let isCapital: Bool
}

@Test(.enabled(if: realModel != nil, "needs MLC_TEST_MODEL and MLC_TEST_MODEL_LIB"))
func theDefaultModelAnswersAndFillsInATypeOfTheProgram() async throws {
    let engine = MLCEngine()
    try await engine.load(model: try #require(realModel), modelLib: realLibrary, device: "cpu:0")
    let messages = user("What is the capital of France?")
    let answer = try await engine.chat.completions.complete(
        messages: messages, max_tokens: 24, temperature: 0)
    #expect(answer.choices[0].message.content?.contains("Paris") == true)
    let capital = try await engine.chat.completions.complete(
        Capital.self,
        ChatCompletionRequest(messages: messages, max_tokens: 60, temperature: 0))
    #expect(Continent.allCases.contains(capital.continent))
}

@Test(.enabled(if: realModel != nil, "needs MLC_TEST_MODEL and MLC_TEST_MODEL_LIB"))
func cancellingTheTaskEndsALoad() async throws {
    let engine = MLCEngine()
    let (began, begin) = AsyncStream.makeStream(of: Void.self)
    let isCancelled = DispatchSemaphore(value: 0)
    let load = Task {
        defer { begin.finish() }
        try await engine.load(model: realModel!, modelLib: realLibrary) { _, _ in
            begin.yield()
            isCancelled.wait()
            isCancelled.signal()
        }
    }
    for await _ in began { break }
    load.cancel()
    isCancelled.signal()
    await #expect(throws: CancellationError.self) { try await load.value }
    try await engine.load(model: fakeModel, device: "fake")
}
