import Foundation
import Observation

/// All chats of the app: the list beside the open one.
@MainActor @Observable
public final class ChatLibrary {
    public private(set) var chats: [SavedChat] = []
    /// Files of chats that cannot be read; they are left as they are.
    public private(set) var unreadable: [String] = []
    public var search = ""

    private let store: ChatStore
    private let host: EngineHost

    public init(store: ChatStore, host: EngineHost) {
        self.store = store
        self.host = host
    }

    /// The chats that have every word of the search.
    public var found: [SavedChat] { self.chats.filter { $0.matches(self.search) } }

    public func load() async throws {
        let found = try await self.store.load()
        self.chats = found.chats
        self.unreadable = found.unreadable
    }

    public func new(_ settings: ChatSettings = ChatSettings()) -> Conversation {
        self.open(SavedChat(settings: settings))
    }

    public func open(_ chat: SavedChat) -> Conversation {
        Conversation(chat, host: self.host, store: self.store)
    }

    public func delete(_ id: String) async throws {
        try await self.store.delete(id)
        self.chats.removeAll { $0.id == id }
    }

    /// Adds the chats of an exported file; a chat that is there already is replaced. Returns how
    /// many were skipped.
    public func importChats(_ data: Data) async throws -> Int {
        let (chats, skipped) = try ChatExport.read(data)
        for chat in chats { try await self.store.save(chat) }
        try await self.load()
        return skipped
    }
}
