import Foundation
import Testing

@testable import ChatKit

/// A compiled model and its library, if there is one.
let realModel = ProcessInfo.processInfo.environment["MLC_TEST_MODEL"]
let realLibrary = ProcessInfo.processInfo.environment["MLC_TEST_MODEL_LIB"]

let fakeModel = URL(fileURLWithPath: #filePath)
    .deletingLastPathComponent().appendingPathComponent("../../../../../tests/fixtures/fake-model")
    .standardizedFileURL.path

/// An app's parts over the fake model, whose answers are random words, the same for the same chat.
@MainActor
struct FakeApp {
    let folder: TemporaryFolder
    let host = EngineHost(device: "fake")
    let store: ChatStore
    let library: ChatLibrary

    init() throws {
        self.folder = try TemporaryFolder()
        self.store = ChatStore(folder: self.folder.url.appendingPathComponent("chats"))
        self.library = ChatLibrary(store: self.store, host: self.host)
    }

    /// Loads the fake model. `context`: in tokens.
    func load(context: Int? = nil) async throws {
        let source = EngineHost.Source(modelID: "fake", folder: fakeModel, modelLib: nil)
        #expect(try await self.host.load(source, context: context) == .load)
    }

    /// A chat with short answers.
    func chat(maxTokens: Int = 6, system: String = "") -> Conversation {
        var settings = ChatSettings()
        settings.max_tokens = maxTokens
        settings.seed = 7
        settings.system = system
        return self.library.new(settings)
    }
}

extension Conversation {
    func ask(_ text: String) async {
        await self.send(text)
        await self.finished()
    }

    var roles: [ChatMessage.Role] { self.chat.messages.map(\.role) }
}
