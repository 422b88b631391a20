import Observation

/// Which chat is open, and what a narrow window shows of the list and the chat.
///
/// A split view shows both columns side by side in a wide window. In a narrow one (an iPhone, a
/// small window of Stage Manager) it is a stack: it shows `column`, pushes the chat when the list
/// gets a selection, and takes the selection away when the user goes back.
@MainActor @Observable
public final class ChatNavigation {
    public enum Column: Hashable, Sendable { case list, chat }

    public private(set) var open: Conversation?
    /// What a narrow window shows. The system sets it too, when the user moves.
    public var column = Column.list

    private let chats: ChatLibrary

    public init(chats: ChatLibrary) {
        self.chats = chats
    }

    /// The id of the chat that the list has selected.
    public var selection: String? {
        get { self.open?.chat.id }
        set {
            guard newValue != self.open?.chat.id else { return }
            guard let chat = self.chats.chats.first(where: { $0.id == newValue }) else {
                self.show(nil)
                return
            }
            self.show(self.chats.open(chat))
        }
    }

    public func openNew() {
        self.show(self.chats.new())
    }

    /// Deletes a chat; the open one ends its answer first, and is closed.
    public func delete(_ id: String) async throws {
        if let open, open.chat.id == id {
            await open.stop()
            self.show(nil)
        }
        try await self.chats.delete(id)
    }

    private func show(_ conversation: Conversation?) {
        self.open = conversation
        self.column = conversation == nil ? .list : .chat
    }
}
