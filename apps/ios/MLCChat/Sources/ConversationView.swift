import ChatKit
import SwiftUI

/// An open chat.
struct ConversationView: View {
    let conversation: Conversation
    let engine: EngineModel
    @State private var draft = ""
    @State private var editing: ChatMessage?
    @State private var showsSettings = false

    var body: some View {
        VStack(spacing: 0) {
            ScrollViewReader { scroll in
                ScrollView {
                    LazyVStack(alignment: .leading, spacing: 12) {
                        ForEach(conversation.chat.messages) { message in
                            MessageView(message: message, actions: actions(message))
                                .id(message.id)
                        }
                        ForEach(conversation.openCalls) { call in
                            CallView(call: call) { isAllowed in
                                Task { await conversation.decide(call.id, isAllowed: isAllowed) }
                            }
                        }
                    }
                    .padding()
                }
                .onChange(of: conversation.chat.messages.last?.content) { _, _ in
                    scroll.scrollTo(conversation.chat.messages.last?.id, anchor: .bottom)
                }
            }
            if let notice = conversation.notice {
                NoticeView(notice: notice) { Task { await conversation.dropOldest() } }
            }
            composer
        }
        .navigationTitle(Text(verbatim: conversation.chat.shownTitle))
        .toolbar { toolbar }
        .sheet(isPresented: $showsSettings) { ChatSettingsView(conversation: conversation) }
        .sheet(item: $editing) { message in
            EditView(text: message.content) { text in
                Task { await conversation.edit(message.id, text: text) }
            }
        }
    }

    private var composer: some View {
        HStack(alignment: .bottom) {
            if takesPictures {
                PictureButton { send(picture: $0) }
            }
            TextField("Message", text: $draft, axis: .vertical)
                .lineLimit(1...6)
                .textFieldStyle(.roundedBorder)
                .onSubmit { send() }
            if conversation.isAnswering {
                Button {
                    Task { await conversation.stop() }
                } label: {
                    Label("Stop", systemImage: "stop.fill").labelStyle(.iconOnly)
                }
            } else {
                Button {
                    send()
                } label: {
                    Label("Send", systemImage: "arrow.up.circle.fill").labelStyle(.iconOnly)
                }
                .disabled(draft.isEmpty)
                .keyboardShortcut(.return, modifiers: .command)
            }
        }
        .padding()
    }

    @ToolbarContentBuilder private var toolbar: some ToolbarContent {
        ToolbarItem {
            Button {
                showsSettings = true
            } label: {
                Label("Settings of this chat", systemImage: "slider.horizontal.3")
            }
        }
        ToolbarItem {
            Menu {
                ExportButtons(chat: conversation.chat)
                Button("Remove all messages", role: .destructive) {
                    Task { await conversation.reset() }
                }
            } label: {
                Label("More", systemImage: "ellipsis.circle")
            }
        }
    }

    private var takesPictures: Bool {
        if case .loaded(let loaded) = engine.status { loaded.takesPictures } else { false }
    }

    private func actions(_ message: ChatMessage) -> MessageActions {
        MessageActions(
            isDropped: conversation.chat.messages.prefix(conversation.chat.dropped)
                .contains { $0.id == message.id },
            edit: { editing = message },
            retry: { Task { await conversation.retry(message.id) } })
    }

    private func send(picture: Data? = nil) {
        let text = draft
        guard !text.isEmpty || picture != nil, !conversation.isAnswering else { return }
        draft = ""
        Task { await conversation.send(text, pictures: picture.map { [$0] } ?? []) }
    }
}

/// What can be done with a message.
struct MessageActions {
    let isDropped: Bool
    let edit: () -> Void
    let retry: () -> Void
}

struct ConversationPreviews: PreviewProvider {
    static var previews: some View {
        if case .ready(let parts) = AppState.preview().content {
            ConversationView(conversation: parts.chats.new(), engine: parts.engine)
                .task { await parts.engine.load("fake-model") }
        }
    }
}
