import ChatKit
import SwiftUI

/// The settings of a chat. An empty field is what the model itself says.
struct ChatSettingsView: View {
    let conversation: Conversation
    @Environment(\.dismiss) private var dismiss
    @State private var settings: ChatSettings

    init(conversation: Conversation) {
        self.conversation = conversation
        self._settings = State(initialValue: conversation.chat.settings)
    }

    var body: some View {
        NavigationStack {
            Form {
                Section("System prompt") {
                    TextField("System prompt", text: $settings.system, axis: .vertical)
                }
                Section("Sampling") {
                    NumberField(name: "Temperature", value: $settings.temperature)
                    NumberField(name: "Top p", value: $settings.top_p)
                    CountField(name: "Longest answer, in tokens", value: $settings.max_tokens)
                    CountField(name: "Context, in tokens", value: $settings.context)
                    CountField(name: "Seed", value: $settings.seed)
                }
                Section("Tools (each call asks first)") {
                    ForEach(BuiltInTool.allCases, id: \.self) { tool in
                        Toggle(tool.title, isOn: isOn(tool))
                    }
                }
                Section("JSON Schema of the answer") {
                    TextField("JSON Schema", text: $settings.schema, axis: .vertical).monospaced()
                }
            }
            .navigationTitle(Text("Settings of this chat"))
            .toolbar {
                Button("Done") {
                    Task { await conversation.set(settings) }
                    dismiss()
                }
            }
        }
    }

    private func isOn(_ tool: BuiltInTool) -> Binding<Bool> {
        Binding(
            get: { settings.tools.contains(tool.rawValue) },
            set: { isOn in
                settings.tools.removeAll { $0 == tool.rawValue }
                if isOn { settings.tools.append(tool.rawValue) }
            })
    }
}

extension BuiltInTool {
    var title: LocalizedStringKey {
        switch self {
        case .calculator: "Calculator"
        case .clock: "Clock"
        }
    }
}

/// A number that may be left out.
struct NumberField: View {
    let name: LocalizedStringKey
    @Binding var value: Double?

    var body: some View {
        LabeledContent(name) {
            TextField(name, value: $value, format: .number).multilineTextAlignment(.trailing)
        }
    }
}

/// A whole number that may be left out.
struct CountField: View {
    let name: LocalizedStringKey
    @Binding var value: Int?

    var body: some View {
        LabeledContent(name) {
            TextField(name, value: $value, format: .number).multilineTextAlignment(.trailing)
        }
    }
}

/// A changed message of the user.
struct EditView: View {
    @State var text: String
    let send: (String) -> Void
    @Environment(\.dismiss) private var dismiss

    var body: some View {
        NavigationStack {
            TextField("The changed message", text: $text, axis: .vertical)
                .padding()
                .toolbar {
                    Button("Send again") {
                        send(text)
                        dismiss()
                    }
                    .disabled(text.isEmpty)
                }
        }
    }
}
