import Foundation

extension SavedChat {
    private static let titleLength = 48  // UTF-16 units

    /// The title that the user gave, or the beginning of the first message.
    public var shownTitle: String {
        if !self.title.isEmpty { return self.title }
        let first = self.messages.first { $0.role == .user }?.content ?? ""
        let text = first.split(whereSeparator: \.isWhitespace).joined(separator: " ")
        guard text.utf16.count > Self.titleLength else { return text }
        return text.cut(utf16: Self.titleLength - 1).trimmed + "…"
    }

    /// Whether every word of the search occurs in the chat.
    public func matches(_ search: String) -> Bool {
        let words = search.lowercased().split(whereSeparator: \.isWhitespace)
        let texts = [self.shownTitle] + self.messages.map(\.content)
        let text = texts.joined(separator: "\n").lowercased()
        return words.allSatisfy { text.contains($0) }
    }

    /// Removes the message and everything behind it.
    public mutating func cut(at id: String) {
        guard let at = self.messages.firstIndex(where: { $0.id == id }) else { return }
        self.messages.removeSubrange(at...)
        if self.dropped >= at { self.dropped = 0 }
    }

    /// The answer to a user's message begins again: removes what came behind that message. `id`: the
    /// message, or any behind it.
    public mutating func cutAnswer(to id: String) {
        guard let at = self.messages.firstIndex(where: { $0.id == id }),
            let question = self.messages[...at].lastIndex(where: { $0.role == .user }),
            question + 1 < self.messages.count
        else { return }
        self.cut(at: self.messages[question + 1].id)
    }

    /// The calls of the last answer that have no result yet.
    public var openCalls: [ToolCall] {
        guard let at = self.messages.lastIndex(where: { $0.role == .assistant }) else { return [] }
        let done = Set(self.messages[(at + 1)...].compactMap(\.call))
        return self.messages[at].calls.filter { !done.contains($0.id) }
    }
}

extension StringProtocol {
    var trimmed: String { self.trimmingCharacters(in: .whitespacesAndNewlines) }

    /// At most so many UTF-16 units, whole characters only.
    func cut(utf16 most: Int) -> String {
        var text = ""
        var length = 0
        for character in self {
            length += character.utf16.count
            if length > most { break }
            text.append(character)
        }
        return text
    }
}
