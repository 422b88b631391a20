// A conversation in the terminal. An empty line ends it.
//
// Chat MODEL_FOLDER MODEL_LIBRARY
import MLCSwift

let engine = MLCEngine()
try await engine.load(model: CommandLine.arguments[1], modelLib: CommandLine.arguments[2])
var messages = [ChatCompletionMessage(role: .system, content: "Answer in one or two sentences.")]
while let question = readLine(), !question.isEmpty {
    messages.append(ChatCompletionMessage(role: .user, content: question))
    var answer = ""
    for try await chunk in engine.chat.completions.stream(messages: messages, max_tokens: 300) {
        let piece = chunk.choices.first?.delta.content ?? ""
        answer += piece
        print(piece, terminator: "")
    }
    print()
    messages.append(ChatCompletionMessage(role: .assistant, content: answer))
}
