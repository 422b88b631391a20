import MLCSwift

/// The room in the KV cache for the long answers of `order` and `bench`.
private let longAnswers = 32768

func user(_ text: String) -> [ChatCompletionMessage] {
    [ChatCompletionMessage(role: .user, content: text)]
}

/// An answer as the commands print it.
struct Answer {
    var text = ""
    var finishReason: FinishReason?
    var chunks = 0
    var usage: CompletionUsage?

    mutating func add(_ chunk: ChatCompletionChunk) {
        self.chunks += 1
        self.text += chunk.choices.first?.delta.content ?? ""
        self.finishReason = chunk.choices.first?.finish_reason ?? self.finishReason
        self.usage = chunk.usage ?? self.usage
    }

    var json: JSONObject {
        [
            "text": .string(self.text),
            "finish_reason": self.finishReason?.jsonValue ?? nil,
            "chunks": .int(self.chunks),
            "prompt_tokens": .int(self.usage?.prompt_tokens ?? 0),
            "completion_tokens": .int(self.usage?.completion_tokens ?? 0),
        ]
    }
}

/// Through `create`, whose failure is the last element.
func answer(_ engine: MLCEngine, _ request: ChatCompletionRequest) async throws -> Answer {
    var request = request
    request.stream_options = StreamOptions(include_usage: true)
    var answer = Answer()
    for await element in await engine.chat.completions.create(request) {
        if let error = element.error { throw error }
        answer.add(element.chunk)
    }
    return answer
}

func whole(_ engine: MLCEngine, _ request: ChatCompletionRequest) async throws -> Answer {
    let completion = try await engine.chat.completions.complete(request)
    return Answer(
        text: completion.choices[0].message.content ?? "",
        finishReason: completion.choices[0].finish_reason, chunks: 1, usage: completion.usage)
}

@Sendable func stream(_ options: Options) async throws -> JSONObject {
    try await answer(try await options.loadedEngine(), try options.request()).json
}

@Sendable func complete(_ options: Options) async throws -> JSONObject {
    try await whole(try await options.loadedEngine(), try options.request()).json
}

@Sendable func embed(_ options: Options) async throws -> JSONObject {
    let engine = try await options.loadedEngine()
    let prompt = try options.text("prompt")
    let both = try await engine.embeddings.create(input: [.text(prompt), .text("\(prompt) 2")])
    let short = try await engine.embeddings.create(
        input: .text(prompt), encoding_format: .base64, dimensions: 8)
    return [
        "vectors": .array(both.data.map { $0.embedding.jsonValue }),
        "base64": short.data[0].embedding.jsonValue,
        "prompt_tokens": .int(both.usage.prompt_tokens),
    ]
}

@Sendable func rerank(_ options: Options) async throws -> JSONObject {
    let engine = try await options.loadedEngine()
    let query = try options.text("prompt")
    let documents: [RerankInput] = [
        .text(query), .text("\(query) 2"), .document(RerankDocument(text: "no")),
    ]
    let best = try await engine.rerank.create(
        query: query, documents: documents, top_n: 2, return_documents: true)
    let raw = try await engine.rerank.create(query: query, documents: documents, raw_scores: true)
    return [
        "best": .array(
            best.results.map {
                .array([
                    .int($0.index), .double($0.relevance_score),
                    .string($0.document?.text ?? ""),
                ])
            }),
        "raw": .array(raw.results.map { .double($0.relevance_score) }),
        "prompt_tokens": .int(best.usage.prompt_tokens),
    ]
}

@Sendable func continueText(_ options: Options) async throws -> JSONObject {
    let engine = try await options.loadedEngine()
    let request = CompletionRequest(
        prompt: .text(try options.text("prompt")), max_tokens: try options.int("max-tokens", 16),
        seed: try options.optional("seed") { Int($0) })
    var text = ""
    var reason: FinishReason?
    for try await chunk in engine.completions.stream(request) {
        text += chunk.choices[0].text
        reason = chunk.choices[0].finish_reason ?? reason
    }
    let whole = try await engine.completions.complete(request)
    return [
        "text": .string(text), "finish_reason": reason?.jsonValue ?? nil,
        "whole": .string(whole.choices[0].text),
    ]
}

@Sendable func cancel(_ options: Options) async throws -> JSONObject {
    let engine = try await options.loadedEngine()
    let prompt = user(try options.text("prompt"))
    var chunks = 0
    for await element in await engine.chat.completions.create(
        messages: prompt, max_tokens: 4000, seed: 1, debug_config: DebugConfig(ignore_eos: true))
    {
        if let error = element.error { throw error }
        chunks += 1
        if chunks == 3 { break }
    }
    var metrics = try await engine.metrics()
    for _ in 0..<3000 where metrics.kv_pages_free != metrics.kv_pages_total {
        try await Task.sleep(for: .milliseconds(20))
        metrics = try await engine.metrics()
    }
    let after = try await engine.chat.completions.complete(
        messages: prompt, max_tokens: 8, seed: 1)
    return [
        "chunks_before_cancel": .int(chunks),
        "pages_total": metrics.kv_pages_total?.jsonValue ?? nil,
        "pages_free": metrics.kv_pages_free?.jsonValue ?? nil,
        "answer_after": .string(after.choices[0].message.content ?? ""),
    ]
}

@Sendable func parallel(_ options: Options) async throws -> JSONObject {
    let engines = [try await options.loadedEngine(), try await options.loadedEngine()]
    let prompt = try options.text("prompt")
    let texts = try await withThrowingTaskGroup(of: (Int, String).self) { group in
        for index in 0..<8 {
            let request = ChatCompletionRequest(
                messages: user("\(prompt) \(index)"), max_tokens: 24, seed: index)
            group.addTask { (index, try await answer(engines[index / 4], request).text) }
        }
        return try await group.reduce(into: [Int: String]()) { $0[$1.0] = $1.1 }
    }
    return ["texts": .array((0..<8).map { .string(texts[$0] ?? "") })]
}

/// The tool calls of an answer, as they come.
private struct Calls {
    var names: [String] = []
    var arguments: [String] = []
    var pieces = 0

    mutating func add(_ call: ChoiceDeltaToolCall) {
        let piece = call.function?.arguments ?? ""
        if call.id != nil {
            self.names.append(call.function?.name ?? "")
            self.arguments.append(piece)
        } else {
            self.pieces += 1
            self.arguments[call.index] += piece
        }
    }

    var json: JSONValue {
        .array(
            zip(self.names, self.arguments).map { name, arguments in
                .object(["name": .string(name), "arguments": .string(arguments)])
            })
    }
}

@Sendable func tools(_ options: Options) async throws -> JSONObject {
    let request = try ChatCompletionRequest(
        jsonValue: try JSONValue(jsonText: try options.text("request")))
    let engine = try await options.loadedEngine()
    var streamed = Calls()
    var reason: FinishReason?
    for await element in await engine.chat.completions.create(request) {
        if let error = element.error { throw error }
        reason = element.chunk.choices.first?.finish_reason ?? reason
        element.chunk.choices.first?.delta.tool_calls?.forEach { streamed.add($0) }
    }
    let whole = try await engine.chat.completions.complete(request).choices[0].message.tool_calls
    let same =
        (whole ?? []).map(\.function.name) == streamed.names
        && (whole ?? []).map(\.function.arguments) == streamed.arguments
    return [
        "calls": streamed.json,
        "finish_reason": reason?.jsonValue ?? nil,
        "pieces": .int(streamed.pieces),
        "same": .bool(same),
    ]
}

@Sendable func adapter(_ options: Options) async throws -> JSONObject {
    let engine = try await options.loadedEngine(ranks: 16)
    let prompt = user(try options.text("prompt"))
    @Sendable func say(_ lora: Lora? = nil) async throws -> String {
        let request = ChatCompletionRequest(
            messages: prompt, max_tokens: 8, temperature: 0, lora: lora,
            debug_config: DebugConfig(ignore_eos: true))
        return try await whole(engine, request).text
    }
    let plain = try await say()
    let full = try await engine.loadAdapter("style", path: try options.text("adapter"))
    let named = try await say(.name("style"))
    let scaled = try await say(.uses([LoraUse(name: "style", scale: 0)]))
    let listed = try await engine.adapters().adapters
    let empty = try await engine.unloadAdapter("style")
    return [
        "plain": .string(plain), "named": .string(named), "scaled": .string(scaled),
        "listed": .array(listed.map { .array([.string($0.name), .int($0.rank)]) }),
        "free": .array([.int(full.free_ranks), .int(empty.free_ranks)]),
        "error": .object(try await failure { _ = try await say(.name("style")) }),
    ]
}

@Sendable func loadError(_ options: Options) async throws -> JSONObject {
    try await failure { _ = try await options.loadedEngine() }
}

/// The typed error with which it fails, or its lack.
private func failure(_ work: () async throws -> Void) async throws -> JSONObject {
    do {
        try await work()
        return ["type": nil]
    } catch let error as MLCError {
        return try JSONObject(jsonValue: error.response.error.jsonValue)
    }
}

@Sendable func order(_ options: Options) async throws -> JSONObject {
    let engine = try await options.loadedEngine(tokens: longAnswers)
    let request = ChatCompletionRequest(
        messages: user("order"), max_tokens: try options.int("tokens", 10000), seed: 1,
        debug_config: DebugConfig(ignore_eos: true))
    let streamed = try await answer(engine, request)
    let same = try await whole(engine, request)
    return [
        "chunks": .int(streamed.chunks),
        "completion_tokens": .int(streamed.usage?.completion_tokens ?? 0),
        "text": .string(streamed.text),
        "same": .bool(streamed.text == same.text),
    ]
}

@Sendable func bench(_ options: Options) async throws -> JSONObject {
    let engine = try await options.loadedEngine(tokens: longAnswers)
    let streams = try options.int("streams", 1)
    let tokens = try options.int("tokens", 256)
    var chunks = 0
    var times: [JSONValue] = []
    for repetition in 0...(try options.int("repeats", 9)) {
        let clock = ContinuousClock()
        let begin = clock.now
        chunks = try await readAll(engine, streams: streams, tokens: tokens)
        let seconds = (clock.now - begin) / .seconds(1)
        if repetition > 0 { times.append(.double(seconds * 1e6 / Double(chunks))) }
    }
    return [
        "streams": .int(streams), "tokens": .int(tokens), "chunks": .int(chunks),
        "us_per_chunk": .array(times),
    ]
}

/// The number of chunks of `streams` answers that are read at once.
private func readAll(_ engine: MLCEngine, streams: Int, tokens: Int) async throws -> Int {
    try await withThrowingTaskGroup(of: Int.self) { group in
        for index in 0..<streams {
            let chunks = engine.chat.completions.stream(
                messages: user("bench \(index)"), max_tokens: tokens, seed: index,
                debug_config: DebugConfig(ignore_eos: true))
            group.addTask {
                var count = 0
                var bytes = 0
                for try await chunk in chunks {
                    count += 1
                    bytes += chunk.choices.first?.delta.content?.utf8.count ?? 0
                }
                if bytes == 0 { throw UsageError("an answer without text") }
                return count
            }
        }
        return try await group.reduce(0, +)
    }
}
