import Foundation

/// A chat as it is stored and exported: the format of the server's page
/// (`bindings/python/mlc_llm/serve/page/logic/chats.js`). Times are in milliseconds since 1970.
public struct SavedChat: Hashable, Sendable, Identifiable {
    public static let currentVersion = 1

    public var id: String
    public var version = currentVersion
    /// What the user gave; see ``shownTitle``.
    public var title = ""
    public var created: Double
    public var updated: Double
    /// The name of the model that answered last.
    public var model = ""
    public var settings = ChatSettings()
    public var messages: [ChatMessage] = []
    /// How many of the oldest messages the model no longer gets.
    public var dropped = 0

    public init(id: String = newID(), settings: ChatSettings = ChatSettings(), now: Date = Date()) {
        self.id = id
        self.settings = settings
        self.created = (now.timeIntervalSince1970 * 1000).rounded()
        self.updated = self.created
    }

    public static func newID() -> String {
        UUID().uuidString.replacingOccurrences(of: "-", with: "").lowercased()
    }
}

/// What is set for a chat. Nil: what the model itself says.
public struct ChatSettings: Hashable, Sendable {
    public var system = ""
    public var temperature: Double?
    public var top_p: Double?
    /// In tokens.
    public var max_tokens: Int?
    /// The chat's own limit, in tokens.
    public var context: Int?
    public var seed: Int?
    /// The JSON Schema of the answer; blank: any text.
    public var schema = ""
    /// The names of the tools that are switched on.
    public var tools: [String] = []

    public init() {}
}

public struct ChatMessage: Hashable, Sendable, Identifiable {
    public enum Role: String, Hashable, Sendable, Codable { case user, assistant, tool }

    public var id: String
    public var role: Role
    public var content: String
    /// Of a user's message: `data:` URLs.
    public var pictures: [String]?
    /// Of an answer: what the model thought, and the tools that it calls.
    public var reasoning = ""
    public var calls: [ToolCall] = []
    public var model = ""
    /// Why the answer ended: the engine's word, or `stopped`.
    public var finish: String?
    public var stats: AnswerStats?
    /// Of a tool's result: the call, and the tool's name.
    public var call: String?
    public var name: String?

    public init(_ role: Role, _ content: String = "", id: String = SavedChat.newID()) {
        self.id = id
        self.role = role
        self.content = content
    }
}

/// A call of a tool, as the model wrote it.
public struct ToolCall: Hashable, Sendable, Codable, Identifiable {
    public var id: String
    public var name: String
    /// JSON text.
    public var arguments: String

    public init(id: String = "", name: String = "", arguments: String = "") {
        self.id = id
        self.name = name
        self.arguments = arguments
    }
}

extension SavedChat: Codable {
    enum CodingKeys: String, CodingKey {
        case id, version, title, created, updated, model, settings, messages, dropped
    }

    public init(from decoder: any Decoder) throws {
        let members = try decoder.container(keyedBy: CodingKeys.self)
        self.id = try members.decode(String.self, forKey: .id)
        self.version = try members.decode(Int.self, forKey: .version)
        self.title = try members.decodeIfPresent(String.self, forKey: .title) ?? ""
        self.created = try members.decodeIfPresent(Double.self, forKey: .created) ?? 0
        self.updated = try members.decodeIfPresent(Double.self, forKey: .updated) ?? self.created
        self.model = try members.decodeIfPresent(String.self, forKey: .model) ?? ""
        self.settings =
            try members.decodeIfPresent(ChatSettings.self, forKey: .settings) ?? ChatSettings()
        self.messages = try members.decode([ChatMessage].self, forKey: .messages)
        let dropped = try members.decodeIfPresent(Int.self, forKey: .dropped) ?? 0
        self.dropped = min(max(dropped, 0), self.messages.count)
    }
}

extension ChatSettings: Codable {
    enum CodingKeys: String, CodingKey {
        case system, temperature, top_p, max_tokens, context, seed, schema, extra, tools
    }

    public init(from decoder: any Decoder) throws {
        let members = try decoder.container(keyedBy: CodingKeys.self)
        self.system = try members.decodeIfPresent(String.self, forKey: .system) ?? ""
        self.temperature = try members.decodeIfPresent(Double.self, forKey: .temperature)
        self.top_p = try members.decodeIfPresent(Double.self, forKey: .top_p)
        self.max_tokens = try members.decodeIfPresent(Int.self, forKey: .max_tokens)
        self.context = try members.decodeIfPresent(Int.self, forKey: .context)
        self.seed = try members.decodeIfPresent(Int.self, forKey: .seed)
        self.schema = try members.decodeIfPresent(String.self, forKey: .schema) ?? ""
        self.tools = try members.decodeIfPresent([String].self, forKey: .tools) ?? []
    }

    public func encode(to encoder: any Encoder) throws {
        var members = encoder.container(keyedBy: CodingKeys.self)
        try members.encode(self.system, forKey: .system)
        try members.encode(self.temperature, forKey: .temperature)
        try members.encode(self.top_p, forKey: .top_p)
        try members.encode(self.max_tokens, forKey: .max_tokens)
        try members.encode(self.context, forKey: .context)
        try members.encode(self.seed, forKey: .seed)
        try members.encode(self.schema, forKey: .schema)
        try members.encode("", forKey: .extra)  // the page reads it
        try members.encode(self.tools, forKey: .tools)
    }
}

extension ChatMessage: Codable {
    enum CodingKeys: String, CodingKey {
        case id, role, content, pictures, reasoning, calls, model, finish, stats, call, name
    }

    public init(from decoder: any Decoder) throws {
        let members = try decoder.container(keyedBy: CodingKeys.self)
        self.id = try members.decode(String.self, forKey: .id)
        self.role = try members.decode(Role.self, forKey: .role)
        self.content = try members.decodeIfPresent(String.self, forKey: .content) ?? ""
        self.pictures = try members.decodeIfPresent([String].self, forKey: .pictures)
        self.reasoning = try members.decodeIfPresent(String.self, forKey: .reasoning) ?? ""
        self.calls = try members.decodeIfPresent([ToolCall].self, forKey: .calls) ?? []
        self.model = try members.decodeIfPresent(String.self, forKey: .model) ?? ""
        self.finish = try members.decodeIfPresent(String.self, forKey: .finish)
        self.stats = try members.decodeIfPresent(AnswerStats.self, forKey: .stats)
        self.call = try members.decodeIfPresent(String.self, forKey: .call)
        self.name = try members.decodeIfPresent(String.self, forKey: .name)
    }

    public func encode(to encoder: any Encoder) throws {
        var members = encoder.container(keyedBy: CodingKeys.self)
        try members.encode(self.id, forKey: .id)
        try members.encode(self.role, forKey: .role)
        try members.encode(self.content, forKey: .content)
        try members.encodeIfPresent(self.pictures, forKey: .pictures)
        if self.role == .assistant {
            try members.encode(self.reasoning, forKey: .reasoning)
            try members.encode(self.calls, forKey: .calls)
            if !self.model.isEmpty { try members.encode(self.model, forKey: .model) }
        }
        try members.encodeIfPresent(self.finish, forKey: .finish)
        try members.encodeIfPresent(self.stats, forKey: .stats)
        try members.encodeIfPresent(self.call, forKey: .call)
        try members.encodeIfPresent(self.name, forKey: .name)
    }
}
