import ChatKit
import SwiftUI

/// The list of chats, and the open one: beside each other, or one after the other where it is narrow.
struct ChatsView: View {
    let parts: AppParts
    @State private var failure: String?

    var body: some View {
        @Bindable var chats = parts.chats
        @Bindable var navigation = parts.navigation
        NavigationSplitView(preferredCompactColumn: $navigation.compactColumn) {
            List(selection: $navigation.selection) {
                ForEach(chats.found) { chat in
                    NavigationLink(value: chat.id) { ChatRow(chat: chat) }
                        .swipeActions {
                            Button("Delete", role: .destructive) { delete(chat.id) }
                        }
                        .contextMenu {
                            Button("Delete", role: .destructive) { delete(chat.id) }
                        }
                }
                if !chats.unreadable.isEmpty {
                    Text("\(chats.unreadable.count) chats cannot be read.")
                        .foregroundStyle(.secondary)
                }
            }
            .searchable(text: $chats.search, prompt: Text("Search chats"))
            .navigationTitle(Text("Chats"))
            .toolbar {
                Button {
                    navigation.openNew()
                } label: {
                    Label("New chat", systemImage: "square.and.pencil")
                }
                .keyboardShortcut("n", modifiers: .command)
            }
        } detail: {
            if let open = navigation.open {
                ConversationView(conversation: open, engine: parts.engine)
                    .id(open.chat.id)
                    .onDisappear { Task { try? await parts.chats.load() } }
            } else {
                ContentUnavailableView("No chat is open", systemImage: "bubble.left")
            }
        }
        .alert(Text("That did not work"), isPresented: .constant(failure != nil)) {
            Button("OK") { failure = nil }
        } message: {
            Text(verbatim: failure ?? "")
        }
    }

    private func delete(_ id: String) {
        Task {
            do {
                try await parts.navigation.delete(id)
            } catch {
                failure = "\(error)"
            }
        }
    }
}

extension ChatNavigation {
    /// The column that a narrow split view has on top.
    fileprivate var compactColumn: NavigationSplitViewColumn {
        get { column == .chat ? .detail : .sidebar }
        set { column = newValue == .detail ? .chat : .list }
    }
}

struct ChatRow: View {
    let chat: SavedChat

    var body: some View {
        VStack(alignment: .leading) {
            if chat.shownTitle.isEmpty { Text("Untitled") } else { Text(verbatim: chat.shownTitle) }
            Text(Date(timeIntervalSince1970: chat.updated / 1000), style: .date)
                .font(.caption)
                .foregroundStyle(.secondary)
        }
        .accessibilityElement(children: .combine)
    }
}
