/// How many tokens of the context a chat needs, and which turns can be dropped.
public struct ChatContext: Hashable, Sendable {
    /// About: what a chat template writes around a message.
    private static let tokensPerMessage = 8
    /// The reserve for an answer whose longest length is not set.
    private static let answerTokens = 64

    /// The context that holds: the smaller one of the chat's and the model's. Nil: none is known.
    public let limit: Int?
    public let promptTokens: Int
    /// The prompt and the beginning of an answer do not fit.
    public let overflows: Bool
    /// How many of the oldest messages go when the user chooses so: whole turns, never the last.
    public let drop: Int?

    /// - Parameter count: the tokens of a text.
    public init(_ chat: SavedChat, modelContext: Int?, count: (String) -> Int) {
        let limits = [chat.settings.context, modelContext].compactMap { $0 }.filter { $0 > 0 }
        let costs = chat.messages.map { Self.tokensPerMessage + count(Self.countedText($0)) }
        let system = chat.settings.system.trimmed
        let fixed = system.isEmpty ? 0 : Self.tokensPerMessage + count(system)
        let tokens = { (dropped: Int) in fixed + costs[dropped...].reduce(0, +) }
        self.limit = limits.min()
        self.promptTokens = tokens(chat.dropped)
        guard let limit = self.limit else {
            self.overflows = false
            self.drop = nil
            return
        }
        let reserve = min(chat.settings.max_tokens ?? Self.answerTokens, limit / 4)
        self.overflows = self.promptTokens + reserve > limit
        let starts = chat.messages.indices.filter {
            chat.messages[$0].role == .user && $0 > chat.dropped
        }
        self.drop = starts.first { tokens($0) * 4 <= limit * 3 } ?? starts.last
    }

    /// The texts of a chat that cost tokens.
    public static func countedTexts(_ chat: SavedChat) -> [String] {
        [chat.settings.system.trimmed] + chat.messages.map(self.countedText)
    }

    private static func countedText(_ message: ChatMessage) -> String {
        let calls = message.calls.map { $0.name + $0.arguments }
        return ([message.content] + calls).filter { !$0.isEmpty }.joined(separator: "\n")
    }
}
