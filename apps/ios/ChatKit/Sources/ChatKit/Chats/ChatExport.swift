import Foundation

/// The words of an export, in the user's language.
public struct ExportWords: Hashable, Sendable {
    public var user = "You"
    public var assistant = "Model"
    public var tool = "Tool"
    public var system = "System prompt"
    public var reasoning = "Thoughts"
    public var picture = "Picture"

    public init() {}

    func of(_ role: ChatMessage.Role) -> String {
        switch role {
        case .user: self.user
        case .assistant: self.assistant
        case .tool: self.tool
        }
    }
}

/// Chats as files.
public enum ChatExport {
    private static let format = "mlc_llm.chats"
    private static let nameLength = 60  // UTF-16 units

    private struct File: Encodable {
        let format = ChatExport.format
        let version = SavedChat.currentVersion
        let chats: [SavedChat]
    }

    private struct Head: Decodable {
        let format: String?
        let chats: [Entry]?
    }

    /// A chat, or something that is none.
    private struct Entry: Decodable {
        let chat: SavedChat?
        init(from decoder: any Decoder) throws {
            let chat = try? SavedChat(from: decoder)
            self.chat = chat?.version == SavedChat.currentVersion ? chat : nil
        }
    }

    /// JSON with everything, in the format of the server's page.
    public static func json(_ chats: [SavedChat]) throws -> Data {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        return try encoder.encode(File(chats: chats))
    }

    /// The chats of an exported file, and how many could not be read.
    public static func read(_ data: Data) throws(Fault) -> (chats: [SavedChat], skipped: Int) {
        let why = "this is no export of chats"
        guard let head = try? JSONDecoder().decode(Head.self, from: data) else {
            throw Fault("", why)
        }
        guard head.format == self.format, let entries = head.chats else {
            throw Fault("format", why)
        }
        let chats = entries.compactMap(\.chat)
        return (chats, entries.count - chats.count)
    }

    /// Markdown to read.
    public static func markdown(_ chat: SavedChat, words: ExportWords = ExportWords()) -> String {
        var parts = ["# \(chat.shownTitle)"]
        let system = chat.settings.system.trimmed
        if !system.isEmpty { parts += ["## \(words.system)", system] }
        for message in chat.messages { parts += self.parts(of: message, words) }
        return parts.joined(separator: "\n\n") + "\n"
    }

    /// A name for the file that every file system takes.
    public static func fileName(_ chat: SavedChat, ending: String) -> String {
        let words = chat.shownTitle.split { !$0.isLetter && !$0.isNumber }
        let name = words.joined(separator: "-").cut(utf16: self.nameLength)
        return "\(name.isEmpty ? "chat" : name).\(ending)"
    }

    private static func parts(of message: ChatMessage, _ words: ExportWords) -> [String] {
        var parts = ["## \(words.of(message.role))"]
        if let pictures = message.pictures, !pictures.isEmpty {
            parts.append("(\(pictures.count) × \(words.picture))")
        }
        if !message.reasoning.isEmpty {
            parts += ["### \(words.reasoning)", self.quoted(message.reasoning)]
        }
        parts += message.calls.map { self.fenced("\($0.name)(\($0.arguments))", "text") }
        if message.role == .tool {
            parts.append(self.fenced(message.content, "json"))
        } else if !message.content.isEmpty {
            parts.append(message.content)
        }
        return parts
    }

    private static func quoted(_ text: String) -> String {
        text.trimmed.split(separator: "\n", omittingEmptySubsequences: false)
            .map { "> \($0)" }.joined(separator: "\n")
    }

    /// A fence that is longer than every run of backticks in the text.
    private static func fenced(_ text: String, _ language: String) -> String {
        let longest = text.split { $0 != "`" }.map(\.count).max() ?? 0
        let fence = String(repeating: "`", count: max(longest, 2) + 1)
        return "\(fence)\(language)\n\(text)\n\(fence)"
    }
}
