// Names and conveniences by which programs written for MLC-LLM's Swift package compile.

public typealias ChatCompletionStreamResponse = StreamElement<ChatCompletionChunk>
public typealias ChatCompletionStreamResponseChoice = ChatCompletionChunkChoice
public typealias ChatTool = ChatCompletionTool
public typealias ChatFunction = FunctionDefinition
public typealias ChatToolCall = ChatCompletionMessageToolCall
public typealias ChatFunctionCall = FunctionCall

extension String {
    /// The text of a delta's content.
    public func asText() -> String { self }
}

extension ChatCompletionMessageContent {
    /// The text, or the texts among the parts one after the other.
    public func asText() -> String {
        switch self {
        case .text(let text): text
        case .parts(let parts): parts.map { $0.asText() }.joined()
        }
    }
}

extension ChatCompletionContentPart {
    /// The text of a text; nothing of an image.
    public func asText() -> String {
        if case .text(let part) = self { part.text } else { "" }
    }
}
