import ChatKit
import SwiftUI

/// One message, with what can be done with it.
struct MessageView: View {
    let message: ChatMessage
    let actions: MessageActions
    @Environment(\.openURL) private var openURL

    var body: some View {
        VStack(alignment: .leading, spacing: 4) {
            Text(role).font(.caption).foregroundStyle(.secondary)
            if let pictures = message.pictures, !pictures.isEmpty {
                Label("\(pictures.count) pictures", systemImage: "photo")
            }
            if !message.reasoning.isEmpty {
                DisclosureGroup("Thoughts") {
                    Text(verbatim: message.reasoning).foregroundStyle(.secondary)
                }
            }
            content
            if let stats = message.stats {
                Text(verbatim: stats.line(finish: message.finish, words: .localized))
                    .font(.caption2)
                    .foregroundStyle(.secondary)
            }
            if actions.isDropped {
                Text("The model no longer gets this message.")
                    .font(.caption)
                    .foregroundStyle(.secondary)
            }
        }
        .opacity(actions.isDropped ? 0.5 : 1)
        .accessibilityElement(children: .combine)
        .contextMenu { menu }
    }

    @ViewBuilder private var content: some View {
        if message.role == .assistant {
            MarkdownView(text: message.content)
            ForEach(message.calls) { call in
                Text(verbatim: "\(call.name)(\(call.arguments))").monospaced()
            }
        } else if message.role == .tool {
            Text(verbatim: message.content).monospaced()
        } else {
            Text(verbatim: message.content).textSelection(.enabled)
        }
    }

    @ViewBuilder private var menu: some View {
        Button("Copy") { Clipboard.copy(message.content) }
        if message.role == .user { Button("Edit") { actions.edit() } }
        if message.role != .tool { Button("Retry") { actions.retry() } }
        if message.role == .assistant, let address = Publisher.reports {
            Button("Report this answer") { report(to: address) }
        }
    }

    private func report(to address: String) {
        let letter = AnswerReport.letter(to: address, about: message)
        if let letter { openURL(letter) }
    }

    private var role: LocalizedStringKey {
        switch message.role {
        case .user: "You"
        case .assistant: "Model"
        case .tool: "Tool"
        }
    }
}

/// A call of a tool that waits for the user.
struct CallView: View {
    let call: ToolCall
    let decide: (Bool) -> Void

    var body: some View {
        VStack(alignment: .leading) {
            Text("The model wants to use: \(call.name)")
            Text(verbatim: call.arguments).monospaced()
            HStack {
                Button("Allow") { decide(true) }.buttonStyle(.borderedProminent)
                Button("Refuse") { decide(false) }.buttonStyle(.bordered)
            }
        }
        .padding()
        .background(.quaternary, in: RoundedRectangle(cornerRadius: 12))
    }
}

/// What the user should know about the chat.
struct NoticeView: View {
    let notice: Conversation.Notice
    let drop: () -> Void

    var body: some View {
        HStack {
            switch notice {
            case .contextFull(let used, let limit, let canDrop):
                Text("The chat needs about \(used) tokens; its context has \(limit).")
                if canDrop { Button("Drop the oldest messages") { drop() } }
            case .contextReached:
                Text("The context is full, so the answer ends here.")
            case .failed(let why), .notStored(let why):
                Text(verbatim: why)
            }
        }
        .font(.callout)
        .padding(8)
        .frame(maxWidth: .infinity)
        .background(.yellow.opacity(0.2))
    }
}
