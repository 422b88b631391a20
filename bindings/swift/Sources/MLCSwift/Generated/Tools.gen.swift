// Generated from codegen/schema by `python -m codegen`. Do not edit.
// Schema hash: 5c6e83c1dd599df1
//
// What a helper has in common in all languages: its types, its events, its words.

/// How many calls a loop makes unless it is told; then the model must answer without.
public let maxToolCalls: Int = 16

/// What became of a call.
public enum ToolOutcome: String, Hashable, Sendable {
    /// The function gave a result.
    case returned = "returned"
    /// The function failed; the model reads why.
    case failed = "failed"
    /// It was not approved.
    case denied = "denied"
    /// There is no such function, its arguments do not fit, or it was one more than the limit.
    case refused = "refused"
}

/// What a call came to.
public struct ToolResult: Hashable, Sendable {
    /// The call.
    public let call: ChatCompletionMessageToolCall
    /// What the model reads of it.
    public let content: String
    /// What became of it.
    public let outcome: ToolOutcome
}

/// How a loop of tool calls ended.
public struct ToolRun: Hashable, Sendable {
    /// The last answer.
    public let completion: ChatCompletion
    /// The last answer's text.
    public let content: String?
    /// The whole conversation, the last answer included: to be continued with the next request.
    public let messages: [ChatCompletionMessage]
    /// The calls that the model made, the denied and failed ones too.
    public let numCalls: Int
    /// Whether there would have been more.
    public let limitReached: Bool
}

/// What happens while the model's tool calls are run, in its order.
public enum ToolRunEvent: Hashable, Sendable {
    /// A chunk of an answer, as it came.
    case chunk(ChatCompletionChunk)
    /// The next piece of an answer's text.
    case text(String)
    /// The model calls a tool. All calls of an answer are told, then approved, then made.
    case call(ChatCompletionMessageToolCall)
    /// A call has come to its end. Results come in the order of the calls.
    case result(ToolResult)
    /// The last event: how it ended.
    case end(ToolRun)
}

/// The texts.
package enum ToolsTexts {
    /// What the model reads in place of a result.
    package static let denied =
        "error: the call was denied"
    /// What the model reads in place of a result.
    package static let limit =
        "error: the call was not made: the limit of calls is reached; answer without it"
    /// What the model reads in place of a result.
    package static func noSuch(name: String, names: String) -> String {
        "error: there is no tool \(name); there are: \(names)"
    }
    /// What the model reads in place of a result.
    package static func unfit(why: String) -> String {
        "error: the arguments do not fit: \(why)"
    }
    /// What the model reads in place of a result.
    package static func failed(why: String) -> String {
        "error: \(why)"
    }
    /// What whoever begins a loop wrongly is told.
    package static let names =
        "at least one tool is needed, each of another name"
    /// What whoever begins a loop wrongly is told.
    package static let tooFew =
        "max_calls must be at least 1"
    /// What whoever begins a loop wrongly is told.
    package static let oneAnswer =
        "a loop of tool calls follows one answer: leave n out"
}
