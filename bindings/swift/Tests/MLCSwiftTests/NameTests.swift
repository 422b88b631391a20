import MLCSwift
import Testing

/// Names of an app's own: they come before those of MLCSwift.
private struct Chat { var title = "" }
private struct ModelList { var names: [String] = [] }
private struct Plan { var days = 0 }
private enum Prompt { case greeting }

@Suite struct NameTests {
    @Test func anAppMayUseTheNamesOfTheProtocol() {
        #expect(Chat(title: "a").title == "a" && Plan(days: 2).days == 2)
        #expect(ModelList(names: ["b"]).names == ["b"])
        if case .greeting = Prompt.greeting {} else { Issue.record("it is another type") }
    }

    @Test func theNameOfTheModuleReachesTheOtherOnes() {
        let list = MLCSwift.ModelList(data: [])
        #expect(list.data.isEmpty)
        let chat: MLCEngine.Chat = MLCEngine().chat
        let _: ChatCompletions = chat.completions
        let prompt: PromptInput = "a text"
        #expect(prompt == .text("a text"))
    }
}
