import Foundation
import Testing

@testable import MLCSwift

@Test func theThreeWaysGiveTheSameAnswer() async throws {
    let engine = try await fakeEngine()
    let request = ChatCompletionRequest(messages: user("Hello"), max_tokens: 40, seed: 3)
    let whole = try await engine.chat.completions.complete(request)
    var streamed = ""
    for try await chunk in engine.chat.completions.stream(request) {
        streamed += chunk.choices[0].delta.content ?? ""
    }
    var created = ""
    var reasons: [FinishReason] = []
    for await res in await engine.chat.completions.create(request) {
        #expect(res.error == nil)
        created += res.chunk.choices[0].delta.content ?? ""
        reasons += [res.chunk.choices[0].finish_reason].compactMap { $0 }
    }
    #expect(streamed == whole.choices[0].message.content && created == streamed)
    #expect(reasons == [whole.choices[0].finish_reason])
}

@Test func leavingTheLoopEndsTheRequest() async throws {
    let engine = try await fakeEngine()
    var count = 0
    for await _ in await engine.chat.completions.create(
        messages: user("Hello"), max_tokens: 100_000, debug_config: endless)
    {
        count += 1
        if count == 3 { break }
    }
    #expect(try await engine.becomesIdle(cancelled: 1))
    for try await _ in engine.chat.completions.stream(
        messages: user("Hello"), max_tokens: 100_000, debug_config: endless)
    {
        break
    }
    #expect(try await engine.becomesIdle(cancelled: 2))
}

@Test func cancellingTheTaskEndsTheRequest() async throws {
    let engine = try await fakeEngine()
    let (started, start) = AsyncStream.makeStream(of: Void.self)
    let reader = Task {
        for try await _ in engine.chat.completions.stream(
            messages: user("Hello"), max_tokens: 1_000_000, debug_config: endless)
        {
            start.yield()
        }
    }
    for await _ in started { break }
    reader.cancel()
    try await reader.value  // as every stream of the language's it ends without an error
    #expect(try await engine.becomesIdle(cancelled: 1))

    let (createStarted, createStart) = AsyncStream.makeStream(of: Void.self)
    let creator = Task {
        var last: ChatCompletionStreamResponse?
        for await res in await engine.chat.completions.create(
            messages: user("Hello"), max_tokens: 1_000_000, debug_config: endless)
        {
            createStart.yield()
            last = res
        }
        return last
    }
    for await _ in createStarted { break }
    creator.cancel()
    #expect(await creator.value?.error == nil)
    #expect(try await engine.becomesIdle(cancelled: 2))
}

@Test func aCancelledTaskGetsNoAnswer() async throws {
    let engine = try await fakeEngine()
    try engine.pause()
    let waiting = Task {
        try await engine.chat.completions.complete(messages: user("Hello"), max_tokens: 4)
    }
    try await Task.sleep(for: .milliseconds(50))
    waiting.cancel()
    await #expect(throws: CancellationError.self) { try await waiting.value }
    try engine.resume()
    let early = Task {
        withUnsafeCurrentTask { $0?.cancel() }
        for try await _ in engine.chat.completions.stream(messages: user("Hello")) {
            Issue.record("a chunk of a request that was not to be sent")
        }
        for await _ in await engine.chat.completions.create(messages: user("Hello")) {
            Issue.record("a chunk for a task that was cancelled")
        }
        _ = try await engine.chat.completions.complete(messages: user("Hello"))
    }
    await #expect(throws: CancellationError.self) { try await early.value }
    #expect(try await engine.metrics().num_finished_requests == 0)
}

@Test func aRefusalIsTheLastElementOrIsThrown() async throws {
    let engine = try await fakeEngine()
    var elements: [ChatCompletionStreamResponse] = []
    for await res in await engine.chat.completions.create(
        messages: user("Hello"), n: 2, temperature: 3)
    {
        elements.append(res)
    }
    #expect(elements.count == 1)
    let error = try #require(elements.last?.error)
    #expect(error.kind == .invalidRequest && error.param == "temperature")
    #expect(error.code == "decimal_above_max_value" && error.type == "invalid_request_error")
    #expect(elements[0].choices.map(\.index) == [0, 1])
    #expect(elements[0].choices.allSatisfy { $0.finish_reason == "error" })

    let streamed = await thrown {
        for try await _ in engine.chat.completions.stream(messages: user("Hello"), temperature: 3) {
        }
    }
    #expect(streamed as? MLCError == error)
    let whole = await thrown {
        _ = try await engine.chat.completions.complete(messages: user("Hello"), temperature: 3)
    }
    #expect(whole as? MLCError == error)
}

@Test func aStreamThatIsNoneIsRefused() async throws {
    let engine = try await fakeEngine()
    var elements: [ChatCompletionStreamResponse] = []
    for await res in await engine.chat.completions.create(messages: user("Hello"), stream: false) {
        elements.append(res)
    }
    #expect(elements.map(\.error?.param) == ["stream"])
}

@Test func unloadingEndsAStreamWithAnError() async throws {
    let engine = try await fakeEngine()
    var last: ChatCompletionStreamResponse?
    var count = 0
    for await res in await engine.chat.completions.create(
        messages: user("Hello"), max_tokens: 1_000_000, debug_config: endless)
    {
        count += 1
        last = res
        if count == 5 { try await engine.unload().get() }
    }
    #expect(last?.error?.kind == .unavailable && last?.error?.code == "model_unloaded")
    #expect(last?.chunk.choices.first?.finish_reason == .error)
    #expect(last?.id.isEmpty == false)
    let later = await thrown {
        _ = try await engine.chat.completions.complete(messages: user("Hi"))
    }
    #expect((later as? MLCError)?.kind == .unavailable)
}

@Test func aReaderThatStandsStillHoldsUpNobody() async throws {
    let engine = try await fakeEngine()
    let slow = await engine.chat.completions.create(
        messages: user("slow"), max_tokens: 2000, debug_config: endless)
    var reader = slow.makeAsyncIterator()
    _ = await reader.next()
    // All of it is made while nobody reads.
    for index in 0..<4 {
        _ = try await engine.chat.completions.complete(messages: user("\(index)"), max_tokens: 20)
    }
    #expect(try await engine.becomesIdle())
    var tokens = 1
    while await reader.next() != nil { tokens += 1 }
    #expect(tokens > 1500)
}

@Test func manyRequestsOfTwoEnginesAreKeptApart() async throws {
    let engines = [try await fakeEngine(), try await fakeEngine()]
    let texts = try await withThrowingTaskGroup(of: (Int, String).self) { group in
        for index in 0..<16 {
            group.addTask {
                let chunks = engines[index % 2].chat.completions.stream(
                    messages: user("\(index / 2)"), max_tokens: 50, seed: index / 2)
                return (
                    index, try await chunks.reduce("") { $0 + ($1.choices[0].delta.content ?? "") }
                )
            }
        }
        return try await group.reduce(into: [Int: String]()) { $0[$1.0] = $1.1 }
    }
    for pair in 0..<8 { #expect(texts[2 * pair] == texts[2 * pair + 1] && texts[2 * pair] != "") }
    #expect(Set(texts.values).count == 8)
}

@Test func aStreamKeepsItsEngine() async throws {
    var engine: MLCEngine? = try await fakeEngine()
    let chunks = await engine!.chat.completions.create(
        messages: user("Hello"), max_tokens: 200, debug_config: endless)
    engine = nil
    var count = 0
    for await res in chunks {
        #expect(res.error == nil)
        count += 1
    }
    #expect(count > 100)
}

@Test func aStreamThatNobodyReadsEndsWithItsReference() async throws {
    let engine = try await fakeEngine()
    for _ in 0..<20 {
        _ = await engine.chat.completions.create(
            messages: user("Hello"), max_tokens: 100_000, debug_config: endless)
    }
    #expect(try await engine.becomesIdle(cancelled: 20))
}
