import Foundation
import Testing

@testable import ChatKit

/// A split view in a narrow window, as Apple's documentation of `NavigationSplitView` describes it:
/// a stack that shows the preferred column. A selection in the list pushes the chat; going back
/// takes the selection away; both change the preferred column.
@MainActor private struct NarrowWindow {
    let navigation: ChatNavigation

    var showsChat: Bool { self.navigation.column == .chat && self.navigation.open != nil }

    func tap(_ id: String) {
        self.navigation.selection = id
        self.navigation.column = .chat
    }

    func back() {
        self.navigation.selection = nil
        self.navigation.column = .list
    }
}

@MainActor @Suite struct NavigationTests {
    private func library() async throws -> FakeApp {
        let app = try FakeApp()
        for id in ["a", "b"] { try await app.store.save(SavedChat(id: id)) }
        try await app.library.load()
        return app
    }

    @Test func aTapOpensAChatInANarrowWindow() async throws {
        let app = try await self.library()
        let window = NarrowWindow(navigation: ChatNavigation(chats: app.library))
        #expect(!window.showsChat)
        window.tap("b")
        #expect(window.showsChat && window.navigation.open?.chat.id == "b")
        window.back()
        #expect(!window.showsChat && window.navigation.selection == nil)
    }

    @Test func aNewChatIsShownInANarrowWindow() async throws {
        let app = try await self.library()
        let window = NarrowWindow(navigation: ChatNavigation(chats: app.library))
        window.navigation.openNew()
        #expect(window.showsChat)
        let first = window.navigation.open?.chat.id
        #expect(window.navigation.selection == first)
        window.navigation.openNew()
        #expect(window.showsChat && window.navigation.open?.chat.id != first)
    }

    @Test func aWindowThatBecomesNarrowShowsTheOpenChat() async throws {
        let app = try await self.library()
        let navigation = ChatNavigation(chats: app.library)
        navigation.selection = "a"  // a wide window sets the selection alone
        #expect(NarrowWindow(navigation: navigation).showsChat)
    }

    @Test func theSameSelectionKeepsTheChat() async throws {
        let app = try await self.library()
        let navigation = ChatNavigation(chats: app.library)
        navigation.selection = "a"
        let open = navigation.open
        navigation.selection = "a"
        #expect(navigation.open === open)
    }

    @Test func aDeletedChatIsClosed() async throws {
        let app = try await self.library()
        let window = NarrowWindow(navigation: ChatNavigation(chats: app.library))
        window.tap("a")
        try await window.navigation.delete("b")
        #expect(window.showsChat)
        try await window.navigation.delete("a")
        #expect(!window.showsChat && window.navigation.open == nil && app.library.chats.isEmpty)
    }

    @Test func aReportIsALetter() throws {
        let text = "50% & more? " + String(repeating: "x", count: 5000)
        var message = ChatMessage(.assistant, text)
        message.model = "tiny"
        let url = try #require(
            AnswerReport.letter(to: "reports@example.com", about: message))
        let parts = try #require(URLComponents(url: url, resolvingAgainstBaseURL: false))
        #expect(parts.scheme == "mailto" && parts.path == "reports@example.com")
        #expect(parts.queryItems?.first?.value == "Report: tiny")
        let body = try #require(parts.queryItems?.last?.value)
        #expect(body.hasPrefix("50% & more? x") && body.count == AnswerReport.longestQuote)
    }
}
