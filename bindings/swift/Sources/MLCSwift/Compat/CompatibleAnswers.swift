// The types of an answer's responses that MLC-LLM has under names of its own. `chunk` of a response
// has this package's types.

/// One of the likeliest tokens at a position, as MLC-LLM has it.
public struct TopLogProbs: Codable, Hashable, Sendable {
    public var token: String
    public var logprob: Float
    public var bytes: [Int]?
}

/// A token of the answer and the likeliest ones in its place, as MLC-LLM has it.
public struct LogProbsContent: Codable, Hashable, Sendable {
    public var token: String
    public var logprob: Float
    public var bytes: [Int]?
    public var top_logprobs: [TopLogProbs] = []
}

/// The log probabilities of an answer, as MLC-LLM has them.
public struct LogProbs: Codable, Hashable, Sendable {
    public var content: [LogProbsContent] = []
}

/// A piece of one of the answers, as MLC-LLM has it: the `delta` has a role and a content that is
/// not nil, and the last piece has whole tool calls.
public struct ChatCompletionStreamResponseChoice: Codable, Hashable, Sendable {
    public var finish_reason: String?
    public var index: Int
    public var delta: ChatCompletionMessage
    /// `logprobs`, as MLC-LLM spells it.
    public var lobprobs: LogProbs?
}

extension StreamElement where Chunk == ChatCompletionChunk {
    public var choices: [ChatCompletionStreamResponseChoice] {
        self.chunk.choices.map { choice in
            ChatCompletionStreamResponseChoice(
                finish_reason: choice.finish_reason?.rawValue,
                index: choice.index,
                delta: ChatCompletionMessage(
                    role: choice.delta.role ?? .assistant,
                    content: .text(choice.delta.content ?? ""),
                    tool_calls: self.calls[choice.index],
                    reasoning_content: choice.delta.reasoning_content),
                lobprobs: choice.logprobs.map(LogProbs.init))
        }
    }

    public var created: Int? { self.chunk.created }
    public var model: String? { self.chunk.model }
    public var system_fingerprint: String { self.chunk.system_fingerprint ?? "" }
    public var object: String? { "chat.completion.chunk" }
}

extension StreamElement: Encodable where Chunk: Encodable {
    public func encode(to encoder: any Encoder) throws {
        try self.chunk.encode(to: encoder)
    }
}

extension StreamElement: Decodable where Chunk: Decodable {
    /// Of a chunk's JSON. In MLC-LLM the time, the model and the kind may be absent.
    public init(from decoder: any Decoder) throws {
        var value = try JSONValue(from: decoder)
        if case .object(var members) = value {
            if members["created"] == nil { members["created"] = 0 }
            if members["model"] == nil { members["model"] = "" }
            if members["object"] == nil { members["object"] = "chat.completion.chunk" }
            value = .object(members)
        }
        self.init(try Chunk(jsonText: try value.jsonText()))
    }
}

extension LogProbs {
    fileprivate init(_ logprobs: ChoiceLogprobs) {
        self.content = (logprobs.content ?? []).map { token in
            LogProbsContent(
                token: token.token, logprob: Float(token.logprob), bytes: token.bytes,
                top_logprobs: token.top_logprobs.map { top in
                    TopLogProbs(
                        token: top.token, logprob: Float(top.logprob), bytes: top.bytes)
                })
        }
    }
}

/// The whole tool calls of running answers: MLC-LLM has them in an answer's last response.
struct CallFolds {
    private var folds: [Int: AnswerFold] = [:]

    /// The calls of the answers that this chunk ends.
    mutating func take(_ chunk: ChatCompletionChunk) -> [Int: [ChatCompletionMessageToolCall]] {
        var ended: [Int: [ChatCompletionMessageToolCall]] = [:]
        for choice in chunk.choices {
            if choice.delta.tool_calls != nil {
                var piece = chunk
                piece.choices = [choice]
                self.folds[choice.index, default: AnswerFold()].add(piece)
            }
            if choice.finish_reason != nil, let fold = self.folds.removeValue(forKey: choice.index)
            {
                ended[choice.index] = fold.completion.choices[0].message.tool_calls
            }
        }
        return ended
    }
}
