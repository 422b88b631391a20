import ChatKit
import SwiftUI

/// The list of chats, and the open one.
struct ChatsView: View {
    let parts: AppParts
    @State private var open: Conversation?
    @State private var failure: String?

    var body: some View {
        @Bindable var chats = parts.chats
        NavigationSplitView {
            List {
                ForEach(chats.found) { chat in
                    Button {
                        open = chats.open(chat)
                    } label: {
                        ChatRow(chat: chat)
                    }
                    .swipeActions {
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
                    open = chats.new()
                } label: {
                    Label("New chat", systemImage: "square.and.pencil")
                }
                .keyboardShortcut("n", modifiers: .command)
            }
        } detail: {
            if let open {
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
                if open?.chat.id == id {
                    await open?.stop()
                    open = nil
                }
                try await parts.chats.delete(id)
            } catch {
                failure = "\(error)"
            }
        }
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
